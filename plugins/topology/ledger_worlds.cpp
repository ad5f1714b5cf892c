// The possible states of a node since its report: the events are replayed with the kubelet's
// algorithm.

#include <algorithm>
#include <span>
#include <utility>

#include "plugins/topology/amount.hpp"
#include "plugins/topology/ledger_history.hpp"
#include "plugins/topology/placement.hpp"
#include "plugins/topology/room.hpp"

namespace plimsoll::topology {

using kubelet::NodeState;

// Too much may have happened: only the least that may be free is known.
void Ledger::blur(NodeRecord& node) {
  Since& since = node.since;
  since = {};
  since.blurred = true;
  since.worlds.push_back(least_state(node));
  for (const PodRecord& pod : node.pods) {
    if (!pod.covered && pod.demand) since.unsettled.push_back(pod.demand);
  }
}

// It is unknown which pods the report counts.
bool Ledger::report_unclear(const NodeRecord& node) {
  if (node.lost_track) return true;
  if (!node.unexplained()) return false;
  // It may count pods that are gone: then more is free than it shows.
  if (node.doubt_until_ms != 0) return true;
  return std::any_of(node.pods.begin(), node.pods.end(),
                     [](const PodRecord& pod) { return !pod.covered && pod.demand != nullptr; });
}

// The pods in `refused` are refused in every order. True if any of them had a place before the
// report, which the report took away: then more was freed than is known, until a report shows it or
// the kubelet refuses the pods after all. False: the refusal shows something about the node's
// kubelet.
bool Ledger::is_surprise(NodeRecord& node, std::span<const size_t> refused,
                         std::span<const PodKey> placed) {
  if (!node.exact || refused.empty()) return false;
  node.surprised =
      node.surprised || std::any_of(refused.begin(), refused.end(), [&](size_t at) {
        return std::find(placed.begin(), placed.end(), node.pods[at].key) != placed.end();
      });
  return node.surprised;
}

// Sets `given` of the only pod that came since the report, if memory that is freed makes no
// difference to it. The pod is then where the report alone puts it.
void Ledger::place_only(NodeRecord& node, const History& history) {
  if (history.events.empty()) return;
  const uint32_t subject = history.events.front().subject;
  const auto another = [&](const History::Event& event) {
    return event.subject != subject || event.kind == Step::Kind::kRelease;
  };
  const std::shared_ptr<const kubelet::PodDemand>& demand = history.demands[subject];
  if (history.pods[subject] == History::kNoPod || !demand ||
      std::any_of(history.events.begin(), history.events.end(), another) ||
      !more_memory_changes_nothing(*node.model, node.state, *demand)) {
    return;
  }
  NodeState state = node.state;
  auto given = std::make_shared<kubelet::Admission>(
      admit_and_start(*node.model, state, *demand, kubelet_scratch_));
  if (given->admitted()) node.pods[history.pods[subject]].given = std::move(given);
}

// Sets node.since, and in every promised pod its most likely allocation.
void Ledger::play(NodeRecord& node) {
  Since& since = node.since;
  since = {};
  std::vector<PodKey> placed;  // before this report
  const bool new_report = std::exchange(node.new_report, false);
  for (PodRecord& pod : node.pods) {
    if (pod.covered) continue;
    if (new_report && pod.given) placed.push_back(pod.key);
    pod.given = nullptr;
  }
  if (!node.reported) return;
  if (report_unclear(node)) return blur(node);  // at start this runs for every pod event
  History history(node, {});
  if (!history.is_told()) {
    blur(node);
    const bool only_starts = history.starts_unknown && !history.unknown && !history.late;
    since.only_starts = only_starts && history.events.empty();
    if (only_starts) place_only(node, history);
    return;
  }
  history.fold(kubelet_scratch_);
  const auto keep = [&](const std::vector<std::shared_ptr<const kubelet::Admission>>& given) {
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i] && history.pods[i] != History::kNoPod) {
        node.pods[history.pods[i]].given = given[i];
      }
    }
  };
  keep(history.given);
  since.open_ended = history.open_ended;
  if (history.open_ended) {
    if (history.to_steps()) {
      since.subjects = std::move(history.subjects);
      since.demands = std::move(history.demands);
      since.steps = std::move(history.steps);
    }
    history.drop_options();
  }
  if (history.events.empty()) {
    if (is_surprise(node, history.refused({}), placed)) return blur(node);
    since.worlds.push_back(std::move(history.base));
    return;
  }
  Outlook outlook;
  outlook.complete = history.to_steps();
  if (outlook.complete) {
    outlook = explore(*node.model, history.base, history.subjects, history.steps, kubelet_scratch_);
  }
  if (!outlook.complete) return blur(node);
  if (is_surprise(node, history.refused(outlook.worlds), placed)) return blur(node);
  keep(outlook.worlds.front().given);
  for (World& world : outlook.worlds) since.worlds.push_back(std::move(world.state));
  since.lost = outlook.refused;
  for (size_t i = 0; i < history.events.size(); ++i) {
    const History::Event& event = history.events[i];
    const bool under_way = event.kind == Step::Kind::kAdmit && event.moment.bound == 0;
    if (under_way) since.unbound.push_back(history.demands[event.subject]);
    if (!under_way && !event.optional) since.settled_steps |= uint64_t{1} << i;
  }
  if (since.unbound.empty()) return;
  since.base = std::move(history.base);
  since.subjects = std::move(history.subjects);
  since.demands = std::move(history.demands);
  since.steps = std::move(history.steps);
}

