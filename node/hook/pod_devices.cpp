#include "node/hook/pod_devices.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "framework/base/json_path.hpp"
#include "node/devices/sys_tree.hpp"
#include "node/machine/amounts.hpp"

namespace plimsoll::node {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kVendor = "node.koordinator.sh/gpu-vendor";
// What a device has besides, and no container needs: disks, clocks.
constexpr std::string_view kOthers = "block|nvme|bsg|scsi_generic|ptp|hwmon";
constexpr std::int64_t kControl = 255;  // nvidiactl's number below the driver's
constexpr const char* kHami = "HAMi-core";
constexpr const char* kHamiLibrary = "/usr/local/vgpu/libvgpu.so";
constexpr const char* kHamiLock = "/tmp/vgpulock";  // for all who use a card
constexpr std::int64_t kWhole = 100;                // percent

struct Refused {
  std::string why;
};

// The major number of a driver of character devices; -1: there is none.
std::int64_t major_of(const fs::path& proc, const std::vector<std::string>& names) {
  std::ifstream file(proc / "devices");
  for (std::string line; std::getline(file, line) && !line.starts_with("Block");) {
    std::istringstream words(line);
    std::int64_t major = -1;
    std::string name;
    if (words >> major >> name && std::find(names.begin(), names.end(), name) != names.end()) {
      return major;
    }
  }
  return -1;
}

class Giver {
 public:
  Giver(const json& devices, const HostFiles& files) : devices_(devices), files_(files) {}

  void give(const std::string& type, const json& entry, PodDevices& pod) {
    const json& device = find(type, entry);
    if (text_in(device, {"labels", kVendor}) == "nvidia") {
      give_nvidia(type, device, pod);
      count_share(entry);
      return;
    }
    // Virtual functions stand for their device.
    std::vector<std::string> addresses;
    for (const json& function : value_at(entry, {"extension", "vfs"})) {
      addresses.push_back(text_in(function, {"busID"}));
      if (!has_function(device, addresses.back())) {
        throw Refused{type + " " + name_of(device) + " has no function " + addresses.back()};
      }
    }
    if (addresses.empty()) addresses.push_back(text_in(device, {"topology", "busID"}));
    for (const std::string& address : addresses) {
      const std::size_t before = pod.nodes.size();
      if (!address.empty()) add_nodes(files_.sys / "bus/pci/devices" / address, "*/*/dev", pod);
      if (pod.nodes.size() == before) {
        throw Refused{type + " " + name_of(device) + " has no device node at " + address};
      }
    }
    // What all devices of a kind are opened by.
    if (type == "rdma") add_nodes(files_.sys / "class/misc/rdma_cm", "dev", pod);
    if (type == "gpu") add_nodes(files_.sys / "class/kfd/kfd", "dev", pod);
  }

  // Once all devices are given.
  void hold_to_share(const std::string& isolation, PodDevices& pod) const {
    if (memory_ == kNoShare || isolation.empty()) return;
    if (isolation != kHami) {
      throw Refused{"nothing is known here of " + isolation + ", which is to hold it to its share"};
    }
    if (!fs::exists(files_.root / fs::path(kHamiLibrary).relative_path())) {
      throw Refused{std::string(kHami) + " is to hold it to its share, and there is no " +
                    kHamiLibrary};
    }
    pod.mounts = {kHamiLibrary, kHamiLock};
    pod.variables["CUDA_DEVICE_MEMORY_LIMIT"] = std::to_string(memory_);
    pod.variables["CUDA_DEVICE_SM_LIMIT"] = std::to_string(core_);
    pod.variables["LD_PRELOAD"] = kHamiLibrary;
  }

 private:
  void count_share(const json& entry) {
    const auto has = parse_amounts(value_at(entry, {"resources"}));
    if (!has) throw Refused{has.error().message};
    const auto ratio = has->find("koordinator.sh/gpu-memory-ratio");
    if (ratio == has->end() || ratio->second >= kWhole) return;
    memory_ = std::min(memory_, amount_of(*has, "koordinator.sh/gpu-memory"));
    const auto core = has->find("koordinator.sh/gpu-core");
    if (core != has->end()) core_ = std::min(core_, core->second);
  }

  static std::string name_of(const json& device) { return value_at(device, {"minor"}).dump(); }

