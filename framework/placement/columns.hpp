#pragma once
// What one attempt writes about every node. The placer keeps the room from one pod to the next.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "framework/runtime/framework.hpp"

namespace plimsoll {

// One verdict for each of some rows of nodes.
struct Columns {
  Columns() = default;
  explicit Columns(size_t rows) { reset(rows); }
  // Nobody is refused.
  void reset(size_t rows) {
    codes.assign(rows, PLIMSOLL_SUCCESS);
    reasons.assign(rows, 0);
    rejectors.assign(rows, kNoPlugin);
  }
  // Whether `whole` has the same from `begin` on.
  [[nodiscard]] bool is_part_of(const Columns& whole, size_t begin) const {
    const auto same = [begin](const auto& part, const auto& all) {
      return std::equal(part.begin(), part.end(), all.data() + begin);
    };
    return same(codes, whole.codes) && same(reasons, whole.reasons) &&
           same(rejectors, whole.rejectors);
  }
  void replace(size_t begin, const Columns& part) {
    std::copy(part.codes.begin(), part.codes.end(), codes.data() + begin);
    std::copy(part.reasons.begin(), part.reasons.end(), reasons.data() + begin);
    std::copy(part.rejectors.begin(), part.rejectors.end(), rejectors.data() + begin);
  }
  [[nodiscard]] FilterColumns view() { return {codes, reasons, rejectors}; }

  std::vector<uint8_t> codes;
  std::vector<uint32_t> reasons;
  std::vector<PluginIndex> rejectors;
};

struct PlacementRoom {
  Columns verdicts;
  Columns beside;  // nominated pods; or those nodes that a check asks about one by one
  Columns afresh;  // what a check finds
  std::vector<const plimsoll_node_info*> feasible;
  std::vector<uint32_t> feasible_slots;
  std::vector<const plimsoll_node_info*> named;  // by PreFilter
  std::vector<uint32_t> named_slots;
  ScoreTable scores;
  std::vector<int64_t> afresh_scores;  // of one plugin, for a check
  std::vector<int64_t> part_scores;    // of those nodes that it asks about one by one
};

}  // namespace plimsoll
