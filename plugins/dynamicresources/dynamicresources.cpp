#include "plugins/dynamicresources/dynamicresources.hpp"

#include <plimsoll/pod_groups.h>
#include <plimsoll/services/pre_queueing_hint.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "plugins/dynamicresources/objects/readiness.hpp"
#include "plugins/dynamicresources/objects/reading.hpp"
#include "plugins/dynamicresources/selectors.hpp"

namespace plimsoll::dra {

using sdk::List;
using sdk::Nodes;
using sdk::Pod;
using sdk::Status;
using sdk::str;
using sdk::view;

namespace {

constexpr std::string_view kStore = "plimsoll.io/resource-claims";

// v1.FirstAvailableDeviceRequestMaxSize
constexpr int64_t kMostAlternatives = 8;

Status unresolvable(const sdk::Host& host, const std::string& text) {
  return host.failed(PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, text);
}

std::string zone_list(uint64_t mask) {
  std::string text;
  for (int zone = 0; zone < 64; ++zone) {
    if ((mask >> zone & 1) != 0) text += (text.empty() ? "" : ",") + std::to_string(zone);
  }
  return text;
}

bool nobody_else_has(const ClaimStore::Entry& claim, Pod pod) {
  const List<plimsoll_claim_user> users(claim.object->reserved_for);
  return users.size() == 0 || (users.size() == 1 && view(users[0].uid) == pod.uid());
}

}  // namespace

DynamicResources::DynamicResources(sdk::Host host, std::string_view args_json)
    : host_(host),
      args_(parse_claim_args(host, args_json)),
      store_(host, kStore,
             [host, this] {
               return std::make_shared<ClaimStore>(host, cel_judge(host),
                                                   Inventory::Gates{args_.list_attributes},
                                                   args_.node_allocatable);
             }),
      none_(host.reason("cannot allocate all claims")),
      elsewhere_(host.reason("resourceclaim not available on the node")),
      invalid_pool_(host.reason("invalid resource pools were encountered")),
      deallocated_(host.reason("deallocation of ResourceClaim completed")),
      stale_(host.reason("cannot schedule extended resource claim")),
      unfit_(host.reason("cannot fit resource")),
      deleted_(host.reason("deletion of ResourceClaim completed")),
      away_(host.reason("no devices for the claims in the NUMA zones of the pod")),
      unknown_(host.reason("the NUMA zones of the pod are not known")) {
  if (store_->lists_attributes() != args_.list_attributes) {
    throw std::runtime_error(
        "featureGates.DRAListTypeAttributes: must be the same in all profiles");
  }
  if (store_->adds_to_requests() != args_.node_allocatable) {
    throw std::runtime_error(
        "featureGates.DRANodeAllocatableResources: must be the same in all profiles");
  }
  static const plimsoll_pre_queueing_hint kNamedOnly{sizeof kNamedOnly, 0, nullptr, &named_only};
  static_cast<void>(host_.publish(  // the first one's stays
      PLIMSOLL_PRE_QUEUEING_HINT_SERVICE_PREFIX + std::string(kName),
      PLIMSOLL_PRE_QUEUEING_HINT_VERSION, &kNamedOnly));
  host_.watch(sdk::kResourceClaims);
  host_.watch(sdk::kResourceSlices);
  host_.watch(sdk::kDeviceClasses);
  host_.watch(sdk::kDeviceTaintRules);
}

DynamicResources::~DynamicResources() {
  if (!profile_.empty()) store_->stop_serving(profile_);
}

std::string DynamicResources::missing_class(const Claim& claim) const {
  for (const Request& request : claim.requests) {
    for (const DeviceRequest& ask : request.alternatives) {
      if (ask.class_name.empty() || store_->device_class(ask.class_name) != nullptr) continue;
      const std::string name =
          request.first_available ? request.name + "/" + ask.name : request.name;
      return "request " + name + ": device class " + ask.class_name + " does not exist";
    }
  }
  return {};
}

Status DynamicResources::pre_filter(plimsoll_cycle& cycle, Pod pod) {
  if (profile_.empty()) {
    profile_ = view(pod->scheduler_name);
    store_->serve(profile_);
  }
  std::vector<Extended> extended = extended_of(pod);
  if (pod->claims.count == 0 && extended.empty()) return Status::skip();
  const auto attempt = std::make_shared<Attempt>();
  std::string refused;
  const uint64_t group = pod->claims.count == 0 ? 0 : group_decision(pod);
  const auto want = [&](const ClaimStore::Entry& claim) {
    const plimsoll_meta& meta = claim.object->object.meta;
    Wanted wanted;
    wanted.ns = view(meta.ns);
    wanted.name = view(meta.name);
    wanted.uid = claim.uid();
    wanted.asks = claim.asks;
    if (claim.in_flight_in(group)) wanted.group = group;
    wanted.allocated = claim.allocated() || wanted.group != 0;
    if (wanted.allocated) wanted.results = claim.results();
    if (wanted.allocated && refused.empty() && claim.users() >= kMostUsers &&
        !claim.reserved_for(pod.uid())) {
      refused = "resource claim " + wanted.ns + "/" + wanted.name + " is used by " +
                std::to_string(claim.users()) + " pods already, and no more can use it";
    }
    if (wanted.allocated && args_.node_allocatable) {
      const bool shared = claim.object->reserved_for.count > 0 && !claim.reserved_for(pod.uid());
      wanted.taken = (shared || wanted.group != 0) &&
                     std::any_of(wanted.results.begin(), wanted.results.end(),
                                 [this](const DeviceResult& result) {
                                   const Device* device = store_->device(result);
                                   return device != nullptr && is_mapped(*device);
                                 });
    }
    if (wanted.allocated) {
      wanted.reachable_from = claim.reachable_from();
      wanted.alternatives = claim.requests_met();
      const Readiness ready = readiness(*claim.object);
      if (ready.kind == Readiness::Kind::kFailed ||
          (ready.kind == Readiness::Kind::kPending &&
           waited_too_long(*claim.object, host_.now_ms(), args_.binding_timeout_ms))) {
        wanted.unusable = "its devices did not become ready";
      } else if (nobody_else_has(claim, pod) && store_->has_one_twice(claim)) {
        // The late write of a scheduler that has died, for one.
        wanted.unusable = "one of its devices was given to somebody else, too";
      }
    } else {
      if (refused.empty() && claim.in_flight()) {
        refused = "resource claim " + wanted.ns + "/" + wanted.name +
                  " is in the process of being allocated";
      }
      if (refused.empty()) refused = missing_class(*wanted.asks);
      attempt->asks.push_back(wanted.asks.get());
    }
    attempt->claims.push_back(std::move(wanted));
  };
  const std::string problem = each_claim(pod, want);
  if (!problem.empty()) return unresolvable(host_, problem);
  attempt->extended = std::move(extended);
  if (!attempt->extended.empty()) attempt->stale = store_->extended_claim(pod.uid());
  if (attempt->stale && !pod.node_name().empty()) {  // somebody asks about a pod that has its place
    if (const auto* has = store_->find(attempt->stale->first, attempt->stale->second)) want(*has);
    attempt->stale.reset();
    attempt->extended.clear();
  }
  if (attempt->claims.empty() && attempt->extended.empty()) return Status::skip();
  if (!refused.empty()) return unresolvable(host_, refused);
  if (args_.order != ClaimArgs::Order::kReference) {
    attempt->forecasts = host_.find_service<plimsoll_zone_forecast>(PLIMSOLL_ZONE_FORECAST_SERVICE,
                                                                    PLIMSOLL_ZONE_FORECAST_VERSION);
    if (attempt->forecasts != nullptr)
      attempt->asked = attempt->forecasts->ask(attempt->forecasts->self, pod.operator->());
  }
  host_.set_state(cycle, State{attempt, {}});
  return Status();
}

uint64_t DynamicResources::group_decision(Pod pod) const {
  const auto* groups = host_.find_service<plimsoll_pod_groups>(PLIMSOLL_POD_GROUPS_SERVICE,
                                                               PLIMSOLL_POD_GROUPS_VERSION);
  return groups == nullptr ? 0 : groups->decision(groups->self, pod.operator->(), nullptr, nullptr);
}

bool DynamicResources::reaches_given(const State& state, const Claim& claim,
                                     const Node& node) const {
  const Given* got = given(state, claim);
  return got == nullptr ||
         std::all_of(got->devices.begin(), got->devices.end(), [&](const DeviceResult& device) {
           return store_->device_on(device, node) != nullptr;
         });
}

const DynamicResources::Attempt* DynamicResources::attempt(const plimsoll_cycle& cycle) const {
  const State* state = host_.state<State>(cycle);
  return state == nullptr ? nullptr : state->attempt.get();
}

DynamicResources::Attempt* DynamicResources::attempt(plimsoll_cycle& cycle) const {
  const State* state = host_.state<State>(cycle);
  return state == nullptr ? nullptr : state->attempt.get();
}

Status DynamicResources::filter(const plimsoll_cycle& cycle, Pod pod, Nodes nodes,
                                sdk::Verdicts verdicts) const {
  const State* state = host_.state<State>(cycle);
  if (state == nullptr) return Status();
  Attempt& attempt = *state->attempt;
  const std::scoped_lock lock(attempt.lock);
  const bool counts = args_.node_allocatable && store_->any_allocatable();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!verdicts.open(i)) continue;
    if (attempt.stale) {
      verdicts.set(i, Status::unresolvable(stale_));
      continue;
    }
    const std::optional<std::string> which = from_devices(attempt, nodes[i]);
    if (!which) {
      verdicts.set(i, Status::unresolvable(unfit_));
      continue;
    }
    Variant& here = variant(attempt, pod, *which);
    const Node node = node_of(nodes[i]);
    std::vector<size_t> unreachable;
    for (size_t claim = 0; claim < attempt.claims.size(); ++claim) {
      const Wanted& wanted = attempt.claims[claim];
      const bool reachable =
          !wanted.reachable_from || matches(*wanted.reachable_from, node).value_or(false);
      if (!reachable || !wanted.unusable.empty()) unreachable.push_back(claim);
      if (!reachable || !wanted.taken) continue;
      verdicts.set(i, Status::unresolvable(
                          host_.reason("node allocatable resource claim " + wanted.name +
                                       " has a mapped device and cannot be shared across pods")));
      break;
    }
    if (!verdicts.open(i)) continue;
    Allocator* allocator = here.allocator.get();
    std::unique_ptr<ClaimStore::Other> moved;
    std::unique_ptr<Allocator> of_what_if;
    if (allocator != nullptr && !state->moved.empty()) {
      moved = as_moved(*state);
      std::vector<const Claim*> asks = here.asks;
      std::erase_if(asks, [&](const Claim* claim) { return given(*state, *claim) != nullptr; });
      if (!std::all_of(here.asks.begin(), here.asks.end(),
                       [&](const Claim* claim) { return reaches_given(*state, *claim, node); })) {
        verdicts.set(i, refused(*state, pod, nodes[i], none_));
        continue;
      }
      if (!asks.empty()) of_what_if = store_->allocator(asks);
      allocator = of_what_if.get();
    }
    Outcome outcome;
    // It is asked even if a claim cannot be reached: its error comes first, as upstream.
    if (allocator != nullptr) {
      // What is counted is what Reserve will choose.
      const bool orders = args_.order == ClaimArgs::Order::kTopology;
      outcome = !counts  ? allocator->judge(node)
                : orders ? allocate_near(*allocator, nodes[i], zones(attempt, pod, nodes[i]))
                         : allocator->allocate(node);
      if (outcome.kind == Outcome::Kind::kTimedOut) {
        return host_.error("node " + std::string(node.name) +
                           ": timed out trying to allocate devices");
      }
      if (outcome.kind == Outcome::Kind::kError) {
        if (outcome.failure.fault != Fault::kInvalidPoolOnNode) {
          return host_.error(outcome.failure.error);
        }
        verdicts.set(i, Status::unresolvable(invalid_pool_));
        continue;
      }
      if (outcome.kind == Outcome::Kind::kNone) {
        verdicts.set(i, refused(*state, pod, nodes[i], none_));
        continue;
      }
      if (args_.order == ClaimArgs::Order::kRequire) {
        const Zones wanted = zones(attempt, pod, nodes[i]);
        if (wanted.known) outcome = allocate_near(*allocator, nodes[i], wanted, 0);
        if (!wanted.known || outcome.kind != Outcome::Kind::kAllocated) {
          verdicts.set(i, Status::unresolvable(wanted.known ? away_ : unknown_));
          continue;
        }
      }
    }
    if (counts) {
      std::vector<Allocation> allocations;
      if (allocator != nullptr)
        allocations = allocator->allocations(outcome, node.name, [] { return "share"; });
      for (size_t at = 0; !state->moved.empty() && at < here.asks.size(); ++at) {
        if (const Given* got = given(*state, *here.asks[at]))
          allocations.insert(allocations.begin() + static_cast<ptrdiff_t>(at),
                             Allocation{got->devices, {}, {}});
      }
      const Counted taken = footprint(attempt, here, allocations, pod, node);
      if (!taken.problem.empty()) return host_.error(taken.problem);
      const Refusal refused = taken.all ? refusal(pod, nodes[i], *taken.all) : Refusal();
      if (!refused.reasons.empty()) {
        std::vector<std::string_view> texts(refused.reasons.begin(), refused.reasons.end());
        const uint32_t reason = host_.reason(texts);
        verdicts.set(
            i, refused.for_ever ? Status::unresolvable(reason) : Status::unschedulable(reason));
        continue;
      }
    }
    if (unreachable.empty()) continue;
    attempt.unavailable.insert(attempt.unavailable.end(), unreachable.begin(), unreachable.end());
    verdicts.set(i, Status::unresolvable(elsewhere_));
  }
  return Status();
}

