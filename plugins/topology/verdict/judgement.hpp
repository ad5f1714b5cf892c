#pragma once
// A question to the ledger about one pod, and its answer.

#include <plimsoll/objects.h>

#include <cstdint>
#include <memory>
#include <plimsoll/views.hpp>
#include <vector>

#include "plugins/topology/kubelet/quick.hpp"
#include "plugins/topology/pod/pod_key.hpp"
#include "plugins/topology/pod/pod_request.hpp"
#include "plugins/topology/verdict/fit.hpp"
#include "plugins/topology/verdict/zone_use.hpp"

namespace plimsoll::topology {

// The pod that is asked about, worked out once for all nodes, with memory that the answers reuse.
// One per thread.
struct Inquiry {
  explicit Inquiry(const plimsoll_pod& pod)
      : demand(std::make_shared<const kubelet::PodDemand>(pod)) {
    ask_for(pod);
  }

  // Which of the pods that are alike this is about: claims may be its own.
  void ask_for(const plimsoll_pod& pod) { asker = PodKey::of(sdk::view(pod.meta.uid)); }

  // Whether any kubelet could refuse the pod for want of zones. False: it fits everywhere.
  [[nodiscard]] bool matters() const { return demand->asks; }

  // What a plain pod takes, in base units; as long as this.
  [[nodiscard]] const plimsoll_numa_taking* taking_of(const kubelet::QuickPlan& plan);

  std::shared_ptr<const kubelet::PodDemand> demand;
  PodKey asker;
  kubelet::QuickPlans plans;
  kubelet::Scratch scratch;
  kubelet::NodeState state;
  ZoneUse use;
  WithoutReport without_report = WithoutReport::kPass;

 private:
  struct Taking {
    kubelet::QuickPlan::Taking what;
    plimsoll_numa_taking table{};
  };
  std::vector<std::unique_ptr<Taking>> takings_;  // few: models differ in what they tie to zones
};

// What a plan says in units of counts.
[[nodiscard]] kubelet::QuickPlan::Taking in_base_units(kubelet::QuickPlan::Taking what);

// The first resource of which no zones that would do have enough left (QuickPlan::short_resource).
[[nodiscard]] uint32_t short_resource(const kubelet::NodeModel& model,
                                      const kubelet::NodeState& state,
                                      const kubelet::PodDemand& pod);

// A kubelet's refusal in this library's terms. `container`: at which it refused.
[[nodiscard]] Verdict verdict_of(const kubelet::NodeModel& model, const kubelet::PodDemand& pod,
                                 kubelet::Reason reason, kubelet::Stage stage, uint32_t container);

}  // namespace plimsoll::topology
