#pragma once
// Scores of nodes that are alike, worked out for all of them at once (ledger_service.hpp, `alike`),
// and handed to those that were asked for. Pure; any thread, one AlikeScores per question.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plugins/topology/abi/ledger_types.hpp"

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
    if (consecutive_) copy_known(scores);
    for (size_t i = consecutive_ ? next_unknown(0) : 0; i < slots_.size();) {
      const uint8_t score = by_slot_.empty() ? kUnknown : by_slot_[slots_[i]];
      scores[i] = score;
      places[count] = static_cast<uint32_t>(i);
      count += score == kUnknown ? 1 : 0;
      i = consecutive_ ? next_unknown(i + 1) : i + 1;
      if (count < kBatch) continue;
      one_by_one(std::span<const uint32_t>(places));
      count = 0;
    }
    if (count > 0) one_by_one(std::span<const uint32_t>(places).first(count));
  }

 private:
  static constexpr uint8_t kUnknown = UINT8_MAX;
  void scatter(const plimsoll_numa_alike& nodes);
  // With consecutive_, which is known as soon as anything is put: all scores; the first place from
  // here on that is not known.
  void copy_known(std::span<int64_t> scores) const;
  [[nodiscard]] size_t next_unknown(size_t place) const;

  std::span<const uint32_t> slots_;
  std::vector<uint8_t> by_slot_;  // empty: nothing is known
  bool consecutive_ = false;      // slots_ are neighbours, as where all nodes are asked for
  std::vector<uint8_t> of_group_;
};

}  // namespace plimsoll::topology
