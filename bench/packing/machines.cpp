// The nodes.

#include "bench/packing/machines.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll::packing {
namespace {

using nlohmann::json;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kNic = "example.com/nic";

struct Hardware {
  const char* synthetic;  // hwloc(7)
  int zones;
  int cpus;
  int threads;  // per core
  int gpus;     // per zone
  int nics;     // in every other zone
};

// One socket; two sockets with and without hardware threads; four and eight zones on two sockets.
constexpr Hardware kHardware[] = {
    {"pack:1 [numa(memory=128GiB)] l3:1 core:16 pu:2", 1, 32, 2, 0, 0},
    {"pack:2 [numa(memory=128GiB)] l3:1 core:12 pu:2", 2, 48, 2, 0, 4},
    {"pack:2 [numa(memory=128GiB)] l3:1 core:12 pu:2", 2, 48, 2, 2, 0},
    {"pack:2 [numa(memory=96GiB)] l3:2 core:8 pu:1", 2, 32, 1, 0, 0},
    {"pack:2 group:2 [numa(memory=64GiB)] l3:1 core:8 pu:2", 4, 64, 2, 1, 8},
    {"pack:2 group:4 [numa(memory=48GiB)] l3:2 core:4 pu:2", 8, 128, 2, 1, 0},
};

std::string cpu_options(Dice& dice, const Hardware& hardware, const std::string& policy) {
  switch (dice.pick(
      {55, hardware.threads > 1 ? 20.0 : 0.0, 8, policy == "single-numa-node" ? 0.0 : 5.0, 7, 5})) {
    case 1:
      return "full-pcpus-only";
    case 2:
      return "distribute-cpus-across-numa";
    case 3:
      return "align-by-socket";
    case 4:
      return "prefer-align-cpus-by-uncorecache";
    case 5:
      return "strict-cpu-reservation";
    default:
      return "";
  }
}

json kubelet_of(Dice& dice, const Hardware& hardware) {
  const std::string policy = dice.chance(0.4)   ? "single-numa-node"
                             : dice.chance(0.4) ? "restricted"
                             : dice.chance(0.6) ? "best-effort"
                                                : "none";
  const bool static_cpus = policy != "none" || dice.chance(0.6);
  json kubelet{{"topologyManagerPolicy", policy},
               {"topologyManagerScope", dice.chance(0.5) ? "pod" : "container"},
               {"cpuManagerPolicy", static_cpus ? "static" : "none"},
               {"reservedSystemCPUs", hardware.threads > 1 ? "0-1" : "0"}};
  if (policy == "best-effort" || policy == "restricted") {
    if (dice.chance(0.3)) {
      kubelet["topologyManagerPolicyOptions"] = {{"prefer-closest-numa-nodes", "true"}};
    }
  }
  if (static_cpus) {
    const std::string option = cpu_options(dice, hardware, policy);
    if (!option.empty()) kubelet["cpuManagerPolicyOptions"] = {{option, "true"}};
  }
  if (dice.chance(0.6)) {
    kubelet["memoryManagerPolicy"] = "Static";
    kubelet["reservedMemory"] = {{{"numaNode", 0}, {"limits", {{"memory", "1Gi"}}}}};
  }
  return kubelet;
}

json devices_of(Dice& dice, const Hardware& hardware) {
  json devices = json::array();
  for (int zone = 0; zone < hardware.zones; ++zone) {
    for (int i = 0; i < hardware.gpus; ++i) {
      devices.push_back({{"resource", kGpu},
                         {"id", "gpu-" + std::to_string(zone) + "-" + std::to_string(i)},
                         {"zones", {zone}},
                         {"healthy", !dice.chance(0.02)}});
    }
    for (int i = 0; zone % 2 == 0 && i < hardware.nics; ++i) {
      devices.push_back({{"resource", kNic},
                         {"id", "vf-" + std::to_string(zone) + "-" + std::to_string(i)},
                         {"zones", {zone}}});
    }
  }
  return devices;
}

}  // namespace

std::vector<MachineKind> make_machine_kinds(Dice& dice, std::size_t count) {
  std::vector<MachineKind> kinds;
  for (std::size_t i = 0; i < count; ++i) {
    const Hardware& hardware = kHardware[i % std::size(kHardware)];
    json machine{{"hwlocSynthetic", hardware.synthetic}, {"kubelet", kubelet_of(dice, hardware)}};
    json devices = devices_of(dice, hardware);
    MachineKind kind;
    kind.cpus = hardware.cpus - hardware.threads;
    for (const json& device : devices) kind.devices += device.value("healthy", true) ? 1 : 0;
    if (!devices.empty()) machine["devices"] = std::move(devices);
    if (dice.chance(0.25)) {
      for (int zone = 0; zone < hardware.zones; ++zone) {
        machine["hugepages"].push_back(
            {{"numaNode", zone}, {"amounts", {{"hugepages-1Gi", "16Gi"}}}});
      }
    }
    kind.text = machine.dump();
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

}  // namespace plimsoll::packing