// Appends a pod whose binding is under way, after all others of the node, without a full replay if
// the order makes no difference. Returns false if it may.
bool Ledger::append(NodeRecord& node, PodRecord& pod) {
  Since& since = node.since;
  if (since.blurred || since.open_ended || since.lost != 0 || since.worlds.empty()) return false;
  // Later pods may be admitted before or after its init containers end: this needs a replay.
  if (History::may_start(node, *pod.demand)) return false;
  const auto other = [&](const auto& demand) { return !same_demand(*demand, *pod.demand); };
  if (std::any_of(since.unbound.begin(), since.unbound.end(), other)) return false;
  const auto optional = [](const Step& step) { return step.optional; };
  if (since.unbound.empty() && since.worlds.size() > 1) return false;
  if (std::any_of(since.steps.begin(), since.steps.end(), optional)) return false;
  if (since.steps.size() + 1 > kMaxSteps) return false;
  if (since.unbound.empty()) {
    since.base = since.worlds.front();
    since.settled_steps = 0;  // those steps are part of the base now
  }
  const bool single = since.worlds.size() == 1;  // after a refusal everything is replayed
  std::vector<NodeState> worlds;
  if (!single) worlds = since.worlds;
  std::shared_ptr<const kubelet::Admission> first;
  for (NodeState& world : single ? since.worlds : worlds) {
    auto given = admissions_.admit(*node.model, world, pod.demand, kubelet_scratch_);
    if (!given->admitted()) return false;
    if (!first) first = std::move(given);
  }
  if (!single) since.worlds = std::move(worlds);
  Step step;
  step.subject = static_cast<uint32_t>(since.subjects.size());
  for (size_t i = 0; i < since.steps.size(); ++i) step.after |= uint64_t{1} << i;
  since.subjects.push_back({pod.demand.get(), nullptr});
  since.demands.push_back(pod.demand);
  since.steps.push_back(step);
  since.unbound.push_back(pod.demand);
  pod.given = std::move(first);
  return true;
}

