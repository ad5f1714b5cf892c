#include "plugins/topology/verdict/judgement.hpp"

#include <algorithm>

#include "plugins/topology/base/amount.hpp"

namespace plimsoll::topology {

uint32_t short_resource(const kubelet::NodeModel& model, const kubelet::NodeState& state,
                        const kubelet::PodDemand& pod) {
  return kubelet::QuickPlan(model, pod).short_resource(state.counts());
}

Verdict verdict_of(const kubelet::NodeModel& model, const kubelet::PodDemand& pod,
                   kubelet::Reason reason, kubelet::Stage stage, uint32_t container) {
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

}  // namespace plimsoll::topology
