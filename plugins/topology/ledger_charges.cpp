// What pods are charged in their node's zones: where reports show them, or where the kubelet most
// likely puts them.

#include <algorithm>

#include "plugins/topology/amount.hpp"
#include "plugins/topology/ledger.hpp"
#include "plugins/topology/placement.hpp"

namespace plimsoll::topology {

// `free` from the report and everything that is charged or refunded. What is taken comes last: at
// the ends of the range of amounts a zone then has less than it seems to have, never more.
void Ledger::refresh(NodeRecord& node) {
  if (!node.reported) return;
  node.zones.reset_free();
  for (const GonePod& gone : node.gone) {
    if (!gone.refund) continue;
    for (const Charge& one : gone.charges) {
      int64_t* cell = node.zones.free_cell(one.resource, one.zone_id);
      if (cell != nullptr) *cell = add_amounts(*cell, one.visible);
    }
  }
  for (const PodRecord& pod : node.pods) charge(node, pod);
}

// Takes what a pod is charged now from what is free.
void Ledger::charge(NodeRecord& node, const PodRecord& pod) {
  for (const Charge& one : pod.charges) {
    int64_t* cell = node.zones.free_cell(one.resource, one.zone_id);
    if (cell != nullptr) *cell = add_amounts(*cell, -(pod.covered ? one.held : one.amount));
  }
}

// Where a pod is that was bound before this ledger heard of it: as its annotation says, or else
// where it most likely is. Needs a report.
void Ledger::settle_place(NodeRecord& node, PodRecord& pod) {
  Placement placement;
  placement.complete = false;
  if (!pod.named.empty()) {
    placement = placement_of(pod.named, *pod.request, node.zones.view(), scratch_);
    pod.named = {};
  }
  pod.trusted = pod.annotated = placement.complete;
  if (!placement.complete) {
    placement = predict(*pod.request, node.zones.view(), Doubt::kCharge, scratch_);
  }
  pod.charges = std::move(placement.charges);
}

// Pods that were heard of before the node's first report. They are charged in the order in which
// they came, as if the report had been there.
void Ledger::settle_places(NodeRecord& node) {
  for (PodRecord& pod : node.pods) {
    if (!pod.bound || !pod.charges.empty() || pod.named.empty() || !pod.request) continue;
    settle_place(node, pod);
    if (!pod.charges.empty()) ++pending_;
    charge(node, pod);
  }
}

// What one promised pod is charged, where the kubelet most likely puts it.
void Ledger::plan(NodeRecord& node, PodRecord& pod, Placement* placement) {
  if (!pod.charges.empty()) --pending_;
  Placement made;
  if (pod.given) {
    made = placement_given(*node.model, *pod.demand, *pod.given, node.zones.view());
  } else if (pod.request) {
    made = predict(*pod.request, node.zones.view(), Doubt::kCharge, scratch_);
    // By counts alone a kubelet may be thought to refuse what it takes.
    if (!node.exact && !node.since.blurred) overdraw(node, made.charges);
  }
  pod.charges = made.charges;
  if (!pod.charges.empty()) ++pending_;
  charge(node, pod);
  if (placement != nullptr) *placement = std::move(made);
}

// Takes charges from all worlds, as far as they have that much.
void Ledger::overdraw(NodeRecord& node, const std::vector<Charge>& charges) {
  const kubelet::NodeModel& model = *node.model;
  for (kubelet::NodeState& world : node.since.worlds) {
    for (const Charge& charge : charges) {
      const auto zone = std::find(model.zone_ids.begin(), model.zone_ids.end(), charge.zone_id);
      if (zone == model.zone_ids.end()) continue;
      const auto column = static_cast<size_t>(zone - model.zone_ids.begin());
      int64_t* free = nullptr;
      int64_t amount = charge.amount;
      if (charge.resource == kubelet::kCpuResource) {
        if (!world.knows_cpus()) free = &world.cpu(model)[column];
        amount /= 1000;
      } else if (const uint32_t row = model.memory_row(charge.resource);
                 row != kubelet::kNoResourceRow) {
        free = &world.memory(model, row)[column];
      } else if (const uint32_t device = model.device_row(charge.resource);
                 device != kubelet::kNoResourceRow && !model.devices[device].listed()) {
        free = &world.devices(model, device)[column];
      }
      if (free != nullptr) *free = std::max<int64_t>(0, *free - amount);
    }
  }
}

// What happened since the report played again, and the promises of the node predicted anew.
void Ledger::replan(NodeRecord& node, const PodRecord* asked, Placement* placement) {
  if (!node.reported) return;
  play(node);
  std::vector<PodRecord*> promised;
  for (PodRecord& pod : node.pods) {
    if (pod.covered || pod.annotated || (!pod.request && !pod.given)) continue;
    if (!pod.charges.empty()) --pending_;
    pod.charges.clear();
    promised.push_back(&pod);
  }
  refresh(node);
  std::stable_sort(promised.begin(), promised.end(), [](const PodRecord* a, const PodRecord* b) {
    return a->order_ms < b->order_ms;
  });
  for (PodRecord* pod : promised) plan(node, *pod, pod == asked ? placement : nullptr);
}

}  // namespace plimsoll::topology