// A claim that no node can use, and that nobody else has, loses its devices: then it can be
// allocated elsewhere.
Status DynamicResources::post_filter(plimsoll_cycle& cycle, Pod pod, Nodes,
                                     std::span<const uint8_t>, sdk::Nomination&) {
  const Status nothing = Status::unschedulable(host_.reason({}));
  const Attempt* tried = attempt(cycle);
  if (tried == nullptr) return nothing;
  if (tried->stale) {
    const auto& [ns, name] = *tried->stale;
    const ClaimStore::Entry* claim = store_->find(ns, name);
    if (claim == nullptr) return nothing;
    delete_claim(host_, {ns, name, std::string(claim->uid())}, pod.uid());
    return Status::unschedulable(deleted_);
  }
  for (const size_t at : tried->unavailable) {
    const Wanted& wanted = tried->claims[at];
    const ClaimStore::Entry* claim = store_->find(wanted.ns, wanted.name);
    if (claim == nullptr || claim->uid() != wanted.uid || claim->object->allocated == 0) continue;
    if (!nobody_else_has(*claim, pod)) continue;
    deallocate(host_, {wanted.ns, wanted.name, wanted.uid},
               std::string(view(claim->object->object.meta.resource_version)), kNoNode, pod.uid());
    return Status::unschedulable(deallocated_);
  }
  return nothing;
}

