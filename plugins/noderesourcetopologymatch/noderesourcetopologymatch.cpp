#include "plugins/noderesourcetopologymatch/noderesourcetopologymatch.hpp"

#include "plugins/topology/amount.hpp"
#include "plugins/topology/explain_text.hpp"
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
  Asked asked = ask(pod);
  return judge(nullptr, asked, node).fits() ? Hint::kQueue : Hint::kSkip;
}

NodeResourceTopologyMatch::Asked NodeResourceTopologyMatch::ask(Pod pod) const {
  return {PodRequest(*pod), by_kubelet() ? ledger_.inquire(*pod) : nullptr, {}};
}

bool NodeResourceTopologyMatch::matters(const Asked& asked) const {
  return by_kubelet() ? asked.inquiry != nullptr : needs_alignment(asked.request);
}

Verdict NodeResourceTopologyMatch::reference_verdict(Asked& asked, Node node,
                                                     const plimsoll_numa_node* zones) const {
  if (zones == nullptr && needs_alignment(asked.request) && ledger_.malformed(node.slot())) {
    return Verdict::kInvalidTopology;
  }
  return reference_fit(asked.request, zones, allocatable_of(node), asked.scratch);
}

Status NodeResourceTopologyMatch::pre_filter(plimsoll_cycle&, Pod pod) {
  return matters(ask(pod)) ? Status::success() : Status::skip();
}

void NodeResourceTopologyMatch::note_change(plimsoll_cycle& cycle, Pod pod, Node node, bool added) {
  const PodRequest request(*pod);
  const LedgerAccess::Inquiry inquiry = by_kubelet() ? ledger_.inquire(*pod) : nullptr;
  if (!request.has_pinned && inquiry == nullptr) return;
  WhatIf* what_if = host_.state<WhatIf>(cycle);
  if (what_if == nullptr) what_if = &host_.set_state(cycle, WhatIf());
  if (!added) return what_if->remove(node.slot(), *pod);
  what_if->add(node.slot(), *pod, [&] {
    return std::make_shared<const Demand>(Demand{request.without_views(), inquiry});
  });
}

Status NodeResourceTopologyMatch::add_pod(plimsoll_cycle& cycle, Pod, Pod added, Node node) {
  note_change(cycle, added, node, true);
  return Status::success();
}

Status NodeResourceTopologyMatch::remove_pod(plimsoll_cycle& cycle, Pod, Pod removed, Node node) {
  note_change(cycle, removed, node, false);
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
    if (!there && change.net > 0) with.push_back(&change.demand->request);
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

Judgement NodeResourceTopologyMatch::judge_changed(const WhatIf::Changes& changes, Asked& asked,
                                                   Node node) const {
  if (by_kubelet()) {
    std::vector<plimsoll_str> without;
    std::vector<LedgerAccess::Inquiry> with;
    for (const WhatIf::Change& change : changes) {
      const bool there = ledger_.holds(node.slot(), change.uid);
      if (there && change.net < 0) without.push_back(str(change.uid));
      if (!there && change.net > 0 && change.demand) with.push_back(change.demand->inquiry);
    }
    if (without.empty() && with.empty()) return ledger_.judge(node.slot(), asked.inquiry);
    return ledger_.judge_changed(node.slot(), asked.inquiry, without, with);
  }
  Judgement judgement;
  const bool fitting =
      fits_changed(changes, node, asked.scratch, [&](const plimsoll_numa_node& zones) {
        const Verdict verdict = reference_verdict(asked, node, &zones);
        if (judgement.fits()) judgement.verdict = verdict;
        return verdict == Verdict::kFits;
      });
  return fitting ? Judgement() : judgement;
}

Judgement NodeResourceTopologyMatch::judge(const WhatIf::Changes* changes, Asked& asked,
                                           Node node) const {
  if (!matters(asked)) return {};
  if (changes != nullptr) return judge_changed(*changes, asked, node);
  if (by_kubelet()) return ledger_.judge(node.slot(), asked.inquiry);
  return {reference_verdict(asked, node, ledger_.node(node.slot())), Judgement::kNoResource};
}

bool NodeResourceTopologyMatch::fits_soon(Asked& asked, Node node, Verdict refusal) const {
  if (by_kubelet()) {
    return refusal == Verdict::kUncertain || ledger_.fits_soon(node.slot(), asked.inquiry);
  }
  const plimsoll_numa_node* zones = ledger_.node(node.slot());
  if (zones == nullptr || zones->leaving == 0) return false;
  return ledger_.fits_without(node.slot(), {}, [&](const plimsoll_numa_node& then) {
    return reference_verdict(asked, node, &then) == Verdict::kFits;
  });
}

// The reference's words, and the resource that is short if it is one: there are as many texts as
// words and resources. Amounts and zones differ from node to node and would make a text for each;
// explain has them.
uint32_t NodeResourceTopologyMatch::reason_of(const Judgement& judgement, Pod pod) const {
  if (judgement.resource == Judgement::kNoResource) {
    return reasons_[static_cast<uint32_t>(judgement.verdict)];
  }
  std::string text(message_of(judgement.verdict));
  text += " (" + std::string(resource_name(*pod, judgement.resource)) + ")";
  return host_.reason(text);
}

Status NodeResourceTopologyMatch::filter(const plimsoll_cycle& cycle, Pod pod, Nodes nodes,
                                         sdk::Verdicts verdicts) const {
  Asked asked = ask(pod);
  if (!matters(asked)) return Status::success();
  const WhatIf* what_if = host_.state<WhatIf>(cycle);
  Judgement told;  // nodes refuse a pod for the same reason mostly
  uint32_t reason = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!verdicts.open(i)) continue;
    const WhatIf::Changes* changes = changes_on(what_if, nodes[i]);
    const Judgement judgement = judge(changes, asked, nodes[i]);
    if (judgement.fits()) continue;
    if (judgement.verdict != told.verdict || judgement.resource != told.resource) {
      told = judgement;
      reason = reason_of(judgement, pod);
    }
    // Room is on its way, the next report brings it: evicting more pods is of no use.
    const bool soon = changes == nullptr && fits_soon(asked, nodes[i], judgement.verdict);
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
  LedgerAccess::Charges where;
  Asked asked = ask(pod);
  if (by_kubelet()) {
    // The ledger judges itself: worked out twice only if it refuses.
    if (!ledger_.reserve(node.slot(), *pod, false, where)) {
      const Judgement judgement = judge(nullptr, asked, node);
      return Status::unschedulable(judgement.fits()
                                       ? reasons_[static_cast<uint32_t>(Verdict::kUncertain)]
                                       : reason_of(judgement, pod));
    }
  } else {
    const Judgement judgement = judge(nullptr, asked, node);
    if (!judgement.fits()) return Status::unschedulable(reason_of(judgement, pod));
    static_cast<void>(ledger_.reserve(node.slot(), *pod, true, where));
  }
  const std::string zones = zones_annotation(asked.request, where);
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
  Asked asked = ask(pod);
  if (by_kubelet() && !matters(asked)) {
    sink.put(std::string_view("fits: no kubelet ties the pod to zones"));
    return;
  }
  const Judgement judgement = judge(changes_on(host_.state<WhatIf>(cycle), node), asked, node);
  if (by_kubelet()) {
    sink.put(ledger_.explain(node.slot(), asked.inquiry, *pod, judgement.verdict));
  } else {
    sink.put(explain_text(asked.request, ledger_.node(node.slot()), allocatable_of(node),
                          judgement.verdict, host_.now_ms(), asked.scratch));
  }
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
