#pragma once
// The plugin's args: DeviceShareArgs of Koordinator, as they stand in a profile file. Pure.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/nodedevice/allocation/scoring.hpp"
#include "plugins/nodedevice/fragmentation/fragmentation_args.hpp"

namespace plimsoll::devices {

struct DeviceArgs {
  Strategy strategy = Strategy::kLeastAllocated;
  // Of the strategy FragmentationGradient; nothing: another strategy.
  std::optional<FragmentationArgs> fragmentation;
  // Empty: Koordinator's default resources, 1 each.
  std::vector<std::pair<std::string, int64_t>> weights;
  // Devices need not be on the NUMA zone of the pod's CPUs.
  bool disable_numa_alignment = false;
  // A shared GPU that asks for one of these needs a template. Default: huawei.com/npu-core.
  std::vector<std::string> template_resources;
  // By vendor: models whose GPUs must not be shared.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> unsupported_models;
  // Those that are built in, and what deviceTypes adds to them.
  std::vector<DeviceType> types = DeviceTypes::standard().all();
};

// Reads the args ("" and "null": all defaults). On failure every problem, one a line, each with its
// path: "scoringStrategy.resources[0].weight: must be a number from 1 to 100, not 0".
// Warns of fields that have no effect here.
[[nodiscard]] Result<DeviceArgs> parse_device_args(
    std::string_view json, const std::function<void(std::string_view)>& warn = {});

}  // namespace plimsoll::devices
