#include "plugins/dynamicresources/dynamicresources.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "plugins/dynamicresources/objects/readiness.hpp"
#include "plugins/dynamicresources/objects/reading.hpp"
#include "plugins/dynamicresources/selectors.hpp"

namespace plimsoll::dra {

using sdk::Hint;
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

// v1helper.IsExtendedResourceName: of a domain that is not Kubernetes' own.
bool is_extended(std::string_view name) {
  return name.find('/') != std::string_view::npos &&
         name.find("kubernetes.io/") == std::string_view::npos && !name.starts_with("requests.");
}

bool names(Pod pod, const plimsoll_meta& claim) {
  const List<plimsoll_pod_claim> wanted(pod->claims);
  return pod.ns() == view(claim.ns) &&
         std::any_of(wanted.begin(), wanted.end(), [&](const plimsoll_pod_claim& each) {
           return view(each.claim) == view(claim.name);
         });
}

Node node_of(sdk::Node node) {
  return {node.name(), [node](std::string_view key) { return node.label(key); }};
}

// RFC 9562, version 4.
std::string new_uid() {
  thread_local std::mt19937_64 random(std::random_device{}());
  std::array<uint64_t, 2> bits{random(), random()};
  bits[0] = (bits[0] & ~uint64_t{0xf000}) | 0x4000;
  bits[1] = (bits[1] & ~(uint64_t{3} << 62)) | uint64_t{2} << 62;
  char text[37];
  std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx",
                static_cast<unsigned>(bits[0] >> 32), static_cast<unsigned>(bits[0] >> 16 & 0xffff),
                static_cast<unsigned>(bits[0] & 0xffff), static_cast<unsigned>(bits[1] >> 48),
                static_cast<unsigned long long>(bits[1] & 0xffffffffffff));
  return text;
}

std::string_view controller_uid(const plimsoll_meta& meta) {
  for (const plimsoll_owner& owner : List<plimsoll_owner>(meta.owners)) {
    if (owner.controller != 0) return view(owner.uid);
  }
  return {};
}

}  // namespace

DynamicResources::DynamicResources(sdk::Host host, std::string_view args_json)
    : host_(host),
      args_(parse_claim_args(host, args_json)),
      store_(host, kStore,
             [host] {
               return std::make_shared<ClaimStore>(host, cel_judge(host), Inventory::Gates{});
             }),
      none_(host.reason("cannot allocate all claims")),
      elsewhere_(host.reason("resourceclaim not available on the node")),
      invalid_pool_(host.reason("invalid resource pools were encountered")),
      deallocated_(host.reason("deallocation of ResourceClaim completed")),
      stale_(host.reason("cannot schedule extended resource claim")),
      unfit_(host.reason("cannot fit resource")),
      deleted_(host.reason("deletion of ResourceClaim completed")) {
  host_.watch(sdk::kResourceClaims);
  host_.watch(sdk::kResourceSlices);
  host_.watch(sdk::kDeviceClasses);
  host_.watch(sdk::kDeviceTaintRules);
}

DynamicResources::~DynamicResources() {
  if (!profile_.empty()) store_->stop_serving(profile_);
}

std::vector<plimsoll_event_interest> DynamicResources::events() {
  const uint32_t any = PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE;
  return {
      {str("Node"),
       PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_LABEL |
           PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE,
       0},
      {str(sdk::kResourceClaims.resource), any | PLIMSOLL_ACTION_DELETE, 0},
      {str("TargetPod"), PLIMSOLL_ACTION_UPDATE_POD_GENERATED_CLAIM, 0},
      {str(sdk::kDeviceClasses.resource), any, 0},
      {str(sdk::kResourceSlices.resource), any, 0},
      {str(sdk::kDeviceTaintRules.resource), PLIMSOLL_ACTION_UPDATE | PLIMSOLL_ACTION_DELETE, 0}};
}

