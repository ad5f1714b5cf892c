#pragma once
// Answers that hold for a short time; limited in number and size. All hold equally long, so the
// oldest is the first to end, and the first to go when there is no room.

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

namespace plimsoll::serving {

// For one thread at a time.
template <typename Value>
class ExpiringCache {
 public:
  using Time = std::chrono::steady_clock::time_point;

  ExpiringCache(std::chrono::milliseconds keep, std::size_t most_entries, std::size_t most_bytes)
      : keep_(keep), most_entries_(most_entries), most_bytes_(most_bytes) {}

  // Null: there is none. Valid until the next put().
  [[nodiscard]] const Value* find(const std::string& key, Time now) const {
    const auto at = entries_.find(key);
    return at == entries_.end() || at->second.until <= now ? nullptr : &at->second.value;
  }

  // `bytes`: what the value takes. One that is there already stays until its end, unless that has
  // come.
  void put(const std::string& key, Value value, std::size_t bytes, Time now) {
    while (!order_.empty() && entries_.at(order_.front()).until <= now) drop_oldest();
    if (bytes > most_bytes_ || most_entries_ == 0 || entries_.contains(key)) return;
    while (entries_.size() >= most_entries_ || bytes_ + bytes > most_bytes_) drop_oldest();
    entries_.emplace(key, Entry{std::move(value), bytes, now + keep_});
    order_.push_back(key);
    bytes_ += bytes;
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    Value value;
    std::size_t bytes;
    Time until;
  };

  void drop_oldest() {
    const auto oldest = entries_.find(order_.front());
    bytes_ -= oldest->second.bytes;
    entries_.erase(oldest);
    order_.pop_front();
  }

  std::chrono::milliseconds keep_;
  std::size_t most_entries_;
  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::string, Entry> entries_;
  std::deque<std::string> order_;
};

}  // namespace plimsoll::serving
