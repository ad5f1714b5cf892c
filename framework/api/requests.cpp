#include "framework/api/requests.hpp"

#include <algorithm>

namespace plimsoll {
namespace {

constexpr int64_t kDefaultMilliCpu = 100;               // DefaultMilliCPURequest
constexpr int64_t kDefaultMemory = int64_t{200} << 20;  // DefaultMemoryRequest
constexpr std::string_view kHugePages = "hugepages-";

Quantity* find_mutable(ResourceList& list, std::string_view name) {
  for (Amount& amount : list) {
    if (view(amount.name) == name) return &amount.quantity;
  }
  return nullptr;
}

void set_amount(ResourceList& list, const plimsoll_str& name, const Quantity& quantity) {
  if (Quantity* mine = find_mutable(list, view(name))) {
    *mine = quantity;
  } else {
    list.push_back({name, quantity});
  }
}

void add_all(ResourceList& list, const ResourceList& more) {
  for (const Amount& amount : more) {
    if (Quantity* mine = find_mutable(list, view(amount.name))) {
      mine->add(amount.quantity);
    } else {
      list.push_back(amount);
    }
  }
}

void raise_to(ResourceList& list, const ResourceList& other) {
  for (const Amount& amount : other) {
    Quantity* mine = find_mutable(list, view(amount.name));
    if (mine == nullptr) {
      list.push_back(amount);
    } else if (amount.quantity.cmp(*mine) > 0) {
      *mine = amount.quantity;
    }
  }
}

// PodLevelResources: the resources that spec.resources may name.
bool is_pod_level(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with(kHugePages);
}

bool has_pod_level(const ResourceList& list) {
  return std::any_of(list.begin(), list.end(),
                     [](const Amount& amount) { return is_pod_level(view(amount.name)); });
}

// While a resize is under way, a pod counts for the larger of what it asks, what it was promised
// and what it has; a resize that cannot be done does not count.
ResourceList effective(bool infeasible, const ResourceList& spec, const ResourceList& actuated,
                       const ResourceList& allocated) {
  ResourceList result = actuated;
  raise_to(result, allocated);
  if (!infeasible) raise_to(result, spec);
  return result;
}

// The sum over a pod's life: containers and sidecars run together; each init container runs beside
// the sidecars before it.
template <typename Effective>
ResourceList aggregate(const PodResources& pod, Effective&& effective_of) {
  ResourceList total;
  for (const ContainerResources& container : pod.containers)
    add_all(total, effective_of(container));
  ResourceList sidecars;
  ResourceList peak;
  for (const ContainerResources& container : pod.init_containers) {
    ResourceList step = effective_of(container);
    if (container.kind == PLIMSOLL_CONTAINER_SIDECAR) {
      add_all(total, step);
      add_all(sidecars, step);
      raise_to(peak, sidecars);
    } else {
      add_all(step, sidecars);
      raise_to(peak, step);
    }
  }
  raise_to(total, peak);
  return total;
}

bool status_counts(const ContainerResources& container, const ResourceOptions& options) {
  return options.use_status && container.has_status && container.kind != PLIMSOLL_CONTAINER_INIT;
}

}  // namespace

const Quantity* find_amount(const ResourceList& list, std::string_view name) {
  return find_mutable(const_cast<ResourceList&>(list), name);
}

ResourceList pod_requests(const PodResources& pod, const ResourceOptions& options) {
  ResourceList total = aggregate(pod, [&](const ContainerResources& container) {
    ResourceList requests = status_counts(container, options)
                                ? effective(pod.resize_infeasible, container.requests,
                                            container.actuated_requests, container.allocated)
                                : container.requests;
    if (options.non_missing != nullptr) {
      for (const Amount& amount : *options.non_missing) {
        if (find_amount(requests, view(amount.name)) == nullptr) requests.push_back(amount);
      }
    }
    return requests;
  });
  if (!options.skip_pod_level && has_pod_level(pod.pod_requests)) {
    const bool status = options.use_status && pod.has_pod_status;
    const ResourceList resized = status ? effective(pod.resize_infeasible, pod.pod_requests,
                                                    pod.pod_actuated_requests, pod.pod_allocated)
                                        : ResourceList();
    for (const Amount& amount : pod.pod_requests) {
      if (!is_pod_level(view(amount.name))) continue;
      const Quantity* value = status ? find_amount(resized, view(amount.name)) : &amount.quantity;
      set_amount(total, amount.name, value != nullptr ? *value : Quantity());
    }
  }
  if (!options.exclude_overhead) add_all(total, pod.overhead);
  return total;
}

ResourceList pod_limits(const PodResources& pod, const ResourceOptions& options) {
  const ResourceList none;
  ResourceList total = aggregate(pod, [&](const ContainerResources& container) {
    return status_counts(container, options)
               ? effective(pod.resize_infeasible, container.limits, container.actuated_limits, none)
               : container.limits;
  });
  if (!options.skip_pod_level &&
      (has_pod_level(pod.pod_requests) || has_pod_level(pod.pod_limits))) {
    const bool status = options.use_status && pod.has_pod_status;
    const ResourceList resized =
        status ? effective(pod.resize_infeasible, pod.pod_limits, pod.pod_actuated_limits, none)
               : ResourceList();
    for (const Amount& amount : pod.pod_limits) {
      if (!is_pod_level(view(amount.name))) continue;
      const Quantity* value = status ? find_amount(resized, view(amount.name)) : &amount.quantity;
      set_amount(total, amount.name, value != nullptr ? *value : Quantity());
    }
  }
  if (!options.exclude_overhead) {
    for (const Amount& amount : pod.overhead) {  // only what is limited at all
      Quantity* mine = find_mutable(total, view(amount.name));
      if (mine != nullptr && !mine->is_zero()) mine->add(amount.quantity);
    }
  }
  return total;
}

uint8_t compute_qos(const PodResources& pod) {
  ResourceList requests;
  ResourceList limits;
  bool guaranteed = true;
  const auto count = [&](const ResourceList& asked, const ResourceList& limited) {
    int limits_found = 0;
    for (std::string_view name : {"cpu", "memory"}) {
      const Quantity* request = find_amount(asked, name);
      if (request != nullptr && request->sign() > 0) add_all(requests, {{str(name), *request}});
      const Quantity* limit = find_amount(limited, name);
      if (limit != nullptr && limit->sign() > 0) {
        add_all(limits, {{str(name), *limit}});
        ++limits_found;
      }
    }
    return limits_found == 2;
  };
  if (pod.has_pod_level) {
    if (!count(pod.pod_requests, pod.pod_limits) && !pod.pod_limits.empty()) guaranteed = false;
  } else {
    for (const auto* list : {&pod.containers, &pod.init_containers}) {
      for (const ContainerResources& container : *list) {
        if (!count(container.requests, container.limits)) guaranteed = false;
      }
    }
  }
  if (requests.empty() && limits.empty()) return PLIMSOLL_QOS_BEST_EFFORT;
  if (!guaranteed || requests.size() != limits.size()) return PLIMSOLL_QOS_BURSTABLE;
  for (const Amount& request : requests) {
    const Quantity* limit = find_amount(limits, view(request.name));
    if (limit == nullptr || limit->cmp(request.quantity) != 0) return PLIMSOLL_QOS_BURSTABLE;
  }
  return PLIMSOLL_QOS_GUARANTEED;
}

NonZero nonzero_requests(const PodResources& pod) {
  ResourceOptions options;
  options.use_status = true;
  ResourceList requests = pod_requests(pod, options);
  // Pod-level resources speak for all containers: then only what nobody names gets the default.
  const bool pod_level = has_pod_level(pod.pod_requests);
  ResourceList defaults;
  if (!pod_level || find_amount(requests, "cpu") == nullptr) {
    defaults.push_back({str("cpu"), Quantity::milli(kDefaultMilliCpu)});
  }
  if (!pod_level || find_amount(requests, "memory") == nullptr) {
    defaults.push_back({str("memory"), Quantity(kDefaultMemory, Quantity::Format::kDecimalSI)});
  }
  if (!defaults.empty()) {
    options.non_missing = &defaults;
    requests = pod_requests(pod, options);
  }
  const Quantity* cpu = find_amount(requests, "cpu");
  const Quantity* memory = find_amount(requests, "memory");
  return {cpu != nullptr ? cpu->milli_value() : 0, memory != nullptr ? memory->value() : 0};
}

int64_t base_units(std::string_view resource, const Quantity& quantity) {
  return resource == "cpu" ? quantity.milli_value() : quantity.value();
}

bool is_extended_resource(std::string_view name) {
  const bool native = name.find('/') == std::string_view::npos ||
                      name.find("kubernetes.io/") != std::string_view::npos;
  return !native && !name.starts_with("requests.");
}

bool is_node_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || name == "pods" ||
         name.starts_with(kHugePages) || name.starts_with("attachable-volumes-") ||
         name.find("kubernetes.io/") != std::string_view::npos || is_extended_resource(name);
}

}  // namespace plimsoll