  [[nodiscard]] const json& find(const std::string& type, const json& entry) const {
    for (const json& device : devices_) {
      if (text_in(device, {"type"}) != type) continue;
      if (value_at(device, {"minor"}) != value_at(entry, {"minor"})) continue;
      const std::string id = text_in(entry, {"id"});
      if (!id.empty() && id != text_in(device, {"id"})) {
        throw Refused{type + " " + name_of(device) + " is another device than " + id +
                      ", which the pod was given"};
      }
      if (value_at(device, {"health"}) != true) {
        throw Refused{type + " " + name_of(device) + " is not healthy"};
      }
      return device;
    }
    throw Refused{"this node has no " + type + " " + value_at(entry, {"minor"}).dump()};
  }

  static bool has_function(const json& device, const std::string& address) {
    for (const json& group : value_at(device, {"vfGroups"})) {
      for (const json& function : value_at(group, {"vfs"})) {
        if (!address.empty() && text_in(function, {"busID"}) == address) return true;
      }
    }
    return false;
  }

  static void add(PodDevices& pod, DeviceNode node) {
    if (std::find(pod.nodes.begin(), pod.nodes.end(), node) == pod.nodes.end()) {
      pod.nodes.push_back(std::move(node));
    }
  }

  // "226:128" is what `dev` says; the name is in uevent beside it.
  static void add_nodes(const fs::path& folder, const std::string& pattern, PodDevices& pod) {
    for (const fs::path& dev : sys_paths(folder, pattern)) {
      const std::string kind = dev.parent_path().parent_path().filename();
      const std::string numbers = sys_text(dev).value_or("");
      const auto colon = numbers.find(':');
      if (matches_any(kOthers, kind) || colon == std::string::npos) continue;
      DeviceNode node;
      std::from_chars(numbers.data(), numbers.data() + colon, node.major);
      std::from_chars(numbers.data() + colon + 1, numbers.data() + numbers.size(), node.minor);
      std::ifstream events(dev.parent_path() / "uevent");
      for (std::string line; std::getline(events, line);) {
        if (line.starts_with("DEVNAME=")) node.path = "/dev/" + line.substr(8);
      }
      // A card's other node is for those who set its screens.
      if (!node.path.empty() && !node.path.starts_with("/dev/dri/card")) add(pod, node);
    }
  }

  void give_nvidia(const std::string& type, const json& device, PodDevices& pod) const {
    if (type != "gpu") {
      throw Refused{type + " " + name_of(device) +
                    ": parts of a card are given by NVIDIA's own device plugin or driver only"};
    }
    const std::int64_t cards = major_of(files_.proc, {"nvidia", "nvidia-frontend"});
    if (cards < 0) throw Refused{"NVIDIA's driver is not loaded"};
    const auto minor = value_at(device, {"minor"}).get<std::int64_t>();
    add(pod, {"/dev/nvidia" + std::to_string(minor), cards, minor});
    add(pod, {"/dev/nvidiactl", cards, kControl});
    if (const auto memory = major_of(files_.proc, {"nvidia-uvm"}); memory >= 0) {
      add(pod, {"/dev/nvidia-uvm", memory, 0});
      add(pod, {"/dev/nvidia-uvm-tools", memory, 1});
    }
    std::string& visible = pod.variables["NVIDIA_VISIBLE_DEVICES"];
    visible += (visible.empty() ? "" : ",") + text_in(device, {"id"});
  }

  static constexpr std::int64_t kNoShare = INT64_MAX;

  const json& devices_;
  const HostFiles& files_;
  std::int64_t memory_ = kNoShare;  // the least share of a card
  std::int64_t core_ = kWhole;
};

}  // namespace

PodDevices devices_of_pod(const std::string& annotation, const json& devices,
                          const HostFiles& files, const std::string& isolation) {
  PodDevices pod;
  const json allocated = json::parse(annotation, nullptr, false);
  try {
    if (!allocated.is_object()) throw Refused{"its annotation is no JSON object"};
    Giver giver(devices, files);
    for (const auto& [type, entries] : allocated.items()) {
      if (!entries.is_array()) throw Refused{"its annotation's " + type + " is no list"};
      for (const json& entry : entries) giver.give(type, entry, pod);
    }
    giver.hold_to_share(isolation, pod);
  } catch (const Refused& refused) {
    pod = {};
    pod.refusal = refused.why;
  }
  pod.annotation = annotation;
  return pod;
}

}  // namespace plimsoll::node