template <typename Visit>
std::string DynamicResources::each_claim(Pod pod, const Visit& visit) const {
  const std::string who = std::string(pod.ns()) + "/" + std::string(pod.name());
  for (const auto& wanted : List<plimsoll_pod_claim>(pod->claims)) {
    if (wanted.needless != 0) continue;
    const bool generated = wanted.template_name.len != 0;
    if (wanted.claim.len == 0) {
      return generated
                 ? "pod \"" + who + "\": ResourceClaim not created yet"
                 : "pod \"" + who + "\", spec.resourceClaim \"" + std::string(view(wanted.name)) +
                       "\": none of the supported fields are set";
    }
    const std::string name(view(wanted.claim));
    ClaimStore::Entry* claim = store_->find(pod.ns(), name);
    if (claim == nullptr) {
      return "could not find ResourceClaim \"" + std::string(pod.ns()) + "/" + name + "\"";
    }
    if (claim->object->object.meta.deletion_ms != 0) {
      return "resourceclaim \"" + name + "\" is being deleted";
    }
    if (generated && controller_uid(claim->object->object.meta) != pod.uid()) {
      return "ResourceClaim " + std::string(pod.ns()) + "/" + name + " was not created for Pod " +
             who + " (Pod is not owner)";
    }
    visit(*claim);
  }
  return {};
}

std::vector<DynamicResources::Extended> DynamicResources::extended_of(Pod pod) const {
  std::vector<Extended> all;
  bool any = false;
  for (const plimsoll_resource& each : pod.requests()) {
    if (each.value == 0) continue;
    const std::string_view name = view(each.name);
    std::string device_class = store_->class_behind(name);
    any = any || !device_class.empty();
    if (device_class.empty() && !is_extended(name)) continue;
    all.push_back({std::string(name), each.index, std::move(device_class)});
  }
  if (!any) all.clear();
  return all;
}

std::optional<std::string> DynamicResources::from_devices(const Attempt& attempt, sdk::Node node) {
  std::string which;
  for (const Extended& each : attempt.extended) {
    const bool has = each.index != PLIMSOLL_RESOURCE_OF_NO_NODE && node.allocatable(each.index) > 0;
    if (!has && each.device_class.empty()) return std::nullopt;
    which += has ? '0' : '1';
  }
  if (which.find('1') == std::string::npos) which.clear();
  return which;
}

DynamicResources::Variant& DynamicResources::variant(Attempt& attempt, Pod pod,
                                                     const std::string& which) const {
  auto& [last, last_made] = attempt.last;
  if (last_made != nullptr && last == which) return *last_made;
  const auto [at, is_new] = attempt.variants.try_emplace(which);
  Variant& made = at->second;
  attempt.last = {which, &made};
  if (!is_new) return made;
  std::vector<const Claim*> asks = attempt.asks;
  if (!which.empty()) {
    std::map<std::string, std::string> classes;
    for (size_t i = 0; i < which.size(); ++i) {
      const Extended& each = attempt.extended[i];
      if (which[i] == '1') classes.emplace(each.resource, each.device_class);
    }
    made.ask = std::make_shared<const ExtendedAsk>(extended_ask(pod, classes));
    made.claim.space = pod.ns();
    made.claim.name = "<extended-resources>";
    made.claim.requests = made.ask->requests;
    asks.push_back(&made.claim);
  }
  if (!asks.empty()) made.allocator = store_->allocator(asks);
  return made;
}

