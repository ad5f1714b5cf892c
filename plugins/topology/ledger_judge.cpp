// Queries about one more pod on a node in its possible states. They do not change the ledger.

#include <algorithm>
#include <array>
#include <iterator>
#include <plimsoll/views.hpp>

#include "plugins/topology/amount.hpp"
#include "plugins/topology/ledger_history.hpp"
#include "plugins/topology/placement.hpp"
#include "plugins/topology/room.hpp"

namespace plimsoll::topology {
namespace {

using kubelet::Admission;
using kubelet::NodeModel;
using kubelet::NodeState;
using kubelet::PodDemand;

// How many pods in unknown zones may be beside a new one.
constexpr size_t kMaxUnsettled = 8;

// For how many nodes results are kept for the next query.
constexpr size_t kFewNodes = 64;

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

// Usually this is enough. Returns false if there is no quick answer.
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

Judgement judge_state(const NodeModel& model, const NodeState& state, Inquiry& pod) {
  Judgement judgement;
  if (judge_quickly(model, state.counts(), {model, state}, pod, judgement)) return judgement;
  const kubelet::Reason reason = kubelet::verdict(model, state, *pod.demand, pod.scratch);
  if (reason == kubelet::Reason::kAdmitted) return {};
  return refusal_of(model, state, pod, reason);
}

}  // namespace

uint32_t short_resource(const NodeModel& model, const NodeState& state, const PodDemand& pod) {
  return kubelet::QuickPlan(model, pod).short_resource(state.counts());
}

Verdict verdict_of(const NodeModel& model, const PodDemand& pod, kubelet::Reason reason,
                   kubelet::Stage stage, uint32_t container) {
  switch (reason) {
    case kubelet::Reason::kAdmitted:
      return Verdict::kFits;
    case kubelet::Reason::kSmtAlignmentError:
      return Verdict::kNotWholeCores;
    case kubelet::Reason::kEmptyPodSharedPoolError:
      return Verdict::kNoSharedPool;
    case kubelet::Reason::kUnexpectedAdmissionError:
      if (stage == kubelet::Stage::kDevice) return Verdict::kTooFewDevices;
      if (stage == kubelet::Stage::kMemory) return Verdict::kMemoryUnavailable;
      return Verdict::kTooFewCpus;
    case kubelet::Reason::kTopologyAffinityError:
      break;
  }
  if (model.managers.scope == Scope::kPod || container >= pod.containers.size()) {
    return Verdict::kCannotAlignPod;
  }
  switch (pod.containers[container].kind) {
    case kubelet::ContainerKind::kInit:
      return Verdict::kCannotAlignInitContainer;
    case kubelet::ContainerKind::kSidecar:
      return Verdict::kCannotAlignSidecarContainer;
    case kubelet::ContainerKind::kApp:
      break;
  }
  return Verdict::kCannotAlignContainer;
}

// The kubelet may see bindings under way before this pod's or after it. The pod fits if all of
// them, and this pod, are admitted in every order, to the zones in their annotations. Otherwise the
// pod waits the few milliseconds until those bindings are seen.
bool Ledger::robust(const NodeRecord& node, Inquiry& pod) const {
  const Since& since = node.since;
  const auto same = [&](const auto& demand) { return same_demand(*demand, *pod.demand); };
  // Pods that are the same to the kubelet change places without a difference.
  if (std::all_of(since.unbound.begin(), since.unbound.end(), same)) return true;
  std::vector<Step> steps = since.steps;
  std::vector<Subject> subjects = since.subjects;
  Step step;
  step.after = since.settled_steps;
  step.subject = static_cast<uint32_t>(subjects.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool twin = steps[i].kind == Step::Kind::kAdmit && (since.settled_steps >> i & 1) == 0 &&
                      same_demand(*subjects[steps[i].subject].demand, *pod.demand);
    if (twin) step.after |= uint64_t{1} << i;
  }
  const size_t admitted = steps.size();
  if (admitted >= kMaxSteps) return false;
  subjects.push_back({pod.demand.get(), nullptr});
  steps.push_back(step);
  if (History::may_start(node, *pod.demand)) {  // before those that come after it, or later
    Step start;
    start.kind = Step::Kind::kStart;
    start.optional = true;
    start.subject = step.subject;
    start.after = uint64_t{1} << admitted;
    steps.push_back(start);
  }
  return order_is_all_the_same(*node.model, since.base, subjects, steps, since.lost, pod.scratch);
}

Judgement Ledger::judge_since(const NodeRecord& node, Inquiry& pod) const {
  const Since& since = node.since;
  for (size_t i = 0; i < since.worlds.size(); ++i) {
    const Judgement judgement = judge_state(*node.model, since.worlds[i], pod);
    if (!judgement.fits()) return i == 0 ? judgement : uncertain();
  }
  if (since.blurred || since.open_ended) {
    if (since.unsettled.empty() && fits_with_more(*node.model, *pod.demand)) return {};
    if (since.only_starts &&
        more_memory_changes_nothing(*node.model, since.worlds.front(), *pod.demand)) {
      return {};
    }
    return since.open_ended ? judge_open_ended(node, pod) : judge_beside_all(node, pod);
  }
  if (!since.unbound.empty() && !robust(node, pod)) return uncertain();
  return {};
}

// The pod fits, but after more resources are freed it may take other zones and then not fit.
Judgement Ledger::judge_open_ended(const NodeRecord& node, Inquiry& pod) {
  const Since& since = node.since;
  const Outlook outlook =
      explore(*node.model, since.worlds.front(), since.subjects, since.steps, pod.scratch);
  if (since.steps.empty() || !outlook.complete) return judge_beside_all(node, pod);
  const bool always =
      std::all_of(outlook.worlds.begin(), outlook.worlds.end(), [&](const World& world) {
        return kubelet::admits(*node.model, world.state, *pod.demand, pod.scratch);
      });
  return always ? Judgement() : uncertain();
}

// The pod fits with the least that may be free. Checks whether it also fits wherever the others
// are, and if more is free.
Judgement Ledger::judge_beside_all(const NodeRecord& node, Inquiry& pod) {
  const Since& since = node.since;
  const NodeState& least = since.worlds.front();
  if (since.unsettled.size() > kMaxUnsettled || !counts_suffice(*node.model, least)) {
    return uncertain();
  }
  std::vector<PodDemand> parts = parts_of(*node.model, *pod.demand);
  if (parts.empty()) return uncertain();
  for (const auto& demand : since.unsettled) {
    std::vector<PodDemand> others = parts_of(*node.model, *demand);
    if (others.empty()) return uncertain();
    std::move(others.begin(), others.end(), std::back_inserter(parts));
  }
  std::vector<const PodDemand*> all;
  for (const PodDemand& part : parts) all.push_back(&part);
  return fit_side_by_side(*node.model, least, all, pod.scratch) ? Judgement() : uncertain();
}

Judgement Ledger::judge(uint32_t slot, Inquiry& pod) const {
  if (!pod.matters() || slot >= slots_.size()) return {};
  const Glance& glance = glances_[slot];
  Judgement quick;
  if (glance.counts != nullptr &&
      judge_quickly(*glance.model, glance.counts, glance.brief, pod, quick)) {
    return quick;
  }
  if (slots_[slot] == nullptr) return {};
  const NodeRecord& node = *slots_[slot];
  if (!node.reported) {
    return {node.malformed ? Verdict::kInvalidTopology : Verdict::kFits, Judgement::kNoResource};
  }
  Judgement judgement{node.refused_one ? Verdict::kUncertain : learned(node, *pod.demand),
                      Judgement::kNoResource};
  if (judgement.fits() && !lands_side_by_side(node, pod)) judgement = judge_since(node, pod);
  if (judgement.verdict == Verdict::kUncertain) {
    node.told_uncertain.store(true, std::memory_order_relaxed);
  }
  return judgement;
}

// For a plain pod on a node where QuickPlan::zone_of decides. `plan`: that of the node, set if it
// was needed.
uint32_t Ledger::zone_at_a_glance(const Glance& glance, Inquiry& pod,
                                  const kubelet::QuickPlan*& plan) const {
  if (glance.counts == nullptr) return kubelet::QuickPlan::kNoZone;
  plan = &pod.plans.of(*glance.model, *pod.demand);
  if (!plan->is_plain() || plan->says_nothing(glance.brief)) return kubelet::QuickPlan::kNoZone;
  return plan->zone_of(glance.counts);
}

namespace {

// Most of the time would be spent waiting for memory, so the data of nodes ahead is prefetched.
constexpr size_t kAhead = 8;

void prefetch(const int64_t* cells, uint32_t count) {
  constexpr uint32_t kLine = 64 / sizeof(int64_t);
  for (uint32_t cell = 0; cells != nullptr && cell < count; cell += kLine) {
    __builtin_prefetch(cells + cell);
  }
}

}  // namespace

void Ledger::judge_many(std::span<const uint32_t> slots, Inquiry& pod,
                        std::span<Judgement> judgements) const {
  const bool quick = pod.matters() && !pod.scratch.uses_full_lists();
  const kubelet::QuickPlan* plan = nullptr;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i + kAhead < slots.size() && slots[i + kAhead] < glances_.size()) {
      const Glance& next = glances_[slots[i + kAhead]];
      prefetch(next.counts, next.count);
    }
    const uint32_t slot = slots[i];
    const bool admitted =
        quick && slot < glances_.size() &&
        zone_at_a_glance(glances_[slot], pod, plan) != kubelet::QuickPlan::kNoZone;
    judgements[i] = admitted ? Judgement() : judge(slot, pod);
  }
  if (slots.size() > kFewNodes) pod.plans.drop();
}

