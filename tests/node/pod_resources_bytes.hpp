#pragma once
// Answers of the pod-resources API, encoded.

#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "node/kubelet/pod_resources.hpp"

namespace plimsoll::node::test {

inline std::string zones_bytes(const std::vector<int>& zones) {
  std::string out;
  protozero::pbf_writer info(out);
  for (const int zone : zones) {
    std::string node;
    // proto3 leaves a 0 out
    if (zone != 0) protozero::pbf_writer(node).add_int64(1, zone);
    info.add_message(1, node);
  }
  return out;
}

// One device; one that is near several zones is listed once for each.
inline void add_device(protozero::pbf_writer& to, std::uint32_t field, const std::string& resource,
                       const std::string& id, const std::vector<int>& zones) {
  protozero::pbf_writer device(to, field);
  device.add_string(1, resource);
  device.add_string(2, id);
  if (!zones.empty()) device.add_message(3, zones_bytes(zones));
}

inline std::string list_bytes(const std::vector<PodUse>& pods) {
  std::string out;
  protozero::pbf_writer list(out);
  for (const PodUse& pod : pods) {
    protozero::pbf_writer message(list, 1);
    message.add_string(1, pod.name);
    message.add_string(2, pod.ns);
    for (const ContainerUse& container : pod.containers) {
      protozero::pbf_writer inner(message, 3);
      inner.add_string(1, container.name);
      for (const auto& [resource, ids] : container.devices) {
        for (const std::string& id : ids) {
          add_device(inner, 2, resource, id, {});
        }
      }
      inner.add_packed_int64(3, container.cpus.begin(), container.cpus.end());
    }
    message.add_packed_int64(4, pod.cpus.begin(), pod.cpus.end());
  }
  return out;
}

inline std::string allocatable_bytes(const Allocatable& allocatable) {
  std::string out;
  protozero::pbf_writer message(out);
  for (const auto& [resource, by_id] : allocatable.devices) {
    for (const auto& [id, zones] : by_id) add_device(message, 1, resource, id, zones);
  }
  message.add_packed_int64(2, allocatable.cpus.begin(), allocatable.cpus.end());
  for (const auto& [zone, amounts] : allocatable.memory) {
    for (const auto& [type, bytes] : amounts) {
      protozero::pbf_writer memory(message, 3);
      memory.add_string(1, type);
      memory.add_uint64(2, static_cast<std::uint64_t>(bytes));
      memory.add_message(3, zones_bytes({zone}));
    }
  }
  return out;
}

}  // namespace plimsoll::node::test
