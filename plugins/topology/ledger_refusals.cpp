// What a kubelet's refusals teach about a node of which only counts are known.

#include <algorithm>
#include <functional>

#include "plugins/topology/ledger.hpp"

namespace plimsoll::topology {
namespace {

constexpr size_t kMaxRefusals = 8;  // remembered per node
// A kubelet that was reconfigured without its node being drained is tried again after that long,
// and so is one that refused for what no report shows.
constexpr int64_t kWholeCoresMs = 3'600'000;
constexpr int64_t kRefusalMs = 600'000;

bool asks_for_half_cores(const kubelet::PodDemand& pod) {
  return pod.guaranteed &&
         std::any_of(pod.containers.begin(), pod.containers.end(),
                     [](const auto& container) { return container.whole_cpus() % 2 != 0; });
}

}  // namespace

// full-pcpus-only is not in the counts; a kubelet that minds odd numbers has two threads per core
// or more. Whatever else a kubelet minds, it will mind again as long as nothing comes free: without
// that a workload's pods would be bound and refused there one after the other.
void Ledger::learn(NodeRecord& node, const PodRecord& refused, bool whole_cores) {
  if (node.exact || !refused.demand) return;
  if (whole_cores && !node.state.knows_cpus() && asks_for_half_cores(*refused.demand)) {
    node.whole_cores_ms = now_ms_;
    return;
  }
  if (node.refusals.size() == kMaxRefusals) node.refusals.erase(node.refusals.begin());
  node.refusals.push_back({refused.demand, {}, now_ms_});
}

// What is available by the first report after a refusal is too little; one that shows more in some
// zone ends it. Facts say themselves what a kubelet minds.
bool Ledger::unlearn_by_report(NodeRecord& node) {
  bool unlearned = node.whole_cores_ms != 0 && node.state.knows_cpus();
  if (unlearned) node.whole_cores_ms = 0;
  if (node.refusals.empty()) return unlearned;
  const plimsoll_numa_node& zones = node.zones.view();
  const int64_t* available = node.zones.available();
  const std::vector<int64_t> now(available,
                                 available + size_t{zones.zone_count} * zones.resource_count);
  unlearned |=
      std::erase_if(node.refusals, [&](Refusal& refusal) {
        if (node.exact) return true;
        if (refusal.available.empty()) refusal.available = now;
        const std::vector<int64_t>& then = refusal.available;
        return !std::equal(now.begin(), now.end(), then.begin(), then.end(), std::less_equal<>());
      }) > 0;
  return unlearned;
}

int64_t Ledger::unlearn_due(const NodeRecord& node) {
  int64_t due = node.whole_cores_ms != 0 ? node.whole_cores_ms + kWholeCoresMs : INT64_MAX;
  for (const Refusal& refusal : node.refusals) due = std::min(due, refusal.ms + kRefusalMs);
  return due;
}

bool Ledger::unlearn_by_age(NodeRecord& node) {
  bool unlearned = node.whole_cores_ms != 0 && node.whole_cores_ms + kWholeCoresMs <= now_ms_;
  if (unlearned) node.whole_cores_ms = 0;
  unlearned |= std::erase_if(node.refusals, [&](const Refusal& refusal) {
                 return refusal.ms + kRefusalMs <= now_ms_;
               }) > 0;
  return unlearned;
}

Verdict Ledger::learned(const NodeRecord& node, const kubelet::PodDemand& pod) {
  if (node.whole_cores_ms != 0 && asks_for_half_cores(pod)) return Verdict::kNotWholeCores;
  const bool refused =
      std::any_of(node.refusals.begin(), node.refusals.end(),
                  [&](const Refusal& refusal) { return same_demand(*refusal.demand, pod); });
  return refused ? Verdict::kUncertain : Verdict::kFits;
}

}  // namespace plimsoll::topology
