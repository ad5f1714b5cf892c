#include "plugins/builtin/census/controllers.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "framework/api/decode.hpp"
#include "framework/api/selectors.hpp"

namespace plimsoll::builtin {

using namespace sdk;

namespace {

using Json = nlohmann::json;
using Selectors = std::vector<const plimsoll_label_selector*>;

constexpr Controllers::Kind kKinds[] = {
    {"", "v1", "services"},
    {"", "v1", "replicationcontrollers"},
    {"apps", "v1", "replicasets"},
    {"apps", "v1", "statefulsets"},
};
constexpr std::string_view kServices = "services";
constexpr std::string_view kReplicationControllers = "replicationcontrollers";

struct OwnerKind {
  std::string_view api_version, kind, resource;
};
constexpr OwnerKind kOwnerKinds[] = {
    {"v1", "ReplicationController", kReplicationControllers},
    {"apps/v1", "ReplicaSet", "replicasets.v1.apps"},
    {"apps/v1", "StatefulSet", "statefulsets.v1.apps"},
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

Result<void> Controllers::put(std::string_view resource, std::string_view ns, std::string_view name,
                              std::string_view json) {
  remove(resource, ns, name);
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object()) return fail(ErrorCode::kInvalid, "it is not a JSON object");
  const auto spec = object.find("spec");
  if (spec == object.end() || !spec->is_object()) return {};
  const auto selector = spec->find("selector");
  if (selector == spec->end() || selector->is_null()) return {};
  const bool is_service = resource == kServices;
  const bool is_map = is_service || resource == kReplicationControllers;
  auto decoded =
      decode_label_selector(is_map ? Json{{"matchLabels", *selector}}.dump() : selector->dump());
  if (!decoded) return fail(decoded.error().within("spec.selector"));
  if (is_empty(**decoded)) return {};  // adds nothing
  if (auto valid = validate(**decoded); !valid) return valid;
  const Key key(ns, name);
  if (is_service) {
    put_service(key, *decoded);
  } else {
    owners_[std::string(resource)].emplace(key, std::move(*decoded));
  }
  return {};
}

void Controllers::put_service(const Key& key, const SelectorRef& selector) {
  SelectionSpec spec;
  ClauseSpec& clause = spec.clauses.emplace_back();
  clause.namespaces.names = {str(key.first)};
  clause.selectors = {selector.get()};
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
  if (resource == kServices) return remove_service(key);
  const auto kind = owners_.find(resource);
  if (kind != owners_.end()) kind->second.erase(key);
}

Selectors Controllers::selectors_of(Pod pod) const {
  Selectors selectors;
  const PodTraits traits = PodTraits::of(*pod);
  index_.for_each_candidate(traits.labels, [&](const Service& service) {
    if (!service.spec().select(traits, no_namespaces_)) return;
    selectors.push_back(service.spec().clauses.front().selectors.front());
  });
  const plimsoll_owner* owner = controller_of(pod);
  if (owner == nullptr) return selectors;
  const auto kind = owners_.find(resource_of(*owner));
  if (kind == owners_.end()) return selectors;
  const auto found = kind->second.find({std::string(pod.ns()), std::string(view(owner->name))});
  if (found != kind->second.end()) selectors.push_back(found->second.get());
  return selectors;
}

bool Controllers::rests_on(Pod pod, std::string_view resource) {
  if (resource == kServices) return true;
  const plimsoll_owner* owner = controller_of(pod);
  return owner != nullptr && resource_of(*owner) == resource;
}

}  // namespace plimsoll::builtin
