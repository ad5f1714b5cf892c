#include "lab/sandbox/admission/pod_amounts.hpp"

#include <nlohmann/json.hpp>

#include "framework/api/symbols.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/store/object_shape.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

Result<ContainerAmounts> container_amounts(const json& container, bool init) {
  ContainerAmounts result;
  result.name = container.value("name", "");
  if (init) {
    const bool restarts = container.value("restartPolicy", "") == "Always";
    result.role = restarts ? ContainerAmounts::Role::kSidecar : ContainerAmounts::Role::kInit;
  }
  const json resources = container.value("resources", json::object());
  auto requests = node::parse_amounts(resources.value("requests", json()));
  if (!requests) return fail(requests.error().within("container " + result.name + ": requests"));
  auto limits = node::parse_amounts(resources.value("limits", json()));
  if (!limits) return fail(limits.error().within("container " + result.name + ": limits"));
  result.requests = std::move(*requests);
  result.limits = std::move(*limits);
  for (const auto& [name, amount] : result.limits) result.requests.try_emplace(name, amount);
  return result;
}

}  // namespace

node::Amounts peak_of(const std::vector<ContainerAmounts>& containers,
                      const std::vector<node::Amounts>& per_container) {
  node::Amounts peak;
  node::Amounts running;  // apps and sidecars
  node::Amounts sidecars;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    node::Amounts here = per_container[i];
    if (containers[i].role == ContainerAmounts::Role::kInit) {
      node::add_amounts(here, sidecars);
      node::max_amounts(peak, here);
      continue;
    }
    node::add_amounts(running, here);
    if (containers[i].role == ContainerAmounts::Role::kSidecar) node::add_amounts(sidecars, here);
  }
  node::max_amounts(peak, running);
  return peak;
}

Result<PodResources> resources_of(const json& pod, SymbolTable& symbols) {
  json read = pod;
  set_default(read["metadata"], "name", "generated");
  return decode_pod_resources(json_text(read), symbols);
}

Result<node::Amounts> running_requests(const json& pod) {
  SymbolTable symbols;
  const auto resources = resources_of(pod, symbols);
  if (!resources) return fail(resources.error());
  ResourceOptions options;
  options.use_status = true;
  node::Amounts requests;
  for (const auto& [name, quantity] : pod_requests(*resources, options))
    requests[std::string(view(name))] = base_units(view(name), quantity);
  return requests;
}

Result<PodAmounts> pod_amounts(const json& pod) try {
  PodAmounts result;
  const json& spec = pod.at("spec");
  for (const char* list : {"initContainers", "containers"}) {
    const auto found = spec.find(list);
    if (found == spec.end() || !found->is_array()) continue;
    for (const json& container : *found) {
      auto amounts = container_amounts(container, std::string_view(list) == "initContainers");
      if (!amounts) return fail(amounts.error());
      result.containers.push_back(std::move(*amounts));
    }
  }
  std::vector<node::Amounts> requests;
  for (const ContainerAmounts& container : result.containers) {
    requests.push_back(container.requests);
  }
  result.requests = peak_of(result.containers, requests);
  if (const auto level = spec.find("resources"); level != spec.end() && level->is_object()) {
    const auto whole = node::parse_amounts(level->value("requests", json()));
    if (!whole) return fail(whole.error().within("pod resources"));
    for (const auto& [name, amount] : *whole) result.requests[name] = amount;
  }
  const auto overhead = node::parse_amounts(spec.value("overhead", json()));
  if (!overhead) return fail(overhead.error().within("overhead"));
  node::add_amounts(result.requests, *overhead);
  result.guaranteed = qos_class(pod) == "Guaranteed";
  return result;
} catch (const json::exception& error) {
  return fail(ErrorCode::kInvalid, std::string("malformed pod: ") + error.what());
}

}  // namespace plimsoll::sandbox
