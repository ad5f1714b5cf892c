#include "framework/api/requests.hpp"

#include <plimsoll/quantity.hpp>

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
  void raise_all(const Sums& more) { raise_all(more.list_); }
  [[nodiscard]] Amount with(Amount amount) {
    if (const Quantity* mine = find(view(amount.name))) amount.quantity.add(*mine);
    return amount;
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

// The peak over a pod's life. `each(container, visit)` calls visit(const Amount&) for each amount
// of a container.
template <typename Each>
Sums aggregate(const PodResources& pod, Each&& each) {
  sdk::Peak<Sums> peak;
  for (const auto* containers : {&pod.containers, &pod.init_containers}) {
    for (const ContainerResources& container : *containers)
      each(container, [&](const Amount& amount) { peak.add(container.kind, amount); });
  }
  return peak.take();
}

bool any_resource(std::string_view) {
  return true;
}

// What one container has by the spec, by what the kubelet granted, and by what runs.
enum class By { kSpec, kAllocated, kActuated };

// A container that the kubelet said nothing about counts with its spec. While a resize is
// infeasible, the spec counts for nothing.
const ResourceList& requests_by(By by, const PodResources& pod,
                                const ContainerResources& container) {
  static const ResourceList none;
  if (by == By::kActuated && !container.actuated_requests.empty())
    return container.actuated_requests;
  if (by != By::kSpec && !container.allocated.empty()) return container.allocated;
  return by != By::kSpec && pod.resize_infeasible ? none : container.requests;
}

const ResourceList& limits_by(By by, const PodResources& pod, const ContainerResources& container) {
  static const ResourceList none;
  if (by == By::kActuated && !container.actuated_limits.empty()) return container.actuated_limits;
  return by != By::kSpec && pod.resize_infeasible ? none : container.limits;
}

// Whether a kubelet has said anything, or the spec does not count. Otherwise the sums of all three
// are the same.
bool status_counts(const PodResources& pod, const ResourceOptions& options) {
  if (!options.use_status) return false;
  if (pod.resize_infeasible || pod.has_pod_status || !pod.pod_allocated.empty()) return true;
  const auto said = [](const ContainerResources& container) { return container.has_status; };
  return std::any_of(pod.containers.begin(), pod.containers.end(), said) ||
         std::any_of(pod.init_containers.begin(), pod.init_containers.end(), said);
}

// The sums over the containers. With the status: of the spec, of what is granted and of what runs,
// each by itself, and then the largest. So what one container gives up and another takes counts
// once. A kubelet that reports the sums of the pod (1.36 and later) is believed.
// What claims are of the node's resources counts beside the containers' where the kubelet has not
// counted it in.
template <typename Wanted>
Sums container_requests(const PodResources& pod, const ResourceOptions& options, Wanted&& wanted) {
  const auto sums = [&](By by) {
    Sums result = aggregate(pod, [&](const ContainerResources& container, const auto& visit) {
      const ResourceList& requests = requests_by(by, pod, container);
      for (const Amount& amount : requests) {
        if (wanted(view(amount.name))) visit(amount);
      }
      if (options.non_missing == nullptr) return;
      for (const Amount& amount : *options.non_missing) {
        if (find_in(requests, view(amount.name)) == nullptr) visit(amount);
      }
    });
    if (by == By::kActuated) return result;
    for (const Amount& amount : pod.claim_amounts) {
      if (wanted(view(amount.name))) result.add(amount);
    }
    return result;
  };
  if (!status_counts(pod, options)) return sums(By::kSpec);
  Sums total = pod.resize_infeasible ? Sums() : sums(By::kSpec);
  if (pod.pod_allocated.empty() || pod.pod_actuated_requests.empty()) {
    total.raise_all(sums(By::kAllocated).list());
    total.raise_all(sums(By::kActuated).list());
    return total;
  }
  for (const ResourceList* list : {&pod.pod_allocated, &pod.pod_actuated_requests}) {
    for (const Amount& amount : *list) {
      if (wanted(view(amount.name))) total.raise(amount);
    }
  }
  return total;
}

Sums container_limits(const PodResources& pod, const ResourceOptions& options) {
  const auto sums = [&](By by) {
    Sums result = aggregate(pod, [&](const ContainerResources& container, const auto& visit) {
      for (const Amount& amount : limits_by(by, pod, container)) visit(amount);
    });
    if (by != By::kSpec) return result;
    for (const Amount& amount : pod.claim_amounts) {  // what has no limit gets none by this
      const std::string_view name = view(amount.name);
      if (name.starts_with(kHugePages) || result.find(name) != nullptr) result.add(amount);
    }
    return result;
  };
  if (!status_counts(pod, options)) return sums(By::kSpec);
  Sums total = pod.resize_infeasible ? Sums() : sums(By::kSpec);
  total.raise_all(pod.pod_actuated_limits.empty() ? sums(By::kActuated).list()
                                                  : pod.pod_actuated_limits);
  return total;
}

// At pod level, with the status: the largest of all three, also of a resource that only the status
// names.
Sums pod_level(const PodResources& pod, const ResourceOptions& options, const ResourceList& spec,
               const ResourceList& actuated, const ResourceList& allocated) {
  if (!options.use_status || !pod.has_pod_status) return Sums(spec);
  Sums result = pod.resize_infeasible ? Sums() : Sums(spec);
  result.raise_all(actuated);
  result.raise_all(allocated);
  return result;
}

// pod_requests, limited to the resources that are `wanted`.
template <typename Wanted>
ResourceList requests_of(const PodResources& pod, const ResourceOptions& options, Wanted&& wanted) {
  Sums total = container_requests(pod, options, wanted);
  if (!options.skip_pod_level && has_pod_level(pod.pod_requests)) {
    const Sums level =
        pod_level(pod, options, pod.pod_requests, pod.pod_actuated_requests, pod.pod_allocated);
    for (const Amount& amount : level.list()) {
      if (is_pod_level(view(amount.name)) && wanted(view(amount.name))) total.set(amount);
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

const Quantity* find_amount(const ResourceList& list, std::string_view name) {
  return find_in(list, name);
}

ResourceList pod_requests(const PodResources& pod, const ResourceOptions& options) {
  return requests_of(pod, options, any_resource);
}

ResourceList pod_limits(const PodResources& pod, const ResourceOptions& options) {
  Sums total = container_limits(pod, options);
  if (!options.skip_pod_level &&
      (has_pod_level(pod.pod_requests) || has_pod_level(pod.pod_limits))) {
    const Sums level = pod_level(pod, options, pod.pod_limits, pod.pod_actuated_limits, {});
    for (const Amount& amount : level.list()) {
      if (is_pod_level(view(amount.name))) total.set(amount);
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
  // spec.resources that names nothing of a pod's own leaves the containers to decide, since 1.37.
  // The API server decides when it takes the pod in, and writes it: this is only for pods without.
  if (has_pod_level(pod.pod_requests) || has_pod_level(pod.pod_limits)) {
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
  const bool by_pod = has_pod_level(pod.pod_requests);
  ResourceList defaults;
  if (!by_pod || find_amount(requests, "cpu") == nullptr) {
    defaults.push_back({str("cpu"), Quantity::milli(kDefaultMilliCpu)});
  }
  if (!by_pod || find_amount(requests, "memory") == nullptr) {
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
  return sdk::unit_of(resource) == sdk::QuantityUnit::kMilli ? quantity.milli_value()
                                                             : quantity.value();
}

bool is_int64(const Quantity& quantity) {
  int64_t unused = 0;
  if (quantity.as_int64(&unused)) return true;
  const auto sent = Quantity::parse(quantity.canonical());
  return sent && sent->as_int64(&unused);
}

bool is_node_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || name == "pods" ||
         name.starts_with(kHugePages) || name.starts_with("attachable-volumes-") ||
         name.find("kubernetes.io/") != std::string_view::npos || is_extended_resource(name);
}

}  // namespace plimsoll
