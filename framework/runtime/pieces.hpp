#pragma once
// A call over many nodes in pieces, so that a request to stop is seen between them. The first piece
// shows what a node costs. It is so small that plugins look at its nodes one by one instead of
// preparing themselves for many; the rest is mostly one piece.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace plimsoll {

class Pieces {
 public:
  explicit Pieces(size_t rows) : rows_(rows) {}

  // False: there is none left.
  [[nodiscard]] bool next() {
    begin_ += count_;
    if (begin_ == rows_) return false;
    count_ = rows_ > kMostAtOnce ? wanted() : rows_;
    return true;
  }
  [[nodiscard]] size_t begin() const { return begin_; }
  [[nodiscard]] size_t count() const { return count_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMostAtOnce = 16;  // nodes
  static constexpr size_t kFirst = 7;
  static constexpr std::chrono::milliseconds kQuick{200};  // what takes no longer is not cut
  static constexpr std::chrono::milliseconds kPiece{50};

  [[nodiscard]] size_t wanted() {
    const auto before = began_;
    began_ = Clock::now();
    if (begin_ == 0) return kFirst;
    const size_t left = rows_ - begin_;
    const auto each = (began_ - before) / static_cast<int64_t>(count_);
    if (each * static_cast<int64_t>(left) <= kQuick) return left;
    return std::clamp<size_t>(static_cast<size_t>(kPiece / each), 1, left);
  }

  size_t rows_;
  size_t begin_ = 0;
  size_t count_ = 0;
  Clock::time_point began_;
};

}  // namespace plimsoll
