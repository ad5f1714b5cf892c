#include "tests/conformance/requests_1_36.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "framework/api/symbols.hpp"

namespace plimsoll::conformance {
namespace {

void raise_all(ResourceList& list, const ResourceList& more) {
  for (const Amount& amount : more) {
    const auto same = [&](const Amount& mine) { return view(mine.name) == view(amount.name); };
    const auto mine = std::find_if(list.begin(), list.end(), same);
    if (mine == list.end()) {
      list.push_back(amount);
    } else if (amount.quantity.cmp(mine->quantity) > 0) {
      mine->quantity = amount.quantity;
    }
  }
}

// The largest of what runs, what is granted and, if it can be done, what is asked.
ResourceList largest(const PodResources& pod, const ResourceList& spec,
                     const ResourceList& actuated, const ResourceList& allocated) {
  ResourceList list = actuated;
  raise_all(list, allocated);
  if (!pod.resize_infeasible) raise_all(list, spec);
  return list;
}

}  // namespace

PodResources as_counted_by_1_36(const Json& pod, PodResources resources) {
  std::set<std::string> said;  // containers whose status has `resources`, be it empty
  const Json& status = member(pod, "status");
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const Json& container : member(status, list)) {
      if (!member(container, "resources").is_null()) said.insert(container.at("name"));
    }
  }
  const Json& spec = member(pod, "spec");
  for (auto& [key, list] : {std::pair{"containers", &resources.containers},
                            {"initContainers", &resources.init_containers}}) {
    for (size_t i = 0; i < list->size(); ++i) {
      ContainerResources& container = (*list)[i];
      const bool counts = container.kind != PLIMSOLL_CONTAINER_INIT &&
                          said.contains(member(spec, key).at(i).at("name"));
      if (counts) {
        container.requests = largest(resources, container.requests, container.actuated_requests,
                                     container.allocated);
      }
      container.has_status = false;
      container.actuated_requests.clear();
      container.allocated.clear();
    }
  }
  if (resources.has_pod_status) {
    const ResourceList level = largest(resources, resources.pod_requests,
                                       resources.pod_actuated_requests, resources.pod_allocated);
    for (Amount& amount : resources.pod_requests) {
      const Quantity* value = find_amount(level, view(amount.name));
      amount.quantity = value != nullptr ? *value : Quantity();
    }
  }
  resources.has_pod_status = false;
  resources.pod_actuated_requests.clear();
  resources.pod_allocated.clear();
  resources.resize_infeasible = false;
  return resources;
}

Json asking_for_what_1_36_counted(Json pod) {
  if (member(pod, "status").is_null()) return pod;
  SymbolTable symbols;
  const auto decoded = decode_pod_resources(pod.dump(), symbols);
  if (!decoded) throw std::runtime_error(decoded.error().message);
  const PodResources counted = as_counted_by_1_36(pod, *decoded);
  const auto write = [](const ResourceList& requests, Json& owner) {
    Json list = Json::object();
    for (const Amount& amount : requests) {
      list[std::string(view(amount.name))] = amount.quantity.text();
    }
    if (!list.empty() || owner.contains("resources"))
      owner["resources"]["requests"] = std::move(list);
  };
  Json& spec = pod.at("spec");
  for (size_t i = 0; i < counted.containers.size(); ++i) {
    write(counted.containers[i].requests, spec.at("containers").at(i));
  }
  for (size_t i = 0; i < counted.init_containers.size(); ++i) {
    write(counted.init_containers[i].requests, spec.at("initContainers").at(i));
  }
  write(counted.pod_requests, spec);
  for (const char* said : {"containerStatuses", "initContainerStatuses", "resources",
                           "allocatedResources", "conditions"}) {
    pod.at("status").erase(said);
  }
  return pod;
}

}  // namespace plimsoll::conformance
