#include "plugins/topology/kubelet/pod_demand.hpp"

#include <algorithm>
#include <string_view>

#include "plugins/topology/amount.hpp"

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

int64_t& cell_of(Needs& needs, uint32_t resource) {
  for (Need& need : needs) {
    if (need.resource == resource) return need.amount;
  }
  return needs.emplace_back(Need{resource, 0}).amount;
}

// resource.AggregateContainerRequests: an init container runs with the sidecars before it, app
// containers with all sidecars.
struct Sums {
  Needs init;
  Needs sidecars;
  Needs apps;

  void add(ContainerKind kind, uint32_t resource, int64_t amount) {
    if (kind == ContainerKind::kApp) {
      int64_t& sum = cell_of(apps, resource);
      sum = add_amounts(sum, amount);
    } else if (kind == ContainerKind::kSidecar) {
      int64_t& sum = cell_of(sidecars, resource);
      sum = add_amounts(sum, amount);
    } else {
      int64_t& most = cell_of(init, resource);
      most = std::max(most, add_amounts(amount_of(sidecars, resource), amount));
    }
  }
  [[nodiscard]] int64_t total(uint32_t resource) const {
    return std::max(amount_of(init, resource),
                    add_amounts(amount_of(apps, resource), amount_of(sidecars, resource)));
  }
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
  Needs device_names;
  for (ContainerDemand& container : containers) {
    container.cpu_milli = std::clamp<int64_t>(container.cpu_milli, 0, kMaxAmount);
    clamp_needs(container.memory);
    clamp_needs(container.devices);
    for (const Need& need : container.devices) {
      devices.add(container.kind, need.resource, need.amount);
      cell_of(device_names, need.resource);
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
  totals.cpus = cpu.total(PLIMSOLL_RESOURCE_CPU);
  for (const Need& need : memory.apps) {
    totals.memory.push_back({need.resource, memory.total(need.resource)});
  }
  for (const Need& need : device_names) {
    totals.devices.push_back({need.resource, devices.total(need.resource)});
  }
  if (pod_level && guaranteed) {
    pod_totals.cpus = pod_cpu_milli % 1000 == 0 ? pod_cpu_milli / 1000 : 0;
    for (const Need& need : pod_memory) {
      if (need.amount > 0) pod_totals.memory.push_back(need);
    }
  }
  pod_totals.devices = totals.devices;
  asks = guaranteed || !device_names.empty();
}

}  // namespace plimsoll::topology::kubelet
