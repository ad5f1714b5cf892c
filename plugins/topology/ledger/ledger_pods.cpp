// Pod events: promised, bound, deleted.

#include <charconv>
#include <plimsoll/views.hpp>

#include "plugins/topology/ask/judge.hpp"
#include "plugins/topology/ledger/ledger.hpp"
#include "plugins/topology/possible/arrival.hpp"
#include "plugins/topology/record/zones_annotation.hpp"
#include "plugins/topology/report/fingerprint.hpp"

namespace plimsoll::topology {
namespace {

using sdk::view;

constexpr std::string_view kSmtAlignmentError = "SMTAlignmentError";
constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";

// A kubelet refused the pod because no zones had room. It never held anything. `is_tied`: to zones;
// UnexpectedAdmissionError says of others that a critical pod found nobody to evict (kubelet,
// pkg/kubelet/lifecycle/predicate.go).
bool refused_for_zones(const plimsoll_pod& pod, bool is_tied, LedgerStats& stats) {
  if (!PLIMSOLL_HAS(&pod, status_reason) || pod.phase != PLIMSOLL_PHASE_FAILED) return false;
  const std::string_view reason = view(pod.status_reason);
  uint64_t* counter = reason == "TopologyAffinityError"                 ? &stats.refused_affinity
                      : reason == kSmtAlignmentError                    ? &stats.refused_smt
                      : reason == "UnexpectedAdmissionError" && is_tied ? &stats.refused_unexpected
                                                                        : nullptr;
  if (counter != nullptr) ++*counter;
  return counter != nullptr;
}

// The API server's resource versions are numbers; 0 if this one is not.
uint64_t version_of(const plimsoll_pod& pod) {
  const std::string_view text = view(pod.meta.resource_version);
  uint64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  return error == std::errc() && end == text.data() + text.size() ? version : 0;
}

// The binding is seen as the ledger's event `at`.
void bind(Moment& moment, const plimsoll_pod& object, uint64_t at) {
  moment.bound = at;
  moment.version = version_of(object);
  const bool mirror = sdk::Labels(object.meta.annotations).find(kMirrorAnnotation) != nullptr;
  const bool untouched = object.start_ms == 0 && object.meta.deletion_ms == 0;
  moment.fresh = untouched && !mirror;
}

}  // namespace

PodRecord Ledger::record_of(const plimsoll_pod& pod, const PodKind& kind, int64_t now_ms) {
  PodRecord record;
  record.key = PodKey::of(view(pod.meta.uid));
  record.hash = pod_hash(view(pod.meta.ns), view(pod.meta.name));
  record.created_ms = pod.meta.creation_ms;
  record.since_ms = record.order_ms = now_ms;
  record.moment.reserved = ++moments_;
  if (kind.inquiry.matters()) record.demand = kind.inquiry.demand;
  record.request = kind.kept;
  return record;
}

// A pod that was promised zones of one node is promised those of another, or again. That counts
// until the new promise is made. Returns false if there is no room for it: nothing changed.
bool Ledger::renew(NodeRecord& from, const NodeRecord& to, const PodKey& pod, Inquiry& inquiry,
                   Insist insist) {
  PodRecord promised = nodes_.take_pod(from, pod);
  planner_.replan(from);
  touch(from, Ease::kNo);
  const bool fits = insist == Insist::kYes || ask().judge(to.slot, inquiry).fits();
  if (!fits) {
    nodes_.add_pod(from, std::move(promised));
    planner_.replan(from);
    touch(from, Ease::kNo);
    return false;
  }
  touch(from, &from != &to ? Ease::kYes : Ease::kNo);
  if (&from != &to) {
    if (from.slot != UINT32_MAX) changes_.freed.push_back(from.slot);
    forget_if_idle(from);
  }
  return true;
}

Placement Ledger::reserve(const plimsoll_pod& pod, uint32_t slot, int64_t now_ms, Insist insist) {
  now_ms_ = now_ms;
  ++event_;
  NodeRecord* node = nodes_.in(slot);
  const std::shared_ptr<PodKind> kind = kinds_.of(pod);
  Inquiry& inquiry = kind->inquiry;
  inquiry.ask_for(pod);
  Placement placement;
  if (node == nullptr || (!kind->request.has_pinned && !inquiry.matters())) return placement;
  placement.complete = false;
  const PodKey key = PodKey::of(view(pod.meta.uid));
  if (NodeRecord* known_on = nodes_.of(key); known_on != nullptr) {
    if (known_on->find(key)->bound()) return placement;  // it has its zones already
    if (!renew(*known_on, *node, key, inquiry, insist)) return placement;
  } else if (insist == Insist::kNo && !has_room(*node, pod, inquiry)) {
    return placement;
  }
  PodRecord record = record_of(pod, *kind, now_ms);
  record.noted = true;
  record.trusted = node->report.there;  // else the first report decides where it is charged
  const bool has_claims = tell_of_claims(*node, record, pod);
  nodes_.add_pod(*node, std::move(record));
  if (node->report.there) {
    if (has_claims) {
      planner_.replan(*node, &node->pods.back(), &placement);
    } else {
      planner_.append(*node, placement);
    }
    node->pods.back().foretold = node->pods.back().charges;
  }
  placement.complete = true;
  touch(*node, Ease::kNo);
  return placement;
}

bool Ledger::unreserve(const plimsoll_pod& pod) {
  ++event_;
  const PodKey key = PodKey::of(view(pod.meta.uid));
  NodeRecord* node = nodes_.of(key);
  if (node == nullptr || node->find(key)->bound()) return false;
  const PodRecord taken = nodes_.take_pod(*node, key);
  planner_.replan(*node);  // the kubelet will never see it: later pods move up
  touch(*node, Ease::kYes);
  forget_if_idle(*node);
  return !taken.charges.empty();
}

// The API server shows that a promised pod is bound. From now on the kubelet sees it after the pods
// that were bound before.
void Ledger::confirm_binding(NodeRecord& node, PodRecord& pod, const plimsoll_pod& object) {
  if (pod.start_ms != object.start_ms) {
    pod.start_ms = object.start_ms;
    set_due(node);
  }
  if (pod.bound()) return;
  pod.since_ms = now_ms_;
  bind(pod.moment, object, ++moments_);
  if (!node.report.there) return;
  if (doubt_order(node)) {
    planner_.replan(node);
    return touch(node, Ease::kNo);
  }
  if (pod.covered || !pod.demand) return set_due(node);
  const bool as_it_was = planner_.bind(node, pod);
  // Nothing is freed, but pods that wait for this order to become known may be tried again.
  const bool told = node.told_uncertain.load(std::memory_order_relaxed);
  if (!as_it_was || told) return touch(node, told ? Ease::kYes : Ease::kNo);
  // Fewer orders are possible than before, and no pod was refused because of one of them. All
  // verdicts and scores stay the same, so no pod has to be tried again.
  count(node);
  set_due(node);
  look(node);
}

// A kubelet that was away takes what waits for it in the order of creation, not of the bindings.
// Where a pod waits for long and these orders differ, none is known. Returns true if that is news.
// Nothing follows from the silence of a kubelet that has not said of any pod when it started.
bool Ledger::doubt_order(NodeRecord& node) {
  bool has_started = false;
  bool is_fresh = false;
  size_t waiting = 0;
  size_t late = 0;
  const auto is_late = [&](const PodRecord& pod) {
    return pod.waits() && now_ms_ - pod.since_ms > kQuickKubeletMs;
  };
  for (const PodRecord& pod : node.pods) {
    has_started = has_started || pod.start_ms != 0;
    if (!pod.waits()) continue;
    ++waiting;
    is_fresh = is_fresh || pod.moment.fresh;
    if (is_late(pod)) ++late;
  }
  if (!has_started || !is_fresh || late == 0 || waiting < 2) return false;
  if (waiting > kMostInOrder) {
    for (PodRecord& pod : node.pods)
      if (pod.waits()) pod.moment.fresh = false;
    return true;
  }
  bool news = false;
  for (PodRecord& pod : node.pods) {
    if (!is_late(pod)) continue;
    for (PodRecord& other : node.pods) {
      if (&other == &pod || !other.waits()) continue;
      if (!pod.moment.fresh && !other.moment.fresh) continue;
      const bool first = pod.moment.bound < other.moment.bound;
      const bool older = pod.created_ms < other.created_ms;
      if (pod.created_ms != other.created_ms && first == older) continue;
      if (same_demand(*pod.demand, *other.demand)) continue;
      pod.moment.fresh = other.moment.fresh = false;
      news = true;
    }
  }
  return news;
}

void Ledger::resize(NodeRecord& node, PodRecord& pod, const PodKind& kind) {
  if (!pod.demand || !kind.inquiry.matters()) return;
  const auto& asks = kind.inquiry.demand;
  const bool as_before = same_demand(*asks, *pod.asks());
  if (as_before ? !pod.resized : pod.resized && same_demand(*asks, *pod.resized)) return;
  const bool asked_for_other = pod.resized != nullptr;  // which is no longer kept free
  pod.resized = as_before ? nullptr : asks;
  pod.was_resized = true;
  planner_.replan(node);
  touch(node, asked_for_other ? Ease::kYes : Ease::kNo);
}

// A promised pod is bound elsewhere: the API server knows better.
void Ledger::move_away(NodeRecord& node, const PodKey& pod) {
  nodes_.take_pod(node, pod);
  planner_.replan(node);
  touch(node, Ease::kYes);
  if (node.slot != UINT32_MAX) changes_.freed.push_back(node.slot);
  forget_if_idle(node);
}

void Ledger::pod_assigned(const plimsoll_pod& pod, std::string_view node_name, int64_t now_ms) {
  now_ms_ = now_ms;
  ++event_;
  const PodKey key = PodKey::of(view(pod.meta.uid));
  const bool leaving = pod.meta.deletion_ms != 0;
  if (NodeRecord* known_on = nodes_.of(key); known_on != nullptr) {
    if (known_on->name == node_name) {
      PodRecord& known = *known_on->find(key);
      confirm_binding(*known_on, known, pod);
      resize(*known_on, known, *kinds_.of(pod));
      if (known.adds_claims != adds_claims(pod) && tell_of_claims(*known_on, known, pod)) {
        planner_.replan(*known_on);
        touch(*known_on, Ease::kNo);
      }
      if (!leaving || known.leaving) return;
      known.leaving = true;
      if (!known.demand) return;
      planner_.replan(*known_on);
      return touch(*known_on, Ease::kNo);
    }
    move_away(*known_on, key);
  }
  NodeRecord& node = nodes_.made(node_name);
  const std::shared_ptr<PodKind> kind = kinds_.of(pod);
  PodRecord record = record_of(pod, *kind, now_ms);
  bind(record.moment, pod, record.moment.reserved);
  record.leaving = leaving;
  record.start_ms = pod.start_ms;
  if (pod.start_ms != 0) record.order_ms = pod.start_ms;
  const bool has_claims = tell_of_claims(node, record, pod);
  const plimsoll_str* zones = sdk::Labels(pod.meta.annotations).find(kZonesAnnotation);
  if (record.request && zones != nullptr) record.named = zones_of(view(*zones), kind->request);
  record.noted = !record.named.empty();
  if (node.report.there) planner_.place_as_named(node, record);
  nodes_.add_pod(node, std::move(record));
  const bool matters = doubt_order(node) || node.pods.back().demand != nullptr || has_claims;
  const bool settled = settler_.settle_pod(node, node.pods.back(), now_ms);
  if (!matters && !settled) return;
  planner_.replan(node);
  touch(node, settled ? Ease::kYes : Ease::kNo);
}

// The next report shows why its kubelet refused the pod, unless that was to be expected.
void Ledger::note_refusal(NodeRecord& node, const PodRecord& pod, bool whole_cores) {
  if (!node.report.there) return;
  const bool foreseen = refusal_foreseen(node, pod);
  if (!foreseen) node.lessons.stop(now_ms_);
  if (whole_cores || !foreseen) {
    node.lessons.learn(node.report, pod.demand, whole_cores, now_ms_);
  }
}

void Ledger::pod_removed(const plimsoll_pod& pod, int64_t now_ms) {
  now_ms_ = now_ms;
  ++event_;
  const PodKey key = PodKey::of(view(pod.meta.uid));
  NodeRecord* node = nodes_.of(key);
  if (node == nullptr) return;
  GonePod gone;
  gone.pod = *node->find(key);
  gone.pod.moment.gone = ++moments_;
  gone.refused = refused_for_zones(pod, gone.pod.demand != nullptr, stats_) && !gone.pod.covered;
  if (gone.refused) {
    note_refusal(*node, gone.pod, view(pod.status_reason) == kSmtAlignmentError);
  }
  const bool matters =
      gone.pod.demand || !gone.pod.charges.empty() || gone.refused || node->has_claims(key);
  nodes_.take_pod(*node, key);
  bool settled = false;
  if (node->report.there) {
    settled = settler_.settle_gone(*node, std::move(gone), now_ms);
    if (matters || settled) planner_.replan(*node);
  }
  if (matters || settled) touch(*node, Ease::kYes);
  forget_if_idle(*node);
}

}  // namespace plimsoll::topology
