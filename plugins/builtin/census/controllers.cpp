#include "plugins/builtin/census/controllers.hpp"

#include <algorithm>

#include "framework/api/selectors.hpp"

namespace plimsoll::builtin {

using namespace sdk;

namespace {

using Selectors = std::vector<const plimsoll_label_selector*>;

constexpr Controllers::Kind kKinds[] = {kServices, kReplicationControllers, kReplicaSets,
                                        kStatefulSets};

struct OwnerKind {
  std::string_view api_version, kind, resource;
};
constexpr OwnerKind kOwnerKinds[] = {
    {"v1", "ReplicationController", kReplicationControllers.resource},
    {"apps/v1", "ReplicaSet", kReplicaSets.resource},
    {"apps/v1", "StatefulSet", kStatefulSets.resource},
};

// Empty: it has no controller of these kinds.
std::string_view resource_of(const plimsoll_owner& owner) {
  for (const OwnerKind& each : kOwnerKinds) {
    if (view(owner.api_version) == each.api_version && view(owner.kind) == each.kind) {
      return each.resource;
    }
  }
  return {};
}

const plimsoll_owner* controller_of(Pod pod) {
  for (const plimsoll_owner& owner : List<plimsoll_owner>(pod->meta.owners)) {
    if (owner.controller != 0) return &owner;
  }
  return nullptr;
}

}  // namespace

std::span<const Controllers::Kind> Controllers::kinds() {
  return kKinds;
}

Result<void> Controllers::put(std::string_view resource, const plimsoll_pod_selector& object) {
  const std::string_view ns = view(object.object.meta.ns);
  const std::string_view name = view(object.object.meta.name);
  remove(resource, ns, name);
  if (object.object.unreadable.len != 0) {
    return fail(ErrorCode::kInvalid, std::string(view(object.object.unreadable)));
  }
  const plimsoll_label_selector& selector = object.selector;
  if (selector.present == 0 || is_empty(selector)) return {};  // adds nothing
  if (auto valid = validate(selector); !valid) return fail(valid.error().within("spec.selector"));
  const Key key(ns, name);
  if (resource == kServices.resource) {
    put_service(key, selector);
  } else {
    owners_[std::string(resource)].emplace(key, &selector);
  }
  return {};
}

void Controllers::put_service(const Key& key, const plimsoll_label_selector& selector) {
  SelectionSpec spec;
  ClauseSpec& clause = spec.clauses.emplace_back();
  const plimsoll_str ns = str(key.first);
  clause.namespaces.names = {&ns, 1, sizeof ns};
  clause.selectors = {&selector};
  auto& kept = services_[key];
  kept = std::make_unique<Service>(spec);
  index_.add(*kept);
}

void Controllers::remove_service(const Key& key) {
  const auto found = services_.find(key);
  if (found == services_.end()) return;
  index_.remove(*found->second);
  services_.erase(found);
}

void Controllers::remove(std::string_view resource, std::string_view ns, std::string_view name) {
  const Key key(ns, name);
  if (resource == kServices.resource) return remove_service(key);
  const auto kind = owners_.find(resource);
  if (kind != owners_.end()) kind->second.erase(key);
}

Selectors Controllers::selectors_of(Pod pod) const {
  Selectors selectors;
  const PodTraits traits = PodTraits::of(*pod);
  index_.for_each_candidate(traits, [&](const Service& service) {
    if (!service.spec().select(traits, no_namespaces_)) return;
    selectors.push_back(service.spec().clauses.front().selectors.front());
  });
  const plimsoll_owner* owner = controller_of(pod);
  if (owner == nullptr) return selectors;
  const auto kind = owners_.find(resource_of(*owner));
  if (kind == owners_.end()) return selectors;
  const auto found = kind->second.find({std::string(pod.ns()), std::string(view(owner->name))});
  if (found != kind->second.end()) selectors.push_back(found->second);
  return selectors;
}

bool Controllers::rests_on(Pod pod, std::string_view resource) {
  if (resource == kServices.resource) return true;
  const plimsoll_owner* owner = controller_of(pod);
  return owner != nullptr && resource_of(*owner) == resource;
}

}  // namespace plimsoll::builtin
