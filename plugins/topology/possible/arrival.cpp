#include "plugins/topology/possible/arrival.hpp"

#include <algorithm>
#include <numeric>

namespace plimsoll::topology {
namespace {

using kubelet::Admission;
using kubelet::Allocation;
using kubelet::NodeModel;
using kubelet::NodeState;
using kubelet::PodDemand;

int64_t most_of(const kubelet::Needs& needs, uint32_t resource) {
  for (const kubelet::Need& need : needs) {
    if (need.resource == resource) return need.amount;
  }
  return 0;
}

// What the pod takes at most: the static policy reuses what a plain init container had only as far
// as it takes the very same CPUs, and it prefers half cores that are free, of the reserved CPUs'
// siblings for one.
int64_t cpus_of(const PodDemand& pod) {
  int64_t cpus = 0;
  for (const kubelet::ContainerDemand& container : pod.containers) cpus += container.whole_cpus();
  return std::max({cpus, pod.totals.cpus, pod.pod_totals.cpus});
}

// What the pod takes at most, whatever the scope: its totals; but in scope container memory types
// that only an init container asks for count too.
int64_t memory_of(const PodDemand& pod, uint32_t resource) {
  int64_t largest_init = 0;
  for (const kubelet::ContainerDemand& container : pod.containers) {
    if (container.kind == kubelet::ContainerKind::kApp) continue;
    largest_init += most_of(container.memory, resource);
  }
  return std::max({most_of(pod.totals.memory, resource), most_of(pod.pod_totals.memory, resource),
                   largest_init});
}

// Takes up to so many from each of the zones; with `once`, the rest of `count` is left for later
// zones.
void take_devices(const NodeModel& model, NodeState& state, uint32_t row, int64_t count,
                  std::span<const uint32_t> zones, bool once) {
  if (!model.devices[row].listed()) {
    for (uint32_t zone : zones) {
      int64_t& free = state.devices(model, row)[zone];
      const int64_t part = std::clamp<int64_t>(free, 0, count);
      free -= part;
      if (once) count -= part;
    }
    return;
  }
  const std::span<const uint64_t> ids = state.device_ids(model, row);
  std::vector<uint64_t> left(ids.begin(), ids.end());
  const std::vector<kubelet::Device>& devices = model.devices[row].devices;
  const auto take_from = [&](const auto& here) {
    int64_t take = count;
    for (size_t i = 0; i < devices.size() && take > 0; ++i) {
      if (!here(devices[i].zones) || (ids[i / 64] >> (i % 64) & 1) == 0) continue;
      left[i / 64] &= ~(uint64_t{1} << (i % 64));
      --take;
    }
    if (once) count = take;
  };
  for (uint32_t zone : zones) {
    take_from([zone](kubelet::ZoneMask touched) { return (touched >> zone & 1) != 0; });
  }
  take_from([](kubelet::ZoneMask touched) { return touched == 0; });
  state.set_device_ids(model, row, left);
}

kubelet::DeviceGrant take_started(const NodeModel& model, NodeState& state, uint32_t row,
                                  int64_t count, std::span<const uint32_t> zones) {
  const auto now = state.devices(model, row);
  const std::vector<int64_t> counts(now.begin(), now.end());
  const auto free = state.device_ids(model, row);
  const std::vector<uint64_t> ids(free.begin(), free.end());
  take_devices(model, state, row, count, zones, true);
  kubelet::DeviceGrant grant;
  grant.resource = model.devices[row].resource;
  grant.row = row;
  grant.count = count;
  for (uint32_t column = 0; column < model.zones(); ++column) {
    grant.by_zone.push_back(counts[column] - state.devices(model, row)[column]);
    if (grant.by_zone.back() > 0) grant.zones |= kubelet::ZoneMask{1} << column;
  }
  const auto left = state.device_ids(model, row);
  for (size_t i = 0; i < ids.size(); ++i) grant.ids.push_back(ids[i] & ~left[i]);
  return grant;
}

}  // namespace

Admission admit_and_start(const NodeModel& model, NodeState& state, const PodDemand& pod,
                          kubelet::Scratch& scratch) {
  Admission given = kubelet::admit(model, state, pod, scratch);
  const kubelet::Managers& managers = model.managers;
  const bool later = pod.pod_level && managers.pod_level_resource_managers &&
                     managers.scope == Scope::kPod && managers.policy != Policy::kNone;
  if (!later || !given.admitted() || given.containers.empty()) return given;
  const kubelet::Hint& hint = given.containers.front().hint;
  std::vector<uint32_t> zones(model.zones());
  std::iota(zones.begin(), zones.end(), 0);
  std::stable_partition(zones.begin(), zones.end(),
                        [&](uint32_t zone) { return hint.any || (hint.mask >> zone & 1) != 0; });
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    const int64_t count = most_of(pod.totals.devices, model.devices[row].resource);
    if (count <= 0) continue;
    given.allocation.devices.push_back(take_started(model, state, row, count, zones));
  }
  return given;
}

