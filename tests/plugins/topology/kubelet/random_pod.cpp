#include "tests/plugins/topology/kubelet/random_pod.hpp"

#include <algorithm>

namespace plimsoll::topology::kubelet {
namespace {

int64_t some_of(std::mt19937& random, int64_t most) {
  const int64_t parts[] = {16, 8, 4, 2, 1};
  return std::uniform_int_distribution<int64_t>(0, most / parts[pick(random, 5)])(random);
}

int64_t total(const std::vector<int64_t>& by_zone) {
  int64_t sum = 0;
  for (int64_t each : by_zone) sum += each;
  return sum;
}

int64_t maybe_absurd(std::mt19937& random, int64_t amount, bool absurd) {
  if (!absurd || !chance(random, 5)) return amount;
  const int64_t odd[] = {INT64_MIN, INT64_MAX, -1, 0, int64_t{1} << 62};
  return odd[pick(random, 5)];
}

ContainerDemand random_container(const NodeModel& model, std::mt19937& random, bool absurd) {
  ContainerDemand made;
  made.kind = chance(random, 60)   ? ContainerKind::kApp
              : chance(random, 60) ? ContainerKind::kInit
                                   : ContainerKind::kSidecar;
  made.cpu_milli = 1000 * some_of(random, total(model.cpu_totals));
  if (chance(random, 15)) made.cpu_milli += 500;
  made.cpu_milli = maybe_absurd(random, made.cpu_milli, absurd);
  made.cpu_limit_milli = made.cpu_milli;
  for (const MemoryType& type : model.memory) {
    if (type.resource != kMemoryResource && !chance(random, 40)) continue;
    const int64_t bytes = maybe_absurd(random, some_of(random, total(type.allocatable)), absurd);
    made.memory.push_back({type.resource, bytes});
    if (type.resource == kMemoryResource) made.memory_limit = bytes;
    made.memory_unreadable = made.memory_unreadable || chance(random, 2);
  }
  for (const DeviceType& type : model.devices) {
    if (!chance(random, 40)) continue;
    made.devices.push_back(
        {type.resource, maybe_absurd(random, some_of(random, total(type.totals)), absurd)});
  }
  if (chance(random, 10)) made.devices.push_back({9999, 3});  // of another machine
  return made;
}

}  // namespace

PodDemand random_pod(const NodeModel& model, std::mt19937& random, bool absurd) {
  PodDemand pod;
  pod.guaranteed = chance(random, 75);
  const uint32_t containers = chance(random, 50) ? 1 : pick(random, 5);
  for (uint32_t i = 0; i < containers; ++i) {
    pod.containers.push_back(random_container(model, random, absurd));
    pod.containers.back().name = "c" + std::to_string(i);
  }
  if (containers == 1) pod.containers[0].kind = ContainerKind::kApp;
  if (chance(random, 10)) {
    pod.pod_level = true;
    pod.pod_cpu_milli = 1000 * some_of(random, total(model.cpu_totals));
    pod.pod_memory.push_back({kMemoryResource, some_of(random, int64_t{64} << 30)});
    for (ContainerDemand& container : pod.containers) {
      if (chance(random, 50)) container = {container.name, container.kind, 0, 0, {}, false, 0, {}};
    }
  }
  pod.prepare();
  return pod;
}

Node limited(const NodeModel& model, const NodeState& state, const Known& known) {
  Node node{model, {}};
  if (!known.layout) node.model.layout = nullptr;
  if (!known.devices) {
    for (DeviceType& type : node.model.devices) type.devices.clear();
  }
  node.model.prepare();
  node.state = NodeState(node.model);
  const auto copy = [](std::span<const int64_t> from, std::span<int64_t> to) {
    std::copy(from.begin(), from.end(), to.begin());
  };
  copy(state.cpu(model), node.state.cpu(node.model));
  if (known.layout && known.cpu_ids && state.knows_cpus()) {
    node.state.set_cpu_ids(node.model, state.cpu_ids(model));
  }
  for (uint32_t row = 0; row < model.memory.size(); ++row) {
    copy(state.memory(model, row), node.state.memory(node.model, row));
  }
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    copy(state.devices(model, row), node.state.devices(node.model, row));
    if (node.model.devices[row].listed()) {
      node.state.set_device_ids(node.model, row, state.device_ids(model, row));
    }
  }
  if (known.groups && state.knows_groups()) {
    for (uint32_t column = 0; column < model.zones(); ++column) {
      node.state.set_group(node.model, column, state.assignments(model, column),
                           state.group(model, column));
    }
  }
  return node;
}

}  // namespace plimsoll::topology::kubelet
