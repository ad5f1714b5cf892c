// Pod events: promised, bound, deleted.

#include <algorithm>
#include <charconv>
#include <plimsoll/views.hpp>

#include "plugins/topology/fingerprint.hpp"
#include "plugins/topology/ledger.hpp"
#include "plugins/topology/mix.hpp"
#include "plugins/topology/room.hpp"

namespace plimsoll::topology {
namespace {

using sdk::view;

constexpr std::string_view kSmtAlignmentError = "SMTAlignmentError";

// Pods that exporters count under with-exclusive-resources.
bool is_exclusive(const PodRequest& request) {
  return request.has_pinned;
}

// A kubelet refused the pod because no zones had room. It never held anything.
bool refused_for_zones(const plimsoll_pod& pod, LedgerStats& stats) {
  if (!PLIMSOLL_HAS(&pod, status_reason) || pod.phase != PLIMSOLL_PHASE_FAILED) return false;
  const std::string_view reason = view(pod.status_reason);
  uint64_t* counter = reason == "TopologyAffinityError"      ? &stats.refused_affinity
                      : reason == kSmtAlignmentError         ? &stats.refused_smt
                      : reason == "UnexpectedAdmissionError" ? &stats.refused_unexpected
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

// Nothing has happened to the pod since it was bound.
bool is_binding(const plimsoll_pod& pod) {
  return pod.start_ms == 0 && pod.meta.deletion_ms == 0;
}

uint64_t hash_of(const kubelet::PodDemand& pod) {
  uint64_t hash = pod.containers.size() * 4 + (pod.guaranteed ? 2 : 0) + (pod.pod_level ? 1 : 0);
  const auto add = [&](const kubelet::Needs& needs) {
    for (const kubelet::Need& need : needs) {
      hash = mix(mix(hash, need.resource), static_cast<uint64_t>(need.amount));
    }
  };
  for (const kubelet::ContainerDemand& container : pod.containers) {
    hash = mix(hash, static_cast<uint64_t>(container.cpu_milli));
    add(container.memory);
    add(container.devices);
  }
  return hash;
}

}  // namespace

Ledger::Kind::Kind(const plimsoll_pod& pod) : request(pod), inquiry(pod) {
  request.keep_names(names);
  if (request.has_pinned) kept = std::make_shared<const PodRequest>(request.without_views());
}

// Most pods are copies of one another.
std::shared_ptr<Ledger::Kind> Ledger::kind_of(const plimsoll_pod& pod) {
  return kinds_.of(pod, [this](const plimsoll_pod& first) {
    auto kind = std::make_shared<Kind>(first);
    if (kind->inquiry.matters()) share_demand(kind->inquiry.demand);
    return kind;
  });
}

// Pods that differ only in names share their PodDemand.
void Ledger::share_demand(std::shared_ptr<const kubelet::PodDemand>& demand) {
  const uint64_t hash = hash_of(*demand);
  const auto [begin, end] = demands_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    auto known = at->second.lock();
    if (!known || !same_demand(*known, *demand)) continue;
    demand = std::move(known);
    return;
  }
  demands_.emplace(hash, demand);
  if (demands_.size() > sweep_demands_at_) {
    std::erase_if(demands_, [](const auto& entry) { return entry.second.expired(); });
    sweep_demands_at_ = 2 * demands_.size() + 1024;
  }
}

Ledger::PodRecord* Ledger::find(const PodKey& key, NodeRecord*& node) {
  const auto at = pods_.find(key);
  if (at == pods_.end()) return nullptr;
  node = at->second;
  // From the end: most pods are asked for soon after they came.
  const auto pod = std::find_if(node->pods.rbegin(), node->pods.rend(),
                                [&](const PodRecord& each) { return each.key == key; });
  return pod == node->pods.rend() ? nullptr : &*pod;
}

void Ledger::add_pod(NodeRecord& node, PodRecord record) {
  if (!record.covered && !record.charges.empty()) ++pending_;
  charge(node, record);
  pods_[record.key] = &node;
  node.pods.push_back(std::move(record));
}

Ledger::PodRecord Ledger::take_pod(NodeRecord& node, const PodKey& key) {
  const auto at = std::find_if(node.pods.begin(), node.pods.end(),
                               [&](const PodRecord& pod) { return pod.key == key; });
  if (!at->covered && !at->charges.empty()) --pending_;
  PodRecord taken = std::move(*at);
  pods_.erase(key);
  node.pods.erase(at);
  return taken;
}

Placement Ledger::reserve(const plimsoll_pod& pod, uint32_t slot, int64_t now_ms, Insist insist) {
  now_ms_ = now_ms;
  ++event_;
  NodeRecord* node = slot < slots_.size() ? slots_[slot] : nullptr;
  const std::shared_ptr<Kind> kind = kind_of(pod);
  const PodRequest& request = kind->request;
  Inquiry& inquiry = kind->inquiry;
  if (node == nullptr || (!request.has_pinned && !inquiry.matters())) return {};
  const PodKey key = key_of(view(pod.meta.uid));
  Placement placement;
  NodeRecord* known_on = nullptr;
  PodRecord* known = find(key, known_on);
  if (known != nullptr && known->bound) {  // it has its zones already
    placement.complete = false;
    return placement;
  }
  if (known != nullptr) {  // promised before: that counts until the new promise is made
    PodRecord promised = take_pod(*known_on, key);
    replan(*known_on);
    touch(*known_on, Ease::kNo);
    const bool fits = insist == Insist::kYes || judge(slot, inquiry).fits();
    if (!fits) {
      add_pod(*known_on, std::move(promised));
      replan(*known_on);
      touch(*known_on, Ease::kNo);
      placement.complete = false;
      return placement;
    }
    touch(*known_on, known_on != node ? Ease::kYes : Ease::kNo);
    if (known_on != node) {
      if (known_on->slot != UINT32_MAX) freed_.push_back(known_on->slot);
      forget_if_idle(*known_on);
    }
  } else if (insist == Insist::kNo && !judge(slot, inquiry).fits()) {
    placement.complete = false;
    return placement;
  }
  PodRecord record;
  record.key = key;
  record.hash = pod_hash(view(pod.meta.ns), view(pod.meta.name));
  record.exclusive = is_exclusive(request);
  record.trusted = node->reported;  // else the first report decides where it is charged
  record.since_ms = record.order_ms = now_ms;
  record.moment.reserved = ++moments_;
  if (inquiry.matters()) record.demand = inquiry.demand;
  record.init_over = !record.demand || !may_free_memory_at_start(*record.demand);
  record.request = kind->kept;
  add_pod(*node, std::move(record));
  PodRecord& added = node->pods.back();
  if (node->reported) {
    if (added.demand && append(*node, added)) {
      plan(*node, added, &placement);
    } else {
      replan(*node, &added, &placement);
    }
    placement.complete = true;
  }
  touch(*node, Ease::kNo);
  return placement;
}

bool Ledger::unreserve(const plimsoll_pod& pod) {
  ++event_;
  const PodKey key = key_of(view(pod.meta.uid));
  NodeRecord* node = nullptr;
  const PodRecord* record = find(key, node);
  if (record == nullptr || record->bound) return false;
  const bool charges = !record->charges.empty();
  take_pod(*node, key);
  replan(*node);  // the kubelet will never see it: later pods move up
  touch(*node, Ease::kYes);
  forget_if_idle(*node);
  return charges;
}

// The API server shows that a promised pod is bound. From now on the kubelet sees it after the pods
// that were bound before.
void Ledger::confirm_binding(NodeRecord& node, PodRecord& pod, const plimsoll_pod& object) {
  if (pod.start_ms != object.start_ms) {
    pod.start_ms = object.start_ms;
    set_due(node);
  }
  if (pod.running_ms == 0 && object.phase == PLIMSOLL_PHASE_RUNNING) {
    pod.running_ms = now_ms_;
    set_due(node);
  }
  if (pod.bound) return;
  pod.bound = true;
  pod.since_ms = now_ms_;
  pod.moment.bound = ++moments_;
  pod.moment.version = version_of(object);
  pod.moment.fresh = is_binding(object);
  if (pod.covered || !pod.demand || !node.reported) return;
  Since& since = node.since;
  // If the order makes no difference, no replay is needed.
  Settled settled = Settled::kNo;
  const auto optional = [](const Step& step) { return step.optional; };
  const bool last = pod.moment.fresh && !since.blurred && since.unbound.size() == 1 &&
                    since.worlds.size() == 1 &&
                    std::none_of(since.steps.begin(), since.steps.end(), optional);
  if (last) {
    since.unbound.clear();
    since.subjects.clear();
    since.demands.clear();
    since.steps.clear();
    since.settled_steps = 0;
    settled = Settled::kAsItWas;
  } else if (!since.blurred) {
    settled = settle_first(node, pod);
    if (settled == Settled::kNo) replan(node);
  }
  // Nothing is freed, but pods that wait for this order to become known may be tried again.
  const bool told = node.told_uncertain.load(std::memory_order_relaxed);
  if (settled == Settled::kAsItWas && !told) {
    // Fewer orders are possible than before, and no pod was refused because of one of them. All
    // verdicts and scores stay the same, so no pod has to be tried again.
    recount(node);
    set_due(node);
    if (node.slot != UINT32_MAX) look(node);
    return;
  }
  touch(node, told ? Ease::kYes : Ease::kNo);
}

void Ledger::pod_assigned(const plimsoll_pod& pod, std::string_view node_name, int64_t now_ms) {
  now_ms_ = now_ms;
  ++event_;
  const PodKey key = key_of(view(pod.meta.uid));
  NodeRecord* known_on = nullptr;
  if (PodRecord* known = find(key, known_on); known != nullptr && known_on->name == node_name) {
    confirm_binding(*known_on, *known, pod);
    if (pod.meta.deletion_ms != 0 && !known->leaving) {
      known->leaving = true;
      if (known->demand) {
        replan(*known_on);
        touch(*known_on, Ease::kNo);
      }
    }
    return;
  }
  if (known_on != nullptr) {  // promised elsewhere: the API server knows better
    take_pod(*known_on, key);
    replan(*known_on);
    touch(*known_on, Ease::kYes);
    if (known_on->slot != UINT32_MAX) freed_.push_back(known_on->slot);
    forget_if_idle(*known_on);
  }
  NodeRecord& node = record_of(node_name);
  const std::shared_ptr<Kind> kind = kind_of(pod);
  const PodRequest& request = kind->request;
  PodRecord record;
  record.key = key;
  record.hash = pod_hash(view(pod.meta.ns), view(pod.meta.name));
  record.exclusive = is_exclusive(request);
  record.bound = true;
  record.leaving = pod.meta.deletion_ms != 0;
  record.since_ms = now_ms;
  record.start_ms = pod.start_ms;
  if (pod.phase == PLIMSOLL_PHASE_RUNNING) record.running_ms = now_ms;
  record.order_ms = pod.start_ms != 0 ? pod.start_ms : now_ms;
  record.moment.reserved = record.moment.bound = ++moments_;
  record.moment.version = version_of(pod);
  record.moment.fresh = is_binding(pod);
  if (kind->inquiry.matters()) record.demand = kind->inquiry.demand;
  record.init_over = !record.demand || !may_free_memory_at_start(*record.demand);
  record.request = kind->kept;
  const plimsoll_str* zones = sdk::Labels(pod.meta.annotations).find(kZonesAnnotation);
  if (request.has_pinned && zones != nullptr) record.named = zones_of(view(*zones), request);
  if (request.has_pinned && node.reported) settle_place(node, record);
  const bool matters = record.demand || !record.charges.empty();
  add_pod(node, std::move(record));
  const bool settled = settle_pod(node, node.pods.back());
  if (matters && !settled) replan(node);
  if (matters || settled) touch(node, settled ? Ease::kYes : Ease::kNo);
}

void Ledger::pod_removed(const plimsoll_pod& pod, int64_t now_ms) {
  now_ms_ = now_ms;
  ++event_;
  const PodKey key = key_of(view(pod.meta.uid));
  NodeRecord* node = nullptr;
  PodRecord* record = find(key, node);
  if (record == nullptr) return;
  const bool charges = !record->charges.empty();
  GonePod gone;
  gone.hash = record->hash;
  gone.exclusive = record->exclusive;
  gone.counted = record->covered && !record->weak;
  gone.located = record->located;
  gone.seen = record->covered;
  gone.refund = record->covered && (record->located || record->held);
  gone.gone_ms = now_ms;
  gone.charges = record->charges;
  gone.refused = refused_for_zones(pod, stats_) && !record->covered;
  gone.demand = record->demand;
  gone.held = record->held;
  gone.moment = record->moment;
  gone.moment.gone = ++moments_;
  // The next report shows why its kubelet refused it.
  if (gone.refused && node->reported) {
    node->refused_one = true;
    node->refused_ms = now_ms;
    learn(*node, *record, view(pod.status_reason) == kSmtAlignmentError);
  }
  gone.request = std::move(record->request);
  const bool matters = charges || gone.request != nullptr || gone.demand != nullptr;
  take_pod(*node, key);
  bool settled = false;
  if (node->reported) {
    if (gone.demand) node->doubt_until_ms = now_ms + kDoubtMs;
    node->gone.push_back(std::move(gone));
    trim_gone(*node);
    // Without this pod, the fingerprint may match pods that the report was not known to count.
    settled = !node->explained && explain(*node, nullptr);
    if (matters || settled) replan(*node);
  }
  if (matters || settled) touch(*node, Ease::kYes);
  forget_if_idle(*node);
}

const std::vector<Charge>* Ledger::charges_of(std::string_view pod_uid) const {
  const PodKey key = key_of(pod_uid);
  const auto at = pods_.find(key);
  if (at == pods_.end()) return nullptr;
  for (const PodRecord& pod : at->second->pods) {
    if (pod.key == key) return &pod.charges;
  }
  return nullptr;
}

}  // namespace plimsoll::topology