void take_everywhere(const NodeModel& model, NodeState& state, const PodDemand& pod) {
  state.forget_cpu_ids(model);
  std::vector<uint32_t> zones(model.zones());
  std::iota(zones.begin(), zones.end(), 0);
  if (pod.guaranteed) {
    const int64_t cpus = cpus_of(pod);
    for (int64_t& free : state.cpu(model)) free = std::max<int64_t>(0, free - cpus);
    for (uint32_t row = 0; row < model.memory.size(); ++row) {
      const int64_t bytes = memory_of(pod, model.memory[row].resource);
      for (int64_t& free : state.memory(model, row)) free = std::max<int64_t>(0, free - bytes);
    }
  }
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    const int64_t count = most_of(pod.totals.devices, model.devices[row].resource);
    if (count > 0) take_devices(model, state, row, count, zones, false);
  }
}

void take_roomiest(const NodeModel& model, NodeState& state, const PodDemand& pod) {
  state.forget_cpu_ids(model);
  std::vector<uint32_t> zones(model.zones());
  std::iota(zones.begin(), zones.end(), 0);
  const auto roomier = [&](uint32_t a, uint32_t b) {
    if (state.cpu(model)[a] != state.cpu(model)[b]) {
      return state.cpu(model)[a] > state.cpu(model)[b];
    }
    for (uint32_t row = 0; row < model.devices.size(); ++row) {
      if (most_of(pod.totals.devices, model.devices[row].resource) == 0) continue;
      return state.devices(model, row)[a] > state.devices(model, row)[b];
    }
    return false;
  };
  std::stable_sort(zones.begin(), zones.end(), roomier);
  if (model.managers.policy == Policy::kSingleNumaNode && !zones.empty()) zones.resize(1);
  const auto take = [&](std::span<int64_t> free, int64_t amount) {
    for (uint32_t zone : zones) {
      const int64_t part = std::clamp<int64_t>(free[zone], 0, amount);
      free[zone] -= part;
      amount -= part;
    }
  };
  if (pod.guaranteed) {
    take(state.cpu(model), std::max(pod.totals.cpus, pod.pod_totals.cpus));
    for (uint32_t row = 0; row < model.memory.size(); ++row) {
      take(state.memory(model, row), memory_of(pod, model.memory[row].resource));
    }
  }
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    const int64_t count = most_of(pod.totals.devices, model.devices[row].resource);
    if (count > 0) take_devices(model, state, row, count, zones, true);
  }
}

void bring(const NodeModel& model, NodeState& state,
           std::span<const std::shared_ptr<const PodDemand>> pods, kubelet::Scratch& scratch) {
  for (const auto& pod : pods) {
    if (!admit_and_start(model, state, *pod, scratch).admitted()) {
      take_roomiest(model, state, *pod);
    }
  }
}

bool same_demand(const PodDemand& a, const PodDemand& b) {
  if (&a == &b) return true;
  if (a.guaranteed != b.guaranteed || a.pod_level != b.pod_level ||
      a.containers.size() != b.containers.size() || a.pod_cpu_milli != b.pod_cpu_milli ||
      a.pod_memory != b.pod_memory || a.pod_memory_unreadable != b.pod_memory_unreadable) {
    return false;
  }
  return std::equal(a.containers.begin(), a.containers.end(), b.containers.begin(),
                    [](const auto& x, const auto& y) {
                      return x.kind == y.kind && x.cpu_milli == y.cpu_milli &&
                             x.cpu_limit_milli == y.cpu_limit_milli && x.memory == y.memory &&
                             x.memory_unreadable == y.memory_unreadable &&
                             x.memory_limit == y.memory_limit && x.devices == y.devices;
                    });
}

}  // namespace plimsoll::topology
