#include "plugins/topology/ledger/ledger.hpp"

#include <algorithm>

#include "plugins/topology/record/places.hpp"

namespace plimsoll::topology {
namespace {

// Whether some zone has more of a resource than before, or the zones' policy changed.
bool more_free(const NumaNode& before, const NumaNode& now) {
  const plimsoll_numa_node& was = before.view();
  const plimsoll_numa_node& is = now.view();
  if (was.policy != is.policy || was.scope != is.scope || was.zone_count != is.zone_count ||
      was.resource_count != is.resource_count || was.max_numa_nodes != is.max_numa_nodes) {
    return true;
  }
  const size_t cells = size_t{is.zone_count} * is.resource_count;
  return !std::equal(is.zone_ids, is.zone_ids + is.zone_count, was.zone_ids) ||
         !std::equal(is.resources, is.resources + is.resource_count, was.resources) ||
         !std::equal(is.listed, is.listed + is.resource_count, was.listed) ||
         !std::equal(is.free, is.free + cells, was.free,
                     [](int64_t now_free, int64_t then) { return now_free <= then; });
}

// When pods will have waited for so long that their order may be doubted (doubt_order).
int64_t doubt_begins(const NodeRecord& node, int64_t now_ms) {
  int64_t begins = INT64_MAX;
  const kubelet::PodDemand* demand = nullptr;
  bool differ = false;
  for (const PodRecord& pod : node.pods) {
    if (!node.report.there || !pod.waits()) continue;
    differ = differ || (demand != nullptr && demand != pod.demand.get());
    demand = pod.demand.get();
    const int64_t quick = pod.since_ms + kQuickKubeletMs;
    if (pod.moment.fresh && quick >= now_ms) begins = std::min(begins, quick + 1);
  }
  return differ ? begins : INT64_MAX;
}

}  // namespace

void Ledger::count(NodeRecord& node) {
  using Doubt = NodeRecord::Doubt;
  const auto promises = static_cast<uint32_t>(std::count_if(
      node.pods.begin(), node.pods.end(), [](const PodRecord& pod) { return pod.promised(); }));
  stats_.promises += promises - uint64_t{node.promises};
  node.promises = promises;
  const auto sum_of = [this](Doubt doubt) -> uint64_t& {
    return doubt == Doubt::kOrder     ? stats_.uncertain_order
           : doubt == Doubt::kUnknown ? stats_.uncertain_unknown
           : doubt == Doubt::kAway    ? stats_.uncertain_away
           : doubt == Doubt::kGone    ? stats_.uncertain_gone
                                      : stats_.uncertain_refused;
  };
  const Doubt doubt = node.doubt_now();
  if (doubt == node.doubt) return;
  if (node.doubt == Doubt::kNone) node.doubt_since_ms = now_ms_;
  if (node.doubt != Doubt::kNone) --sum_of(node.doubt);
  if (doubt != Doubt::kNone) ++sum_of(doubt);
  if (doubt == Doubt::kNone) {
    if (node.told_uncertain.load(std::memory_order_relaxed)) {
      changes_.certain.push_back({node.name, node.doubt, now_ms_ - node.doubt_since_ms});
    }
    node.doubt_since_ms = 0;
  }
  node.doubt = doubt;
}

// When the node's next doubt ends by time; INT64_MAX: none does.
int64_t Ledger::doubts_end(const NodeRecord& node) {
  if (node.awaited_until_ms != 0) return node.awaited_until_ms;
  if (!node.report.there) return INT64_MAX;
  const int64_t back = node.report.kubelet_away ? node.away_until_ms : INT64_MAX;
  return std::min({back, node.lessons.due_ms(), Settler::due_ms(node)});
}

void Ledger::set_due(NodeRecord& node) {
  const int64_t due = std::min(doubts_end(node), doubt_begins(node, now_ms_));
  if (due == node.due_ms) return;
  if (node.due_ms != INT64_MAX) due_.erase({node.due_ms, &node});
  if (due != INT64_MAX) due_.emplace(due, &node);
  node.due_ms = due;
}

void Ledger::look(NodeRecord& node) {
  node.beside.store(NodeRecord::Beside::kUnknown, std::memory_order_relaxed);
  if (node.slot == UINT32_MAX) return;
  node.report.zones.header().promises = node.promises;
  node.report.zones.header().leaving = static_cast<uint32_t>(
      std::count_if(node.gone.begin(), node.gone.end(), [](const GonePod& gone) {
        return gone.pod.covered && !gone.pod.located() && gone.pod.request != nullptr;
      }));
  glances_.look(node);
}

void Ledger::touch(NodeRecord& node, Ease ease) {
  count(node);
  set_due(node);
  node.change = ++change_;
  if (ease == Ease::kYes) {
    node.eased = event_;
    // Pods that wait for more certainty may be tried again.
    if (node.certain()) node.told_uncertain.store(false, std::memory_order_relaxed);
  }
  look(node);
  if (node.slot != UINT32_MAX) changes_.slots.push_back(node.slot);
}

void Ledger::forget_if_idle(NodeRecord& node) {
  if (node.slot != UINT32_MAX || node.report.there || node.malformed || !node.pods.empty() ||
      !node.claims.empty()) {
    return;
  }
  node.since = {};
  node.lessons = {};
  count(node);
  set_due(node);
  nodes_.erase(node);
}

Ledger::Changes Ledger::take_changes() {
  Changes changes;
  take_changes(changes);
  return changes;
}

void Ledger::take_changes(Changes& into) {
  const auto take = [](auto& there, auto& own) {
    there.clear();
    there.swap(own);
  };
  take(into.slots, changes_.slots);
  take(into.freed, changes_.freed);
  take(into.certain, changes_.certain);
  take(into.misplaced, changes_.misplaced);
  std::sort(into.slots.begin(), into.slots.end());
  into.slots.erase(std::unique(into.slots.begin(), into.slots.end()), into.slots.end());
}

void Ledger::node_added(std::string_view name, uint32_t slot, int64_t report_until_ms,
                        NodeIdentity identity) {
  ++event_;
  if (const NodeRecord* known = nodes_.find(name); known != nullptr && known->slot != slot) {
    node_removed(name);
  }
  NodeRecord& node = nodes_.made(name);
  nodes_.put(node, slot);
  if (node.identity.uid != identity.uid) node.made_again = !node.identity.uid.empty();
  node.identity = std::move(identity);
  node.awaited_until_ms = node.report.there ? node.outlived_until_ms(now_ms_)
                          : node.malformed  ? 0
                                            : report_until_ms;
  touch(node, Ease::kYes);
}

void Ledger::node_removed(std::string_view name) {
  NodeRecord* node = nodes_.find(name);
  if (node == nullptr || node->slot == UINT32_MAX) return;
  glances_.remove(node->slot);
  nodes_.take_slot(*node);
  node->awaited_until_ms = 0;
  node->report_gone = false;
  count(*node);
  set_due(*node);
  forget_if_idle(*node);
}

void Ledger::report(const NrtObject& nrt, int64_t now_ms) {
  now_ms_ = now_ms;
  ++event_;
  NodeRecord& node = nodes_.made(nrt.name);
  if (node.report.there && !nrt.resource_version.empty() &&
      node.report.version == nrt.resource_version) {
    return;  // a relist: the same object again
  }
  ++stats_.reports;
  const bool doubted = node.malformed || node.stopped() || node.lost_track;
  if (node.report.there && node.awaited_until_ms != 0) forget_report(node);  // an earlier Node's
  const NodeReport before = std::move(node.report);
  const Since since = std::move(node.since);
  node.report = reader_.read(nrt, before, now_ms);
  node.awaited_until_ms = node.outlived_until_ms(now_ms);
  if (node.report.kubelet_away && !before.kubelet_away) {
    node.away_until_ms = std::min(node.report.zones.view().reported_ms, now_ms) + kAwayMs;
  }
  node.new_report = true;
  node.malformed = node.lost_track = node.report_gone = false;
  if (before.model != node.report.model) forget_places(node);
  if (!before.there) {
    // Pods that left before the ledger knew the node are unknown.
    node.doubt_until_ms = now_ms + kDoubtMs;
    for (PodRecord& pod : node.pods) planner_.place_as_named(node, pod);
  }
  if (node.doubt_until_ms <= now_ms) node.doubt_until_ms = 0;
  settler_.settle_report(node, now_ms);
  const bool unlearned = node.lessons.unlearn(node.report);
  planner_.replan(node);
  // A report without news helps no pod. A report with less free may help (a container then leaves a
  // zone to the next one), so any news counts as help. So does a first report: pods may have waited
  // for it.
  const bool same = since.clear() && node.since.clear() && before.model == node.report.model &&
                    since.likely == node.since.likely;
  const bool eases =
      doubted || unlearned || !before.there || !same || more_free(before.zones, node.report.zones);
  touch(node, eases ? Ease::kYes : Ease::kNo);
}

void Ledger::report_deleted(std::string_view node_name, int64_t report_until_ms) {
  ++event_;
  NodeRecord* node = nodes_.find(node_name);
  if (node == nullptr || (!node->report.there && !node->malformed)) return;
  const bool outlived = node->report.there && node->awaited_until_ms != 0;
  node->awaited_until_ms = outlived ? report_until_ms : 0;
  forget_report(*node);
  node->report_gone = !outlived && node->slot != UINT32_MAX;
  touch(*node, Ease::kYes);
  forget_if_idle(*node);
}

void Ledger::forget_report(NodeRecord& node) {
  node.report = {};
  node.malformed = node.lost_track = false;
  node.lessons = {};
  node.doubt_until_ms = 0;
  node.crowd = 0;
  node.since = {};
  node.gone.clear();
  for (PodRecord& pod : node.pods) {  // without the report, no pod is covered
    pod.covered = false;
    pod.line = kNoLine;
    pod.given = nullptr;
  }
}

bool Ledger::report_malformed(std::string_view node_name) {
  ++event_;
  NodeRecord& node = nodes_.made(node_name);
  if (node.report.there) return false;
  if (!node.malformed) {
    node.malformed = true;
    node.report_gone = false;
    node.awaited_until_ms = 0;
    touch(node, Ease::kNo);
  }
  return true;
}

// Who says that the kubelet is away says no more. It takes what waits for it in an order that
// nobody knows.
void Ledger::end_absence(NodeRecord& node) {
  node.report.kubelet_away = false;
  for (PodRecord& pod : node.pods) {
    if (pod.waits()) pod.moment.fresh = false;
  }
  reader_.warnings.push_back("NodeResourceTopology " + node.name + ": kubeletState is away for " +
                             std::to_string(kAwayMs / 60'000) +
                             " minutes: it does not count any more; does plimsoll-node run there?");
}

void Ledger::pass_time(int64_t now_ms) {
  now_ms_ = now_ms;
  ++event_;
  while (!due_.empty() && due_.begin()->first <= now_ms) {
    NodeRecord& node = *due_.begin()->second;
    const bool ends = doubts_end(node) <= now_ms;
    if (node.awaited_until_ms != 0 && ends) {  // no report will come
      node.awaited_until_ms = 0;
      touch(node, Ease::kYes);
      if (node.slot != UINT32_MAX) changes_.freed.push_back(node.slot);
      continue;
    }
    if (!doubt_order(node) && !ends) {
      set_due(node);
      continue;
    }
    if (node.report.kubelet_away && node.away_until_ms <= now_ms) end_absence(node);
    node.lessons.pass_time(now_ms);
    settler_.pass_time(node, now_ms);
    planner_.replan(node);
    touch(node, ends ? Ease::kYes : Ease::kNo);
    if (ends && node.slot != UINT32_MAX) changes_.freed.push_back(node.slot);
  }
}

}  // namespace plimsoll::topology