// Pods without alternatives among their devices have no preference, but for where they are.
Status DynamicResources::pre_score(plimsoll_cycle& cycle, Pod, Nodes) {
  const Attempt* tried = attempt(cycle);
  if (tried == nullptr) return Status::skip();
  if (tried->asked != nullptr) return Status();
  for (const Wanted& claim : tried->claims) {
    for (const Request& asked : claim.asks->requests) {
      if (asked.first_available) return Status();
    }
  }
  return Status::skip();
}

Status DynamicResources::score(const plimsoll_cycle& cycle, Pod pod, Nodes nodes,
                               std::span<int64_t> scores) const {
  std::fill(scores.begin(), scores.end(), 0);
  const State* state = host_.state<State>(cycle);
  if (state == nullptr) return Status();
  Attempt& tried = *state->attempt;
  const std::scoped_lock lock(tried.lock);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::optional<std::string> which = from_devices(tried, nodes[i]);
    const Variant* made = which ? &variant(tried, pod, *which) : nullptr;
    // As upstream: where nothing is allocated now, nothing is scored.
    if (made == nullptr || made->allocator == nullptr) continue;
    const Zones wanted = zones(tried, pod, nodes[i]);
    const Outcome outcome = allocate_near(*made->allocator, nodes[i], wanted);
    if (outcome.kind != Outcome::Kind::kAllocated) continue;
    // Devices where the pod is count for more than any alternative.
    const auto requests = static_cast<int64_t>(made->allocator->plan().requests.size());
    if (tried.asked != nullptr && wanted.known && outcome.away == 0)
      scores[i] = (requests + 1) * kMostAlternatives * kMostAlternatives;
    size_t request = 0;  // of those that were allocated here
    for (const Wanted& claim : tried.claims) {
      for (const Request& asked : claim.asks->requests) {
        if (!claim.allocated) {
          const uint32_t first = made->allocator->plan().requests[request].first;
          const uint32_t chosen = outcome.chosen[request++] - first;
          if (asked.first_available) scores[i] += kMostAlternatives - chosen;
          continue;
        }
        if (!asked.first_available) continue;
        for (size_t k = 0; k < asked.alternatives.size(); ++k) {
          const std::string name = asked.name + "/" + asked.alternatives[k].name;
          const bool has = std::find(claim.alternatives.begin(), claim.alternatives.end(), name) !=
                           claim.alternatives.end();
          if (has) scores[i] += kMostAlternatives - static_cast<int64_t>(k);
        }
      }
    }
  }
  return Status();
}

