// Which zones pods are in, for those who give out what no kubelet knows of next to what it gives.
// Nothing of the ledger changes.

#include <algorithm>
#include <bit>
#include <plimsoll/views.hpp>

#include "plugins/topology/ledger_history.hpp"

namespace plimsoll::topology {

std::optional<Whereabouts> Ledger::where(uint32_t slot, Inquiry& pod, std::string_view uid,
                                         std::span<const plimsoll_str> without,
                                         std::span<const kubelet::PodDemand* const> with) const {
  if (node(slot) == nullptr || !pod.matters()) return std::nullopt;
  const NodeRecord& node = *slots_[slot];
  const kubelet::NodeModel& model = *node.model;
  const PodKey key = key_of(uid);
  const auto own = std::find_if(node.pods.begin(), node.pods.end(),
                                [&](const PodRecord& record) { return record.key == key; });
  if (own != node.pods.end()) {
    if (own->covered || !own->demand || !own->given || !own->given->admitted()) return std::nullopt;
    return whereabouts_of(model, *own->demand, *own->given);
  }
  if (without.empty()) {
    pod.state = node.since.worlds.front();
  } else {
    std::vector<PodKey> going;
    for (const plimsoll_str& gone : without) going.push_back(key_of(sdk::view(gone)));
    History history(node, going);
    if (!history.is_told()) return std::nullopt;
    history.fold(pod.scratch);
    if (!history.to_steps()) return std::nullopt;
    Outlook outlook = explore(model, history.base, history.subjects, history.steps, pod.scratch);
    if (!outlook.complete) return std::nullopt;
    pod.state = std::move(outlook.worlds.front().state);
  }
  bring(model, pod.state, with, pod.scratch);
  const kubelet::Admission given = admit_and_start(model, pod.state, *pod.demand, pod.scratch);
  if (!given.admitted()) return std::nullopt;
  return whereabouts_of(model, *pod.demand, given);
}

Ledger::Occupied Ledger::occupied(uint32_t slot, std::span<const plimsoll_str> without) const {
  Occupied occupied;
  if (slot >= slots_.size() || slots_[slot] == nullptr) return occupied;
  std::vector<PodKey> going;
  for (const plimsoll_str& uid : without) going.push_back(key_of(sdk::view(uid)));
  for (const PodRecord& pod : slots_[slot]->pods) {
    if (std::find(going.begin(), going.end(), pod.key) != going.end()) continue;
    uint64_t zones = 0;
    for (const Charge& charge : pod.charges) {
      if (charge.amount > 0 && charge.zone_id < 64) zones |= uint64_t{1} << charge.zone_id;
    }
    (std::has_single_bit(zones) ? occupied.by_single : occupied.by_spread) |= zones;
  }
  return occupied;
}

}  // namespace plimsoll::topology
