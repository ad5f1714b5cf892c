#pragma once
// What a node has of each resource, read from its row or from the columns of the cluster. Code that
// is written once for both gives the same result for both.

#include <plimsoll/plugin.hpp>

#include <algorithm>
#include <cstdint>

#include "plugins/builtin/columns/column_loops.hpp"

namespace plimsoll::builtin {

class RowAmounts {
 public:
  explicit RowAmounts(sdk::Node node) : node_(node) {}
  [[nodiscard]] int64_t allocatable(uint32_t resource) const { return node_.allocatable(resource); }
  [[nodiscard]] int64_t requested(uint32_t resource) const { return node_.requested(resource); }
  [[nodiscard]] int64_t nonzero_cpu() const { return node_->nonzero_cpu; }
  [[nodiscard]] int64_t nonzero_memory() const { return node_->nonzero_memory; }
  [[nodiscard]] int64_t pod_count() const { return node_->pod_count; }

 private:
  sdk::Node node_;
};

// Only of resources that have_arrays().
class SlotAmounts {
 public:
  SlotAmounts(const plimsoll_columns& columns, uint32_t slot) : columns_(columns), slot_(slot) {}
  [[nodiscard]] int64_t allocatable(uint32_t resource) const {
    return columns_.allocatable[resource][slot_];
  }
  [[nodiscard]] int64_t requested(uint32_t resource) const {
    return columns_.requested[resource][slot_];
  }
  [[nodiscard]] int64_t nonzero_cpu() const { return columns_.nonzero_cpu[slot_]; }
  [[nodiscard]] int64_t nonzero_memory() const { return columns_.nonzero_memory[slot_]; }
  [[nodiscard]] int64_t pod_count() const { return columns_.pod_count[slot_]; }

 private:
  const plimsoll_columns& columns_;
  uint32_t slot_;
};

// Whether the nodes come with columns that know of these resources (a list of anything that has an
// `index`).
template <typename Resources>
[[nodiscard]] bool have_arrays(sdk::Nodes nodes, const Resources& resources) {
  const plimsoll_columns* columns = nodes.columns();
  return columns != nullptr && columns->resource_count > PLIMSOLL_RESOURCE_PODS &&
         std::all_of(resources.begin(), resources.end(), [columns](const auto& resource) {
           return resource.index < columns->resource_count;
         });
}

// visit(at, count, slot) for each run of neighbours: rows `at` and on, `count` of them, are in the
// slots from `slot` on. Mostly it is all of them.
template <typename Visit>
void for_each_run(std::span<const uint32_t> slots, const Visit& visit) {
  for (size_t at = 0; at < slots.size();) {
    const size_t count = run_length(slots.data() + at, slots.size() - at);
    visit(at, count, slots[at]);
    at += count;
  }
}

// visit(i, amounts) for each node.
template <typename Resources, typename Visit>
void for_each_amounts(sdk::Nodes nodes, const Resources& resources, const Visit& visit) {
  if (have_arrays(nodes, resources)) {
    const auto slots = nodes.slots();
    for (size_t i = 0; i < slots.size(); ++i) visit(i, SlotAmounts(*nodes.columns(), slots[i]));
  } else {
    for (size_t i = 0; i < nodes.size(); ++i) visit(i, RowAmounts(nodes[i]));
  }
}

}  // namespace plimsoll::builtin