// Handles a pod whose binding was just seen while equal pods are still on their way, without a full
// replay. The kubelet admits this pod first, whichever was reserved first; nothing else changes.
// kNo: more happened, or may have. kMoved: another pod was reserved before it, so they swapped
// places.
Ledger::Settled Ledger::settle_first(NodeRecord& node, PodRecord& pod) {
  Since& since = node.since;
  if (since.blurred || since.open_ended || since.lost != 0 || since.worlds.size() != 1)
    return Settled::kNo;
  if (since.settled_steps != 0 || since.steps.size() != since.unbound.size()) return Settled::kNo;
  const auto same = [&](const auto& demand) { return same_demand(*demand, *pod.demand); };
  if (!std::all_of(since.unbound.begin(), since.unbound.end(), same)) return Settled::kNo;
  for (size_t i = 0; i < since.steps.size(); ++i) {  // one after the other
    const Step& step = since.steps[i];
    const uint64_t before = (uint64_t{1} << i) - 1;
    if (step.kind != Step::Kind::kAdmit || step.optional || step.after != before)
      return Settled::kNo;
  }
  // As History::precedes says of all that were bound before.
  const auto precedes = [&](const Moment& first) {
    return first.fresh &&
           (first.version == 0 || pod.moment.version == 0 || first.version < pod.moment.version);
  };
  if (!pod.moment.fresh) return Settled::kNo;
  std::vector<PodRecord*> twins;  // pods on their way, and this one
  for (PodRecord& other : node.pods) {
    if (other.covered || !other.demand) continue;
    if (&other == &pod || other.moment.bound == 0) {
      if (!other.given || other.annotated) return Settled::kNo;
      twins.push_back(&other);
    } else if (!precedes(other.moment)) {
      return Settled::kNo;
    }
  }
  if (twins.size() != since.steps.size()) return Settled::kNo;
  const auto given = admissions_.admit(*node.model, since.base, pod.demand, kubelet_scratch_);
  if (!given->admitted()) return Settled::kNo;
  std::sort(twins.begin(), twins.end(), [](const PodRecord* a, const PodRecord* b) {
    return a->moment.reserved < b->moment.reserved;
  });
  // It gets what the first of them was promised, and the others move on by one.
  const bool moved = twins.front() != &pod;
  for (auto at = std::find(twins.begin(), twins.end(), &pod); at != twins.begin();) {
    --at;
    std::swap((*at)->given, pod.given);
    std::swap((*at)->charges, pod.charges);
  }
  since.unbound.erase(since.unbound.begin());
  since.steps.erase(since.steps.begin());
  for (Step& step : since.steps) step.after >>= 1;
  return moved ? Settled::kMoved : Settled::kAsItWas;
}

namespace {

// Whether the state shows as free any part of what a pod held.
bool shows_free(const kubelet::NodeModel& model, const NodeState& state,
                const kubelet::Allocation& held) {
  if (!(held.cpu_ids & state.cpu_ids(model)).empty()) return true;
  for (const kubelet::DeviceGrant& grant : held.devices) {
    const std::span<const uint64_t> free = state.device_ids(model, grant.row);
    for (size_t i = 0; i < free.size() && i < grant.ids.size(); ++i) {
      if ((free[i] & grant.ids[i]) != 0) return true;
    }
  }
  return std::any_of(held.blocks.begin(), held.blocks.end(), [&](const auto& each) {
    const kubelet::MemoryBlock& block = each.block;
    int64_t used = 0;
    bool assigned = true;
    for (uint32_t column = 0; column < model.zones(); ++column) {
      if ((block.zones >> column & 1) == 0) continue;
      assigned = assigned && (!state.knows_groups() || state.assignments(model, column) > 0);
      if (block.row >= model.memory.size()) continue;
      used += model.memory[block.row].allocatable[column] - state.memory(model, block.row)[column];
    }
    return !assigned || used < block.bytes;
  });
}

}  // namespace

// Finds which CPUs, memory and devices pods hold exactly, on a node that reports everything. This
// report counts `added`, which the last one did not, and no longer counts `removed`. All orders of
// these events are replayed on the last report. If one result equals this report, each pod is known
// to hold what it was given there, unless another order leads to the same node.
void Ledger::locate(NodeRecord& node, const Before& before, const std::vector<PodRecord*>& added,
                    const std::vector<GonePod>& removed) {
  if (!node.exact) return;
  // What was known before stays known unless the report contradicts it.
  const bool comparable = before.model == node.model && before.exact;
  for (PodRecord& pod : node.pods) {
    if (pod.held == nullptr) continue;
    if (comparable && !shows_free(*node.model, node.state, *pod.held)) continue;
    auto started = without_init(pod.held);  // its containers may have started
    if (comparable && !shows_free(*node.model, node.state, *started)) {
      pod.held = std::move(started);
      pod.init_over = true;
    } else {
      pod.held = nullptr;
    }
  }
  for (GonePod& gone : node.gone) {
    if (gone.held == nullptr) continue;
    // A kubelet may list a finished pod whose resources it has given back already.
    if (before.model == node.model && shows_free(*node.model, node.state, *gone.held)) {
      // Or its containers have started since, and how much of it is left nobody knows.
      const bool listed_only = shows_free(*node.model, node.state, *without_init(gone.held));
      if (listed_only) gone.seen = gone.refund = false;
      gone.held = nullptr;
    }
    if (before.model != node.model || !gone.seen) gone.held = nullptr;
  }
  if (locate_added(node, before, added, removed)) return;
  // Another pod may by now hold what a removed pod held, though the removed pod is still listed;
  // and the added pods did not get what was predicted.
  for (GonePod& gone : node.gone) {
    gone.held = nullptr;
    gone.refund = false;
  }
  for (PodRecord* pod : added) {
    for (Charge& charge : pod->charges) charge.held = 0;
  }
}