Status DynamicResources::normalize(const plimsoll_cycle&, Pod, Nodes,
                                   std::span<int64_t> scores) const {
  sdk::normalize_scores(scores, /*reverse=*/false);
  return Status();
}

DynamicResources::Zones DynamicResources::zones(const Attempt& attempt, Pod pod,
                                                sdk::Node node) const {
  Zones found;
  if (args_.order == ClaimArgs::Order::kReference) return found;
  if (attempt.forecasts == nullptr) return {false, 0};
  if (attempt.asked == nullptr) return found;  // no kubelet ties it to zones
  found.known = attempt.forecasts->zones(attempt.forecasts->self, attempt.asked, node.slot(),
                                         str(pod.uid()), &found.mask) >= 0;
  return found;
}

Outcome DynamicResources::allocate_near(Allocator& allocator, sdk::Node node, const Zones& zones,
                                        uint32_t most_away) const {
  if (zones.mask == 0) return allocator.allocate(node_of(node));
  // A device without a zone is near every one.
  const auto is_away = [&](const KnownDevice& device) {
    const int zone = store_->zone_of(device);
    return zone >= 0 && (zones.mask >> zone & 1) == 0;
  };
  return allocator.allocate_near(node_of(node), is_away, most_away);
}

DynamicResources::Counted DynamicResources::footprint(const Attempt& attempt,
                                                      const Variant& variant,
                                                      const std::vector<Allocation>& allocations,
                                                      Pod pod, const Node& node) const {
  if (!args_.node_allocatable || !store_->any_allocatable()) return {};
  Counted counted;
  std::optional<Footprint>& all = counted.all;
  const auto count = [&](const std::string& ns, const std::string& name,
                         const std::vector<DeviceResult>& results) {
    ClaimFootprint claim;
    claim.claim = name;
    for (const DeviceResult& result : results) {
      const Device* device = store_->device_on(result, node);
      if (device == nullptr || device->allocatable.empty()) continue;
      if (!all) all.emplace();
      const std::string why = add_device(claim, *device, result);
      if (!why.empty() && counted.problem.empty())
        counted.problem = "claim " + ns + "/" + name + ", " + why;
    }
    if (claim.empty()) return;
    add_containers(claim, pod);
    all->push_back(std::move(claim));
  };
  size_t next = 0;
  for (const Wanted& wanted : attempt.claims) {
    const auto& results = wanted.allocated ? wanted.results : allocations[next++].results;
    count(wanted.ns, wanted.name, results);
  }
  if (variant.ask != nullptr)
    count(variant.claim.space, variant.claim.name, allocations.back().results);
  if (all) std::ranges::sort(*all, {}, &ClaimFootprint::claim);
  return counted;
}

