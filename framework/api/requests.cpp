#include "framework/api/requests.hpp"

#include <algorithm>
#include <map>

namespace plimsoll {
namespace {

constexpr int64_t kDefaultMilliCpu = 100;               // DefaultMilliCPURequest
constexpr int64_t kDefaultMemory = int64_t{200} << 20;  // DefaultMemoryRequest
constexpr std::string_view kHugePages = "hugepages-";

const Quantity* find_in(const ResourceList& list, std::string_view name) {
  for (const Amount& amount : list) {
    if (view(amount.name) == name) return &amount.quantity;
  }
  return nullptr;
}

// Amounts by name while they are added up. A few are searched linearly. For more there is an
// ordered index: unlike a hash table, chosen names cannot make it slow.
class Sums {
 public:
  Sums() = default;
  explicit Sums(const ResourceList& first) {
    for (const Amount& amount : first) add(amount);
  }

  [[nodiscard]] Quantity* find(std::string_view name) {
    if (list_.size() <= kFew) return const_cast<Quantity*>(find_in(list_, name));
    const auto at = by_name_.find(name);
    return at == by_name_.end() ? nullptr : &list_[at->second].quantity;
  }
  void add(const Amount& amount) {
    if (Quantity* mine = find(view(amount.name))) {
      mine->add(amount.quantity);
    } else {
      append(amount);
    }
  }
  void raise(const Amount& amount) {
    Quantity* mine = find(view(amount.name));
    if (mine == nullptr) {
      append(amount);
    } else if (amount.quantity.cmp(*mine) > 0) {
      *mine = amount.quantity;
    }
  }
  void set(const Amount& amount) {
    if (Quantity* mine = find(view(amount.name))) {
      *mine = amount.quantity;
    } else {
      append(amount);
    }
  }
  void raise_all(const ResourceList& more) {
    for (const Amount& amount : more) raise(amount);
  }

  [[nodiscard]] const ResourceList& list() const { return list_; }
  [[nodiscard]] ResourceList take() { return std::move(list_); }

 private:
  static constexpr size_t kFew = 16;

  void append(const Amount& amount) {
    list_.push_back(amount);
    if (list_.size() <= kFew) return;
    for (size_t i = by_name_.size(); i < list_.size(); ++i)
      by_name_.emplace(view(list_[i].name), i);
  }

