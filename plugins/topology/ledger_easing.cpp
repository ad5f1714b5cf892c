// When pods that did not fit on a node may fit there: changes that make room, and doubts that end
// by time because no report ends them.

#include <algorithm>

#include "plugins/topology/ledger.hpp"

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

}  // namespace

// The node has one possible state, and nothing under way could change it.
bool Ledger::certain(const NodeRecord& node) {
  const Since& since = node.since;
  return !node.refused_one && node.refusals.empty() && !since.blurred && !since.open_ended &&
         since.worlds.size() <= 1 && since.unbound.empty();
}

// A report without news helps no pod. A report with less free may help (a container then leaves a
// zone to the next one), so any news counts as help.
bool Ledger::eases(const NodeRecord& node, const Before& before) {
  if (before.doubted) return true;
  if (!before.had) return false;  // a node without a report takes every pod
  const Since& was = before.since;
  const Since& is = node.since;
  const bool open = !was.unbound.empty() || !is.unbound.empty() || was.open_ended || is.open_ended;
  const bool same = !open && before.model == node.model && was.blurred == is.blurred &&
                    was.only_starts == is.only_starts && was.unsettled == is.unsettled &&
                    was.worlds == is.worlds;
  return !same || more_free(before.zones, node.zones);
}

// The time from which the report is assumed to count the pod if no other report comes before. Only
// for a pod that its kubelet has accepted: otherwise an earlier report would not be the last.
int64_t Ledger::due_of(const NodeRecord& node, const PodRecord& pod) {
  if (pod.covered || !pod.bound || pod.start_ms == 0) return INT64_MAX;
  // The fingerprint counts this pod or one of the same name. An exporter need not have written a
  // change from one to the other.
  if (pod.alias_until_ms != 0) return std::max(pod.alias_until_ms, pod.start_ms + kDoubtMs);
  const bool may_count = !node.explained && node.zones.view().reported_ms >= pod.start_ms;
  return may_count ? pod.start_ms + kDoubtMs : INT64_MAX;
}

// The time by which a report would have shown that the pod's init containers have ended.
int64_t Ledger::init_due_of(const NodeRecord& node, const PodRecord& pod) {
  const bool waits =
      !pod.init_over && pod.running_ms != 0 && node.exact && node.model->memory_static;
  return waits ? pod.running_ms + kDoubtMs : INT64_MAX;
}

// What remains of the allocation after the pod's containers have started; the same object if
// nothing changes.
std::shared_ptr<const kubelet::Allocation> Ledger::without_init(
    const std::shared_ptr<const kubelet::Allocation>& held) {
  const auto of_init = [](const kubelet::Allocation::Block& block) { return block.init; };
  if (!held || std::none_of(held->blocks.begin(), held->blocks.end(), of_init)) return held;
  auto left = std::make_shared<kubelet::Allocation>(*held);
  std::erase_if(left->blocks, of_init);
  return left;
}

int64_t Ledger::due_of(const NodeRecord& node) {
  if (!node.reported) return INT64_MAX;
  int64_t due = node.refused_one ? node.refused_ms + kDoubtMs : INT64_MAX;
  due = std::min(due, unlearn_due(node));
  if (node.unexplained() && node.doubt_until_ms != 0) due = std::min(due, node.doubt_until_ms);
  for (const PodRecord& pod : node.pods) {
    due = std::min({due, due_of(node, pod), init_due_of(node, pod)});
  }
  return due;
}

void Ledger::set_due(NodeRecord& node) {
  const int64_t due = due_of(node);
  if (due == node.due_ms) return;
  if (node.due_ms != INT64_MAX) due_.erase({node.due_ms, &node});
  if (due != INT64_MAX) due_.emplace(due, &node);
  node.due_ms = due;
}

void Ledger::pass_time(int64_t now_ms) {
  now_ms_ = now_ms;
  ++event_;
  while (!due_.empty() && due_.begin()->first <= now_ms) {
    NodeRecord& node = *due_.begin()->second;
    if (node.refused_one && node.refused_ms + kDoubtMs <= now_ms) node.refused_one = false;
    if (node.doubt_until_ms <= now_ms) node.doubt_until_ms = 0;
    unlearn_by_age(node);
    for (PodRecord& pod : node.pods) {
      if (due_of(node, pod) <= now_ms) cover(pod, stats_.settled_by_age, true);
      if (init_due_of(node, pod) <= now_ms) {
        pod.held = without_init(pod.held);
        pod.init_over = true;
      }
    }
    replan(node);
    touch(node, Ease::kYes);
    if (node.slot != UINT32_MAX) freed_.push_back(node.slot);
  }
}

}  // namespace plimsoll::topology
