#pragma once
// Integers by index, in as few bytes as the widest of them needs: one each to begin with, and two,
// four or eight for all once a value asks for it. Scores and verdicts of a node rarely need more
// than one, but may be any number. Not thread-safe.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace plimsoll {

class NarrowColumn {
 public:
  // So many zeros, in one byte each.
  void reset(size_t size) {
    width_ = 1;
    size_ = size;
    bytes_.assign(size, 0);
    bytes_.shrink_to_fit();
  }
  // What is new is 0.
  void resize(size_t size) {
    size_ = size;
    bytes_.resize(size * width_);
  }
  [[nodiscard]] size_t size() const { return size_; }

  // Calls `use` with a pointer to the integers as they are, for loops over many. In line: what a
  // loop captures then stays in registers.
  template <typename Use>
  [[gnu::always_inline]] auto visit(const Use& use) const {
    switch (width_) {
      case 1:
        return use(reinterpret_cast<const int8_t*>(bytes_.data()));
      case 2:
        return use(reinterpret_cast<const int16_t*>(bytes_.data()));
      case 4:
        return use(reinterpret_cast<const int32_t*>(bytes_.data()));
      default:
        return use(reinterpret_cast<const int64_t*>(bytes_.data()));
    }
  }

  [[nodiscard]] int64_t operator[](size_t index) const {
    return visit([&](const auto* values) { return static_cast<int64_t>(values[index]); });
  }
  void set(size_t index, int64_t value) {
    make_room_for(value, value);
    store([&](auto* values) {
      values[index] = static_cast<std::remove_pointer_t<decltype(values)>>(value);
    });
  }
  // values[i] at indices[i].
  void set_many(std::span<const uint32_t> indices, std::span<const int64_t> new_values) {
    if (indices.empty()) return;
    const auto [least, most] = std::minmax_element(new_values.begin(), new_values.end());
    make_room_for(*least, *most);
    store([&](auto* values) {
      for (size_t i = 0; i < indices.size(); ++i) {
        values[indices[i]] = static_cast<std::remove_pointer_t<decltype(values)>>(new_values[i]);
      }
    });
  }
  [[nodiscard]] size_t bytes() const { return bytes_.capacity(); }

 private:
  template <typename Use>
  void store(const Use& use) {
    visit([&](const auto* values) {
      use(const_cast<std::remove_const_t<std::remove_pointer_t<decltype(values)>>*>(values));
    });
  }
  static size_t width_for(int64_t value) {
    const auto fits = [&](auto narrow) {
      return value >= std::numeric_limits<decltype(narrow)>::min() &&
             value <= std::numeric_limits<decltype(narrow)>::max();
    };
    return fits(int8_t{}) ? 1 : fits(int16_t{}) ? 2 : fits(int32_t{}) ? 4 : 8;
  }
  void make_room_for(int64_t least, int64_t most) {
    const size_t needed = std::max(width_for(least), width_for(most));
    if (needed <= width_) return;
    NarrowColumn wider;
    wider.width_ = needed;
    wider.resize(size_);
    wider.store(
        [&](auto* to) { visit([&](const auto* from) { std::copy(from, from + size_, to); }); });
    *this = std::move(wider);
  }

  size_t width_ = 1;  // bytes of each
  size_t size_ = 0;
  std::vector<uint8_t> bytes_;  // of all; allocated, so aligned for any width
};

}  // namespace plimsoll
