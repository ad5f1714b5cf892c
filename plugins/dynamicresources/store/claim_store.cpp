#include "plugins/dynamicresources/store/claim_store.hpp"

#include <algorithm>
#include <deque>
#include <plimsoll/kinds.hpp>
#include <stdexcept>
#include <utility>

#include "plugins/dynamicresources/objects/giving_back.hpp"
#include "plugins/dynamicresources/objects/readiness.hpp"
#include "plugins/dynamicresources/objects/reading.hpp"

namespace plimsoll::dra {

using sdk::List;
using sdk::view;

namespace {

// v1.ResourceDeviceClassPrefix
constexpr std::string_view kByClassName = "deviceclass.resource.kubernetes.io/";
// The node that alone reaches the claim's devices; empty: there are more, or none is named.
std::string only_node(const ClaimStore::Entry& claim) {
  const std::optional<NodeSelector> from = claim.reachable_from();
  if (!from || from->terms.size() != 1 || from->terms[0].fields.size() != 1) return {};
  const NodeRequirement& field = from->terms[0].fields[0];
  return field.key == "metadata.name" && field.values.size() == 1 ? field.values[0] : "";
}

bool names(const std::string& asked, std::string_view name) {
  return asked.empty() || asked == name;
}

}  // namespace

bool ClaimStore::Entry::reserved_for(std::string_view pod_uid) const {
  if (decision != nullptr && !decision->version.empty() && decision->pod_uid == pod_uid)
    return true;
  const List<plimsoll_claim_user> users(object->reserved_for);
  return std::any_of(users.begin(), users.end(),
                     [&](const plimsoll_claim_user& user) { return view(user.uid) == pod_uid; });
}

std::optional<NodeSelector> ClaimStore::Entry::reachable_from() const {
  if (object->allocated == 0) return decision->allocation.node_selector;
  if (object->has_selector == 0) return std::nullopt;
  return read_selector(object->node_selector);
}

std::vector<std::string> ClaimStore::Entry::requests_met() const {
  std::vector<std::string> names;
  for (const DeviceResult& result : counted) names.push_back(result.request);
  return names;
}

bool ClaimStore::Entry::used_only_by(const std::vector<std::string_view>& pods) const {
  const auto is_one = [&](std::string_view uid) {
    return std::find(pods.begin(), pods.end(), uid) != pods.end();
  };
  if (decision != nullptr && !is_one(decision->pod_uid)) return false;
  const List<plimsoll_claim_user> users(object->reserved_for);
  return std::all_of(users.begin(), users.end(),
                     [&](const plimsoll_claim_user& user) { return is_one(view(user.uid)); });
}

ClaimStore::Other::Other(Allocated& allocated, std::vector<DeviceResult> gone,
                         std::vector<DeviceResult> there)
    : allocated_(allocated), gone_(std::move(gone)), there_(std::move(there)) {
  for (const DeviceResult& result : gone_) allocated_.remove(result);
  for (const DeviceResult& result : there_) allocated_.add(result);
}

ClaimStore::Other::~Other() {
  for (const DeviceResult& result : there_) allocated_.remove(result);
  for (const DeviceResult& result : gone_) allocated_.add(result);
}

ClaimStore::ClaimStore(sdk::Host host, Judge judge, Inventory::Gates gates, bool adds_to_requests)
    : host_(std::move(host)),
      inventory_(numbers_, std::move(judge), gates),
      books_(host_, inventory_, allocated_),
      adds_to_requests_(adds_to_requests) {
  publish();
  publish_state();
}

ClaimStore::~ClaimStore() {
  shown_->self = nullptr;
  if (published_->self == this) published_->self = nullptr;
}

// A service stays as long as the process, and the store does not.
void ClaimStore::publish() {
  static std::deque<plimsoll_claimed_resources> tables;
  const auto* known = host_.find_service<plimsoll_claimed_resources>(
      PLIMSOLL_CLAIMED_RESOURCES_SERVICE, PLIMSOLL_CLAIMED_RESOURCES_VERSION);
  if (known != nullptr && known->decides != &ClaimStore::decides) {
    throw std::runtime_error(
        "another plugin decides about claimed resources already; enable only "
        "one of them");
  }
  published_ =
      known == nullptr ? &tables.emplace_back() : const_cast<plimsoll_claimed_resources*>(known);
  *published_ = {sizeof(plimsoll_claimed_resources),
                 0,
                 this,
                 &ClaimStore::decides,
                 &ClaimStore::devices,
                 &ClaimStore::give_back};
  // A host that keeps no services has nobody who asks.
  if (known == nullptr)
    static_cast<void>(host_.publish(PLIMSOLL_CLAIMED_RESOURCES_SERVICE,
                                    PLIMSOLL_CLAIMED_RESOURCES_VERSION, published_));
}

int32_t ClaimStore::decides(void* self, const plimsoll_pod* pod, plimsoll_str resource) {
  const auto* store = static_cast<const ClaimStore*>(self);
  return store != nullptr && store->served_.count(view(pod->scheduler_name)) != 0 &&
                 !store->class_behind(view(resource)).empty()
             ? 1
             : 0;
}

// calculateDRAResourceTotals
void ClaimStore::devices(void* self, const plimsoll_node_info* node, plimsoll_str resource,
                         int64_t* all, int64_t* taken) {
  *all = *taken = 0;
  auto* store = static_cast<ClaimStore*>(self);
  if (store == nullptr) return;
  const DeviceClass* of = store->device_class(store->class_behind(view(resource)));
  if (of == nullptr) return;
  Inventory& inventory = store->inventory_;
  std::vector<std::shared_ptr<const Question>> selectors;
  for (const Selector& each : of->selectors) {
    if (!each) return;  // of a kind that is not known
    selectors.push_back(inventory.expression(*each));
  }
  int64_t found = 0, given = 0;
  for (const NodePools::Entry& pool : inventory.on(node_of(sdk::Node(node))).pools) {
    for (size_t i = 0; i < pool.view->devices.size(); ++i) {
      if (!pool.here.empty() && !pool.here[i]) continue;
      const KnownDevice& device = *pool.view->devices[i];
      auto verdict = Judgement::Kind::kTrue;
      for (size_t k = 0; k < selectors.size() && verdict == Judgement::Kind::kTrue; ++k)
        verdict = inventory.verdict(*selectors[k], device);
      if (verdict == Judgement::Kind::kFalse) continue;
      if (verdict != Judgement::Kind::kTrue) return;
      ++found;
      given += store->allocated_.use_of(device.number) != nullptr;
    }
  }
  *all = found;
  *taken = given;
}

// Kubernetes: PodGroupPostFilter, which is PostFilter of all pods of the group. What such a claim
// has cannot be used, or holds its pods where there is no room for the group.
int32_t ClaimStore::give_back(void* self, const plimsoll_pod* const* pods, size_t count) {
  auto* store = static_cast<ClaimStore*>(self);
  if (store == nullptr) return 0;
  const std::vector<const plimsoll_pod*> all(pods, pods + count);
  std::set<std::string_view> uids;
  for (const plimsoll_pod* pod : all) uids.insert(view(pod->meta.uid));
  const auto is_user = [&](const plimsoll_claim_user& user) {
    return uids.count(view(user.uid)) != 0;
  };
  std::set<const Entry*> given;
  int32_t done = 0;
  for (const plimsoll_pod* pod : all) {
    const std::string_view ns = view(pod->meta.ns);
    if (const auto stale = store->extended_claim(view(pod->meta.uid))) {
      const Entry* claim = store->find(stale->first, stale->second);
      if (claim == nullptr) continue;
      delete_claim(store->host_, {stale->first, stale->second, std::string(claim->uid())},
                   view(pod->meta.uid));
      ++done;
    }
    for (const auto& each : List<plimsoll_pod_claim>(pod->claims)) {
      const Entry* claim = store->find(ns, view(each.claim));
      if (claim == nullptr || claim->object->allocated == 0 || claim->decision != nullptr ||
          !claim->sharing.empty() || !claim->reserving.empty() || !given.insert(claim).second) {
        continue;
      }
      const bool holds = claim->reachable_from().has_value() || store->has_one_twice(*claim) ||
                         readiness(*claim->object).kind == Readiness::Kind::kFailed;
      const List<plimsoll_claim_user> users(claim->object->reserved_for);
      if (!holds || !std::all_of(users.begin(), users.end(), is_user)) continue;
      deallocate(store->host_,
                 {std::string(ns), std::string(view(each.claim)), std::string(claim->uid())},
                 std::string(view(claim->object->object.meta.resource_version)), kNoNode,
                 view(pod->meta.uid));
      ++done;
    }
  }
  return done;
}

const Device* ClaimStore::device(const DeviceResult& result) const {
  const KnownDevice* known = inventory_.find(result.driver, result.pool, result.device);
  return known == nullptr ? nullptr : known->device;
}

const Device* ClaimStore::device_on(const DeviceResult& result, const Node& node) const {
  const KnownDevice* known = inventory_.find(result.driver, result.pool, result.device);
  return known != nullptr && Inventory::reaches(node, *known) ? known->device : nullptr;
}

void ClaimStore::stop_serving(const std::string& profile) {
  const auto served = served_.find(profile);
  if (served != served_.end() && --served->second == 0) served_.erase(served);
}

void ClaimStore::object_event(const sdk::ObjectEvent& event) {
  if (event.type == sdk::ObjectEvent::kSynced) return;
  const std::string name(event.name);
  if (event.resource == sdk::kResourceClaims.resource) return claim_event(event);
  if (event.resource == sdk::kResourceSlices.resource) return slice_event(event.name);
  if (event.resource == sdk::kDeviceTaintRules.resource) return rule_event(event.name);
  if (event.resource == sdk::kDeviceClasses.resource) class_event(name);
}

void ClaimStore::class_event(const std::string& name) {
  if (const auto known = classes_.find(name); known != classes_.end()) {
    if (const auto behind = behind_.find(known->second.resource); behind != behind_.end()) {
      behind->second.erase({-known->second.created_ms, name});
      if (behind->second.empty()) behind_.erase(behind);
    }
    classes_.erase(known);
  }
  const plimsoll_device_class* object = host_.object(sdk::kDeviceClasses, {}, name);
  if (object == nullptr || object->object.unreadable.len != 0) return;
  Class made{read_class(*object), std::string(view(object->extended_resource_name)),
             object->object.meta.creation_ms};
  if (!made.resource.empty()) behind_[made.resource].insert({-made.created_ms, name});
  classes_.emplace(name, std::move(made));
}

std::string ClaimStore::class_behind(std::string_view resource) const {
  if (const auto behind = behind_.find(resource); behind != behind_.end()) {
    return behind->second.begin()->second;
  }
  if (!resource.starts_with(kByClassName)) return {};
  const auto named = classes_.find(resource.substr(kByClassName.size()));
  return named == classes_.end() ? std::string() : named->first;
}

void ClaimStore::claim_event(const sdk::ObjectEvent& event) {
  const Key key(event.ns, event.name);
  const auto* object = host_.object(sdk::kResourceClaims, event.ns, event.name);
  if (object == nullptr || object->object.unreadable.len != 0) {
    const auto known = claims_.find(key);
    if (known == claims_.end()) return;
    for (const DeviceResult& result : known->second.counted) allocated_.remove(result);
    books_.claim_counted(key.first + "/" + key.second, {});
    touch(known->second.counted);
    forget_extended(known->second, key);
    claims_.erase(known);
    return tell(key);
  }
  Entry& entry = claims_[key];
  const bool was_allocated = entry.object != nullptr && entry.object->allocated != 0;
  const bool same = entry.asks != nullptr && entry.uid_ == view(object->object.meta.uid);
  entry.object = object;
  if (!same) {  // a spec never changes
    forget_extended(entry, key);
    entry.uid_ = view(object->object.meta.uid);
    entry.asks = std::make_shared<const Claim>(read_claim(*object));
    entry.decision.reset();
    entry.reserving.clear();
    entry.sharing.clear();
    entry.extended_of_ = pod_of_extended(object->object.meta);
    if (!entry.extended_of_.empty()) extended_.insert_or_assign(entry.extended_of_, key);
  }
  const bool by_us = entry.decision != nullptr;
  if (entry.decision != nullptr && !entry.decision->version.empty() &&
      !is_before(view(object->object.meta.resource_version), entry.decision->version)) {
    entry.decision.reset();
  }
  if (object->allocated == 0) entry.earlier_owner.clear();
  if (!entry.sharing.empty()) {
    std::set<std::string_view> seen;
    for (const auto& user : List<plimsoll_claim_user>(object->reserved_for))
      seen.insert(view(user.uid));
    std::erase_if(entry.sharing, [&](const std::string& uid) { return seen.count(uid) != 0; });
  }
  recount(entry);
  if (by_us && !was_allocated && object->allocated != 0) entry.earlier_owner = other_owner(entry);
  tell(key);
}

void ClaimStore::forget_extended(const Entry& claim, const Key& key) {
  const auto at = extended_.find(claim.extended_of_);
  if (at != extended_.end() && at->second == key) extended_.erase(at);
}

void ClaimStore::tell(const Key& claim) {
  const auto waiting = waiting_.find(claim);
  if (waiting == waiting_.end()) return;
  for (auto& then : waiting->second) host_.run_on_loop(0, std::move(then));
  waiting_.erase(waiting);
}

void ClaimStore::tell(const Entry& claim) {
  const plimsoll_meta& meta = claim.object->object.meta;
  tell(Key(view(meta.ns), view(meta.name)));
}

std::optional<std::pair<std::string, std::string>> ClaimStore::extended_claim(
    std::string_view pod_uid) const {
  const auto found = extended_.find(pod_uid);
  return found == extended_.end() ? std::nullopt : std::optional(found->second);
}

void ClaimStore::hold(std::string_view pod_uid, Allocation allocation) {
  drop_held(pod_uid);
  for (const DeviceResult& result : allocation.results) allocated_.add(result);
  books_.claim_counted("pod " + std::string(pod_uid),
                       {allocation.results, {}, adds_to_requests_ ? "" : std::string(pod_uid)});
  touch(allocation.results);
  held_.emplace(pod_uid, std::move(allocation));
}

void ClaimStore::adopt(Entry& claim, std::string_view pod_uid) {
  const auto held = held_.find(pod_uid);
  if (held == held_.end()) return;
  // Meanwhile it is counted twice, so that nobody takes it for free.
  decide(claim, pod_uid, held->second);
  drop_held(pod_uid);
}

void ClaimStore::let_go(std::string_view pod_uid) {
  if (drop_held(pod_uid)) host_.requeue_rejected();  // nothing is written
}

bool ClaimStore::drop_held(std::string_view pod_uid) {
  const auto held = held_.find(pod_uid);
  if (held == held_.end()) return false;
  for (const DeviceResult& result : held->second.results) allocated_.remove(result);
  books_.claim_counted("pod " + std::string(pod_uid), {});
  touch(held->second.results);
  held_.erase(held);
  return true;
}

// All schedulers' writes come through the watch in the order in which the API server took them.
std::string ClaimStore::other_owner(const Entry& claim) const {
  for (const DeviceResult& result : claim.counted) {
    if (!result.takes_all() || allocated_.owners(result) < 2) continue;
    for (const auto& [key, other] : claims_) {
      if (&other == &claim) continue;
      for (const DeviceResult& theirs : other.counted) {
        if (theirs.takes_all() && theirs.driver == result.driver && theirs.pool == result.pool &&
            theirs.device == result.device) {
          return key.first + "/" + key.second;
        }
      }
    }
  }
  return {};
}

bool ClaimStore::has_one_twice(const Entry& claim) const {
  return std::any_of(claim.counted.begin(), claim.counted.end(), [this](const auto& result) {
    return result.takes_all() && allocated_.owners(result) > 1;
  });
}

// What is counted of a claim is what it has now.
void ClaimStore::recount(Entry& claim) {
  std::vector<DeviceResult> now;
  if (claim.object->allocated != 0) {
    now = read_results(*claim.object);
  } else if (claim.decision != nullptr) {
    now = claim.decision->allocation.results;
  }
  for (const DeviceResult& result : claim.counted) allocated_.remove(result);
  for (const DeviceResult& result : now) allocated_.add(result);
  touch(claim.counted);
  touch(now);
  claim.counted = std::move(now);
  books_.claim_counted(
      std::string(view(claim.object->object.meta.ns)) + "/" +
          std::string(view(claim.object->object.meta.name)),
      {claim.counted, claim.counted.empty() ? "" : only_node(claim), asked_again_by(claim)});
}

// With the gate off a pod may ask for its claims' CPUs by hand. A claim of several is no CPU.
std::string ClaimStore::asked_again_by(const Entry& claim) const {
  if (adds_to_requests_ || !claim.sharing.empty()) return {};
  const List<plimsoll_claim_user> users(claim.object->reserved_for);
  if (users.size() == 1) return std::string(view(users[0].uid));
  return claim.decision != nullptr && users.size() == 0 ? claim.decision->pod_uid : "";
}

Slice ClaimStore::tainted(const plimsoll_resource_slice& object) const {
  Slice slice = read_slice(object);
  for (const auto& [name, rule] : rules_) {
    if (!names(rule.driver, slice.driver) || !names(rule.pool, slice.pool)) continue;
    for (Device& device : slice.devices) {
      if (names(rule.device, device.name)) device.taints.push_back(rule.taint);
    }
  }
  return slice;
}

void ClaimStore::slice_event(std::string_view slice) {
  const std::string name(slice);
  DeviceBooks::Concerned before = books_.concerned_by(name);
  touch_slice(name);
  const plimsoll_resource_slice* object = host_.object(sdk::kResourceSlices, {}, name);
  if (object == nullptr || object->object.unreadable.len != 0) {
    inventory_.remove(name);
  } else {
    inventory_.set(tainted(*object));
  }
  touch_slice(name);
  books_.slice_changed(name, std::move(before));
}

std::optional<ClaimStore::Rule> ClaimStore::read_rule(std::string_view name) const {
  const plimsoll_device_taint_rule* object = host_.object(sdk::kDeviceTaintRules, {}, name);
  if (object == nullptr || object->object.unreadable.len != 0 || object->has_selector == 0)
    return std::nullopt;
  const auto text = [](const plimsoll_str& from) { return std::string(view(from)); };
  return Rule{text(object->driver),
              text(object->pool),
              text(object->device),
              {text(object->taint.key), text(object->taint.value), text(object->taint.effect)}};
}

// Rules are written often, for what their status says. No expression sees taints, so what is known
// of the devices stays.
void ClaimStore::rule_event(std::string_view name) {
  const std::optional<Rule> now = read_rule(name);
  const auto known = rules_.find(name);
  const std::optional<Rule> before =
      known == rules_.end() ? std::nullopt : std::optional(known->second);
  if (before == now) return;
  if (known != rules_.end()) rules_.erase(known);
  if (now) rules_.emplace(name, *now);
  const auto selects = [](const std::optional<Rule>& rule, const Slice& slice) {
    return rule && names(rule->driver, slice.driver) && names(rule->pool, slice.pool);
  };
  inventory_.each_slice([&](Slice& slice) {
    const bool had = selects(before, slice), has = selects(now, slice);
    if (!had && !has) return;
    for (Device& device : slice.devices) {
      if (had && names(before->device, device.name)) {
        const auto at = std::find(device.taints.begin(), device.taints.end(), before->taint);
        if (at != device.taints.end()) device.taints.erase(at);
      }
      if (has && names(now->device, device.name)) device.taints.push_back(now->taint);
    }
    touch_slice(slice.name);
  });
}

ClaimStore::Entry* ClaimStore::find(std::string_view ns, std::string_view name) {
  const auto found = claims_.find(Key(ns, name));
  return found == claims_.end() ? nullptr : &found->second;
}

const DeviceClass* ClaimStore::device_class(const std::string& name) const {
  const auto found = classes_.find(name);
  return found == classes_.end() ? nullptr : &found->second;
}

void ClaimStore::decide(Entry& claim, std::string_view pod_uid, Allocation allocation,
                        uint64_t group) {
  claim.decision = std::make_unique<Decision>(Decision{
      .pod_uid = std::string(pod_uid), .allocation = std::move(allocation), .group = group});
  claim.earlier_owner.clear();
  claim.sharing.clear();
  recount(claim);
}

void ClaimStore::written(Entry& claim, std::string_view pod_uid, std::string version) {
  const bool was_in_flight = claim.in_flight();
  if (!is_before(view(claim.object->object.meta.resource_version), version)) {
    claim.decision.reset();  // the watch was faster
  } else if (claim.decision == nullptr) {
    claim.decision =
        std::make_unique<Decision>(Decision{std::string(pod_uid), {}, std::move(version)});
  } else {
    claim.decision->pod_uid = pod_uid;
    claim.decision->version = std::move(version);
  }
  recount(claim);
  if (was_in_flight) tell(claim);
}

void ClaimStore::share(Entry& claim, std::string_view pod_uid) {
  claim.sharing.emplace_back(pod_uid);
  recount(claim);
}

void ClaimStore::give_up(Entry& claim, std::string_view pod_uid, std::string version) {
  const bool was_full = claim.users() >= kMostUsers;
  const bool shares = std::erase(claim.sharing, pod_uid) != 0;
  const bool decided = claim.in_flight() && claim.decision->pod_uid == pod_uid;
  if (!shares && !decided) return;
  if (decided && !version.empty()) return written(claim, {}, std::move(version));
  const bool can_be_written = claim.object->allocated == 0;
  if (decided && can_be_written && !claim.sharing.empty()) {
    claim.decision->pod_uid = std::move(claim.sharing.front());
    claim.sharing.erase(claim.sharing.begin());
  } else if (decided) {
    claim.decision.reset();
  }
  recount(claim);
  tell(claim);
  // Nothing is written, so no event of the claim says that others may have it, or its devices.
  if (was_full || (decided && claim.decision == nullptr)) host_.requeue_rejected();
}

void ClaimStore::end_reserving(Entry& claim, std::string_view pod_uid, std::string_view version) {
  if (claim.reserving != pod_uid) return;
  claim.reserving.clear();
  if (!is_before(view(claim.object->object.meta.resource_version), version)) tell(claim);
}

}  // namespace plimsoll::dra
