#pragma once
// Verdicts by everything that they rest on, as numbers: a verdict that was found for one node holds
// for every other with the same numbers, and for every pod that asks for the same.
//
// Any thread.

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "plugins/nodedevice/allocation/allocator.hpp"

namespace plimsoll::devices {

class VerdictMemo {
 public:
  // The shape of the node and what is asked for; then of up to three types what is asked, which
  // devices can be given, and which are in use.
  static constexpr size_t kMaxTypesAsked = 3;
  using Key = std::array<uint64_t, 1 + 3 * kMaxTypesAsked>;

  [[nodiscard]] std::optional<Verdict> find(const Key& key) const;
  void put(const Key& key, Verdict verdict);
  void clear();

  // So many are kept; then it starts anew.
  static constexpr size_t kMostKept = 1U << 16;

 private:
  struct Hash {
    size_t operator()(const Key& key) const {
      uint64_t hash = 0;
      for (const uint64_t word : key) hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL ^ hash >> 29;
      return hash ^ hash >> 32;
    }
  };

  mutable std::mutex mutex_;
  std::unordered_map<Key, Verdict, Hash> verdicts_;
};

}  // namespace plimsoll::devices
