#include "plugins/topology/ledger/planner.hpp"

#include <algorithm>
#include <utility>

#include "plugins/topology/ask/timeline.hpp"
#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/possible/arrival.hpp"
#include "plugins/topology/possible/room.hpp"
#include "plugins/topology/record/zones_annotation.hpp"

namespace plimsoll::topology {
namespace {

// Takes what is charged, or only what reports do not show of it.
void take(NumaNode& zones, const std::vector<Charge>& charges, bool shown) {
  for (const Charge& one : charges) {
    int64_t* cell = zones.free_cell(one.resource, one.zone_id);
    if (cell != nullptr) *cell = add_amounts(*cell, -(shown ? one.held : one.amount));
  }
}

// `free` from the report and everything that is charged or given back. What is taken comes last: at
// the ends of the range of amounts a zone then has less than it seems to have, never more.
void refresh(NodeRecord& node) {
  NumaNode& zones = node.report.zones;
  zones.reset_free();
  for (const GonePod& gone : node.gone) {
    if (!gone.pod.located()) continue;
    for (const Charge& one : gone.pod.charges) {
      int64_t* cell = zones.free_cell(one.resource, one.zone_id);
      if (cell != nullptr) *cell = add_amounts(*cell, one.amount);
    }
  }
  for (const auto& [again, charges] : node.claims) take(zones, charges, /*shown=*/true);
  for (const PodRecord& pod : node.pods) Planner::charge(node, pod);
}

// Whether one of the refused pods, whose order is known, had a place before this report: the report
// took it away.
bool is_surprise(const NodeRecord& node, std::span<const size_t> refused,
                 std::span<const PodKey> placed) {
  return node.report.exact && std::any_of(refused.begin(), refused.end(), [&](size_t at) {
           return std::find(placed.begin(), placed.end(), node.pods[at].key) != placed.end();
         });
}

}  // namespace

void Planner::charge(NodeRecord& node, const PodRecord& pod) {
  take(node.report.zones, pod.charges, pod.covered);
}

void Planner::place_as_named(NodeRecord& node, PodRecord& pod) {
  if (pod.named.empty() || !pod.request || pod.whole) return;
  Placement placement = placement_of(pod.named, *pod.request, node.report.zones.view(), scratch_);
  pod.named = {};
  pod.trusted = pod.annotated = placement.complete;
  if (placement.complete) pod.charges = std::move(placement.charges);
}

// What one promised pod is charged, where the kubelet most likely puts it.
void Planner::plan(NodeRecord& node, PodRecord& pod, Placement* placement) {
  const plimsoll_numa_node& zones = node.report.zones.view();
  Placement made;
  if (pod.given) {
    made = placement_given(*node.report.model, *pod.demand, *pod.given, zones);
  } else if (may_hold(*node.report.model, *pod.demand)) {
    made = placement_somewhere(*node.report.counts, *pod.demand, zones, kubelet_scratch_);
  }
  pod.charges = made.charges;
  charge(node, pod);
  if (placement != nullptr) *placement = std::move(made);
}

// Whether there are too many pods to play. Nothing is known of them then but that they are there.
bool Planner::is_crowded(NodeRecord& node) {
  const auto crowd =
      static_cast<size_t>(std::count_if(node.pods.begin(), node.pods.end(), [](const auto& pod) {
        return !pod.covered && pod.demand;
      }));
  const bool is_news = node.crowd == 0 || node.new_report;
  node.crowd = crowd > kMostInOrder ? crowd : 0;
  if (node.crowd == 0) return false;
  if (!is_news) return true;
  node.new_report = node.surprised = false;
  node.since = {};
  node.since.likely = node.report.state;
  node.since.unclear = true;
  for (PodRecord& pod : node.pods) {
    if (!pod.covered) pod.given = nullptr;
  }
  refresh(node);
  return true;
}

void Planner::replan(NodeRecord& node, const PodRecord* asked, Placement* placement) {
  if (!node.report.there || is_crowded(node)) return;
  play(node);
  std::vector<PodRecord*> promised;
  for (PodRecord& pod : node.pods) {
    if (pod.covered || pod.annotated || !pod.demand) continue;
    pod.charges.clear();
    promised.push_back(&pod);
  }
  refresh(node);
  std::stable_sort(promised.begin(), promised.end(), [](const PodRecord* a, const PodRecord* b) {
    return a->order_ms < b->order_ms;
  });
  for (PodRecord* pod : promised) plan(node, *pod, pod == asked ? placement : nullptr);
}

// Sets node.since, and in every promised pod its most likely allocation.
void Planner::play(NodeRecord& node) {
  std::vector<PodKey> placed;  // before this report
  const bool new_report = std::exchange(node.new_report, false);
  if (new_report) node.surprised = false;
  for (PodRecord& pod : node.pods) {
    if (pod.covered) continue;
    if (new_report && pod.given) placed.push_back(pod.key);
    pod.given = nullptr;
  }
  replayed_ += node.pods.size();
  Timeline::Given given(node.pods.size());
  std::vector<size_t> refused;
  node.since = Timeline(node, {}).replay(kubelet_scratch_, &given, &refused);
  if (is_surprise(node, refused, placed)) {
    node.surprised = true;
    node.since = Timeline(node, {}).replay(kubelet_scratch_);
    return;
  }
  for (size_t i = 0; i < given.size(); ++i) node.pods[i].given = std::move(given[i]);
}

void Planner::append(NodeRecord& node, Placement& placement) {
  PodRecord& pod = node.pods.back();
  if (shortcuts_ && pod.demand && admit_last(node, pod)) return plan(node, pod, &placement);
  replan(node, &pod, &placement);
}

// Admits a pod whose binding is under way, after all others of the node, without a full replay.
// Returns false if that is not enough.
bool Planner::admit_last(NodeRecord& node, PodRecord& pod) {
  Since& since = node.since;
  if (!may_hold(*node.report.model, *pod.demand)) return true;
  if (since.unclear || Timeline::may_start(node, *pod.demand)) return false;
  kubelet::NodeState after = since.likely;
  auto given = admissions_.admit(*node.report.model, after, pod.demand, kubelet_scratch_);
  if (!given->admitted()) return false;
  if (since.clear()) since.sure = std::move(since.likely);
  since.likely = std::move(after);
  since.under_way.push_back({pod.key, pod.demand});
  pod.given = std::move(given);
  return true;
}

bool Planner::bind(NodeRecord& node, PodRecord& pod) {
  const Bound bound = shortcuts_ ? bind_first(node, pod) : Bound::kUnclear;
  if (bound == Bound::kUnclear) replan(node);
  return bound == Bound::kAsItWas;
}

// Handles a pod whose binding was just seen, without a full replay: the kubelet admits it before
// all that are still under way. If it was not the first to be promised its zones, those that were
// have to be the same to the kubelet: then they change places. kUnclear: more happened, or may
// have.
Planner::Bound Planner::bind_first(NodeRecord& node, PodRecord& pod) {
  Since& since = node.since;
  const bool last = pod.moment.version == 0 || pod.moment.version > since.version;
  if (!since.bound.empty() || since.grows != Grows::kNo || !pod.moment.fresh || !last) {
    return Bound::kUnclear;
  }
  auto& under_way = since.under_way;
  const auto own = std::find_if(under_way.begin(), under_way.end(),
                                [&](const auto& each) { return each.key == pod.key; });
  if (own == under_way.end() || Timeline::may_start(node, *pod.demand)) return Bound::kUnclear;
  const auto same = [&](const auto& each) { return same_demand(*each.demand, *pod.demand); };
  if (!std::all_of(under_way.begin(), own, same)) return Bound::kUnclear;
  const auto given =
      admissions_.admit(*node.report.model, since.sure, pod.demand, kubelet_scratch_);
  if (!given->admitted()) return Bound::kUnclear;  // what follows replays everything
  // It gets what the first of them was promised, and the others move on by one.
  const bool moved = own != under_way.begin();
  for (auto at = own; at != under_way.begin();) {
    --at;
    PodRecord* before = node.find(at->key);
    std::swap(before->given, pod.given);
    std::swap(before->charges, pod.charges);
  }
  under_way.erase(own);
  since.version = std::max(since.version, pod.moment.version);
  if (since.clear()) since.sure = {};
  return moved ? Bound::kMoved : Bound::kAsItWas;
}

}  // namespace plimsoll::topology
