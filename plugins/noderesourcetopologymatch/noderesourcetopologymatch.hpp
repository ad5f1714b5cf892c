#pragma once
// NodeResourceTopologyMatch filters out nodes where no NUMA zone can hold a pod, promises zones to
// placed pods, and scores nodes by their zones.
//
// admissionModel Kubelet (the default): a pod passes Filter if the kubelet's own algorithm admits
// it in every possible state of the node, under all four policies; see ledger/ in plugins/topology.
// Reference: Filter is that of the plugin of the same name in scheduler-plugins (KEP-119, fit.hpp);
// a pod that passes it is promised zones even if the kubelet may refuse it. Score is the
// reference's in both (score.hpp).
//
// What-ifs (preemption, nominated pods): AddPod and RemovePod record in the cycle's state which
// pods are added to a node or removed from it. Filter and Score ask the ledger for the node without
// the removed pods (release.hpp: only what is surely freed counts) and with the added pods where
// the kubelet would put them. Reserve ignores what-ifs: it promises what is really there.
//
// Requeue: a hint requeues a pod for a node only if Filter refused the node to it and would accept
// it now; refusals.hpp finds these pods. Pods that wait for a node about which too little is known
// (Pending) have no backoff, so nothing else may requeue them.

#include <array>
#include <memory>
#include <plimsoll/plugin.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/groups/current_decision.hpp"
#include "plugins/noderesourcetopologymatch/annotation_memo.hpp"
#include "plugins/noderesourcetopologymatch/match_args.hpp"
#include "plugins/noderesourcetopologymatch/refusals.hpp"
#include "plugins/topology/pod/pod_changes.hpp"
#include "plugins/topology/pod/pod_memo.hpp"
#include "plugins/topology/score/score.hpp"
#include "plugins/topology/service/ledger_access.hpp"
#include "plugins/topology/verdict/fit.hpp"

namespace plimsoll::topology {

class NodeResourceTopologyMatch {
 public:
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_ALLOCATABLE | PLIMSOLL_ASPECT_PLUGIN;
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_PLUGIN;
  static constexpr uint16_t least_abi_minor = 1;  // the ledger's waits end by run_on_loop

  NodeResourceTopologyMatch(sdk::Host host, std::string_view args_json);

  void start() { decision_.look(host_); }

  std::vector<plimsoll_event_interest> events();
  // Called right after the ledger got the event; or at the end of an attempt, about events during
  // it.
  sdk::Hint hint(sdk::Pod pod, const plimsoll_event& event);

  // Skip: the pod's zones need no check.
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

  bool rests_on(sdk::Pod pod, std::string_view resource) const;
  void node_event(sdk::NodeEvent type, sdk::Node node, uint32_t aspects);
  void pod_event(sdk::PodEvent type, sdk::Pod pod, std::string_view node_name);
  void object_event(const sdk::ObjectEvent& event);

 private:
  // A pod's requests, in the terms of both admission models.
  struct Demand {
    PodRequest request;           // without views
    LedgerAccess::Asked inquiry;  // null: no kubelet looks at it
  };
  using WhatIf = PodChanges<Demand>;
  // The node of an event, and whether the event may help pods that were refused there.
  struct Told {
    sdk::Node node;  // none: it may help everywhere, or nowhere
    bool may_help = false;
  };
  // A pod that is filtered.
  struct Asked {
    std::shared_ptr<const LedgerAccess::Reading> pod;
    LedgerAccess::Asked inquiry;  // admission model Kubelet only
    Scratch scratch;
    [[nodiscard]] const PodRequest& request() const { return pod->request; }
  };

  // Pods of one kind that are scored.
  struct Scored {
    std::shared_ptr<const LedgerAccess::Reading> pod;  // which `score` refers to
    NodeScore score;
  };

  [[nodiscard]] Told told_by(const plimsoll_event& event);
  [[nodiscard]] bool pins(const plimsoll_pod& pod);
  [[nodiscard]] bool fits_again(Refusals::Kind* kind, sdk::Pod pod, sdk::Node node);
  [[nodiscard]] bool fits_beside_nominated(sdk::Pod pod, sdk::Node node) const;
  // Null: the pod has nothing from any zone.
  [[nodiscard]] std::shared_ptr<const Demand> demand_of(sdk::Pod pod) const;
  void wake_for(uint32_t slot);
  [[nodiscard]] bool by_kubelet() const { return args_.admission == AdmissionModel::kKubelet; }
  [[nodiscard]] Asked ask(sdk::Pod pod) const;
  // Whether some node could refuse the pod.
  [[nodiscard]] bool matters(const Asked& asked) const;
  WhatIf& what_if_of(plimsoll_cycle& cycle);
  // The changes of the what-if on this node; null: there are none.
  [[nodiscard]] const WhatIf::Changes* changes_on(const WhatIf* what_if, sdk::Node node) const;
  [[nodiscard]] Judgement judge(const WhatIf::Changes* changes, Asked& asked, sdk::Node node) const;
  [[nodiscard]] Judgement judge_changed(const WhatIf::Changes& changes, Asked& asked,
                                        sdk::Node node) const;
  template <typename Refuse>
  void filter_many(const Asked& asked, sdk::Nodes nodes, const sdk::Verdicts& verdicts,
                   FilterRound& round, const Refuse& refuse) const;
  void score_as_they_are(const NodeScore& score, sdk::Nodes nodes, std::span<int64_t> scores,
                         Scratch& scratch) const;
  // Admission model Reference. `zones`: what to judge by; null: none are known.
  [[nodiscard]] Verdict reference_verdict(Asked& asked, sdk::Node node,
                                          const plimsoll_numa_node* zones) const;
  // Whether `fits` holds for the changed node's counts; see LedgerAccess::fits_without.
  bool fits_changed(const WhatIf::Changes& changes, sdk::Node node,
                    const LedgerAnswers::Fits& fits) const;
  void note(const plimsoll_pod& pod, const Asked& asked, FilterRound& round) const;
  // The pod got a node: says for how long it waited for one of which too little was known.
  void tell_wait(sdk::Pod pod);
  [[nodiscard]] sdk::Status refuse_to_reserve(const Asked& asked, sdk::Pod pod, sdk::Node node,
                                              const Judgement& judgement) const;
  // A refused pod will fit after a report no longer counts the pods that are gone.
  [[nodiscard]] bool fits_soon(Asked& asked, sdk::Node node) const;
  [[nodiscard]] uint32_t reason_of(const Judgement& judgement, sdk::Pod pod) const;

  sdk::Host host_;
  MatchArgs args_;
  groups::CurrentDecision decision_;
  mutable Refusals refusals_;
  LedgerAccess ledger_;
  mutable PodMemo<const Scored> scored_;
  AnnotationMemo annotations_;
  sdk::HistogramMetric waited_;
  bool attempted_ = false;  // an attempt began after the last event
  std::string gone_uid_;    // the pod that pins() was asked about last, and the answer
  bool gone_pins_ = false;
  std::array<uint32_t, kVerdicts> reasons_{};  // by Verdict
};

}  // namespace plimsoll::topology