  ResourceList list_;
  std::map<std::string_view, size_t> by_name_;  // all amounts, once there are more than kFew
};

// PodLevelResources: the resources that spec.resources may name.
bool is_pod_level(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with(kHugePages);
}

bool has_pod_level(const ResourceList& list) {
  return std::any_of(list.begin(), list.end(),
                     [](const Amount& amount) { return is_pod_level(view(amount.name)); });
}

// During a resize, a pod counts as the largest of its requested, allocated and actuated amounts. A
// resize that is infeasible does not count.
Sums effective(bool infeasible, const ResourceList& spec, const ResourceList& actuated,
               const ResourceList& allocated) {
  Sums result(actuated);
  result.raise_all(allocated);
  if (!infeasible) result.raise_all(spec);
  return result;
}

// The peak over a pod's life. Containers and sidecars run together; each init container runs
// together with the sidecars before it. `each(container, visit)` calls visit(const Amount&) for
// each amount of a container.
template <typename Each>
Sums aggregate(const PodResources& pod, Each&& each) {
  Sums total;
  for (const ContainerResources& container : pod.containers) {
    each(container, [&](const Amount& amount) { total.add(amount); });
  }
  Sums sidecars;
  Sums peak;
  for (const ContainerResources& container : pod.init_containers) {
    each(container, [&](const Amount& amount) {
      if (container.kind == PLIMSOLL_CONTAINER_SIDECAR) {
        total.add(amount);
        sidecars.add(amount);
        return;
      }
      const Quantity* beside = sidecars.find(view(amount.name));
      Amount step = amount;
      if (beside != nullptr) step.quantity.add(*beside);
      peak.raise(step);
    });
  }
  // The sum of the sidecars only grows, so its final value is its peak.
  total.raise_all(sidecars.list());
  total.raise_all(peak.list());
  return total;
}

bool status_counts(const ContainerResources& container, const ResourceOptions& options) {
  return options.use_status && container.has_status && container.kind != PLIMSOLL_CONTAINER_INIT;
}

}  // namespace

const Quantity* find_amount(const ResourceList& list, std::string_view name) {
  return find_in(list, name);
}

namespace {

bool any_resource(std::string_view) {
  return true;
}

// pod_requests, limited to the resources that are `wanted`.
template <typename Wanted>
ResourceList requests_of(const PodResources& pod, const ResourceOptions& options, Wanted&& wanted) {
  Sums total = aggregate(pod, [&](const ContainerResources& container, const auto& visit) {
    const auto visit_wanted = [&](const ResourceList& list) {
      for (const Amount& amount : list) {
        if (wanted(view(amount.name))) visit(amount);
      }
    };
    const auto visit_all = [&](const ResourceList& requests) {
      visit_wanted(requests);
      if (options.non_missing == nullptr) return;
      for (const Amount& amount : *options.non_missing) {
        if (find_amount(requests, view(amount.name)) == nullptr) visit(amount);
      }
    };
    if (status_counts(container, options)) {
      visit_all(effective(pod.resize_infeasible, container.requests, container.actuated_requests,
                          container.allocated)
                    .list());
    } else {
      visit_all(container.requests);
    }
  });
  if (!options.skip_pod_level && has_pod_level(pod.pod_requests)) {
    const bool status = options.use_status && pod.has_pod_status;
    Sums resized = status ? effective(pod.resize_infeasible, pod.pod_requests,
                                      pod.pod_actuated_requests, pod.pod_allocated)
                          : Sums();
    for (const Amount& amount : pod.pod_requests) {
      const std::string_view name = view(amount.name);
      if (!is_pod_level(name) || !wanted(name)) continue;
      const Quantity* value = status ? resized.find(name) : &amount.quantity;
      total.set({amount.name, value != nullptr ? *value : Quantity()});
    }
  }
  if (!options.exclude_overhead) {
    for (const Amount& amount : pod.overhead) {
      if (wanted(view(amount.name))) total.add(amount);
    }
  }
  return total.take();
}

}  // namespace

ResourceList pod_requests(const PodResources& pod, const ResourceOptions& options) {
  return requests_of(pod, options, any_resource);
}

ResourceList pod_limits(const PodResources& pod, const ResourceOptions& options) {
  const ResourceList none;
  Sums total = aggregate(pod, [&](const ContainerResources& container, const auto& visit) {
    if (status_counts(container, options)) {
      const Sums limits =
          effective(pod.resize_infeasible, container.limits, container.actuated_limits, none);
      for (const Amount& amount : limits.list()) visit(amount);
    } else {
      for (const Amount& amount : container.limits) visit(amount);
    }
  });
  if (!options.skip_pod_level &&
      (has_pod_level(pod.pod_requests) || has_pod_level(pod.pod_limits))) {
    const bool status = options.use_status && pod.has_pod_status;
    Sums resized =
        status ? effective(pod.resize_infeasible, pod.pod_limits, pod.pod_actuated_limits, none)
               : Sums();
    for (const Amount& amount : pod.pod_limits) {
      if (!is_pod_level(view(amount.name))) continue;
      const Quantity* value = status ? resized.find(view(amount.name)) : &amount.quantity;
      total.set({amount.name, value != nullptr ? *value : Quantity()});
    }
  }
  if (!options.exclude_overhead) {
    for (const Amount& amount : pod.overhead) {  // only for resources that have a limit
      Quantity* mine = total.find(view(amount.name));
      if (mine != nullptr && !mine->is_zero()) mine->add(amount.quantity);
    }
  }
  return total.take();
}

uint8_t compute_qos(const PodResources& pod) {
  Sums requests;
  Sums limits;
  bool guaranteed = true;
  const auto count = [&](const ResourceList& asked, const ResourceList& limited) {
    int limits_found = 0;
    for (std::string_view name : {"cpu", "memory"}) {
      const Quantity* request = find_amount(asked, name);
      if (request != nullptr && request->sign() > 0) requests.add({str(name), *request});
      const Quantity* limit = find_amount(limited, name);
      if (limit != nullptr && limit->sign() > 0) {
        limits.add({str(name), *limit});
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
  const size_t requested = requests.list().size();
  const size_t limited = limits.list().size();
  if (requested == 0 && limited == 0) return PLIMSOLL_QOS_BEST_EFFORT;
  if (!guaranteed || requested != limited) return PLIMSOLL_QOS_BURSTABLE;
  for (const Amount& request : requests.list()) {
    const Quantity* limit = limits.find(view(request.name));
    if (limit == nullptr || limit->cmp(request.quantity) != 0) return PLIMSOLL_QOS_BURSTABLE;
  }
  return PLIMSOLL_QOS_GUARANTEED;
}

NonZero nonzero_requests(const PodResources& pod) {
  ResourceOptions options;
  options.use_status = true;
  const auto wanted = [](std::string_view name) { return name == "cpu" || name == "memory"; };
  ResourceList requests = requests_of(pod, options, wanted);
  // Pod-level resources cover all containers. Then only a resource that is named nowhere gets the
  // default.
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
    requests = requests_of(pod, options, wanted);
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
