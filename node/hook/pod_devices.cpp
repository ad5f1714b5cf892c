#include "node/hook/pod_devices.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "framework/base/json_path.hpp"
#include "node/devices/device_finder.hpp"
#include "node/devices/sys_tree.hpp"
#include "node/machine/amounts.hpp"

namespace plimsoll::node {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kVendor = "node.koordinator.sh/gpu-vendor";
// What a device has besides, and no container needs: disks, clocks, the node's console.
constexpr std::string_view kOthers = "block|nvme|bsg|scsi_generic|ptp|hwmon|graphics";
constexpr std::int64_t kControl = 255;  // nvidiactl's number below the driver's
constexpr const char* kHami = "HAMi-core";
constexpr const char* kHamiLibrary = "/usr/local/vgpu/libvgpu.so";
constexpr const char* kHamiLock = "/tmp/vgpulock";  // for all who use a card
constexpr std::int64_t kWhole = 100;                // percent

struct Refused {
  std::string why;
};

// The major numbers of the drivers of character devices, by name.
std::map<std::string, std::int64_t> majors_in(const fs::path& proc) {
  std::map<std::string, std::int64_t> majors;
  std::ifstream file(proc / "devices");
  for (std::string line; std::getline(file, line) && !line.starts_with("Block");) {
    std::istringstream words(line);
    std::int64_t major = -1;
    std::string name;
    if (words >> major >> name) majors.emplace(name, major);
  }
  return majors;
}

// One device that a pod was given.
struct Chosen {
  std::string type;
  const json& entry;   // of its annotation
  const json& device;  // of the node
};

class Giver {
 public:
  Giver(const json& devices, const HostFiles& files, const std::set<std::string>& cdi)
      : devices_(devices), files_(files), cdi_(cdi) {}

  void give(const json& allocated, PodDevices& pod) {
    std::vector<Chosen> all;
    for (const auto& [type, entries] : allocated.items()) {
      if (!entries.is_array()) throw Refused{"its annotation's " + type + " is no list"};
      for (const json& entry : entries) all.push_back({type, entry, find(type, entry)});
    }
    cards_by_name_ = std::all_of(all.begin(), all.end(), [&](const Chosen& each) {
      return !is_nvidia(each.device) || cdi_.contains(name_at_nvidia(each.device));
    });
    for (const Chosen& each : all) {
      if (is_nvidia(each.device)) {
        give_nvidia(each.type, each.device, pod);
        count_share(each.entry);
      } else {
        give_other(each, pod);
      }
    }
  }

  // Once all devices are given.
  void hold_to_share(const std::string& isolation, PodDevices& pod) const {
    if (memory_ == kNoShare || isolation.empty()) return;
    if (isolation != kHami) {
      throw Refused{"nothing is known here of " + isolation + ", which is to hold it to its share"};
    }
    std::error_code error;
    if (!fs::exists(files_.root / fs::path(kHamiLibrary).relative_path(), error)) {
      throw Refused{std::string(kHami) + " is to hold it to its share, and there is no " +
                    kHamiLibrary};
    }
    pod.mounts = {{kHamiLibrary, false}, {kHamiLock, true}};
    pod.variables["CUDA_DEVICE_MEMORY_LIMIT"] = std::to_string(memory_);
    pod.variables["CUDA_DEVICE_SM_LIMIT"] = std::to_string(core_);
    pod.variables["LD_PRELOAD"] = kHamiLibrary;
  }

 private:
  static bool is_nvidia(const json& device) {
    return text_in(device, {"labels", kVendor}) == "nvidia";
  }
  static std::string name_at_nvidia(const json& device) {
    return "nvidia.com/gpu=" + text_in(device, {"id"});
  }

  void give_other(const Chosen& chosen, PodDevices& pod) const {
    const auto& [type, entry, device] = chosen;
    const std::string kind = text_in(device, {"labels", kCdiLabel});
    // Virtual functions stand for their device.
    std::vector<std::string> addresses;
    for (const json& function : value_at(entry, {"extension", "vfs"})) {
      addresses.push_back(text_in(function, {"busID"}));
      if (!has_function(device, addresses.back())) {
        throw Refused{type + " " + name_of(device) + " has no function " + addresses.back()};
      }
    }
    if (addresses.empty()) {
      addresses.push_back(kind.empty() ? text_in(device, {"topology", "busID"})
                                       : text_in(device, {"id"}));
    }
    for (const std::string& address : addresses) {
      if (!kind.empty()) {
        const std::string name = kind + "=" + address;
        if (!cdi_.contains(name)) throw Refused{"no CDI file names " + name};
        add(pod.cdi, name);
        continue;
      }
      const std::size_t before = pod.nodes.size();
      if (!address.empty()) add_own_nodes(files_.sys / "bus/pci/devices" / address, pod);
      if (pod.nodes.size() == before) {
        throw Refused{type + " " + name_of(device) + " has no device node at " + address};
      }
    }
    if (!kind.empty()) return;
    // What all devices of a kind are opened by.
    if (type == "rdma") add_nodes(files_.sys / "class/misc/rdma_cm", "dev", pod);
    if (type == "gpu") add_nodes(files_.sys / "class/kfd/kfd", "dev", pod);
  }

