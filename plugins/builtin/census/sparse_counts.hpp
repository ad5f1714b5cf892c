#pragma once
// Counts by a small index (a domain), of which most are 0 while only few pods are counted. Memory
// is linear in the counts that are not 0, or in the largest index once a good part of them is not.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace plimsoll::builtin {

class SparseCounts {
 public:
  [[nodiscard]] uint32_t at(uint32_t index) const {
    if (dense_) return index < all_.size() ? all_[index] : 0;
    const auto found = place_of(index);
    return found != few_.end() && found->first == index ? found->second : 0;
  }
  // How many are not 0.
  [[nodiscard]] size_t nonzero() const { return dense_ ? in_use_ : few_.size(); }

  // `bound`: every index is less.
  void set(uint32_t index, uint32_t count, size_t bound) {
    if (dense_) {
      if (index >= all_.size()) all_.resize(std::max<size_t>(bound, index + size_t{1}), 0);
      in_use_ += count != 0 ? 1 : 0;
      in_use_ -= all_[index] != 0 ? 1 : 0;
      all_[index] = count;
      if (in_use_ < kFew && all_.size() > kFew * kSparse) become_sparse();
      return;
    }
    const auto found = few_.begin() + (place_of(index) - few_.cbegin());
    const bool known = found != few_.end() && found->first == index;
    if (count == 0) {
      if (known) few_.erase(found);
    } else if (known) {
      found->second = count;
    } else {
      few_.insert(found, {index, count});
      if (few_.size() > 2 * kFew && few_.size() > bound / kSparse) become_dense(bound);
    }
  }

  // visit(index, count) for each that is not 0.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [index, count] : few_) visit(index, count);
    for (uint32_t index = 0; index < all_.size(); ++index) {
      if (all_[index] != 0) visit(index, all_[index]);
    }
  }

  [[nodiscard]] size_t bytes() const {
    return few_.capacity() * sizeof few_[0] + all_.capacity() * sizeof all_[0];
  }

 private:
  using Entry = std::pair<uint32_t, uint32_t>;
  static constexpr size_t kFew = 16;
  static constexpr size_t kSparse = 16;  // a sorted entry is worth it if so many others are 0

  [[nodiscard]] std::vector<Entry>::const_iterator place_of(uint32_t index) const {
    return std::lower_bound(few_.begin(), few_.end(), Entry{index, 0});
  }
  void become_dense(size_t bound) {
    all_.assign(std::max<size_t>(bound, few_.back().first + size_t{1}), 0);
    for (const auto& [index, count] : few_) all_[index] = count;
    in_use_ = few_.size();
    few_ = {};
    dense_ = true;
  }
  void become_sparse() {
    for (uint32_t index = 0; index < all_.size(); ++index) {
      if (all_[index] != 0) few_.emplace_back(index, all_[index]);
    }
    all_ = {};
    dense_ = false;
  }

  std::vector<Entry> few_;  // sorted by index
  std::vector<uint32_t> all_;
  size_t in_use_ = 0;
  bool dense_ = false;
};

}  // namespace plimsoll::builtin