void Ledger::land_many(std::span<const uint32_t> slots, Inquiry* pod,
                       std::span<plimsoll_numa_landing> landings) const {
  const bool quick = pod != nullptr && !pod->scratch.uses_full_lists();
  const kubelet::QuickPlan* plan = nullptr;
  struct Known {
    const NodeModel* model = nullptr;
    const plimsoll_numa_taking* taking = nullptr;
  };
  std::array<Known, 8> takings;  // by number of the model, the last of each place
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i + 2 * kAhead < slots.size()) {
      const plimsoll_numa_node* later = node(slots[i + 2 * kAhead]);
      if (later != nullptr) __builtin_prefetch(later);
    }
    if (i + kAhead < slots.size() && slots[i + kAhead] < glances_.size()) {
      const Glance& next = glances_[slots[i + kAhead]];
      if (quick) prefetch(next.counts, next.count);
      const plimsoll_numa_node* view = node(slots[i + kAhead]);
      if (view != nullptr) prefetch_cells(*view);
    }
    landings[i] = {node(slots[i]), nullptr, 0, 0};
    if (!quick || landings[i].node == nullptr) continue;
    const uint32_t column = zone_at_a_glance(glances_[slots[i]], *pod, plan);
    if (column == kubelet::QuickPlan::kNoZone || !plan->has_affinity()) continue;
    landings[i].column = column;
    const NodeModel* model = glances_[slots[i]].model;
    Known& known = takings[model->number % takings.size()];
    if (known.model != model) known = {model, pod->taking_of(*plan)};
    landings[i].taking = known.taking;
  }
}

