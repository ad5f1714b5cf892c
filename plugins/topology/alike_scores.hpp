#pragma once
// Scores of nodes that are alike, worked out for all of them at once (ledger_service.h, `alike`),
// and handed to those that were asked for. Pure; any thread, one AlikeScores per question.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plugins/topology/ledger_service.h"

namespace plimsoll::topology {

class AlikeScores {
 public:
  // `slots`: of the nodes that are asked for. If nothing is put, as when they are few, no room is
  // made for what is known.
  explicit AlikeScores(std::span<const uint32_t> slots) : slots_(slots) {}

  // Of a group: `score(nodes, scores)` writes 0 to 100 by position, for whole blocks. With
  // `columns`, only of nodes that land somewhere anything follows.
  template <typename Score>
  void put(const plimsoll_numa_alike& nodes, const Score& score) {
    of_group_.resize((size_t{nodes.count} + PLIMSOLL_NUMA_BLOCK - 1) / PLIMSOLL_NUMA_BLOCK *
                     PLIMSOLL_NUMA_BLOCK);
    score(nodes, of_group_.data());
    scatter(nodes);
  }

  // The scores that are known. What is left is asked with `one_by_one(places)`: positions in
  // `scores`, as many as stay in a cache.
  static constexpr size_t kBatch = 64;
  template <typename OneByOne>
  void fill(std::span<int64_t> scores, const OneByOne& one_by_one) const {
    std::array<uint32_t, kBatch> places;
    size_t count = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
      const uint8_t score = by_slot_.empty() ? kUnknown : by_slot_[slots_[i]];
      scores[i] = score;
      places[count] = static_cast<uint32_t>(i);
      count += score == kUnknown ? 1 : 0;
      if (count < kBatch) continue;
      one_by_one(std::span<const uint32_t>(places));
      count = 0;
    }
    if (count > 0) one_by_one(std::span<const uint32_t>(places).first(count));
  }

 private:
  static constexpr uint8_t kUnknown = UINT8_MAX;
  void scatter(const plimsoll_numa_alike& nodes);

  std::span<const uint32_t> slots_;
  std::vector<uint8_t> by_slot_;  // empty: nothing is known
  std::vector<uint8_t> of_group_;
};

}  // namespace plimsoll::topology
