#pragma once
// What one attempt writes about every node. The loop keeps the room from one pod to the next.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "framework/cycle/scheduler.hpp"

namespace plimsoll {

// One verdict for each of some rows of nodes.
struct Scheduler::Columns {
  Columns() = default;
  explicit Columns(size_t rows) { reset(rows); }
  // Nobody is refused.
  void reset(size_t rows) {
    codes.assign(rows, PLIMSOLL_SUCCESS);
    reasons.assign(rows, 0);
    rejectors.assign(rows, kNoPlugin);
  }
  [[nodiscard]] FilterColumns view() { return {codes, reasons, rejectors}; }

  std::vector<uint8_t> codes;
  std::vector<uint32_t> reasons;
  std::vector<PluginIndex> rejectors;
};

struct Scheduler::Room {
  Columns verdicts;
  Columns beside;  // nominated pods
  std::vector<const plimsoll_node_info*> feasible;
  std::vector<uint32_t> feasible_slots;
  std::vector<const plimsoll_node_info*> named;  // by PreFilter
  std::vector<uint32_t> named_slots;
  ScoreTable scores;

  void add_feasible(const plimsoll_node_info* row, uint32_t slot) {
    feasible.push_back(row);
    feasible_slots.push_back(slot);
  }
};

}  // namespace plimsoll