kubelet::QuickPlan::Taking in_base_units(kubelet::QuickPlan::Taking what) {
  for (uint32_t i = 0; i < what.count; ++i) {
    const int64_t unit = what.resource[i] == kubelet::kCpuResource ? 1000 : 1;
    what.amount[i] = clamp_amount(std::min(what.amount[i], kMaxAmount / unit) * unit);
  }
  return what;
}

const plimsoll_numa_taking* Inquiry::taking_of(const kubelet::QuickPlan& plan) {
  const kubelet::QuickPlan::Taking what = in_base_units(plan.taking());
  const auto same = [&](const auto& known) {
    return known->what.count == what.count &&
           std::equal(what.resource.begin(), what.resource.begin() + what.count,
                      known->what.resource.begin()) &&
           std::equal(what.amount.begin(), what.amount.begin() + what.count,
                      known->what.amount.begin());
  };
  const auto known = std::find_if(takings_.begin(), takings_.end(), same);
  if (known != takings_.end()) return &(*known)->table;
  auto made = std::make_unique<Taking>();
  made->what = what;
  made->table = {sizeof made->table, what.count, made->what.resource.data(),
                 made->what.amount.data()};
  return &takings_.emplace_back(std::move(made))->table;
}

Judgement Ledger::judge_changed(uint32_t slot, Inquiry& pod, std::span<const plimsoll_str> without,
                                std::span<const PodDemand* const> with) const {
  if (!pod.matters() || slot >= slots_.size() || slots_[slot] == nullptr) return {};
  const NodeRecord& node = *slots_[slot];
  if (!node.reported || node.refused_one) return judge(slot, pod);
  // Without victims the node is as it was when its kubelet refused such a pod.
  const Verdict known = learned(node, *pod.demand);
  if (known == Verdict::kNotWholeCores || (known != Verdict::kFits && without.empty())) {
    return judge(slot, pod);
  }
  const Judgement judgement = judge_what_if(node, pod, without, with);
  if (judgement.verdict == Verdict::kUncertain) {
    node.told_uncertain.store(true, std::memory_order_relaxed);
  }
  return judgement;
}

