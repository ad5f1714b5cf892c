#pragma once
// NodeResourceTopologyMatch: keeps pods off nodes where no NUMA zone can hold them, promises the
// zones of those that are placed, and scores nodes by their zones.
//
// Filter and Score are those of the plugin of the same name in scheduler-plugins (KEP-119), on the
// ledger's view of the node; see fit.hpp, score.hpp and ledger.hpp in plugins/topology. Beyond the
// reference, a pod that passes Filter is one that Reserve can place as the kubelet would: init
// containers, sidecars and several containers are walked through in the kubelet's order.
//
// What-ifs (preemption, nominated pods): AddPod and RemovePod note in the cycle's state which pods
// a node has more or less; Filter and Score ask the ledger what its zones are without the ones (see
// release.hpp: only what is sure to come free counts) and charge the others where the kubelet would
// put them. Reserve does not look at them: it promises what is really there.

#include <array>
#include <plimsoll/plugin.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/noderesourcetopologymatch/match_args.hpp"
#include "plugins/topology/fit.hpp"
#include "plugins/topology/ledger_access.hpp"
#include "plugins/topology/pod_changes.hpp"

namespace plimsoll::topology {

class NodeResourceTopologyMatch {
 public:
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_ALLOCATABLE | PLIMSOLL_ASPECT_PLUGIN;
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_PLUGIN;

  NodeResourceTopologyMatch(sdk::Host host, std::string_view args_json);

  std::vector<plimsoll_event_interest> events();
  sdk::Hint hint(sdk::Pod pod, const plimsoll_event& event);

  // Skip: the pod needs no look at zones.
  sdk::Status pre_filter(plimsoll_cycle& cycle, sdk::Pod pod);
  sdk::Status add_pod(plimsoll_cycle& cycle, sdk::Pod pod, sdk::Pod added, sdk::Node node);
  sdk::Status remove_pod(plimsoll_cycle& cycle, sdk::Pod pod, sdk::Pod removed, sdk::Node node);
  sdk::Status filter(const plimsoll_cycle& cycle, sdk::Pod pod, sdk::Nodes nodes,
                     sdk::Verdicts verdicts) const;
  sdk::Status score(const plimsoll_cycle& cycle, sdk::Pod pod, sdk::Nodes nodes,
                    std::span<int64_t> scores) const;
  // Promises the predicted zones and writes them into the Binding's annotations.
  sdk::Status reserve(plimsoll_cycle& cycle, sdk::Pod pod, sdk::Node node);
  void unreserve(plimsoll_cycle& cycle, sdk::Pod pod, std::string_view node_name);

  sdk::Status sign(sdk::Pod pod, sdk::Sink& sink);
  void explain(const plimsoll_cycle& cycle, sdk::Pod pod, sdk::Node node, sdk::Sink& sink) const;

  void node_event(sdk::NodeEvent type, sdk::Node node, uint32_t aspects);
  void pod_event(sdk::PodEvent type, sdk::Pod pod, std::string_view node_name);
  void object_event(const sdk::ObjectEvent& event);

 private:
  using WhatIf = PodChanges<PodRequest>;

  // `zones`: what to judge by; null: none are known.
  [[nodiscard]] Verdict verdict_on(const PodRequest& request, sdk::Node node,
                                   const plimsoll_numa_node* zones, Scratch& scratch) const;
  [[nodiscard]] Verdict verdict_on(const PodRequest& request, sdk::Node node,
                                   Scratch& scratch) const {
    return verdict_on(request, node, ledger_.node(node.slot()), scratch);
  }
  // The changes of the what-if on this node; null: there are none.
  [[nodiscard]] const WhatIf::Changes* changes_on(const WhatIf* what_if, sdk::Node node) const;
  // Whether `fits` holds of the changed node; see LedgerAccess::fits_without.
  bool fits_changed(const WhatIf::Changes& changes, sdk::Node node, Scratch& scratch,
                    const LedgerAccess::Fits& fits) const;
  [[nodiscard]] Verdict verdict_in(const WhatIf::Changes* changes, const PodRequest& request,
                                   sdk::Node node, Scratch& scratch) const;
  // A refused pod fits once a report has left out the pods that are gone already.
  [[nodiscard]] bool fits_soon(const PodRequest& request, sdk::Node node, Scratch& scratch) const;

  sdk::Host host_;
  MatchArgs args_;
  LedgerAccess ledger_;
  std::array<uint32_t, kVerdicts> reasons_{};  // by Verdict
};

}  // namespace plimsoll::topology
