#pragma once
// What questions read of every node first, close together in memory: a node's view, the counts of
// the one state in which it may be, and the columns of alike nodes (zone_columns.hpp). Internal to
// the ledger. look() on the loop while nobody reads; the rest any thread.

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "plugins/topology/columns/zone_columns.hpp"
#include "plugins/topology/record/node_record.hpp"

namespace plimsoll::topology {

struct Glance {
  const plimsoll_numa_node* view = nullptr;  // null: no report
  const kubelet::NodeModel* model = nullptr;
  const int64_t* counts = nullptr;  // of the only state; null: it is not that simple
  uint32_t count = 0;
  kubelet::Brief brief;
  bool leaving = false;
  bool claims = false;  // some have a part of its zones

  // The zone that a plain pod gets where QuickPlan::zone_of decides; or kNoZone. `plan`: that of
  // the node, set if it was needed.
  [[nodiscard]] uint32_t zone_of(Inquiry& pod, const kubelet::QuickPlan*& plan) const {
    if (counts == nullptr) return kubelet::QuickPlan::kNoZone;
    plan = &pod.plans.of(*model, *pod.demand);
    if (!plan->is_plain() || plan->says_nothing(brief)) return kubelet::QuickPlan::kNoZone;
    return plan->zone_of(counts);
  }
};

class Glances {
 public:
  static constexpr size_t kLine = 64;  // bytes of memory that are read at once
  Glances() = default;
  Glances(const Glances&) = delete;
  Glances& operator=(const Glances&) = delete;

  // The node changed; it has a slot.
  void look(const NodeRecord& node);
  void remove(uint32_t slot);

  // Valid until the next change.
  [[nodiscard]] const Glance& at(uint32_t slot) const {
    return slot < glances_.size() ? glances_[slot] : nothing_;
  }
  // Asks for the counts of a node that is looked at soon.
  void prefetch(uint32_t slot) const {
    const Glance& glance = at(slot);
    constexpr uint32_t kCells = kLine / sizeof(int64_t);
    for (uint32_t cell = 0; glance.counts != nullptr && cell < glance.count; cell += kCells) {
      __builtin_prefetch(glance.counts + cell);
    }
  }
  [[nodiscard]] const ZoneColumns& columns() const { return columns_; }

 private:
  struct Cells {
    int64_t* cells = nullptr;  // of memory_
    uint32_t count = 0;
  };

  // In few large blocks, so that it lies close together.
  std::pmr::unsynchronized_pool_resource memory_{{0, size_t{16} << 10}};
  Glance nothing_;
  std::vector<Glance> glances_;  // by slot
  std::vector<Cells> cells_;     // by slot
  ZoneColumns columns_;
};

}  // namespace plimsoll::topology
