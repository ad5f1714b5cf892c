#include "plugins/noderesourcetopologymatch/noderesourcetopologymatch.hpp"

#include <algorithm>

#include "plugins/topology/ask/explain_text.hpp"
#include "plugins/topology/pod/signature.hpp"
#include "plugins/topology/record/zones_annotation.hpp"
#include "plugins/topology/verdict/judgement.hpp"

namespace plimsoll::topology {

using sdk::Hint;
using sdk::Node;
using sdk::Nodes;
using sdk::Pod;
using sdk::Status;
using sdk::str;
using sdk::view;

namespace {

constexpr int64_t kLongWaitMs = 5'000;  // worth an event

NodeAllocatable allocatable_of(Node node) {
  return {&node.object().allocatable, node->allocatable, node->resource_count};
}

}  // namespace

NodeResourceTopologyMatch::NodeResourceTopologyMatch(sdk::Host host, std::string_view args_json)
    : host_(host),
      args_(parse_match_args(args_json, [&host](std::string_view text) { host.warn(text); })),
      ledger_(
          host, [this](uint32_t slot) { wake_for(slot); }, args_.without_report),
      waited_(host.histogram("numa_pod_wait_seconds",
                             "How long pods waited for a node of which it was uncertain whether "
                             "its kubelet takes them, until they got one",
                             {0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300})) {
  for (uint32_t i = 1; i < kVerdicts; ++i) {
    reasons_[i] = host_.reason(message_of(static_cast<Verdict>(i)));
  }
}

std::vector<plimsoll_event_interest> NodeResourceTopologyMatch::events() {
  // A node without an object may pass: its deletion may help too. A pod that is seen on its node
  // helps pods that wait for the order of bindings under way.
  const uint32_t nrt = PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE | PLIMSOLL_ACTION_DELETE;
  const uint32_t node =
      PLIMSOLL_ACTION_ADD | (by_kubelet() ? 0 : PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE);
  return {{str("Pod"), PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_DELETE, 0},
          {str("Node"), node, 0},
          {str(kNrtResource), nrt, 0},
          {str(kOldNrtResource), nrt, 0}};
}

// Whether zones come free when it goes.
bool NodeResourceTopologyMatch::pins(const plimsoll_pod& pod) {
  const std::string_view uid = view(pod.meta.uid);
  if (gone_uid_.empty() || gone_uid_ != uid) {
    gone_uid_ = uid;
    gone_pins_ = ledger_.ties(pod);
  }
  return gone_pins_;
}

NodeResourceTopologyMatch::Told NodeResourceTopologyMatch::told_by(const plimsoll_event& event) {
  const std::string_view kind = view(event.resource);
  const bool report = kind == kNrtResource || kind == kOldNrtResource;
  Told told;
  if (event.new_node != nullptr) {
    told.node = host_.node(view(event.new_node->meta.name));
    told.may_help = true;
    return told;
  }
  const plimsoll_pod* pod = event.old_pod != nullptr ? event.old_pod : event.new_pod;
  if (pod == nullptr && !report) return told;
  told.node = host_.node(pod != nullptr ? view(pod->node_name) : view(event.name));
  if (!told.node) return told;  // its Node comes as an event of its own
  // The ledger's answer is about the last event of all.
  const bool late = attempted_;
  told.may_help = late || ledger_.service().eased(told.node.slot());
  // The ledger does not see the end of a nomination, which arrives as a pod event. A pod that never
  // held anything requeues nothing.
  if (event.old_pod != nullptr && (late || !told.may_help)) told.may_help = pins(*event.old_pod);
  return told;
}

Hint NodeResourceTopologyMatch::hint(Pod pod, const plimsoll_event& event) {
  const Told told = told_by(event);
  if (!told.may_help || !told.node) return Hint::kSkip;
  // Only the reference's model uses a node's allocatable; the ledger never does.
  const bool new_node = event.new_node != nullptr;
  if (new_node && (event.actions & PLIMSOLL_ACTION_ADD) == 0) return Hint::kQueue;
  Refusals::Kind* kind = refusals_.find(hash_requests(*pod));
  const uint32_t slot = told.node.slot();
  // Filter does not know whether it takes the pod once others are evicted: now it may.
  if (kind != nullptr && kind->doubted.test(slot)) return Hint::kQueue;
  // Filter was not asked about a node that is new.
  if (kind != nullptr && kind->whole && !new_node && !kind->refused.test(slot)) return Hint::kSkip;
  if (fits_again(kind, pod, told.node)) return Hint::kQueue;
  if (kind != nullptr) kind->refused.set(slot);
  return Hint::kSkip;
}

// Judges like Filter: the node as it is, and with the nominated pods that come before this pod.
bool NodeResourceTopologyMatch::fits_again(Refusals::Kind* kind, Pod pod, Node node) {
  const uint32_t slot = node.slot();
  // What a kind is told is no answer for a pod that may have claims of its own.
  if (kind == nullptr || kind->inquiry == nullptr || pod->resource_claims.count != 0) {
    Asked asked = ask(pod);
    return judge(nullptr, asked, node).fits() && fits_beside_nominated(pod, node);
  }
  const uint64_t change = ledger_->change_of(slot);
  if (kind->judged_slot != slot || kind->judged_change != change) {
    kind->judged_slot = slot;
    kind->judged_change = change;
    kind->judged_fits = ledger_->judge(slot, *kind->inquiry).fits();
  }
  return kind->judged_fits && fits_beside_nominated(pod, node);
}

bool NodeResourceTopologyMatch::fits_beside_nominated(Pod pod, Node node) const {
  WhatIf beside;
  for (Pod other : host_.nominated_pods(node.name())) {
    if (other->priority < pod->priority || other.uid() == pod.uid()) continue;
    const auto demand = demand_of(other);
    if (demand) beside.add(node.slot(), *other, false, [&] { return demand; });
  }
  const WhatIf::Changes* changes = changes_on(&beside, node);
  if (changes == nullptr) return true;
  Asked asked = ask(pod);
  return judge(changes, asked, node).fits();
}

// Requeues pods when room appears without a cluster event.
void NodeResourceTopologyMatch::wake_for(uint32_t slot) {
  const bool wanted = refusals_.any_refused(slot, [&](const Refusals::Kind& kind) {
    return !by_kubelet() || kind.inquiry == nullptr || kind.has_claims ||
           ledger_->judge(slot, *kind.inquiry).fits();
  });
  if (wanted) host_.requeue_rejected();
}

NodeResourceTopologyMatch::Asked NodeResourceTopologyMatch::ask(Pod pod) const {
  Asked asked;
  asked.pod = ledger_.read(*pod);
  if (by_kubelet()) asked.inquiry = asked.pod->inquiry;
  if (asked.inquiry != nullptr) asked.inquiry->ask_for(*pod);
  return asked;
}

bool NodeResourceTopologyMatch::matters(const Asked& asked) const {
  return by_kubelet() ? asked.inquiry != nullptr : needs_alignment(asked.request());
}

Verdict NodeResourceTopologyMatch::reference_verdict(Asked& asked, Node node,
                                                     const plimsoll_numa_node* zones) const {
  if (zones == nullptr && needs_alignment(asked.request())) {
    if (ledger_->malformed(node.slot())) return Verdict::kInvalidTopology;
    if (ledger_.awaits_report(node.slot())) return Verdict::kNoReport;
  }
  return reference_fit(asked.request(), zones, allocatable_of(node), asked.scratch);
}

Status NodeResourceTopologyMatch::pre_filter(plimsoll_cycle&, Pod pod) {
  attempted_ = true;
  return matters(ask(pod)) ? Status::success() : Status::skip();
}

NodeResourceTopologyMatch::WhatIf& NodeResourceTopologyMatch::what_if_of(plimsoll_cycle& cycle) {
  WhatIf* what_if = host_.state<WhatIf>(cycle);
  return what_if != nullptr ? *what_if : host_.set_state(cycle, WhatIf());
}

std::shared_ptr<const NodeResourceTopologyMatch::Demand> NodeResourceTopologyMatch::demand_of(
    Pod pod) const {
  const Asked asked = ask(pod);
  if (!asked.request().has_pinned && asked.inquiry == nullptr) return nullptr;
  return std::make_shared<const Demand>(Demand{asked.request().without_views(), asked.inquiry});
}

Status NodeResourceTopologyMatch::add_pod(plimsoll_cycle& cycle, Pod, Pod added, Node node) {
  const auto demand = demand_of(added);
  const bool is_member = decision_.on(added) != 0;
  if (demand) what_if_of(cycle).add(node.slot(), *added, is_member, [&] { return demand; });
  return Status::success();
}

Status NodeResourceTopologyMatch::remove_pod(plimsoll_cycle& cycle, Pod, Pod removed, Node node) {
  if (demand_of(removed)) what_if_of(cycle).remove(node.slot(), *removed);
  return Status::success();
}

const NodeResourceTopologyMatch::WhatIf::Changes* NodeResourceTopologyMatch::changes_on(
    const WhatIf* what_if, Node node) const {
  // Unknown zones cannot be changed.
  if (what_if == nullptr || ledger_->node(node.slot()) == nullptr) return nullptr;
  return what_if->on(node.slot());
}

bool NodeResourceTopologyMatch::fits_changed(const WhatIf::Changes& changes, Node node,
                                             const LedgerAnswers::Fits& fits) const {
  std::vector<plimsoll_str> without;
  std::vector<const PodRequest*> with;
  for (const WhatIf::Change& change : changes) {
    const bool there = ledger_->holds(node.slot(), change.uid);
    if (there && change.net < 0) without.push_back(str(change.uid));
    // The pod may not fit yet while the pods that make room for it still leave: then it gets the
    // zone with most free.
    if (!there && change.net > 0) with.push_back(&change.demand->request);
  }
  if (without.empty() && with.empty()) return fits(*ledger_->node(node.slot()));
  return ledger_->fits_without(node.slot(), without, [&](const plimsoll_numa_node& zones) {
    if (with.empty()) return fits(zones);
    const size_t cells = size_t{zones.zone_count} * zones.resource_count;
    std::vector<int64_t> free(zones.free, zones.free + cells);
    plimsoll_numa_node changed = zones;
    changed.free = free.data();
    for (const PodRequest* request : with) reference_take(*request, zones, free.data());
    return fits(changed);
  });
}

Judgement NodeResourceTopologyMatch::judge_changed(const WhatIf::Changes& changes, Asked& asked,
                                                   Node node) const {
  if (by_kubelet()) {
    std::vector<plimsoll_str> without;
    std::vector<LedgerAccess::Asked> with;  // members first
    size_t together = 0;
    for (const WhatIf::Change& change : changes) {
      const bool there = ledger_->holds(node.slot(), change.uid);
      if (there && change.net < 0) without.push_back(str(change.uid));
      if (there || change.net <= 0 || !change.demand) continue;
      with.push_back(change.demand->inquiry);
      if (change.is_member) ++together;
    }
    if (without.empty() && with.empty()) return ledger_->judge(node.slot(), *asked.inquiry);
    return ledger_->judge_changed(node.slot(), *asked.inquiry, without, with, together);
  }
  Judgement judgement;
  const bool fitting = fits_changed(changes, node, [&](const plimsoll_numa_node& zones) {
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
  if (by_kubelet()) return ledger_->judge(node.slot(), *asked.inquiry);
  return {reference_verdict(asked, node, ledger_->node(node.slot())), Judgement::kNoResource};
}

bool NodeResourceTopologyMatch::fits_soon(Asked& asked, Node node) const {
  if (by_kubelet()) return ledger_->fits_soon(node.slot(), *asked.inquiry);
  const plimsoll_numa_node* zones = ledger_->node(node.slot());
  if (zones == nullptr || zones->leaving == 0) return false;
  return ledger_->fits_without(node.slot(), {}, [&](const plimsoll_numa_node& then) {
    return reference_verdict(asked, node, &then) == Verdict::kFits;
  });
}

// The reference's words, plus the resource that is short if it is only one: that keeps the number
// of texts small. Amounts and zones differ from node to node and would need a text for each;
// explain has them.
uint32_t NodeResourceTopologyMatch::reason_of(const Judgement& judgement, Pod pod) const {
  if (judgement.resource == Judgement::kNoResource) {
    return reasons_[static_cast<uint32_t>(judgement.verdict)];
  }
  std::string text(message_of(judgement.verdict));
  text += " (" + std::string(resource_name(*pod, judgement.resource)) + ")";
  return host_.reason(text);
}

Status NodeResourceTopologyMatch::reserve(plimsoll_cycle& cycle, Pod pod, Node node) {
  std::vector<plimsoll_numa_charge> where;
  Asked asked = ask(pod);
  if (by_kubelet()) {
    // The ledger judges by itself, except that it takes every pod where it knows nothing: this is
    // computed again only if it refuses.
    const bool waits = asked.inquiry != nullptr && ledger_.awaits_report(node.slot());
    if (waits || !ledger_.service().reserve(node.slot(), *pod, false, where)) {
      return refuse_to_reserve(asked, pod, node, judge(nullptr, asked, node));
    }
  } else {
    const Judgement judgement = judge(nullptr, asked, node);
    if (!judgement.fits()) return refuse_to_reserve(asked, pod, node, judgement);
    ledger_.service().reserve(node.slot(), *pod, true, where);
  }
  const std::string& zones = annotations_.of(asked.pod, where);
  if (!zones.empty()) host_.annotate(cycle, kZonesAnnotation, zones);
  tell_wait(pod);
  return Status::success();
}

void NodeResourceTopologyMatch::tell_wait(Pod pod) {
  if (refusals_.empty()) return;
  const Wait wait = refusals_.end_wait(hash_requests(*pod));
  if (wait.since_ms == 0) return;
  // Another pod of the kind may have been told first.
  const int64_t ms = host_.now_ms() - std::max(wait.since_ms, pod->meta.creation_ms);
  waited_.observe_value(static_cast<double>(std::max<int64_t>(0, ms)) / 1000);
  const Node node = host_.node(wait.slot);
  if (ms < kLongWaitMs || !node) return;
  const std::string_view because =
      wait.because == Doubt::kOrder     ? "the order of its pods was not known"
      : wait.because == Doubt::kRefused ? "its kubelet had refused a pod"
      : wait.because == Doubt::kAway    ? "its kubelet was away"
      : wait.because == Doubt::kUnknown ? "an unknown amount could come free"
                                        : "it had none";
  host_.emit_event(pod, false, "WaitedForZones", "Scheduling",
                   "waited " + std::to_string(ms / 1000) + " s for a report of node " +
                       std::string(node.name()) + ": " + std::string(because));
}

Status NodeResourceTopologyMatch::refuse_to_reserve(const Asked& asked, Pod pod, Node node,
                                                    const Judgement& judgement) const {
  FilterRound round;
  round.asked.set(node.slot());
  round.refused.set(node.slot());
  note(*pod, asked, round);
  if (judgement.fits() || waits(judgement.verdict)) {
    const Verdict verdict = judgement.fits() ? Verdict::kUncertain : judgement.verdict;
    return Status::pending(reasons_[static_cast<uint32_t>(verdict)]);
  }
  return Status::unschedulable(reason_of(judgement, pod));
}

void NodeResourceTopologyMatch::unreserve(plimsoll_cycle&, Pod pod, std::string_view) {
  ledger_.service().unreserve(*pod);
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
    sink.put(ledger_.service().explain(node.slot(), *asked.inquiry, *pod, judgement.verdict));
  } else {
    sink.put(explain_text(asked.request(), ledger_->node(node.slot()), allocatable_of(node),
                          judgement.verdict, host_.now_ms(), asked.scratch));
  }
}

bool NodeResourceTopologyMatch::rests_on(Pod pod, std::string_view resource) const {
  return is_report(resource) && (matters(ask(pod)) || ledger_.ties(*pod));
}

void NodeResourceTopologyMatch::node_event(sdk::NodeEvent type, Node node, uint32_t) {
  attempted_ = false;
  ledger_.node_event(type, node);
}

void NodeResourceTopologyMatch::pod_event(sdk::PodEvent type, Pod pod, std::string_view node_name) {
  attempted_ = false;
  ledger_.pod_event(type, pod, node_name);
}

void NodeResourceTopologyMatch::object_event(const sdk::ObjectEvent& event) {
  attempted_ = false;
  ledger_.object_event(event);
}

}  // namespace plimsoll::topology
