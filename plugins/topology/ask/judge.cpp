#include "plugins/topology/ask/judge.hpp"

#include <algorithm>
#include <plimsoll/views.hpp>

#include "plugins/topology/ask/beside.hpp"
#include "plugins/topology/ask/timeline.hpp"
#include "plugins/topology/possible/arrival.hpp"
#include "plugins/topology/possible/room.hpp"

namespace plimsoll::topology {
namespace {

using kubelet::Admission;
using kubelet::NodeModel;
using kubelet::NodeState;
using kubelet::PodDemand;

// Why the pod is refused. `state` is not changed.
Judgement refusal_of(const NodeModel& model, const NodeState& state, Inquiry& pod,
                     kubelet::Reason reason) {
  Judgement judgement;
  if (reason == kubelet::Reason::kTopologyAffinityError) {
    judgement.resource = short_resource(model, state, *pod.demand);
    if (model.managers.scope == Scope::kPod) {
      judgement.verdict = Verdict::kCannotAlignPod;
      return judgement;
    }
    const auto is_app = [](const kubelet::ContainerDemand& container) {
      return container.kind == kubelet::ContainerKind::kApp;
    };
    if (std::all_of(pod.demand->containers.begin(), pod.demand->containers.end(), is_app)) {
      judgement.verdict = Verdict::kCannotAlignContainer;
      return judgement;
    }
  }
  pod.state = state;
  const Admission refusal = kubelet::admit(model, pod.state, *pod.demand, pod.scratch);
  judgement.verdict =
      verdict_of(model, *pod.demand, refusal.reason, refusal.stage, refusal.container);
  if (refusal.stage == kubelet::Stage::kDevice) judgement.resource = refusal.resource;
  return judgement;
}

Judgement uncertain() {
  return {Verdict::kUncertain, Judgement::kNoResource};
}

Judgement judge_state(const NodeModel& model, const NodeState& state, Inquiry& pod) {
  Judgement judgement;
  if (judge_quickly(model, state.counts(), {model, state}, pod, judgement)) return judgement;
  const kubelet::Reason reason = kubelet::verdict(model, state, *pod.demand, pod.scratch);
  if (reason == kubelet::Reason::kAdmitted) return {};
  return refusal_of(model, state, pod, reason);
}

constexpr size_t kMaxPending = 5;  // of which every combination is tried

// Whether the pod is admitted whichever of `pending` have come free.
bool fits_whatever_comes_free(const NodeModel& model, const NodeState& least,
                              std::span<const kubelet::Allocation> pending, Inquiry& pod) {
  if (pending.size() > kMaxPending) return false;
  for (uint32_t set = 1; set < 1U << pending.size(); ++set) {
    pod.state = least;
    for (size_t i = 0; i < pending.size(); ++i) {
      if ((set >> i & 1) != 0) release(model, pod.state, pending[i]);
    }
    if (!kubelet::admits(model, pod.state, *pod.demand, pod.scratch)) return false;
  }
  return true;
}

// The pod fits the likeliest state. Whether it fits in every other one, and all pods whose bindings
// are under way, too: its kubelet may see them before it or after it. Pods that are bound come
// before it whatever happens to them.
bool fits_beside(const NodeRecord& node, const Since& since, Inquiry& pod) {
  const NodeModel& model = *node.report.model;
  const auto same = [&](const auto& each) { return same_demand(*each.demand, *pod.demand); };
  // Pods that are the same to the kubelet change places without a difference.
  if (since.bound.empty() && since.grows == Grows::kNo && !Timeline::may_start(node, *pod.demand) &&
      std::all_of(since.under_way.begin(), since.under_way.end(), same)) {
    return true;
  }
  if (since.bound.empty() && since.under_way.empty() && since.pending_known &&
      (fits_with_more(model, *pod.demand) ||
       fits_whatever_comes_free(model, since.likely, since.pending, pod))) {
    return true;
  }
  std::vector<const PodDemand*> all{pod.demand.get()};
  for (const auto& each : since.under_way) all.push_back(each.demand.get());
  const size_t to_check = all.size();
  for (const auto& demand : since.bound) all.push_back(demand.get());
  return are_sure_of_room(model, since.sure, all, to_check, pod.scratch);
}

Judgement judge_since(const NodeRecord& node, const Since& since, Inquiry& pod) {
  const Judgement judgement = judge_state(*node.report.model, since.likely, pod);
  if (!judgement.fits() || since.clear()) return judgement;
  return fits_beside(node, since, pod) ? Judgement() : uncertain();
}

Judgement judge_what_if(const NodeRecord& node, Inquiry& pod, std::span<const plimsoll_str> without,
                        Demands together, Demands with) {
  const NodeReport& report = node.report;
  const Timeline timeline(node, keys_of(without), &pod);
  if (!timeline.unknown) {
    Since since = timeline.replay(pod.scratch);
    if (!together.empty() && since.clear()) since.sure = since.likely;
    bring(*report.model, since.likely, together, pod.scratch);
    for (const auto& demand : together) since.under_way.push_back({PodKey(), demand});
    bring(*report.model, since.likely, with, pod.scratch);
    if (!since.clear()) bring(*report.model, since.sure, with, pod.scratch);
    if (!together.empty() && lands_side_by_side(node, since, pod)) return {};
    return judge_since(node, since, pod);
  }
  // A pod leaves from unknown zones: decide by counts, for every possible layout.
  Judgement first;
  const auto fits = [&](const plimsoll_numa_node& then) {
    NodeState state = state_of(*report.counts, then);
    bring(*report.counts, state, together, pod.scratch);
    bring(*report.counts, state, with, pod.scratch);
    const Judgement judgement = judge_state(*report.counts, state, pod);
    if (first.fits()) first = judgement;
    return judgement.fits();
  };
  // Policies that do not align take CPUs and devices from anywhere, memory from groups of zones.
  const bool memory = report.model->memory_static && pod.demand->guaranteed;
  const auto lay = node.aligns() ? Release::Lay::kInOneZone
                   : memory      ? Release::Lay::kAnywhere
                                 : Release::Lay::kWherever;
  if (!fits_without(node, without, fits, lay)) return first.fits() ? uncertain() : first;
  // And pods that no report counts are where they are charged.
  const auto same = [&](const auto& demand) { return same_demand(*demand, *pod.demand); };
  const bool known = node.since.bound.empty() && node.since.under_way.empty();
  return known && std::ranges::all_of(together, same) ? Judgement() : uncertain();
}

// Pods that wait for the node are told when more is known of it.
Judgement told(const NodeRecord& node, const Judgement& judgement) {
  if (waits(judgement.verdict)) {
    node.told_uncertain.store(true, std::memory_order_relaxed);
  }
  return judgement;
}

}  // namespace

bool judge_quickly(const NodeModel& model, const int64_t* counts, const kubelet::Brief& brief,
                   Inquiry& pod, Judgement& judgement) {
  if (pod.scratch.uses_full_lists()) return false;
  const kubelet::QuickPlan& plan = pod.plans.of(model, *pod.demand);
  const kubelet::QuickVerdict quick = plan.verdict(counts, brief);
  if (quick.answer == kubelet::QuickVerdict::kUnsure) return false;
  judgement = {};
  if (quick.answer == kubelet::QuickVerdict::kAdmitted) return true;
  judgement.verdict = verdict_of(model, *pod.demand, quick.reason, quick.stage, quick.container);
  if (quick.stage == kubelet::Stage::kDevice) judgement.resource = quick.resource;
  if (quick.reason == kubelet::Reason::kTopologyAffinityError) {
    judgement.resource = plan.short_resource(counts);
  }
  return true;
}

Judgement judge(const NodeRecord& node, Inquiry& pod) {
  if (node.awaited_until_ms != 0) return told(node, uncertain());
  if (!node.report.there) {
    if (node.malformed) return {Verdict::kInvalidTopology, Judgement::kNoResource};
    if (!waits(pod.without_report, node.report_gone)) return {};
    return told(node, {Verdict::kNoReport, Judgement::kNoResource});
  }
  if (node.stopped()) return told(node, uncertain());
  const Judgement judgement{node.lessons.verdict(*pod.demand), Judgement::kNoResource};
  if (!judgement.fits() || lands_side_by_side(node, node.since, pod)) return told(node, judgement);
  const Judgement since = judge_since(node, node.since, pod);
  if (since.fits() || node.report.exact || !node.has_claims(pod.asker)) return told(node, since);
  return told(node,
              judge_what_if(node, pod, {}, {}, {}));  // it may be kept out by claims of its own
}

Judgement judge_changed(const NodeRecord& node, Inquiry& pod, std::span<const plimsoll_str> without,
                        Demands together, Demands with) {
  if (!node.report.there || node.stopped()) return judge(node, pod);
  // Without victims the node is as it was when its kubelet refused such a pod.
  const Verdict known = node.lessons.verdict(*pod.demand);
  if (known == Verdict::kNotWholeCores || (known != Verdict::kFits && without.empty())) {
    return judge(node, pod);
  }
  return told(node, judge_what_if(node, pod, without, together, with));
}

bool fits_without(const NodeRecord& node, std::span<const plimsoll_str> uids,
                  const Release::Fits& fits, Release::Lay lay) {
  const std::vector<PodKey> going = keys_of(uids);
  Release release(node.report.zones.view(), node.report.zones.available());
  release.lay(lay);
  // A report that no set of pods explains counts pods, or leaves them out, that nobody knows.
  if (node.report.unexplained()) release.give_up();
  for (const PodRecord& pod : node.pods) {
    const bool goes = std::find(going.begin(), going.end(), pod.key) != going.end();
    for (const Charge& one : pod.charges) {
      // An open promise, and what reports do not show, comes free where it is charged.
      const int64_t charged = pod.covered ? one.held : one.amount;
      if (goes) release.free_at(one.resource, one.zone_id, charged, false);
    }
    if (!pod.covered) continue;
    if (const std::vector<Charge>* place = node.place_of(pod)) {
      for (const Charge& one : *place) {
        if (goes) {
          release.free_at(one.resource, one.zone_id, one.amount, true);
        } else {
          release.keep_at(one.resource, one.zone_id, one.amount);
        }
      }
    } else if (pod.request && goes) {
      release.free_somewhere(*pod.request);
    } else if (pod.request) {
      release.keep_somewhere(*pod.request);
    }
  }
  for (const auto& [pod, gone_ms, counted, refused] : node.gone) {
    if (!pod.covered) continue;
    if (const std::vector<Charge>* place = node.place_of(pod)) {
      // What is known to have held something by its line is free already.
      for (const Charge& one : *place) {
        release.free_at(one.resource, one.zone_id, pod.located() ? 0 : one.amount, false);
        release.forgive_at(one.resource, one.zone_id, one.amount);
      }
    } else if (pod.request) {
      release.free_somewhere(*pod.request);
    }
  }
  return release.fits(fits);
}

bool refusal_foreseen(const NodeRecord& node, const PodRecord& pod) {
  return pod.demand && !pod.given && !pod.covered && node.report.there &&
         node.since.bound.empty() && node.since.grows == Grows::kNo;
}

std::vector<PodKey> keys_of(std::span<const plimsoll_str> uids) {
  std::vector<PodKey> keys;
  keys.reserve(uids.size());
  for (const plimsoll_str& uid : uids) keys.push_back(PodKey::of(sdk::view(uid)));
  return keys;
}

}  // namespace plimsoll::topology