Status DynamicResources::pre_enqueue(Pod pod) {
  const std::string problem = each_claim(pod, [](const ClaimStore::Entry&) {});
  return problem.empty() ? Status() : unresolvable(host_, problem);
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
  State attempt = std::make_shared<Attempt>();
  std::string refused;
  const auto want = [&](const ClaimStore::Entry& claim) {
    const plimsoll_meta& meta = claim.object->object.meta;
    Wanted wanted{std::string(view(meta.ns)),
                  std::string(view(meta.name)),
                  std::string(claim.uid()),
                  claim.asks,
                  claim.allocated(),
                  false,
                  {},
                  {}};
    if (wanted.allocated) {
      wanted.reachable_from = claim.reachable_from();
      wanted.alternatives = claim.requests_met();
      const Readiness ready = readiness(*claim.object);
      wanted.failed = ready.kind == Readiness::Kind::kFailed ||
                      (ready.kind == Readiness::Kind::kPending &&
                       waited_too_long(*claim.object, host_.now_ms(), args_.binding_timeout_ms));
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
  attempt->extended = extended_of(pod);
  if (!attempt->extended.empty()) attempt->stale = store_->extended_claim(pod.uid());
  if (attempt->stale && !pod.node_name().empty()) {  // somebody asks about a pod that has its place
    want(*store_->find(attempt->stale->first, attempt->stale->second));
    attempt->stale.reset();
    attempt->extended.clear();
  }
  if (attempt->claims.empty() && attempt->extended.empty()) return Status::skip();
  if (!refused.empty()) return unresolvable(host_, refused);
  host_.set_state(cycle, std::move(attempt));
  return Status();
}

const DynamicResources::Attempt* DynamicResources::attempt(const plimsoll_cycle& cycle) const {
  const State* state = host_.state<State>(cycle);
  return state == nullptr ? nullptr : state->get();
}

DynamicResources::Attempt* DynamicResources::attempt(plimsoll_cycle& cycle) const {
  const State* state = host_.state<State>(cycle);
  return state == nullptr ? nullptr : state->get();
}

Status DynamicResources::filter(const plimsoll_cycle& cycle, Pod pod, Nodes nodes,
                                sdk::Verdicts verdicts) const {
  const State* state = host_.state<State>(cycle);
  if (state == nullptr) return Status();
  Attempt& attempt = **state;
  const std::scoped_lock lock(attempt.lock);
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
      if (reachable && !wanted.failed) continue;
      unreachable.push_back(claim);
    }
    // It is asked even if a claim cannot be reached: its error comes first, as upstream.
    if (here.allocator != nullptr) {
      const Outcome outcome = here.allocator->judge(node);
      const std::string name(node.name);
      if (outcome.kind == Outcome::Kind::kTimedOut) {
        return host_.error("node " + name + ": timed out trying to allocate devices");
      }
      if (outcome.kind == Outcome::Kind::kError) {
        if (outcome.failure.fault != Fault::kInvalidPoolOnNode) {
          return host_.error(outcome.failure.error);
        }
        verdicts.set(i, Status::unresolvable(invalid_pool_));
        continue;
      }
      if (outcome.kind == Outcome::Kind::kNone) {
        verdicts.set(i, Status::unresolvable(none_));
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
    delete_claim(host_, {ns, name, std::string(claim->uid())});
    return Status::unschedulable(deleted_);
  }
  for (const size_t at : tried->unavailable) {
    const Wanted& wanted = tried->claims[at];
    const ClaimStore::Entry* claim = store_->find(wanted.ns, wanted.name);
    if (claim == nullptr || claim->uid() != wanted.uid || claim->object->allocated == 0) continue;
    const List<plimsoll_claim_user> users(claim->object->reserved_for);
    const bool own = users.size() == 1 && view(users[0].uid) == pod.uid();
    if (users.size() != 0 && !own) continue;
    const std::string version(view(claim->object->object.meta.resource_version));
    host_.api_request(
        deallocate_request({wanted.ns, wanted.name, wanted.uid}, version),
        [host = host_, text = wanted.ns + "/" + wanted.name](int status, std::string_view body) {
          if (status >= 200 && status <= 299) return;
          host.warn("claim " + text +
                    " keeps its devices, which no node of its pod "
                    "can use: " +
                    failure_text(status, body));
        });
    return Status::unschedulable(deallocated_);
  }
  return nothing;
}

// Pods without alternatives among their devices have no preference.
Status DynamicResources::pre_score(plimsoll_cycle& cycle, Pod, Nodes) {
  const Attempt* tried = attempt(cycle);
  if (tried == nullptr) return Status::skip();
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
  Attempt& tried = **state;
  const std::scoped_lock lock(tried.lock);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::optional<std::string> which = from_devices(tried, nodes[i]);
    const Variant* made = which ? &variant(tried, pod, *which) : nullptr;
    // As upstream: where nothing is allocated now, nothing is scored.
    if (made == nullptr || made->allocator == nullptr) continue;
    const Outcome outcome = made->allocator->allocate(node_of(nodes[i]));
    if (outcome.kind != Outcome::Kind::kAllocated) continue;
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

Status DynamicResources::reserve(plimsoll_cycle& cycle, Pod pod, sdk::Node node) {
  Attempt* tried = attempt(cycle);
  if (tried == nullptr) return Status();
  std::vector<Allocation> allocations;
  std::shared_ptr<const ExtendedAsk> extended;
  // What is free may have changed since the filters, if an extender was asked.
  tried->variants.clear();
  tried->last = {};
  const std::optional<std::string> which = from_devices(*tried, node);
  if (!which) return host_.error("claim allocation not found for node");
  Variant& made = variant(*tried, pod, *which);
  if (made.allocator != nullptr) {
    const Outcome outcome = made.allocator->allocate(node_of(node));
    if (outcome.kind != Outcome::Kind::kAllocated) {
      return host_.error("claim allocation not found for node");
    }
    allocations = made.allocator->allocations(outcome, node.name(), new_uid);
    extended = made.ask;
  }
  tried->to_bind = std::make_shared<std::vector<ClaimToBind>>();
  size_t next = 0;
  for (const Wanted& wanted : tried->claims) {
    ClaimStore::Entry* claim = store_->find(wanted.ns, wanted.name);
    if (claim == nullptr || claim->uid() != wanted.uid) {
      return host_.error("claim " + wanted.ns + "/" + wanted.name + " got deleted in the meantime");
    }
    if (!wanted.allocated && (claim->in_flight() || claim->allocated())) {
      return host_.error("claim " + wanted.ns + "/" + wanted.name +
                         " got allocated elsewhere in the meantime");
    }
    tried->to_bind->push_back({wanted.ns, wanted.name, wanted.uid, !wanted.allocated, false});
    if (!wanted.allocated) store_->decide(*claim, pod.uid(), std::move(allocations[next++]));
  }
  if (extended != nullptr) {
    store_->hold(pod.uid(), std::move(allocations.back()));
    tried->to_bind->push_back({std::string(pod.ns()), {}, {}, true, false, std::move(extended)});
  }
  tried->variants.clear();  // these saw what was free before
  tried->last = {};
  return Status();
}

void DynamicResources::unreserve(plimsoll_cycle& cycle, Pod pod, std::string_view) {
  Attempt* tried = attempt(cycle);
  if (tried == nullptr || tried->to_bind == nullptr) return;
  store_->let_go(pod.uid());
  for (const ClaimToBind& each : *tried->to_bind) {
    ClaimStore::Entry* claim = store_->find(each.ns, each.name);
    if (claim != nullptr && claim->uid() == each.uid) (void)store_->forget(*claim, pod.uid());
    if (each.extended != nullptr && !each.name.empty()) delete_claim(host_, each);
    if (!each.reserved || each.extended != nullptr) continue;
    host_.api_request(
        unreserve_request(each, pod.uid()),
        [host = host_, text = each.ns + "/" + each.name](int status, std::string_view body) {
          if (status >= 200 && status <= 299) return;
          host.warn("claim " + text +
                    " stays reserved for a pod that was not bound: " + failure_text(status, body));
        });
  }
  tried->to_bind.reset();
}

Status DynamicResources::pre_bind_pre_flight(plimsoll_cycle& cycle, Pod, std::string_view,
                                             bool& allow_parallel) {
  allow_parallel = true;
  const Attempt* tried = attempt(cycle);
  return tried == nullptr || tried->to_bind == nullptr ? Status::skip() : Status();
}

// On a thread of the binder: everything else happens on the loop.
Status DynamicResources::pre_bind(plimsoll_cycle& cycle, Pod pod, std::string_view node_name,
                                  sdk::Token token) {
  const State* state = host_.state<State>(cycle);
  if (state == nullptr) return Status();
  auto claims = (*state)->to_bind;
  ClaimBinding::Who who{std::string(pod.ns()), std::string(pod.name()), std::string(pod.uid()),
                        std::string(node_name), profile_};
  host_.run_on_loop(0, [host = host_, store = store_->shared_from_this(), claims, who, token,
                        timeout_ms = args_.binding_timeout_ms] {
    std::make_shared<ClaimBinding>(
        host, store, who, claims, timeout_ms,
        [host, token](const std::string& problem) {
          host.complete(token, problem.empty() ? PLIMSOLL_SUCCESS : PLIMSOLL_ERROR, problem);
        })
        ->start();
  });
  return Status::wait();
}

void DynamicResources::explain(const plimsoll_cycle& cycle, Pod pod, sdk::Node node,
                               sdk::Sink& sink) const {
  const State* state = host_.state<State>(cycle);
  if (state == nullptr) return;
  Attempt& tried = **state;
  const std::scoped_lock lock(tried.lock);
  if (tried.stale) return sink.put("its claim " + tried.stale->second + " is being removed");
  const Node here = node_of(node);
  std::string text;
  for (const Wanted& claim : tried.claims) {
    const std::string name = "claim " + claim.ns + "/" + claim.name;
    if (claim.failed) text += name + ": its devices did not become ready; ";
    if (claim.reachable_from && !matches(*claim.reachable_from, here).value_or(false)) {
      text += name + ": its devices cannot be reached from here; ";
    }
  }
  const std::optional<std::string> which = from_devices(tried, node);
  if (which) {
    if (Allocator* allocator = variant(tried, pod, *which).allocator.get()) {
      text += allocator->why(here);
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

Hint DynamicResources::claim_hint(Pod pod, const plimsoll_event& event) const {
  const auto* before = reinterpret_cast<const plimsoll_resource_claim*>(event.old_object);
  const auto* after = reinterpret_cast<const plimsoll_resource_claim*>(event.new_object);
  if (after == nullptr) {
    const bool helps = before == nullptr || before->allocated != 0 ||
                       pod_of_extended(before->object.meta) == pod.uid();
    return helps ? Hint::kQueue : Hint::kSkip;
  }
  const bool freed = before != nullptr && before->allocated != 0 && after->allocated == 0;
  // Claims change often, and are mostly others'.
  if (!freed && !names(pod, after->object.meta)) return Hint::kSkip;
  bool uses = false;
  const std::string problem = each_claim(pod, [&](const ClaimStore::Entry& claim) {
    uses = uses || claim.uid() == view(after->object.meta.uid);
  });
  if (!problem.empty()) return Hint::kSkip;
  if (freed) return Hint::kQueue;
  if (!uses) return Hint::kSkip;
  return before == nullptr || !same_status(*before, *after) ? Hint::kQueue : Hint::kSkip;
}

Hint DynamicResources::hint(Pod pod, const plimsoll_event& event) {
  const std::string_view resource = view(event.resource);
  if (resource == sdk::kResourceClaims.resource) return claim_hint(pod, event);
  if (event.new_pod != nullptr) {
    return each_claim(Pod(event.new_pod), [](const ClaimStore::Entry&) {}).empty() ? Hint::kQueue
                                                                                   : Hint::kSkip;
  }
  return Hint::kQueue;
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
