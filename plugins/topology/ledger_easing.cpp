// When pods that a node could not take may fit there: what a change makes easier, and doubts that
// end by time because no report ends them.

#include <algorithm>

#include "plugins/topology/ledger.hpp"

namespace plimsoll::topology {
namespace {

// Whether some zone has more of something than before, or the zones follow another rule.
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

// One state, and nothing under way that could make it another.
bool Ledger::certain(const NodeRecord& node) {
  const Since& since = node.since;
  return !node.refused_one && node.refusals.empty() && !since.blurred && !since.open_ended &&
         since.worlds.size() <= 1 && since.unbound.empty();
}

// A report that says what was known already helps nobody. That less is free may help (a container
// then leaves a zone to the next one), so anything new is taken as help.
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

// When the pod counts as counted by the report, if no other comes before. Only of a pod that its
// kubelet has taken: of that, a report that came before would not be the last.
int64_t Ledger::due_of(const NodeRecord& node, const PodRecord& pod) {
  if (pod.covered || !pod.bound || pod.start_ms == 0) return INT64_MAX;
  // The fingerprint counts this pod or its namesake, and of a change from one to the other an
  // exporter need not have said anything.
  if (pod.alias_until_ms != 0) return std::max(pod.alias_until_ms, pod.start_ms + kDoubtMs);
  const bool may_count = !node.explained && node.zones.view().reported_ms >= pod.start_ms;
  return may_count ? pod.start_ms + kDoubtMs : INT64_MAX;
}

// When a report would have shown that its init containers are over.
int64_t Ledger::init_due_of(const NodeRecord& node, const PodRecord& pod) {
  const bool waits =
      !pod.init_over && pod.running_ms != 0 && node.exact && node.model->memory_static;
  return waits ? pod.running_ms + kDoubtMs : INT64_MAX;
}

// What is left of it once the pod's containers have started; itself, if that is all of it.
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
