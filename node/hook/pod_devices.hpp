#pragma once
// What a container of a pod is given of the devices that a scheduler has chosen for the pod: device
// nodes and variables. Pure, but for what it reads in /sys and /proc.

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::node {

// A character device: its path in the container, and the number by which the kernel knows it.
struct DeviceNode {
  std::string path;
  std::int64_t major = 0;
  std::int64_t minor = 0;
  bool operator==(const DeviceNode&) const = default;
};

struct PodDevices {
  std::string annotation;  // device-allocated, as the API server has it
  std::string refusal;     // why its containers are not made; empty: they are
  std::vector<DeviceNode> nodes;
  std::map<std::string, std::string> variables;
  // Files and folders of the node that are there in the container, at the same path.
  std::vector<std::string> mounts;
};

struct HostFiles {
  std::filesystem::path sys = "/sys";
  std::filesystem::path proc = "/proc";
  std::filesystem::path root = "/";
};

// `devices`: spec.devices of the node's Device object. Each device that is named must be there, be
// healthy and be the one that is meant (its id): otherwise the pod's containers are refused.
//
// NVIDIA's cards are known by their driver's numbers (/proc/devices), all others by what the kernel
// shows in their folder. With NVIDIA's runtime the variable adds the libraries, by UUID: a number
// there would not be the minor.
//
// `isolation`: what is to hold a pod to its share of a GPU; empty: nothing. HAMi-core is known, a
// library below /usr/local/vgpu, in Koordinator's way: each container by itself, and on each card
// to the least that the pod has on any.
[[nodiscard]] PodDevices devices_of_pod(const std::string& annotation,
                                        const nlohmann::json& devices, const HostFiles& files,
                                        const std::string& isolation = {});

}  // namespace plimsoll::node
