#include "plugins/topology/ask/questions.hpp"

#include <algorithm>
#include <bit>
#include <plimsoll/views.hpp>

#include "plugins/topology/ask/judge.hpp"
#include "plugins/topology/ask/timeline.hpp"
#include "plugins/topology/possible/arrival.hpp"

namespace plimsoll::topology {

using kubelet::NodeState;
using kubelet::PodDemand;

namespace {

std::vector<std::shared_ptr<const PodDemand>> demands_of(LedgerAnswers::Pods pods) {
  std::vector<std::shared_ptr<const PodDemand>> demands;
  for (const auto& pod : pods) {
    if (pod != nullptr) demands.push_back(pod->demand);
  }
  return demands;
}

}  // namespace

bool Questions::is_of(uint32_t slot, std::string_view node_uid) const {
  const NodeRecord* node = nodes_.in(slot);
  return node != nullptr && node->identity.uid == node_uid;
}

size_t Questions::remembered_gone(std::string_view node_name) const {
  const NodeRecord* node = nodes_.find(node_name);
  return node == nullptr ? 0 : node->gone.size();
}

bool Questions::holds(uint32_t slot, std::string_view pod_uid) const {
  const NodeRecord* node = nodes_.in(slot);
  return node != nullptr && nodes_.of(PodKey::of(pod_uid)) == node;
}

const PodRecord* Questions::pod(std::string_view uid) const {
  const PodKey key = PodKey::of(uid);
  const NodeRecord* node = nodes_.of(key);
  return node == nullptr ? nullptr : node->find(key);
}

OccupiedZones Questions::occupied(uint32_t slot, Uids without) const {
  OccupiedZones occupied;
  const NodeRecord* node = nodes_.in(slot);
  if (node == nullptr) return occupied;
  const std::vector<PodKey> going = keys_of(without);
  for (const PodRecord& pod : node->pods) {
    if (std::find(going.begin(), going.end(), pod.key) != going.end()) continue;
    uint64_t zones = 0;
    for (const Charge& charge : pod.charges) {
      if (charge.amount > 0 && charge.zone_id < 64) zones |= uint64_t{1} << charge.zone_id;
    }
    (std::has_single_bit(zones) ? occupied.by_single : occupied.by_spread) |= zones;
  }
  return occupied;
}

LikelyState Questions::likely_state(uint32_t slot) const {
  const NodeRecord* node = reported(slot);
  if (node == nullptr) return {};
  const Since& since = node->since;
  return {node->report.model.get(),
          &since.likely,
          since.bound.size() + node->crowd,
          since.under_way.size(),
          since.grows != Grows::kNo,
          node->lessons.stopped(),
          node->report.kubelet_away,
          node->awaited_until_ms != 0,
          node->doubt_since_ms};
}

Judgement Questions::judge(uint32_t slot, Inquiry& pod) const {
  if (!pod.matters()) return {};
  const Glance& glance = glances_.at(slot);
  Judgement quick;
  if (glance.counts != nullptr &&
      judge_quickly(*glance.model, glance.counts, glance.brief, pod, quick) &&
      (quick.fits() || !glance.claims)) {
    return quick;
  }
  const NodeRecord* node = nodes_.in(slot);
  return node == nullptr ? Judgement() : topology::judge(*node, pod);
}

Judgement Questions::judge_changed(uint32_t slot, Inquiry& pod, Uids without, Pods with,
                                   size_t together) const {
  const NodeRecord* node = nodes_.in(slot);
  if (!pod.matters() || node == nullptr) return {};
  const auto bound = demands_of(with.first(together));
  return topology::judge_changed(*node, pod, without, bound, demands_of(with.subspan(together)));
}

bool Questions::fits_soon(uint32_t slot, Inquiry& pod) const {
  const Glance& glance = glances_.at(slot);
  if (glance.view == nullptr || (glance.counts != nullptr && !glance.leaving)) return false;
  const NodeRecord& node = *nodes_.in(slot);
  if (node.stopped()) return true;
  if (!node.since.clear() && judge(slot, pod).verdict == Verdict::kUncertain) return true;
  if (glance.view->leaving == 0) return false;
  const Verdict then = judge_changed(slot, pod, {}, {}, 0).verdict;
  return then == Verdict::kFits || then == Verdict::kUncertain;
}

bool Questions::fits_without(uint32_t slot, Uids uids, const Fits& fits) const {
  const NodeRecord* node = reported(slot);
  if (node == nullptr) return false;
  const auto lay = node->aligns() ? Release::Lay::kInOneZone : Release::Lay::kAnywhere;
  return topology::fits_without(*node, uids, fits, lay);
}

const plimsoll_numa_use* Questions::use(uint32_t slot, Inquiry& pod) const {
  const NodeRecord* node = reported(slot);
  if (node == nullptr) return nullptr;
  const kubelet::NodeModel& model = *node->report.model;
  const plimsoll_numa_node& view = node->report.zones.view();
  const NodeState& state = node->since.likely;
  if (!pod.scratch.uses_full_lists()) {
    const kubelet::QuickPlan& plan = pod.plans.of(model, *pod.demand);
    const Glance& glance = glances_.at(slot);
    kubelet::QuickPlace place;
    const kubelet::QuickVerdict quick =
        glance.counts != nullptr ? plan.place(glance.counts, glance.brief, place)
                                 : plan.place(state.counts(), kubelet::Brief(model, state), place);
    if (quick.answer == kubelet::QuickVerdict::kRefused) return nullptr;
    if (quick.answer == kubelet::QuickVerdict::kAdmitted) {
      return pod.use.find(model, state.counts(), view, place);
    }
  }
  return pod.use.find(model, state, view, *pod.demand, pod.scratch);
}

std::optional<Whereabouts> Questions::where(uint32_t slot, Inquiry& pod, std::string_view uid,
                                            Uids without, Pods with) const {
  const NodeRecord* node = reported(slot);
  if (node == nullptr || !pod.matters()) return std::nullopt;
  const kubelet::NodeModel& model = *node->report.model;
  if (const PodRecord* own = node->find(PodKey::of(uid)); own != nullptr) {
    if (own->covered || !own->demand || !own->given || !own->given->admitted()) return std::nullopt;
    return whereabouts_of(model, *own->demand, *own->given);
  }
  if (without.empty() && !node->has_claims(pod.asker)) {
    pod.state = node->since.likely;
  } else {
    const Timeline timeline(*node, keys_of(without), &pod);
    if (timeline.unknown || timeline.unclear) return std::nullopt;
    pod.state = timeline.replay(pod.scratch).likely;
  }
  bring(model, pod.state, demands_of(with), pod.scratch);
  const kubelet::Admission given = admit_and_start(model, pod.state, *pod.demand, pod.scratch);
  if (!given.admitted()) return std::nullopt;
  return whereabouts_of(model, *pod.demand, given);
}

}  // namespace plimsoll::topology
