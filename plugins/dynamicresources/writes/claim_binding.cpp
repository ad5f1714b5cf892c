#include "plugins/dynamicresources/writes/claim_binding.hpp"

#include <plimsoll/time_text.hpp>

#include <algorithm>
#include <utility>

#include "plugins/dynamicresources/objects/readiness.hpp"
#include "plugins/dynamicresources/objects/writing.hpp"

namespace plimsoll::dra {
namespace {

using Json = nlohmann::json;
using sdk::view;

// As often as a claim that others change at the same time is read again.
constexpr int kMostTries = 10;
// How often it is looked whether the pod is still to be bound while nothing happens.
constexpr int64_t kLookMs = 5'000;
constexpr int kConflict = 409;
constexpr int kNotFound = 404;

bool same_devices(const std::vector<DeviceResult>& a, const std::vector<DeviceResult>& b) {
  return std::ranges::equal(a, b, {}, &DeviceResult::where, &DeviceResult::where);
}

std::string had_first_text(const std::string& claim, const std::string& owner) {
  return "claim " + claim + ": claim " + owner +
         " was given one of its devices first, by another scheduler";
}

}  // namespace

ClaimBinding::ClaimBinding(sdk::Host host, std::shared_ptr<ClaimStore> store, Who pod,
                           std::shared_ptr<std::vector<ClaimToBind>> claims,
                           std::shared_ptr<const Footprint> footprint, int64_t timeout_ms,
                           Done done)
    : host_(std::move(host)),
      store_(std::move(store)),
      pod_(std::move(pod)),
      claims_(std::move(claims)),
      footprint_(std::move(footprint)),
      timeout_ms_(timeout_ms),
      done_(std::move(done)) {}

void ClaimBinding::next() {
  if (at_ == claims_->size()) return tell_the_pod();
  tries_ = 0;
  claim().extended != nullptr ? create() : look();
}

void ClaimBinding::wait_for(const ClaimToBind& claim, void (ClaimBinding::*then)()) {
  waits_for_ = then;
  if (std::exchange(asked_, &claim) != &claim) {
    store_->after_a_change(claim.ns, claim.name, [self = weak_from_this(), of = &claim] {
      const auto here = self.lock();
      if (here == nullptr || here->ended_) return;
      if (here->asked_ == of) here->asked_ = nullptr;
      here->go_on();
    });
  }
  if (!std::exchange(looking_, true)) look_later();
}

ClaimBinding::Standing ClaimBinding::standing(size_t at) {
  const ClaimToBind& claim = (*claims_)[at];
  const std::string name = claim.text();
  const ClaimStore::Entry* entry = store_->find(claim.ns, claim.name);
  if (entry == nullptr || entry->uid() != claim.uid) {
    return {false, "claim " + name + " got deleted in the meantime"};
  }
  const plimsoll_resource_claim& object = *entry->object;
  if (claim.allocates && is_before(view(object.object.meta.resource_version), claim.version)) {
    return {true, {}};
  }
  if (claim.allocates && had_first(*entry)) {
    return {false, had_first_text(name, entry->earlier_owner)};
  }
  const Readiness ready = readiness(object);
  if (ready.kind == Readiness::Kind::kReady) return {};
  if (ready.kind == Readiness::Kind::kFailed) {
    return {false, "device binding failed: claim=" + claim.name +
                       ", condition=" + std::string(ready.failure)};
  }
  if (waited_too_long(object, host_.now_ms(), timeout_ms_)) {
    return {false, "device binding timeout: claim=" + claim.name};
  }
  return {true, {}};
}

void ClaimBinding::settle() {
  if (ended_) return;
  for (size_t at = 0; at < claims_->size(); ++at) {
    const Standing found = standing(at);
    if (!found.problem.empty()) {
      give_back(at);
      return end(found.problem);
    }
    if (!found.waits) continue;
    const ClaimStore::Entry& entry = *store_->find((*claims_)[at].ns, (*claims_)[at].name);
    if (!told_ && has_binding_conditions(*entry.object)) {
      told_ = true;
      told_ms_ = host_.now_ms();
      if (const sdk::Pod pod = host_.pod_by_uid(pod_.uid)) {
        host_.emit_event(pod, false, "BindingConditionsPending", "Scheduling",
                         "waiting for binding conditions for device on node " + pod_.node);
      }
    }
    return wait_for((*claims_)[at], &ClaimBinding::settle);
  }
  // Decisions become what the API server has only now: until then no other pod builds on them.
  for (const ClaimToBind& each : *claims_) {
    ClaimStore::Entry* entry = store_->find(each.ns, each.name);
    if (entry != nullptr && !each.version.empty()) store_->written(*entry, pod_.uid, each.version);
  }
  end({});
}

void ClaimBinding::look_later() {
  host_.run_on_loop(kLookMs, [self = shared_from_this()] {
    if (self->ended_) return;
    if (self->host_.binding_cancelled(self->pod_.uid)) {
      return self->end("the pod is not to be bound any more");
    }
    self->look_later();
    self->go_on();
  });
}

// What was waited for may be there. Once it is, nothing waits: writes are under way.
void ClaimBinding::go_on() {
  if (const auto then = std::exchange(waits_for_, nullptr)) (this->*then)();
}

// Another pod may have the devices, now that they cannot be had, or not together with others.
void ClaimBinding::give_back(size_t at) {
  ClaimToBind& claim = (*claims_)[at];
  const ClaimStore::Entry* entry = store_->find(claim.ns, claim.name);
  if (!claim.allocates || entry == nullptr || entry->earlier_owner.empty()) return;
  claim.version.clear();
  deallocate(host_, claim, std::string(view(entry->object->object.meta.resource_version)),
             "one of which another claim had first");
}

void ClaimBinding::end(const std::string& problem) {
  if (std::exchange(ended_, true)) return;
  for (const ClaimToBind& each : *claims_) {
    ClaimStore::Entry* entry = store_->find(each.ns, each.name);
    if (entry != nullptr) store_->end_reserving(*entry, pod_.uid);
  }
  if (told_) count_conditions(problem);
  done_(problem);
}

void ClaimBinding::create() {
  send({"POST", claims_path(claim().ns), "application/json",
        text_of(extended_claim_json(*claim().extended, pod_.name, pod_.uid))},
       &ClaimBinding::created);
}

void ClaimBinding::created(const Json& object) {
  count_created("success");
  claim().uid = live_of(object).uid;
  claim().name = object["metadata"].value("name", "");
  wait_for_it();
}

void ClaimBinding::wait_for_it() {
  ClaimStore::Entry* entry = store_->find(claim().ns, claim().name);
  if (entry == nullptr) return wait_for(claim(), &ClaimBinding::wait_for_it);
  store_->adopt(*entry, pod_.uid);
  look();
}

void ClaimBinding::tell_the_pod() {
  Json status = Json::object();
  Json footprint = footprint_ != nullptr ? footprint_json(*footprint_) : Json::array();
  for (const ClaimToBind& each : *claims_) {
    if (each.extended == nullptr) continue;
    status["extendedResourceClaimStatus"] = mappings_json(*each.extended, each.name);
    for (Json& entry : footprint) {
      if (entry["resourceClaimName"] == kUnnamed) entry["resourceClaimName"] = each.name;
    }
  }
  if (footprint_ != nullptr) status["nodeAllocatableResourceClaimStatuses"] = std::move(footprint);
  if (status.empty()) return settle();
  host_.api_request(
      pod_status_request(pod_.ns, pod_.name, pod_.uid, std::move(status)),
      [self = shared_from_this()](int code, std::string_view answer) {
        self->host_.run_on_loop(0, [self, code, answer = std::string(answer)] {
          if (self->ended_ && self->footprint_ != nullptr)
            return forget_amounts(self->host_, self->pod_.ns, self->pod_.name, self->pod_.uid);
          if (code >= 200 && code <= 299) return self->settle();
          self->fail("the pod cannot be told of its claims: " + failure_text(code, answer));
        });
      });
}

// Another claim had one of its devices first, and has it still.
bool ClaimBinding::had_first(const ClaimStore::Entry& entry) const {
  return !entry.earlier_owner.empty() && store_->has_one_twice(entry);
}

// Once it has devices, and while none of our other pods changes it.
bool ClaimBinding::may_reserve(ClaimStore::Entry& entry) {
  if (had_first(entry)) {
    fail(had_first_text(text(), entry.earlier_owner));
    return false;
  }
  // What is written but not seen may be a device that somebody else had first.
  const bool seen = entry.object->allocated != 0;
  if (entry.in_flight_in(claim().group) || (entry.allocated() && !seen) ||
      (!entry.reserving.empty() && entry.reserving != pod_.uid)) {
    wait_for(claim(), &ClaimBinding::look);
    return false;
  }
  if (!entry.allocated()) {
    fail("claim " + text() + " lost its devices in the meantime");
    return false;
  }
  entry.reserving = pod_.uid;
  return true;
}

void ClaimBinding::look() {
  ClaimStore::Entry* entry = store_->find(claim().ns, claim().name);
  if (entry == nullptr || entry->uid() != claim().uid) {
    return fail("claim " + text() + " got deleted in the meantime");
  }
  // The pod that was to get it its devices is not bound.
  if (entry->in_flight_in(claim().group) && entry->decision->pod_uid == pod_.uid)
    claim().allocates = true;
  if (!claim().allocates && entry->reserved_for(pod_.uid)) {
    ++at_;
    return next();
  }
  if (!claim().allocates && !may_reserve(*entry)) return;
  live_ = live_of(*entry->object);
  write();
}

void ClaimBinding::look_again() {
  if (++tries_ > kMostTries) return fail("claim " + text() + " is changed again and again");
  send({"GET", claim_path(claim().ns, claim().name), {}, {}}, &ClaimBinding::looked_again);
}

void ClaimBinding::looked_again(const Json& object) {
  live_ = live_of(object);
  write();
}

// Kubernetes: dynamic-resource-allocation/resourceclaim/metrics.
void ClaimBinding::count_created(const char* status) const {
  host_
      .counter(
          "dynamic_resource_allocation_resourceclaim_creates_total",
          "[ALPHA] Number of ResourceClaims creation requests, categorized by creation status, "
          "admin access, and owning API group and kind",
          {"status", "admin_access", "owner_api_group", "owner_api_kind"})
      .add(1, status, "false", "", "Pod");
}

// Kubernetes: pkg/scheduler/metrics, DRABindingConditions*.
void ClaimBinding::count_conditions(const std::string& problem) const {
  const char* status = problem.empty()                                 ? "success"
                       : problem.starts_with("device binding failed")  ? "failed"
                       : problem.starts_with("device binding timeout") ? "timeout"
                                                                       : "error";
  const auto devices =
      host_.counter("scheduler_dra_bindingconditions_allocations_total",
                    "[ALPHA] Devices with binding conditions that a binding waited for.",
                    {"profile", "driver", "status"});
  const auto duration = host_.histogram(
      "scheduler_dra_bindingconditions_wait_duration_seconds",
      "[ALPHA] Time that a binding waited for such conditions.",
      {0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6, 819.2},
      {"profile", "driver", "status"});
  const double seconds = static_cast<double>(host_.now_ms() - told_ms_) / 1e3;
  for (const ClaimToBind& each : *claims_) {
    const ClaimStore::Entry* entry = store_->find(each.ns, each.name);
    if (entry == nullptr) continue;
    for (const auto& device : sdk::List<plimsoll_device_result>(entry->object->results)) {
      if (device.binding_conditions.count == 0) continue;
      devices.add(1, pod_.profile, view(device.driver), status);
      duration.observe_value(seconds, pod_.profile, view(device.driver), status);
    }
  }
}

void ClaimBinding::write() {
  if (live_.uid != claim().uid || live_.deleting) {
    return fail("claim " + text() + " got deleted in the meantime");
  }
  if (claim().allocates && live_.allocated) {
    return fail("claim " + text() + " got allocated elsewhere in the meantime");
  }
  if (!claim().allocates && !live_.allocated) {
    return fail("claim " + text() + " lost its devices in the meantime");
  }
  if (!claim().allocates && !same_devices(live_.devices, claim().devices)) {
    return fail("claim " + text() + " got allocated elsewhere in the meantime");
  }
  for (const Json& finalizer : live_.finalizers) {
    if (finalizer == kFinalizer) return write_status();
  }
  if (!claim().allocates) return write_status();
  write_finalizer();
}

void ClaimBinding::write_finalizer() {
  Json body{{"metadata", preconditions(live_.uid, live_.version)}};
  live_.finalizers.push_back(kFinalizer);
  body["metadata"]["finalizers"] = live_.finalizers;
  send({"PATCH", claim_path(claim().ns, claim().name), kMergePatch, text_of(body)},
       &ClaimBinding::wrote_finalizer);
}

void ClaimBinding::wrote_finalizer(const Json& object) {
  live_ = live_of(object);
  write_status();
}

void ClaimBinding::write_status() {
  Json body{{"metadata", preconditions(live_.uid, live_.version)}};
  Json& status = body["status"];
  status["reservedFor"] = live_.users;
  const bool is_user = std::any_of(live_.users.begin(), live_.users.end(), [&](const Json& user) {
    return user.is_object() && user.value("uid", Json()) == pod_.uid;
  });
  if (!is_user) {
    status["reservedFor"].push_back({{"resource", "pods"}, {"name", pod_.name}, {"uid", pod_.uid}});
  }
  if (claim().allocates) {
    const ClaimStore::Entry* entry = store_->find(claim().ns, claim().name);
    if (entry == nullptr || !entry->in_flight() || entry->decision->pod_uid != pod_.uid) {
      return fail("claim " + text() + " got deleted in the meantime");
    }
    status["allocation"] = allocation_json(entry->decision->allocation);
    status["allocation"]["allocationTimestamp"] = sdk::time_text(
        std::chrono::system_clock::time_point(std::chrono::milliseconds(host_.now_ms())), false);
  }
  send({"PATCH", claim_path(claim().ns, claim().name) + "/status", kMergePatch, text_of(body)},
       &ClaimBinding::finished);
}

void ClaimBinding::finished(const Json& object) {
  claim().version = live_of(object).version;
  if (ClaimStore::Entry* entry = store_->find(claim().ns, claim().name); entry != nullptr)
    store_->end_reserving(*entry, pod_.uid, claim().version);
  ++at_;
  next();
}

void ClaimBinding::send(sdk::Host::ApiRequest request, void (ClaimBinding::*then)(const Json&)) {
  host_.api_request(
      std::move(request), [self = shared_from_this(), then](int status, std::string_view body) {
        self->host_.run_on_loop(0, [self, then, status, body = std::string(body)] {
          if (self->ended_) {
            return self->take_back(then, Json::parse(body, nullptr, false));
          }
          const bool exists = !self->claim().name.empty();
          if (status == kConflict && exists) return self->look_again();
          if (status == kNotFound && exists) {
            return self->fail("claim " + self->text() + " got deleted in the meantime");
          }
          const Json object = Json::parse(body, nullptr, false);
          if (status < 200 || status > 299 || !object.is_object()) {
            if (!exists) self->count_created("failure");
            return self->fail("claim " + self->text() + ": " + failure_text(status, body));
          }
          ((*self).*then)(object);
        });
      });
}

void ClaimBinding::take_back(void (ClaimBinding::*then)(const Json&), const Json& object) {
  const Live live = object.is_object() ? live_of(object) : Live();
  if (live.uid.empty()) return;  // it has failed
  if (then == &ClaimBinding::finished && claim().extended == nullptr)
    return release(host_, claim(), pod_.uid);
  if (then == &ClaimBinding::created)
    delete_claim(host_, {claim().ns, object["metadata"].value("name", ""), live.uid});
}

ClaimBinding::Live ClaimBinding::live_of(const plimsoll_resource_claim& object) {
  const auto text = [](const plimsoll_str& from) { return std::string(view(from)); };
  Live live;
  live.uid = text(object.object.meta.uid);
  live.version = text(object.object.meta.resource_version);
  live.deleting = object.object.meta.deletion_ms != 0;
  live.allocated = object.allocated != 0;
  for (const auto& each : sdk::List<plimsoll_device_result>(object.results)) {
    DeviceResult& device = live.devices.emplace_back();
    device.driver = text(each.driver);
    device.pool = text(each.pool);
    device.device = text(each.device);
  }
  for (const plimsoll_str& each : sdk::List<plimsoll_str>(object.finalizers)) {
    live.finalizers.push_back(text(each));
  }
  for (const auto& each : sdk::List<plimsoll_claim_user>(object.reserved_for)) {
    Json user{
        {"resource", text(each.resource)}, {"name", text(each.name)}, {"uid", text(each.uid)}};
    if (each.api_group.len != 0) user["apiGroup"] = text(each.api_group);
    live.users.push_back(std::move(user));
  }
  return live;
}

ClaimBinding::Live ClaimBinding::live_of(const Json& object) {
  const auto at = [&object](const char* where) -> Json {
    const Json::json_pointer pointer(where);
    return object.contains(pointer) ? object.at(pointer) : Json();
  };
  const auto text = [](const Json& from) {
    return from.is_string() ? from.get<std::string>() : std::string();
  };
  Live live;
  live.uid = text(at("/metadata/uid"));
  live.version = text(at("/metadata/resourceVersion"));
  live.deleting = !at("/metadata/deletionTimestamp").is_null();
  live.allocated = at("/status/allocation").is_object();
  for (const Json& each : at("/status/allocation/devices/results")) {
    DeviceResult& device = live.devices.emplace_back();
    device.driver = each.value("driver", "");
    device.pool = each.value("pool", "");
    device.device = each.value("device", "");
  }
  if (Json found = at("/metadata/finalizers"); found.is_array()) live.finalizers = std::move(found);
  if (Json found = at("/status/reservedFor"); found.is_array()) live.users = std::move(found);
  return live;
}

}  // namespace plimsoll::dra
