#pragma once
// A node's NUMA zones in the form that fit, prediction and scores read: flat rows of int64, one per
// resource, one column per zone (plimsoll_numa_node of ledger_types.hpp), in one block of memory.
//
// Zone ids may have gaps: columns are the zones in ascending order of their ids, so the lowest
// column is the lowest id, which is what a kubelet prefers among equals.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <string_view>

#include "plugins/topology/abi/ledger_types.hpp"
#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/report/nrt_object.hpp"

namespace plimsoll::topology {

inline constexpr uint32_t kMaxZones = 64;
inline constexpr uint32_t kNoRow = UINT32_MAX;

// Position of a resource in resource vectors: the host's resource_index.
using ResourceIndex = std::function<uint32_t(std::string_view name)>;

// Owns the memory of one plimsoll_numa_node. Movable; not thread-safe for writing.
class NumaNode {
 public:
  NumaNode() = default;
  // `free` begins as the report's `available`. `memory` outlives it: one pool for all nodes keeps
  // them close together, which is what reading thousands of them costs.
  NumaNode(const NrtObject& nrt, const ResourceIndex& index, int64_t reported_ms,
           std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  // Stays where it is when the NumaNode is moved.
  [[nodiscard]] const plimsoll_numa_node& view() const { return block_ ? *view_ : nothing_; }
  [[nodiscard]] plimsoll_numa_node& header() { return block_ ? *view_ : nothing_; }

  // The cell of a resource in a zone; nullptr if the zone does not list it. `free` may be written.
  [[nodiscard]] int64_t* free_cell(uint32_t resource, uint32_t zone_id);
  [[nodiscard]] const int64_t* available_cell(uint32_t resource, uint32_t zone_id) const;
  // By cell: what the report says is available.
  [[nodiscard]] const int64_t* available() const { return available_; }
  // What the report shows as in use in a cell.
  [[nodiscard]] int64_t used(size_t cell) const {
    return std::max<int64_t>(0, add_amounts(view_->allocatable[cell], -available_[cell]));
  }

  // `free` is the report's `available` again.
  void reset_free();

 private:
  struct GiveBack {
    std::pmr::memory_resource* memory;
    size_t bytes;
    void operator()(void* block) const;
  };
  void place(uint32_t zones, uint32_t rows, std::pmr::memory_resource* memory);
  void fill(const NrtObject& nrt, const ResourceIndex& index, std::pmr::memory_resource* memory);
  [[nodiscard]] uint32_t cell_of(uint32_t resource, uint32_t zone_id) const;

  plimsoll_numa_node nothing_{};
  std::unique_ptr<void, GiveBack> block_;  // the header, then what it points to
  plimsoll_numa_node* view_ = nullptr;
  int64_t* free_ = nullptr;
  int64_t* available_ = nullptr;
};

// The row of a resource, or kNoRow.
[[nodiscard]] inline uint32_t row_of(const plimsoll_numa_node& node, uint32_t resource) {
  for (uint32_t row = 0; row < node.resource_count; ++row) {
    if (node.resources[row] == resource) return row;
  }
  return kNoRow;
}

// Asks for what scores read of a node, so that it is there when they do: from `listed` to
// `allocatable` it lies in one piece.
inline void prefetch_cells(const plimsoll_numa_node& node) {
  constexpr uint32_t kLine = 64 / sizeof(int64_t);
  const uint32_t cells = node.zone_count * node.resource_count;
  __builtin_prefetch(node.listed);
  for (uint32_t cell = 0; cell < 2 * cells + kLine; cell += kLine) {
    __builtin_prefetch(node.free + cell);
  }
}

// Every zone of the node.
[[nodiscard]] inline uint64_t all_zones(const plimsoll_numa_node& node) {
  return node.zone_count >= kMaxZones ? ~uint64_t{0} : (uint64_t{1} << node.zone_count) - 1;
}

}  // namespace plimsoll::topology
