#include "node/kubelet/pod_resources.hpp"

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <tuple>

#include "node/kubelet/grpc_client.hpp"

namespace plimsoll::node {
namespace {

using protozero::pbf_reader;

// A kubelet answers in milliseconds. It may wait for a device plugin under a lock.
constexpr std::chrono::milliseconds kDeadline{5000};

std::string text(pbf_reader& in) {
  const auto view = in.get_view();
  return {view.data(), view.size()};
}

template <typename T>
void sort_out(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// repeated int64, packed or not.
void add_cpus(pbf_reader& in, std::vector<std::uint32_t>& cpus) {
  const auto add = [&](std::int64_t cpu) {
    if (cpu >= 0 && cpu <= UINT32_MAX) cpus.push_back(static_cast<std::uint32_t>(cpu));
  };
  if (in.wire_type() == protozero::pbf_wire_type::varint) return add(in.get_int64());
  for (const std::int64_t cpu : in.get_packed_int64()) add(cpu);
}

// TopologyInfo{nodes=1 {ID=1}}
std::vector<int> zones_of(pbf_reader topology) {
  std::vector<int> zones;
  while (topology.next(1)) {
    pbf_reader node = topology.get_message();
    std::int64_t id = 0;  // proto3 leaves a 0 out
    while (node.next(1)) id = node.get_int64();
    zones.push_back(static_cast<int>(id));
  }
  return zones;
}

struct DeviceEntry {
  std::string resource;
  std::vector<std::string> ids;
  std::vector<int> zones;
};

// ContainerDevices{resource_name=1, device_ids=2, topology=3}
DeviceEntry device_entry(pbf_reader in) {
  DeviceEntry entry;
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        entry.resource = text(in);
        break;
      case 2:
        entry.ids.push_back(text(in));
        break;
      case 3:
        entry.zones = zones_of(in.get_message());
        break;
      default:
        in.skip();
    }
  }
  return entry;
}

// ContainerResources{name=1, devices=2, cpu_ids=3, memory=4, dynamic_resources=5}
ContainerUse container_use(pbf_reader in) {
  ContainerUse use;
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        use.name = text(in);
        break;
      case 2: {
        DeviceEntry entry = device_entry(in.get_message());
        auto& ids = use.devices[entry.resource];
        std::move(entry.ids.begin(), entry.ids.end(), std::back_inserter(ids));
        break;
      }
      case 3:
        add_cpus(in, use.cpus);
        break;
      default:
        in.skip();
    }
  }
  sort_out(use.cpus);
  for (auto& [resource, ids] : use.devices) sort_out(ids);
  return use;
}

// PodResources{name=1, namespace=2, containers=3, cpu_ids=4, memory=5}
PodUse pod_use(pbf_reader in) {
  PodUse pod;
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        pod.name = text(in);
        break;
      case 2:
        pod.ns = text(in);
        break;
      case 3:
        pod.containers.push_back(container_use(in.get_message()));
        break;
      case 4:
        add_cpus(in, pod.cpus);
        break;
      default:
        in.skip();
    }
  }
  sort_out(pod.cpus);
  std::sort(pod.containers.begin(), pod.containers.end(),
            [](const ContainerUse& a, const ContainerUse& b) { return a.name < b.name; });
  return pod;
}

// ContainerMemory{memory_type=1, size=2, topology=3}
void add_memory(pbf_reader in, Allocatable& out) {
  std::string type;
  std::uint64_t size = 0;
  std::vector<int> zones;
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        type = text(in);
        break;
      case 2:
        size = in.get_uint64();
        break;
      case 3:
        zones = zones_of(in.get_message());
        break;
      default:
        in.skip();
    }
  }
  const auto bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(size, INT64_MAX));
  for (const int zone : zones) out.memory[zone][type] = bytes;
}

Error malformed(const protozero::exception& error) {
  return {ErrorCode::kInvalid, std::string("not such a message: ") + error.what()};
}

}  // namespace

Result<std::vector<PodUse>> decode_pod_list(std::string_view message) {
  std::vector<PodUse> pods;
  try {
    pbf_reader in(message.data(), message.size());
    while (in.next(1)) pods.push_back(pod_use(in.get_message()));
  } catch (const protozero::exception& error) {
    return fail(malformed(error));
  }
  std::sort(pods.begin(), pods.end(), [](const PodUse& a, const PodUse& b) {
    return std::tie(a.ns, a.name) < std::tie(b.ns, b.name);
  });
  return pods;
}

Result<Allocatable> decode_allocatable(std::string_view message) {
  Allocatable out;
  try {
    pbf_reader in(message.data(), message.size());
    while (in.next()) {
      switch (in.tag()) {
        case 1: {
          // A device near two zones comes twice, with one of them each.
          const DeviceEntry entry = device_entry(in.get_message());
          for (const std::string& id : entry.ids) {
            auto& zones = out.devices[entry.resource][id];
            zones.insert(zones.end(), entry.zones.begin(), entry.zones.end());
            sort_out(zones);
          }
          break;
        }
        case 2:
          add_cpus(in, out.cpus);
          break;
        case 3:
          add_memory(in.get_message(), out);
          break;
        default:
          in.skip();
      }
    }
  } catch (const protozero::exception& error) {
    return fail(malformed(error));
  }
  sort_out(out.cpus);
  return out;
}

Result<std::vector<PodUse>> PodResources::list() const {
  const auto answer = grpc_call(socket_, "/v1.PodResourcesLister/List", "", kDeadline);
  if (!answer) return fail(answer.error());
  return decode_pod_list(*answer);
}

Result<Allocatable> PodResources::allocatable() const {
  const auto answer =
      grpc_call(socket_, "/v1.PodResourcesLister/GetAllocatableResources", "", kDeadline);
  if (!answer) return fail(answer.error());
  return decode_allocatable(*answer);
}

}  // namespace plimsoll::node
