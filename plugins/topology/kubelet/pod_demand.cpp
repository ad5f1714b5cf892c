#include "plugins/topology/kubelet/pod_demand.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "plugins/topology/base/amount.hpp"

namespace plimsoll::topology::kubelet {

bool is_memory(std::string_view resource) {
  return resource == "memory" || resource.starts_with("hugepages-");
}

namespace {

std::string_view text_of(const plimsoll_str& str) {
  return {str.data, str.len};
}

using Resource = plimsoll_resource;

bool is_unreadable(const Resource& resource) {
  return (resource.flags & PLIMSOLL_RESOURCE_NOT_INT64) != 0;
}

template <typename Visit>
void for_each_resource(const plimsoll_list& list, Visit&& visit) {
  for (uint32_t i = 0; i < list.count; ++i) {
    const auto* resource = reinterpret_cast<const plimsoll_resource*>(
        static_cast<const char*>(list.data) + size_t{i} * list.stride);
    visit(text_of(resource->name), *resource, std::max<int64_t>(resource->value, 0));
  }
}

ContainerDemand demand_of(const plimsoll_container& container) {
  ContainerDemand demand;
  demand.name = text_of(container.name);
  demand.kind = static_cast<ContainerKind>(container.kind);
  for_each_resource(container.requests,
                    [&](std::string_view name, const Resource& of, int64_t value) {
                      if (name == "cpu") demand.cpu_milli = value;
                      if (!is_memory(name)) return;
                      demand.memory.push_back({of.index, value});
                      demand.memory_unreadable |= is_unreadable(of);
                    });
  for_each_resource(container.limits,
                    [&](std::string_view name, const Resource& of, int64_t value) {
                      if (name == "cpu") {
                        demand.cpu_limit_milli = value;
                      } else if (name == "memory") {
                        demand.memory_limit = value;
                      } else if (!is_memory(name) && name != "ephemeral-storage") {
                        demand.devices.push_back({of.index, value});
                      }
                    });
  return demand;
}

// resource.AggregateContainerRequests: an init container runs with the sidecars before it, app
// containers with all sidecars. By resource, in the order in which they are named first. A few are
// searched linearly; a stranger names as many as fit into a pod.
class Sums {
 public:
  void add(ContainerKind kind, uint32_t resource, int64_t amount) {
    Sum& sum = of(resource);
    if (kind == ContainerKind::kApp) {
      if (!std::exchange(sum.is_of_apps, true)) of_apps_.push_back(resource);
      sum.apps = add_amounts(sum.apps, amount);
    } else if (kind == ContainerKind::kSidecar) {
      sum.sidecars = add_amounts(sum.sidecars, amount);
    } else {
      sum.init = std::max(sum.init, add_amounts(sum.sidecars, amount));
    }
  }
  [[nodiscard]] Needs totals() const {
    Needs needs;
    for (const Sum& sum : sums_) needs.push_back({sum.resource, sum.total()});
    return needs;
  }
  // Only of what an app container names.
  [[nodiscard]] Needs totals_of_apps() {
    Needs needs;
    for (const uint32_t resource : of_apps_) needs.push_back({resource, of(resource).total()});
    return needs;
  }

 private:
  struct Sum {
    uint32_t resource = 0;
    bool is_of_apps = false;
    int64_t init = 0, sidecars = 0, apps = 0;

    [[nodiscard]] int64_t total() const { return std::max(init, add_amounts(apps, sidecars)); }
  };
  static constexpr size_t kFew = 16;

  Sum& of(uint32_t resource) {
    if (sums_.size() <= kFew) {
      const auto at = std::ranges::find(sums_, resource, &Sum::resource);
      if (at != sums_.end()) return *at;
    } else if (const auto at = places_.find(resource); at != places_.end()) {
      return sums_[at->second];
    }
    sums_.push_back({resource});
    if (sums_.size() > kFew) {
      for (size_t i = places_.size(); i < sums_.size(); ++i) places_.emplace(sums_[i].resource, i);
    }
    return sums_.back();
  }

