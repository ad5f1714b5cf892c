#pragma once
// A set of CPU ids, as the kubelet's cpuset package has it. A value: 0..2047, no allocation, cheap
// to copy. Not thread-safe for writing; nothing blocks.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "plugins/topology/base/result.hpp"

namespace plimsoll::topology::kubelet {

inline constexpr uint32_t kMaxCpus = 2048;

class CpuSet {
 public:
  CpuSet() = default;

  // Linux list format: "0-3,8"; empty text is the empty set. Spaces around numbers, ranges that run
  // backwards and ids from 2048 on are errors.
  [[nodiscard]] static Parsed<CpuSet> parse(std::string_view list);
  // The shortest list text, ascending.
  [[nodiscard]] std::string text() const;

  // Ids from 2048 on are not in any set: add ignores them.
  void add(uint32_t cpu) {
    if (cpu >= kMaxCpus) return;
    words_[cpu / 64] |= uint64_t{1} << (cpu % 64);
    used_ = std::max(used_, cpu / 64 + 1);
  }
  void remove(uint32_t cpu) {
    if (cpu < kMaxCpus) words_[cpu / 64] &= ~(uint64_t{1} << (cpu % 64));
  }
  [[nodiscard]] bool contains(uint32_t cpu) const {
    return cpu < kMaxCpus && (words_[cpu / 64] >> (cpu % 64) & 1) != 0;
  }
  [[nodiscard]] uint32_t size() const {
    uint32_t count = 0;
    for (uint32_t i = 0; i < used_; ++i) count += static_cast<uint32_t>(std::popcount(words_[i]));
    return count;
  }
  [[nodiscard]] bool empty() const {
    for (uint32_t i = 0; i < used_; ++i) {
      if (words_[i] != 0) return false;
    }
    return true;
  }

  CpuSet& operator|=(const CpuSet& other) {
    for (uint32_t i = 0; i < other.used_; ++i) words_[i] |= other.words_[i];
    used_ = std::max(used_, other.used_);
    return *this;
  }
  CpuSet& operator&=(const CpuSet& other) {
    for (uint32_t i = 0; i < used_; ++i) words_[i] &= other.words_[i];
    return *this;
  }
  CpuSet& operator-=(const CpuSet& other) {
    for (uint32_t i = 0; i < used_; ++i) words_[i] &= ~other.words_[i];
    return *this;
  }
  friend CpuSet operator|(CpuSet a, const CpuSet& b) { return a |= b; }
  friend CpuSet operator&(CpuSet a, const CpuSet& b) { return a &= b; }
  friend CpuSet operator-(CpuSet a, const CpuSet& b) { return a -= b; }
  friend bool operator==(const CpuSet& a, const CpuSet& b) { return a.words_ == b.words_; }

  // Calls visit(id) for each CPU, ascending.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (uint32_t i = 0; i < used_; ++i) {
      for (uint64_t rest = words_[i]; rest != 0; rest &= rest - 1) {
        visit(i * 64 + static_cast<uint32_t>(std::countr_zero(rest)));
      }
    }
  }

  // The ids 64*i .. 64*i+63, for those who keep sets in their own memory.
  [[nodiscard]] uint64_t word(uint32_t i) const { return words_[i]; }
  void set_word(uint32_t i, uint64_t bits) {
    words_[i] = bits;
    used_ = std::max(used_, i + 1);
  }

 private:
  std::array<uint64_t, kMaxCpus / 64> words_{};
  uint32_t used_ = 0;  // words from here on are 0
};

}  // namespace plimsoll::topology::kubelet