  void count_share(const json& entry) {
    const auto has = parse_amounts(value_at(entry, {"resources"}));
    if (!has) throw Refused{has.error().message};
    const auto is_part = [&has](const char* name) {
      const auto found = has->find(name);
      return found != has->end() && found->second < kWhole;
    };
    if (!is_part("koordinator.sh/gpu-memory-ratio") && !is_part("koordinator.sh/gpu-core")) return;
    memory_ = std::min(memory_, amount_of(*has, "koordinator.sh/gpu-memory"));
    const auto core = has->find("koordinator.sh/gpu-core");
    if (core != has->end()) core_ = std::min(core_, core->second);
  }

  static std::string name_of(const json& device) {
    const json& minor = value_at(device, {"minor"});
    return minor.is_structured() ? "(no number)" : minor.dump();
  }

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
    throw Refused{"this node has no " + type + " " + name_of(entry)};
  }

  static bool has_function(const json& device, const std::string& address) {
    for (const json& group : value_at(device, {"vfGroups"})) {
      for (const json& function : value_at(group, {"vfs"})) {
        if (!address.empty() && text_in(function, {"busID"}) == address) return true;
      }
    }
    return false;
  }

  template <typename T>
  static void add(std::vector<T>& all, T one) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
  }

  // By class, without what links in its folder lead to: its driver, and each of its functions.
  static void add_own_nodes(const fs::path& device, PodDevices& pod) {
    std::set<fs::path> classes;
    std::error_code error;
    std::error_code gone;
    for (fs::directory_iterator at(device, error), end; !error && at != end; at.increment(error)) {
      if (!at->is_symlink(gone) && at->is_directory(gone)) classes.insert(at->path());
    }
    for (const fs::path& each : classes) add_nodes(each, "*/dev", pod);
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
      if (!node.path.empty() && !node.path.starts_with("/dev/dri/card")) add(pod.nodes, node);
    }
  }

  void give_nvidia(const std::string& type, const json& device, PodDevices& pod) {
    std::string& visible = pod.variables["NVIDIA_VISIBLE_DEVICES"];
    if (cards_by_name_) {
      add(pod.cdi, name_at_nvidia(device));
      visible = "void";  // for NVIDIA's runtime: all is there already
      return;
    }
    if (type != "gpu") {
      throw Refused{type + " " + name_of(device) + ": no CDI file names " + name_at_nvidia(device) +
                    ", and a part of a card is given by name only; nvidia-ctk cdi generate makes "
                    "such a file"};
    }
    if (majors_.empty()) majors_ = majors_in(files_.proc);
    auto cards = majors_.find("nvidia");
    if (cards == majors_.end()) cards = majors_.find("nvidia-frontend");
    if (cards == majors_.end()) throw Refused{"NVIDIA's driver is not loaded"};
    const auto minor = value_at(device, {"minor"}).get<std::int64_t>();
    add<DeviceNode>(pod.nodes, {"/dev/nvidia" + std::to_string(minor), cards->second, minor});
    add<DeviceNode>(pod.nodes, {"/dev/nvidiactl", cards->second, kControl});
    if (const auto memory = majors_.find("nvidia-uvm"); memory != majors_.end()) {
      add<DeviceNode>(pod.nodes, {"/dev/nvidia-uvm", memory->second, 0});
      add<DeviceNode>(pod.nodes, {"/dev/nvidia-uvm-tools", memory->second, 1});
    }
    visible += (visible.empty() ? "" : ",") + text_in(device, {"id"});
  }

  static constexpr std::int64_t kNoShare = INT64_MAX;

  const json& devices_;
  const HostFiles& files_;
  const std::set<std::string>& cdi_;
  std::map<std::string, std::int64_t> majors_;  // read when needed
  bool cards_by_name_ = false;
  std::int64_t memory_ = kNoShare;  // the least share of a card
  std::int64_t core_ = kWhole;
};

}  // namespace

PodDevices devices_of_pod(const AllocatedPod& pod, const json& devices, const HostFiles& files,
                          const std::set<std::string>& cdi) {
  PodDevices has;
  const json allocated = json::parse(pod.annotation, nullptr, false);
  try {
    if (!allocated.is_object()) throw Refused{"its annotation is no JSON object"};
    Giver giver(devices, files, cdi);
    giver.give(allocated, has);
    giver.hold_to_share(pod.isolation, has);
  } catch (const Refused& refused) {
    has = {};
    has.refusal = refused.why;
  }
  return has;
}

}  // namespace plimsoll::node
