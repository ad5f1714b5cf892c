#pragma once
// One verdict for each of some rows of nodes.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "framework/cycle/scheduler.hpp"

namespace plimsoll {

struct Scheduler::Columns {
  explicit Columns(size_t rows)
      : codes(rows, PLIMSOLL_SUCCESS), reasons(rows, 0), rejectors(rows, kNoPlugin) {}
  [[nodiscard]] FilterColumns view() { return {codes, reasons, rejectors}; }

  std::vector<uint8_t> codes;
  std::vector<uint32_t> reasons;
  std::vector<PluginIndex> rejectors;
};

}  // namespace plimsoll
