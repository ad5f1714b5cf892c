#pragma once
// What a container of a pod is given of the devices that a scheduler has chosen for the pod: device
// nodes and variables. Pure, but for what it reads in /sys and /proc.

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
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

// Of a pod's device-allocated, in bytes. What a scheduler writes is much shorter; whoever may write
// pods could write 256 KiB into each.
inline constexpr std::size_t kLongestAnnotation = 32 << 10;

// What the API server shows of a pod.
struct AllocatedPod {
  std::string annotation;  // device-allocated; empty: none, or a longer one than any
  std::string created;     // in RFC 3339
  std::string isolation;   // its label gpu-isolation-provider
};

// A file or folder of the node that is there in a container, at the same path.
struct Mount {
  std::string path;
  bool writable = false;
};

struct PodDevices {
  std::string refusal;  // why its containers are not made; empty: they are
  std::vector<DeviceNode> nodes;
  std::vector<std::string> cdi;  // names by which the runtime knows devices: "nvidia.com/gpu=GPU-1"
  std::map<std::string, std::string> variables;
  std::vector<Mount> mounts;
};

struct HostFiles {
  std::filesystem::path sys = "/sys";
  std::filesystem::path proc = "/proc";
  std::filesystem::path root = "/";
};

// `devices`: spec.devices of the node's Device object. Each device that is named must be there, be
// healthy and be the one that is meant (its id): otherwise the pod's containers are refused.
//
// `cdi`: what the node's CDI files name. If they name all of a pod's NVIDIA cards and instances, by
// their ids, the runtime gives these by name, with all that belongs to them. Otherwise cards are
// known by their driver's numbers (/proc/devices), and with NVIDIA's runtime the variable adds the
// libraries, by UUID: a number there would not be the minor.
//
// Other devices are given by name if their label kCdiLabel says of which kind they are, and else by
// what the kernel shows in their folder.
//
// The pod's `isolation`: what is to hold it to its share of a GPU; empty: nothing. HAMi-core is
// known, a library below /usr/local/vgpu, in Koordinator's way: each container by itself, and on
// each card to the least that the pod has on any.
[[nodiscard]] PodDevices devices_of_pod(const AllocatedPod& pod, const nlohmann::json& devices,
                                        const HostFiles& files,
                                        const std::set<std::string>& cdi = {});

}  // namespace plimsoll::node