  std::vector<Sum> sums_;
  std::vector<uint32_t> of_apps_;
  std::unordered_map<uint32_t, size_t> places_;  // in sums_, once there are more than kFew
};

void clamp_needs(Needs& needs) {
  for (Need& need : needs) need.amount = std::clamp<int64_t>(need.amount, 0, kMaxAmount);
}

}  // namespace

int64_t amount_of(const Needs& needs, uint32_t resource) {
  for (const Need& need : needs) {
    if (need.resource == resource) return need.amount;
  }
  return 0;
}

bool ContainerDemand::equal_requests_and_limits() const {
  return cpu_milli > 0 && cpu_milli == cpu_limit_milli && memory_limit > 0 &&
         amount_of(memory, PLIMSOLL_RESOURCE_MEMORY) == memory_limit;
}

PodDemand::PodDemand(const plimsoll_pod& pod) {
  guaranteed = pod.qos == PLIMSOLL_QOS_GUARANTEED;
  for (const plimsoll_list* list : {&pod.init_containers, &pod.containers}) {
    for (uint32_t i = 0; i < list->count; ++i) {
      containers.push_back(demand_of(*reinterpret_cast<const plimsoll_container*>(
          static_cast<const char*>(list->data) + size_t{i} * list->stride)));
    }
  }
  // resourcehelper.IsPodLevelResourcesSet: only resources that are supported at pod level count.
  const auto read = [&](std::string_view name, const Resource& of, int64_t value, bool request) {
    if (name != "cpu" && !is_memory(name)) return;
    pod_level = true;
    if (!request) return;
    if (name == "cpu") {
      pod_cpu_milli = value;
    } else {
      pod_memory.push_back({of.index, value});
      pod_memory_unreadable |= is_unreadable(of);
    }
  };
  for_each_resource(pod.pod_requests, [&](std::string_view name, const Resource& of,
                                          int64_t value) { read(name, of, value, true); });
  for_each_resource(pod.pod_limits, [&](std::string_view name, const Resource& of, int64_t value) {
    read(name, of, value, false);
  });
  prepare();
}

void PodDemand::prepare() {
  // Kubelets walk init containers first, whatever order an object lists them in.
  std::stable_sort(containers.begin(), containers.end(),
                   [](const ContainerDemand& a, const ContainerDemand& b) {
                     return a.kind != ContainerKind::kApp && b.kind == ContainerKind::kApp;
                   });
  pod_cpu_milli = std::clamp<int64_t>(pod_cpu_milli, 0, kMaxAmount);
  clamp_needs(pod_memory);
  Sums cpu;
  Sums memory;
  Sums devices;
  for (ContainerDemand& container : containers) {
    container.cpu_milli = std::clamp<int64_t>(container.cpu_milli, 0, kMaxAmount);
    clamp_needs(container.memory);
    clamp_needs(container.devices);
    for (const Need& need : container.devices) {
      devices.add(container.kind, need.resource, need.amount);
    }
    // In a pod with pod-level resources only such containers can be exclusive.
    if (!guaranteed || (pod_level && !container.equal_requests_and_limits())) continue;
    cpu.add(container.kind, PLIMSOLL_RESOURCE_CPU, container.whole_cpus());
    for (const Need& need : container.memory) {
      memory.add(container.kind, need.resource, need.amount);
    }
  }
  totals = {};
  pod_totals = {};
  totals.cpus = amount_of(cpu.totals(), PLIMSOLL_RESOURCE_CPU);
  totals.memory = memory.totals_of_apps();
  totals.devices = devices.totals();
  if (pod_level && guaranteed) {
    pod_totals.cpus = pod_cpu_milli % 1000 == 0 ? pod_cpu_milli / 1000 : 0;
    for (const Need& need : pod_memory) {
      if (need.amount > 0) pod_totals.memory.push_back(need);
    }
  }
  pod_totals.devices = totals.devices;
  asks = guaranteed || !totals.devices.empty();
}

}  // namespace plimsoll::topology::kubelet