bool Ledger::locate_added(NodeRecord& node, const Before& before,
                          const std::vector<PodRecord*>& added,
                          const std::vector<GonePod>& removed) {
  const bool comparable = before.had && before.explained && before.exact;
  if (!comparable || before.model != node.model) return false;
  // The place of a pod that was found late follows from what is missing now, if the pod is alone.
  // If others came and left unseen, several pods may have been placed differently because of them.
  const auto late = [](const PodRecord* pod) { return History::found_late(pod->moment); };
  if (added.size() > 1 && std::any_of(added.begin(), added.end(), late)) return false;

  NodeRecord then;
  then.reported = then.explained = then.exact = true;
  then.model = before.model;
  then.state = before.state;
  std::vector<PodRecord*> owners;
  const auto copy_of = [](const auto& from) {
    PodRecord pod;
    pod.key = from.key;
    pod.demand = from.demand;
    pod.moment = from.moment;
    return pod;
  };
  for (PodRecord* pod : added) {
    then.pods.push_back(copy_of(*pod));
    owners.push_back(pod);
  }
  for (PodRecord& pod : node.pods) {
    const bool before_too = std::find(added.begin(), added.end(), &pod) == added.end();
    if (!before_too || !pod.covered || !pod.held) continue;
    PodRecord known = copy_of(pod);
    known.covered = true;
    known.held = pod.held;
    then.pods.push_back(std::move(known));
    owners.push_back(&pod);
  }
  for (const GonePod& gone : removed) {
    GonePod known;
    known.seen = gone.counted;
    known.refused = gone.refused;
    known.demand = gone.demand;
    known.held = gone.held;
    known.moment = gone.moment;
    then.gone.push_back(std::move(known));
  }
  History history(then, {});
  if (history.unknown || !history.to_steps()) return false;
  const Outlook outlook =
      explore(*then.model, history.base, history.subjects, history.steps, kubelet_scratch_, true);
  if (!outlook.complete) return false;
  const auto says = [&](const World& world) { return world.state == node.state; };
  const auto first = std::find_if(outlook.worlds.begin(), outlook.worlds.end(), says);
  const bool matches = first != outlook.worlds.end();
  (matches ? stats_.predictions_confirmed : stats_.predictions_refuted) += added.size();
  if (!matches) {
    if (added.empty() && removed.empty()) return false;  // the node itself changed
    notes_.push_back(
        "node " + node.name + ": its report " + node.version + " differs from all " +
        std::to_string(outlook.worlds.size()) +
        " ways in which what is known to have happened could have gone; the report counts");
    return false;
  }
  for (size_t i = 0; i < history.subjects.size(); ++i) {
    if (history.pods[i] == History::kNoPod) continue;
    const auto& held = first->held[i];
    bool unique = held != nullptr;
    for (auto other = first; unique && other != outlook.worlds.end(); ++other) {
      if (!says(*other)) continue;
      const auto& also = other->held[i];
      unique = also && also->cpu_ids == held->cpu_ids && also->cpus == held->cpus;
    }
    PodRecord& owner = *owners[history.pods[i]];
    owner.held = unique ? held : nullptr;
    if (!first->given[i]) continue;
    // Charged where it is, not where it was predicted.
    if (unique) {
      owner.charges =
          placement_given(*node.model, *owner.demand, *first->given[i], node.zones.view()).charges;
    } else {
      for (Charge& charge : owner.charges) charge.held = 0;
    }
  }
  return true;
}

}  // namespace plimsoll::topology