Judgement Ledger::judge_what_if(const NodeRecord& node, Inquiry& pod,
                                std::span<const plimsoll_str> without,
                                std::span<const PodDemand* const> with) const {
  std::vector<PodKey> going;
  going.reserve(without.size());
  for (const plimsoll_str& uid : without) going.push_back(key_of(sdk::view(uid)));
  History history(node, going);
  if (history.is_told()) {
    history.fold(pod.scratch);
    if (fits_with_more(*node.model, *pod.demand)) history.drop_options();
    if (!history.to_steps()) return uncertain();
    Outlook outlook =
        explore(*node.model, history.base, history.subjects, history.steps, pod.scratch);
    if (!outlook.complete) return uncertain();
    for (size_t i = 0; i < outlook.worlds.size(); ++i) {
      bring(*node.model, outlook.worlds[i].state, with, pod.scratch);
      const Judgement judgement = judge_state(*node.model, outlook.worlds[i].state, pod);
      if (!judgement.fits()) return i == 0 ? judgement : uncertain();
    }
    return {};
  }
  // A pod leaves from unknown zones: decide by counts, for every possible layout.
  Judgement first;
  const auto fits = [&](const plimsoll_numa_node& then) {
    NodeState state = state_of(*node.counts, then);
    bring(*node.counts, state, with, pod.scratch);
    const Judgement judgement = judge_state(*node.counts, state, pod);
    if (first.fits()) first = judgement;
    return judgement.fits();
  };
  // Policies that do not align take CPUs and devices from anywhere, memory from groups of zones.
  const Policy policy = node.model->managers.policy;
  const bool aligns = policy == Policy::kSingleNumaNode || policy == Policy::kRestricted;
  const bool memory = node.model->memory_static && pod.demand->guaranteed;
  const auto lay = aligns   ? Release::Lay::kInOneZone
                   : memory ? Release::Lay::kAnywhere
                            : Release::Lay::kWherever;
  if (fits_without(node, without, fits, lay)) return {};
  return first.fits() ? uncertain() : first;
}

bool Ledger::fits_soon(uint32_t slot, Inquiry& pod) const {
  if (slot < glances_.size() && glances_[slot].counts != nullptr && !glances_[slot].leaving) {
    return false;
  }
  const plimsoll_numa_node* view = node(slot);
  if (view == nullptr) return false;
  const NodeRecord& node = *slots_[slot];
  if (node.refused_one) return true;
  const Since& since = node.since;
  const bool clear =
      since.worlds.size() == 1 && !since.blurred && !since.open_ended && since.unbound.empty();
  if (!clear && judge(slot, pod).verdict == Verdict::kUncertain) return true;
  return view->leaving != 0 && judge_changed(slot, pod, {}, {}).fits();
}

Placement Ledger::likely(uint32_t slot, Inquiry& pod) const {
  const plimsoll_numa_node* view = node(slot);
  if (view == nullptr || !pod.matters()) return {};
  const NodeRecord& node = *slots_[slot];
  pod.state = node.since.worlds.front();
  const Admission given = admit_and_start(*node.model, pod.state, *pod.demand, pod.scratch);
  return placement_given(*node.model, *pod.demand, given, *view);
}

const plimsoll_numa_use* Ledger::use(uint32_t slot, Inquiry& pod) const {
  const plimsoll_numa_node* view = node(slot);
  if (view == nullptr) return nullptr;
  const NodeRecord& node = *slots_[slot];
  const NodeState& state = node.since.worlds.front();
  if (!pod.scratch.uses_full_lists()) {
    const kubelet::QuickPlan& plan = pod.plans.of(*node.model, *pod.demand);
    const Glance& glance = glances_[slot];
    kubelet::QuickPlace place;
    const kubelet::QuickVerdict quick =
        glance.counts != nullptr
            ? plan.place(glance.counts, glance.brief, place)
            : plan.place(state.counts(), kubelet::Brief(*node.model, state), place);
    if (quick.answer == kubelet::QuickVerdict::kRefused) return nullptr;
    if (quick.answer == kubelet::QuickVerdict::kAdmitted) {
      return pod.use.find(*node.model, state.counts(), *view, place);
    }
  }
  return pod.use.find(*node.model, state, *view, *pod.demand, pod.scratch);
}

Ledger::Likely Ledger::likely_state(uint32_t slot) const {
  if (node(slot) == nullptr) return {};
  const NodeRecord& node = *slots_[slot];
  return {node.model.get(), &node.since.worlds.front(), node.since.worlds.size(),
          node.since.blurred};
}

}  // namespace plimsoll::topology
