#include "plugins/noderesourcetopologymatch/noderesourcetopologymatch.hpp"

#include "plugins/noderesourcetopologymatch/explain_text.hpp"
#include "plugins/topology/predict.hpp"
#include "plugins/topology/signature.hpp"

namespace plimsoll::topology {

using sdk::Hint;
using sdk::Node;
using sdk::Nodes;
using sdk::Pod;
using sdk::Status;
using sdk::str;
using sdk::view;

namespace {

NodeAllocatable allocatable_of(Node node) {
  return {&node.object().allocatable, node->allocatable, node->resource_count};
}

// Whether the kubelet could place the pod differently from what the reference's rule supposes.
bool walk_needed(const PodRequest& pod, const plimsoll_numa_node& node) {
  if (!pod.has_pinned || node.policy != PLIMSOLL_NUMA_POLICY_SINGLE_NUMA_NODE) return false;
  return pod.has_pinned_init ||
         (node.scope == PLIMSOLL_NUMA_SCOPE_CONTAINER && pod.containers.size() > 1);
}

}  // namespace

NodeResourceTopologyMatch::NodeResourceTopologyMatch(sdk::Host host, std::string_view args_json)
    : host_(host), args_(parse_match_args(args_json)), ledger_(host) {
  for (const std::string& warning : args_.warnings) host_.warn(warning);
  for (uint32_t i = 1; i < kVerdicts; ++i) {
    reasons_[i] = host_.reason(message_of(static_cast<Verdict>(i)));
  }
}

std::vector<plimsoll_event_interest> NodeResourceTopologyMatch::events() {
  // A node without an object passes: its deletion helps too.
  const uint32_t nrt = PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE | PLIMSOLL_ACTION_DELETE;
  return {{str("Pod"), PLIMSOLL_ACTION_DELETE, 0},
          {str("Node"), PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE, 0},
          {str(kNrtResource), nrt, 0},
          {str(kOldNrtResource), nrt, 0}};
}

Hint NodeResourceTopologyMatch::hint(Pod pod, const plimsoll_event& event) {
  if (event.old_pod != nullptr) {  // a deleted pod frees zones only if it held some
    return PodRequest(*event.old_pod).has_pinned ? Hint::kQueue : Hint::kSkip;
  }
  const std::string_view kind = view(event.resource);
  if (kind != kNrtResource && kind != kOldNrtResource) return Hint::kQueue;
  const Node node = host_.node(view(event.name));
  if (!node) return Hint::kSkip;  // its Node comes as an event of its own
  Scratch scratch;
  const Verdict verdict = verdict_on(PodRequest(*pod), node, scratch);
  return verdict == Verdict::kFits ? Hint::kQueue : Hint::kSkip;
}

Verdict NodeResourceTopologyMatch::verdict_on(const PodRequest& request, Node node,
                                              Scratch& scratch) const {
  const plimsoll_numa_node* zones = ledger_.node(node.slot());
  if (zones == nullptr && needs_alignment(request) && ledger_.malformed(node.slot())) {
    return Verdict::kInvalidTopology;
  }
  const Verdict verdict = reference_fit(request, zones, allocatable_of(node), scratch);
  if (verdict != Verdict::kFits || zones == nullptr || !walk_needed(request, *zones)) {
    return verdict;
  }
  if (placeable(request, *zones, scratch)) return Verdict::kFits;
  return zones->scope == PLIMSOLL_NUMA_SCOPE_POD ? Verdict::kCannotAlignPod
                                                 : Verdict::kCannotAlignContainer;
}

Status NodeResourceTopologyMatch::filter(const plimsoll_cycle&, Pod pod, Nodes nodes,
                                         sdk::Verdicts verdicts) const {
  const PodRequest request(*pod);
  if (!needs_alignment(request)) return Status::success();
  Scratch scratch;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!verdicts.open(i)) continue;
    const Verdict verdict = verdict_on(request, nodes[i], scratch);
    if (verdict == Verdict::kFits) continue;
    verdicts.set(i, Status::unschedulable(reasons_[static_cast<uint32_t>(verdict)]));
  }
  return Status::success();
}

Status NodeResourceTopologyMatch::score(const plimsoll_cycle&, Pod pod, Nodes nodes,
                                        std::span<int64_t> scores) const {
  const PodRequest request(*pod);
  Scratch scratch;
  for (size_t i = 0; i < nodes.size(); ++i) {
    scores[i] = score_node(args_.scoring, request, ledger_.node(nodes[i].slot()), scratch);
  }
  return Status::success();
}

Status NodeResourceTopologyMatch::reserve(plimsoll_cycle& cycle, Pod pod, Node node) {
  const PodRequest request(*pod);
  Scratch scratch;
  Verdict verdict = verdict_on(request, node, scratch);
  LedgerAccess::Charges where;
  if (verdict == Verdict::kFits && !ledger_.reserve(node.slot(), *pod, where)) {
    const plimsoll_numa_node* zones = ledger_.node(node.slot());
    const bool as_pod = zones != nullptr && zones->scope == PLIMSOLL_NUMA_SCOPE_POD;
    verdict = as_pod ? Verdict::kCannotAlignPod : Verdict::kCannotAlignContainer;
  }
  if (verdict != Verdict::kFits) {
    return Status::unschedulable(reasons_[static_cast<uint32_t>(verdict)]);
  }
  const std::string zones = zones_annotation(request, where);
  if (!zones.empty()) host_.annotate(cycle, kZonesAnnotation, zones);
  return Status::success();
}

void NodeResourceTopologyMatch::unreserve(plimsoll_cycle&, Pod pod, std::string_view) {
  const plimsoll_numa_ledger& service = ledger_.service();
  service.unreserve(service.ctx, &*pod);  // wakes the pods of all instances
}

Status NodeResourceTopologyMatch::sign(Pod pod, sdk::Sink& sink) {
  sign_requests(*pod, sink);
  return Status::success();
}

void NodeResourceTopologyMatch::explain(const plimsoll_cycle&, Pod pod, Node node,
                                        sdk::Sink& sink) const {
  const PodRequest request(*pod);
  Scratch scratch;
  const plimsoll_numa_node* zones = ledger_.node(node.slot());
  const Verdict verdict = verdict_on(request, node, scratch);
  sink.put(explain_text(request, zones, allocatable_of(node), verdict, host_.now_ms(), scratch));
}

void NodeResourceTopologyMatch::node_event(sdk::NodeEvent type, Node node, uint32_t) {
  ledger_.node_event(type, node);
}

void NodeResourceTopologyMatch::pod_event(sdk::PodEvent type, Pod pod, std::string_view node_name) {
  ledger_.pod_event(type, pod, node_name);
}

void NodeResourceTopologyMatch::object_event(const sdk::ObjectEvent& event) {
  ledger_.object_event(event);
}

}  // namespace plimsoll::topology
