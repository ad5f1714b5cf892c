#pragma once
// Values that all who have the same text share. A value goes with the last who has it, and so does
// its text: nothing is kept of what nobody uses.
//
// find and add: one thread; values may be dropped on any, also after this is gone.

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace plimsoll::topology::kubelet {

template <typename Value>
class SharedByText {
 public:
  // Null: nobody has it.
  [[nodiscard]] std::shared_ptr<const Value> find(std::string_view text) const {
    const std::lock_guard lock(all_->mutex);
    const auto found = all_->by_text.find(text);
    return found == all_->by_text.end() ? nullptr : found->second.lock();
  }

  std::shared_ptr<const Value> add(std::string text, Value value) {
    auto entry = std::make_unique<Entry>(Entry{std::move(text), std::move(value)});
    const Entry* made = entry.get();
    const std::shared_ptr<const Entry> owner(entry.release(),
                                             [all = std::weak_ptr<All>(all_)](const Entry* gone) {
                                               if (const auto kept = all.lock())
                                                 kept->forget(*gone);
                                               delete gone;
                                             });
    std::shared_ptr<const Value> shared(owner, &made->value);
    const std::lock_guard lock(all_->mutex);
    all_->by_text.erase(made->text);  // of one that is being dropped just now
    all_->by_text.emplace(made->text, shared);
    return shared;
  }

  [[nodiscard]] size_t size() const {
    const std::lock_guard lock(all_->mutex);
    return all_->by_text.size();
  }

 private:
  struct Entry {
    std::string text;
    Value value;
  };
  struct All {
    void forget(const Entry& gone) {
      const std::lock_guard lock(mutex);
      const auto found = by_text.find(gone.text);
      if (found != by_text.end() && found->first.data() == gone.text.data()) by_text.erase(found);
    }
    std::mutex mutex;
    // The texts are those of the entries.
    std::unordered_map<std::string_view, std::weak_ptr<const Value>> by_text;
  };

  std::shared_ptr<All> all_ = std::make_shared<All>();
};

}  // namespace plimsoll::topology::kubelet
