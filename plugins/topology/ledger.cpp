#include "plugins/topology/ledger.hpp"

#include <algorithm>
#include <charconv>
#include <plimsoll/views.hpp>

#include "plugins/topology/amount.hpp"
#include "plugins/topology/fingerprint.hpp"
#include "plugins/topology/placement.hpp"

namespace plimsoll::topology {
namespace {

using sdk::view;

constexpr std::string_view kSmtAlignmentError = "SMTAlignmentError";

// Pods that exporters count under with-exclusive-resources.
bool is_exclusive(const PodRequest& request) {
  return request.has_pinned;
}

// A kubelet refused the pod for want of zones. It never held anything.
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

// Resource versions of the API server are numbers; 0: this one is not.
uint64_t version_of(const plimsoll_pod& pod) {
  const std::string_view text = view(pod.meta.resource_version);
  uint64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  return error == std::errc() && end == text.data() + text.size() ? version : 0;
}

uint64_t mix(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 0x9E3779B97F4A7C15ULL + (hash >> 29);
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

Ledger::PodKey Ledger::key_of(std::string_view uid) {
  return {xxh64(uid, 1), xxh64(uid, 2)};
}

Ledger::NodeRecord& Ledger::record_of(std::string_view name) {
  auto& record = nodes_[std::string(name)];
  if (!record) {
    record = std::make_unique<NodeRecord>();
    record->name = name;
  }
  return *record;
}

// Pods of one template share what a kubelet looks at. Null: no kubelet looks at the pod.
std::shared_ptr<const kubelet::PodDemand> Ledger::demand_of(const plimsoll_pod& pod) {
  auto made = std::make_shared<const kubelet::PodDemand>(pod);
  if (!made->asks) return nullptr;
  const uint64_t hash = hash_of(*made);
  const auto [begin, end] = demands_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (auto known = at->second.lock(); known && same_demand(*known, *made)) return known;
  }
  demands_.emplace(hash, made);
  if (demands_.size() > sweep_demands_at_) {
    std::erase_if(demands_, [](const auto& entry) { return entry.second.expired(); });
    sweep_demands_at_ = 2 * demands_.size() + 1024;
  }
  return made;
}

// Keeps the sums of doubts() in step with one node.
void Ledger::recount(NodeRecord& node) {
  const auto change = [](size_t& sum, bool& counted, bool now) {
    if (counted == now) return;
    sum += now ? 1 : -size_t{1};
    counted = now;
  };
  change(doubts_.several_worlds, node.counted_worlds, node.since.worlds.size() > 1);
  change(doubts_.blurred, node.counted_blurred, node.since.blurred);
  change(doubts_.refused, node.counted_refused, node.refused_one);
}

void Ledger::forget_if_idle(NodeRecord& node) {
  if (node.slot != UINT32_MAX || node.reported || node.malformed || !node.pods.empty()) return;
  node.since = {};
  node.refused_one = false;
  recount(node);
  set_due(node);
  nodes_.erase(std::string(node.name));
}

void Ledger::touch(NodeRecord& node, Ease ease) {
  recount(node);
  set_due(node);
  node.change = ++change_;
  if (ease == Ease::kYes) {
    node.eased = event_;
    // Who was told to wait for more certainty may ask again.
    if (certain(node)) node.told_uncertain.store(false, std::memory_order_relaxed);
  }
  if (node.slot == UINT32_MAX) return;
  node.zones.header().promises = static_cast<uint32_t>(
      std::count_if(node.pods.begin(), node.pods.end(),
                    [](const PodRecord& pod) { return !pod.covered && !pod.charges.empty(); }));
  node.zones.header().leaving = static_cast<uint32_t>(std::count_if(
      node.gone.begin(), node.gone.end(),
      [](const GonePod& gone) { return gone.seen && !gone.refund && gone.request != nullptr; }));
  look(node);
  touched_.push_back(node.slot);
}

// Every change of a node ends in touch(), and so here.
void Ledger::look(const NodeRecord& node) {
  const Since& since = node.since;
  Glance& glance = glances_[node.slot];
  glance = {};
  const bool clear = node.reported && !node.refused_one && node.refusals.empty() &&
                     node.whole_cores_ms == 0 && since.worlds.size() == 1 &&
                     since.unbound.empty() && !since.blurred && !since.open_ended;
  if (!clear) return;
  glance.model = node.model.get();
  glance.counts = since.worlds.front().counts();
  glance.count = node.model->groups_at;
  glance.brief = kubelet::Brief(*node.model, since.worlds.front());
  glance.leaving = node.zones.view().leaving != 0;
}

Ledger::Changes Ledger::take_changes() {
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  return {std::exchange(touched_, {}), std::exchange(freed_, {})};
}

void Ledger::node_added(std::string_view name, uint32_t slot) {
  ++event_;
  NodeRecord& node = record_of(name);
  if (node.slot != UINT32_MAX && node.slot != slot) node_removed(name);
  NodeRecord& record = record_of(name);
  if (slot >= slots_.size()) {
    slots_.resize(slot + 1, nullptr);
    views_.resize(slot + 1, nullptr);
    glances_.resize(slot + 1);
  }
  if (slots_[slot] != nullptr) slots_[slot]->slot = UINT32_MAX;  // reused
  record.slot = slot;
  slots_[slot] = &record;
  views_[slot] = record.reported ? &record.zones.view() : nullptr;
  touch(record, Ease::kYes);
}

void Ledger::node_removed(std::string_view name) {
  const auto at = nodes_.find(std::string(name));
  if (at == nodes_.end() || at->second->slot == UINT32_MAX) return;
  NodeRecord& node = *at->second;
  slots_[node.slot] = nullptr;
  views_[node.slot] = nullptr;
  glances_[node.slot] = {};
  node.slot = UINT32_MAX;
  forget_if_idle(node);
}

// Whether the counts leave nothing open.
bool Ledger::says_all(const kubelet::NodeModel& model, const kubelet::NodeState& state) {
  if (model.cpu_static && !state.knows_cpus()) return false;
  if (model.memory_static && !state.knows_groups()) return false;
  return std::all_of(model.devices.begin(), model.devices.end(), [](const auto& type) {
    const auto none = [](int64_t total) { return total == 0; };
    return type.listed() || std::all_of(type.totals.begin(), type.totals.end(), none);
  });
}

// The same problems are noted once: exporters write every few seconds.
void Ledger::note_problems(NodeRecord& node, std::vector<std::string> problems) {
  if (problems == node.problems) return;
  for (const std::string& problem : problems) {
    notes_.push_back("NodeResourceTopology " + node.name + ": " + problem);
  }
  node.problems = std::move(problems);
}

// `free` from the report and everything that is charged or refunded. What is taken comes last: at
// the ends of the range of amounts a zone then has less than it seems to have, never more.
void Ledger::refresh(NodeRecord& node) {
  if (!node.reported) return;
  node.zones.reset_free();
  for (const GonePod& gone : node.gone) {
    if (!gone.refund) continue;
    for (const Charge& one : gone.charges) {
      int64_t* cell = node.zones.free_cell(one.resource, one.zone_id);
      if (cell != nullptr) *cell = add_amounts(*cell, one.visible);
    }
  }
  for (const PodRecord& pod : node.pods) charge(node, pod);
}

// Takes what a pod is charged now from what is free.
void Ledger::charge(NodeRecord& node, const PodRecord& pod) {
  for (const Charge& one : pod.charges) {
    int64_t* cell = node.zones.free_cell(one.resource, one.zone_id);
    if (cell != nullptr) *cell = add_amounts(*cell, -(pod.covered ? one.held : one.amount));
  }
}

void Ledger::report(const NrtObject& nrt, int64_t now_ms) {
  now_ms_ = now_ms;
  ++event_;
  NodeRecord& node = record_of(nrt.name);
  if (node.reported && !nrt.resource_version.empty() && node.version == nrt.resource_version) {
    return;  // a relist: the same object again
  }
  ++stats_.reports;
  Before before;
  before.had = node.reported;
  before.doubted = node.malformed || node.refused_one || node.lost_track;
  before.since = std::move(node.since);
  before.explained = node.explained;
  before.exact = node.exact;
  before.zones = std::move(node.zones);
  before.model = node.model;
  before.state = std::move(node.state);
  node.zones = NumaNode(nrt, index_, nrt.written_ms != 0 ? nrt.written_ms : now_ms);
  kubelet::NodeFacts facts = facts_.read(nrt);
  if (facts.model != node.model) node.counts = counts_model(facts.model);
  node.model = std::move(facts.model);
  node.state = std::move(facts.state);
  node.exact = !nrt.free_facts.empty() && says_all(*node.model, node.state);
  note_problems(node, std::move(facts.problems));
  node.version = nrt.resource_version;
  node.fingerprint = nrt.fingerprint;
  node.method = nrt.method;
  node.reported = true;
  node.malformed = node.refused_one = node.lost_track = false;
  if (!before.had) settle_places(node);
  settle_report(node, before);
  const bool unlearned = unlearn_by_report(node);
  replan(node);
  if (node.slot != UINT32_MAX) views_[node.slot] = &node.zones.view();
  touch(node, unlearned || eases(node, before) ? Ease::kYes : Ease::kNo);
}

void Ledger::report_deleted(std::string_view node_name) {
  ++event_;
  const auto at = nodes_.find(std::string(node_name));
  if (at == nodes_.end() || (!at->second->reported && !at->second->malformed)) return;
  NodeRecord& node = *at->second;
  node.reported = node.malformed = false;
  node.explained = false;
  node.zones = NumaNode();
  node.model = node.counts = nullptr;
  node.state = {};
  node.exact = node.refused_one = node.lost_track = false;
  node.refusals.clear();
  node.whole_cores_ms = 0;
  node.since = {};
  node.version.clear();
  node.fingerprint.clear();
  node.gone.clear();
  // What the report counted is counted by nobody now.
  for (PodRecord& pod : node.pods) {
    if (pod.covered && !pod.charges.empty()) ++pending_;
    pod.covered = false;
    pod.located = false;
    pod.held = nullptr;
    pod.given = nullptr;
  }
  if (node.slot != UINT32_MAX) views_[node.slot] = nullptr;
  touch(node, Ease::kYes);
  forget_if_idle(node);
}

bool Ledger::report_malformed(std::string_view node_name) {
  ++event_;
  NodeRecord& node = record_of(node_name);
  if (node.reported) return false;
  if (!node.malformed) {
    node.malformed = true;
    touch(node, Ease::kNo);
  }
  return true;
}

Ledger::PodRecord* Ledger::find(const PodKey& key, NodeRecord*& node) {
  const auto at = pods_.find(key);
  if (at == pods_.end()) return nullptr;
  node = at->second;
  for (PodRecord& pod : node->pods) {
    if (pod.key == key) return &pod;
  }
  return nullptr;
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
  const PodRequest request(pod);
  Inquiry inquiry(pod);
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
  record.demand = demand_of(pod);
  if (request.has_pinned) record.request = std::make_unique<PodRequest>(request.without_views());
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
  replan(*node);  // the kubelet will never see it: those after it move up
  touch(*node, Ease::kYes);
  forget_if_idle(*node);
  return charges;
}

// The API server says that a promised pod is bound: the kubelet sees it from now on, after those
// that were bound before.
void Ledger::confirm_binding(NodeRecord& node, PodRecord& pod, const plimsoll_pod& object) {
  if (pod.start_ms != object.start_ms) {
    pod.start_ms = pod.moment.start_ms = object.start_ms;
    set_due(node);
  }
  if (pod.bound) return;
  pod.bound = true;
  pod.since_ms = now_ms_;
  pod.moment.bound = ++moments_;
  pod.moment.version = version_of(object);
  pod.moment.fresh = object.start_ms == 0;
  if (pod.covered || !pod.demand || !node.reported) return;
  Since& since = node.since;
  // Where the order makes no difference there is nothing to play again.
  const bool last = !since.blurred && since.unbound.size() == 1 && since.worlds.size() == 1;
  if (last) {
    since.unbound.clear();
    since.subjects.clear();
    since.demands.clear();
    since.steps.clear();
    since.settled_steps = 0;
    recount(node);
  } else if (!since.blurred) {
    replan(node);
  }
  // Nothing comes free; but who waits for an order that is known now is one who was told so.
  const bool told = node.told_uncertain.load(std::memory_order_relaxed);
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
  const PodRequest request(pod);
  PodRecord record;
  record.key = key;
  record.hash = pod_hash(view(pod.meta.ns), view(pod.meta.name));
  record.exclusive = is_exclusive(request);
  record.bound = true;
  record.leaving = pod.meta.deletion_ms != 0;
  record.since_ms = now_ms;
  record.start_ms = pod.start_ms;
  record.order_ms = pod.start_ms != 0 ? pod.start_ms : now_ms;
  record.moment.reserved = record.moment.bound = ++moments_;
  record.moment.version = version_of(pod);
  record.moment.fresh = pod.start_ms == 0;
  record.moment.start_ms = pod.start_ms;
  record.demand = demand_of(pod);
  if (request.has_pinned) record.request = std::make_unique<PodRequest>(request.without_views());
  const plimsoll_str* zones = sdk::Labels(pod.meta.annotations).find(kZonesAnnotation);
  if (request.has_pinned && zones != nullptr) record.named = zones_of(view(*zones), request);
  if (request.has_pinned && node.reported) settle_place(node, record);
  const bool matters = record.demand || !record.charges.empty();
  add_pod(node, std::move(record));
  const bool settled = settle_pod(node, node.pods.back());
  if (matters && !settled) replan(node);
  if (matters || settled) touch(node, settled ? Ease::kYes : Ease::kNo);
}

// Where a pod is that was bound before this ledger heard of it: as its annotation says, or else
// where it most likely is. Needs a report.
void Ledger::settle_place(NodeRecord& node, PodRecord& pod) {
  Placement placement;
  placement.complete = false;
  if (!pod.named.empty()) {
    placement = placement_of(pod.named, *pod.request, node.zones.view(), scratch_);
    pod.named = {};
  }
  pod.trusted = pod.annotated = placement.complete;
  if (!placement.complete) {
    placement = predict(*pod.request, node.zones.view(), Doubt::kCharge, scratch_);
  }
  pod.charges = std::move(placement.charges);
}

// Pods that were heard of before the node's first report. They are charged in the order in which
// they came, as if the report had been there.
void Ledger::settle_places(NodeRecord& node) {
  for (PodRecord& pod : node.pods) {
    if (!pod.bound || !pod.charges.empty() || pod.named.empty() || !pod.request) continue;
    settle_place(node, pod);
    if (!pod.charges.empty()) ++pending_;
    charge(node, pod);
  }
}

// What one promised pod is charged, where the kubelet most likely puts it.
void Ledger::plan(NodeRecord& node, PodRecord& pod, Placement* placement) {
  if (!pod.charges.empty()) --pending_;
  Placement made;
  if (pod.given) {
    made = placement_given(*node.model, *pod.demand, *pod.given, node.zones.view());
  } else if (pod.request) {
    made = predict(*pod.request, node.zones.view(), Doubt::kCharge, scratch_);
    // By counts alone a kubelet may be thought to refuse what it takes.
    if (!node.exact && !node.since.blurred) overdraw(node, made.charges);
  }
  pod.charges = made.charges;
  if (!pod.charges.empty()) ++pending_;
  charge(node, pod);
  if (placement != nullptr) *placement = std::move(made);
}

// Takes charges from all worlds, as far as they have that much.
void Ledger::overdraw(NodeRecord& node, const std::vector<Charge>& charges) {
  const kubelet::NodeModel& model = *node.model;
  for (kubelet::NodeState& world : node.since.worlds) {
    for (const Charge& charge : charges) {
      const auto zone = std::find(model.zone_ids.begin(), model.zone_ids.end(), charge.zone_id);
      if (zone == model.zone_ids.end()) continue;
      const auto column = static_cast<size_t>(zone - model.zone_ids.begin());
      int64_t* free = nullptr;
      int64_t amount = charge.amount;
      if (charge.resource == kubelet::kCpuResource) {
        if (!world.knows_cpus()) free = &world.cpu(model)[column];
        amount /= 1000;
      } else if (const uint32_t row = model.memory_row(charge.resource);
                 row != kubelet::kNoResourceRow) {
        free = &world.memory(model, row)[column];
      } else if (const uint32_t device = model.device_row(charge.resource);
                 device != kubelet::kNoResourceRow && !model.devices[device].listed()) {
        free = &world.devices(model, device)[column];
      }
      if (free != nullptr) *free = std::max<int64_t>(0, *free - amount);
    }
  }
}

// What happened since the report played again, and the promises of the node predicted anew.
void Ledger::replan(NodeRecord& node, const PodRecord* asked, Placement* placement) {
  if (!node.reported) return;
  play(node);
  std::vector<PodRecord*> promised;
  for (PodRecord& pod : node.pods) {
    if (pod.covered || pod.annotated || (!pod.request && !pod.given)) continue;
    if (!pod.charges.empty()) --pending_;
    pod.charges.clear();
    promised.push_back(&pod);
  }
  refresh(node);
  std::stable_sort(promised.begin(), promised.end(), [](const PodRecord* a, const PodRecord* b) {
    return a->order_ms < b->order_ms;
  });
  for (PodRecord* pod : promised) plan(node, *pod, pod == asked ? placement : nullptr);
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
  // What made its kubelet refuse it, the next report shows.
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
    node->gone.push_back(std::move(gone));
    trim_gone(*node);
    // Without it the report may turn out to count pods that it was not known to count.
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

size_t Ledger::remembered_gone(std::string_view node_name) const {
  const auto at = nodes_.find(std::string(node_name));
  return at == nodes_.end() ? 0 : at->second->gone.size();
}

std::string_view Ledger::report_version(std::string_view node_name) const {
  const auto at = nodes_.find(std::string(node_name));
  return at == nodes_.end() || !at->second->reported ? std::string_view() : at->second->version;
}

}  // namespace plimsoll::topology
