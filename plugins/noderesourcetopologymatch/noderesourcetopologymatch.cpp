#include "plugins/noderesourcetopologymatch/noderesourcetopologymatch.hpp"

#include "plugins/noderesourcetopologymatch/explain_text.hpp"
#include "plugins/topology/amount.hpp"
#include "plugins/topology/numa_node.hpp"
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

void take_from(std::vector<int64_t>& free, const plimsoll_numa_node& node, const Charge& charge) {
  const uint32_t row = row_of(node, charge.resource);
  for (uint32_t column = 0; row != kNoRow && column < node.zone_count; ++column) {
    if (node.zone_ids[column] != charge.zone_id) continue;
    int64_t& cell = free[size_t{row} * node.zone_count + column];
    cell = add_amounts(cell, -charge.amount);
  }
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
  std::string_view node_name = view(event.name);
  if (event.old_pod != nullptr) {
    // A deleted pod frees zones only if it held some. If the ledger cannot say yet which, the next
    // report wakes the pod: trying before would only evict more pods.
    if (!PodRequest(*event.old_pod).has_pinned) return Hint::kSkip;
    node_name = view(event.old_pod->node_name);
  } else {
    const std::string_view kind = view(event.resource);
    if (kind != kNrtResource && kind != kOldNrtResource) return Hint::kQueue;
  }
  const Node node = host_.node(node_name);
  if (!node) return Hint::kSkip;  // its Node comes as an event of its own
  Scratch scratch;
  const Verdict verdict = verdict_on(PodRequest(*pod), node, scratch);
  return verdict == Verdict::kFits ? Hint::kQueue : Hint::kSkip;
}

Verdict NodeResourceTopologyMatch::verdict_on(const PodRequest& request, Node node,
                                              const plimsoll_numa_node* zones,
                                              Scratch& scratch) const {
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

Status NodeResourceTopologyMatch::pre_filter(plimsoll_cycle&, Pod pod) {
  return needs_alignment(PodRequest(*pod)) ? Status::success() : Status::skip();
}

Status NodeResourceTopologyMatch::add_pod(plimsoll_cycle& cycle, Pod, Pod added, Node node) {
  const PodRequest request(*added);
  if (!request.has_pinned) return Status::success();
  WhatIf* what_if = host_.state<WhatIf>(cycle);
  if (what_if == nullptr) what_if = &host_.set_state(cycle, WhatIf());
  what_if->add(node.slot(), *added,
               [&] { return std::make_shared<const PodRequest>(request.without_views()); });
  return Status::success();
}

Status NodeResourceTopologyMatch::remove_pod(plimsoll_cycle& cycle, Pod, Pod removed, Node node) {
  if (!PodRequest(*removed).has_pinned) return Status::success();
  WhatIf* what_if = host_.state<WhatIf>(cycle);
  if (what_if == nullptr) what_if = &host_.set_state(cycle, WhatIf());
  what_if->remove(node.slot(), *removed);
  return Status::success();
}

const NodeResourceTopologyMatch::WhatIf::Changes* NodeResourceTopologyMatch::changes_on(
    const WhatIf* what_if, Node node) const {
  // Nothing can be added to zones that are not known, or taken from them.
  if (what_if == nullptr || ledger_.node(node.slot()) == nullptr) return nullptr;
  return what_if->on(node.slot());
}

bool NodeResourceTopologyMatch::fits_changed(const WhatIf::Changes& changes, Node node,
                                             Scratch& scratch,
                                             const LedgerAccess::Fits& fits) const {
  std::vector<plimsoll_str> without;
  std::vector<const PodRequest*> with;
  for (const WhatIf::Change& change : changes) {
    const bool there = ledger_.holds(node.slot(), change.uid);
    if (there && change.net < 0) without.push_back(str(change.uid));
    // It may not fit yet, while those that make room for it are still going: then it has the zone
    // with most.
    if (!there && change.net > 0) with.push_back(change.demand.get());
  }
  if (without.empty() && with.empty()) return fits(*ledger_.node(node.slot()));
  return ledger_.fits_without(node.slot(), without, [&](const plimsoll_numa_node& zones) {
    if (with.empty()) return fits(zones);
    const size_t cells = size_t{zones.zone_count} * zones.resource_count;
    std::vector<int64_t> free(zones.free, zones.free + cells);
    plimsoll_numa_node changed = zones;
    changed.free = free.data();
    for (const PodRequest* request : with) {
      for (const Charge& charge : predict(*request, changed, Doubt::kCharge, scratch).charges) {
        take_from(free, changed, charge);
      }
    }
    return fits(changed);
  });
}

bool NodeResourceTopologyMatch::fits_soon(const PodRequest& request, Node node,
                                          Scratch& scratch) const {
  const plimsoll_numa_node* zones = ledger_.node(node.slot());
  if (zones == nullptr || zones->leaving == 0) return false;
  return ledger_.fits_without(node.slot(), {}, [&](const plimsoll_numa_node& then) {
    return verdict_on(request, node, &then, scratch) == Verdict::kFits;
  });
}

Verdict NodeResourceTopologyMatch::verdict_in(const WhatIf::Changes* changes,
                                              const PodRequest& request, Node node,
                                              Scratch& scratch) const {
  if (changes == nullptr) return verdict_on(request, node, scratch);
  Verdict refusal = Verdict::kFits;
  const bool fitting = fits_changed(*changes, node, scratch, [&](const plimsoll_numa_node& zones) {
    const Verdict verdict = verdict_on(request, node, &zones, scratch);
    if (refusal == Verdict::kFits) refusal = verdict;
    return verdict == Verdict::kFits;
  });
  return fitting ? Verdict::kFits : refusal;
}

Status NodeResourceTopologyMatch::filter(const plimsoll_cycle& cycle, Pod pod, Nodes nodes,
                                         sdk::Verdicts verdicts) const {
  const PodRequest request(*pod);
  if (!needs_alignment(request)) return Status::success();
  const WhatIf* what_if = host_.state<WhatIf>(cycle);
  Scratch scratch;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!verdicts.open(i)) continue;
    const WhatIf::Changes* changes = changes_on(what_if, nodes[i]);
    const Verdict verdict = verdict_in(changes, request, nodes[i], scratch);
    if (verdict == Verdict::kFits) continue;
    const uint32_t reason = reasons_[static_cast<uint32_t>(verdict)];
    // Room is on its way, the next report brings it: evicting more pods is of no use.
    const bool soon = changes == nullptr && fits_soon(request, nodes[i], scratch);
    verdicts.set(i, soon ? Status::pending(reason) : Status::unschedulable(reason));
  }
  return Status::success();
}

Status NodeResourceTopologyMatch::score(const plimsoll_cycle& cycle, Pod pod, Nodes nodes,
                                        std::span<int64_t> scores) const {
  const PodRequest request(*pod);
  const WhatIf* what_if = host_.state<WhatIf>(cycle);
  Scratch scratch;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (const WhatIf::Changes* changes = changes_on(what_if, nodes[i])) {
      fits_changed(*changes, nodes[i], scratch, [&](const plimsoll_numa_node& zones) {
        scores[i] = score_node(args_.scoring, request, &zones, scratch);
        return true;  // what is sure will do
      });
      continue;
    }
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

void NodeResourceTopologyMatch::explain(const plimsoll_cycle& cycle, Pod pod, Node node,
                                        sdk::Sink& sink) const {
  const PodRequest request(*pod);
  Scratch scratch;
  const plimsoll_numa_node* zones = ledger_.node(node.slot());
  const Verdict verdict =
      verdict_in(changes_on(host_.state<WhatIf>(cycle), node), request, node, scratch);
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