void DynamicResources::explain(const plimsoll_cycle& cycle, Pod pod, sdk::Node node,
                               sdk::Sink& sink) const {
  const State* state = host_.state<State>(cycle);
  if (state == nullptr) return;
  Attempt& tried = *state->attempt;
  const std::scoped_lock lock(tried.lock);
  if (tried.stale) return sink.put("its claim " + tried.stale->second + " is being removed");
  const Node here = node_of(node);
  std::string text;
  for (const Wanted& claim : tried.claims) {
    const std::string name = "claim " + claim.ns + "/" + claim.name;
    if (!claim.unusable.empty()) text += name + ": " + claim.unusable + "; ";
    if (claim.reachable_from && !matches(*claim.reachable_from, here).value_or(false)) {
      text += name + ": its devices cannot be reached from here; ";
    }
  }
  const std::optional<std::string> which = from_devices(tried, node);
  if (which) {
    if (Allocator* allocator = variant(tried, pod, *which).allocator.get()) {
      text += allocator->why(here);
      const Zones pod_zones = zones(tried, pod, node);
      if (pod_zones.mask != 0) {
        const Outcome outcome = allocate_near(*allocator, node, pod_zones);
        text += "; the kubelet puts the pod into zones " + zone_list(pod_zones.mask);
        if (outcome.kind == Outcome::Kind::kAllocated)
          text += ", " + std::to_string(outcome.away) + " of its devices are elsewhere";
      }
    }
  }
  if (text.ends_with("; ")) text.resize(text.size() - 2);
  sink.put(text);
}

Status DynamicResources::sign(Pod pod, sdk::Sink&) {
  return pod->claims.count == 0 && extended_of(pod).empty() ? Status() : Status::skip();
}

bool DynamicResources::rests_on(Pod pod, std::string_view resource) const {
  return (pod->claims.count != 0 || !extended_of(pod).empty()) &&
         (resource == sdk::kResourceClaims.resource || resource == sdk::kResourceSlices.resource ||
          resource == sdk::kDeviceClasses.resource || resource == sdk::kDeviceTaintRules.resource);
}

void DynamicResources::node_event(sdk::NodeEvent type, sdk::Node node, uint32_t aspects) {
  if (!store_.feeds("nodes")) return;
  if (type == sdk::NodeEvent::kChanged && (aspects & PLIMSOLL_ASPECT_LABELS) == 0) return;
  store_->node_changed(node.name());
}

void DynamicResources::object_event(const sdk::ObjectEvent& event) {
  if (store_.feeds()) store_->object_event(event);
}

}  // namespace plimsoll::dra
