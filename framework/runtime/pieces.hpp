#pragma once
// A call over many nodes in pieces, so that a request to stop is seen between them. The first piece
// is small; further ones are larger while they take little time, so that a call that is quick pays
// nothing for it.

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace plimsoll {

class Pieces {
 public:
  explicit Pieces(size_t rows) : rows_(rows) {}

  // False: there is none left.
  [[nodiscard]] bool next() {
    begin_ += count_;
    if (begin_ == rows_) return false;
    if (rows_ > kFirst) measure();
    count_ = std::min(size_, rows_ - begin_);
    return true;
  }
  [[nodiscard]] size_t begin() const { return begin_; }
  [[nodiscard]] size_t count() const { return count_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kFirst = 64;
  static constexpr size_t kGrowth = 8;
  static constexpr std::chrono::milliseconds kQuick{10};

  void measure() {
    const auto now = Clock::now();
    if (begin_ != 0) {
      const auto took = now - began_;
      if (took < kQuick) {
        size_ *= kGrowth;
      } else if (took > kGrowth * kQuick) {
        size_ = std::max<size_t>(size_ / kGrowth, 1);
      }
    }
    began_ = now;
  }

  size_t rows_;
  size_t begin_ = 0;
  size_t count_ = 0;
  size_t size_ = kFirst;
  Clock::time_point began_;
};

}  // namespace plimsoll
