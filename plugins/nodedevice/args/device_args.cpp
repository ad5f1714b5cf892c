#include "plugins/nodedevice/args/device_args.hpp"

#include <plimsoll/args.hpp>

#include "plugins/nodedevice/args/device_type_args.hpp"

namespace plimsoll::devices {
namespace {

enum class StrategyName { kLeast, kMost, kFragmentation };

void read_strategy(sdk::Args& given, DeviceArgs& args) {
  StrategyName type = StrategyName::kLeast;
  given.choice("type", type,
               {{"LeastAllocated", StrategyName::kLeast},
                {"MostAllocated", StrategyName::kMost},
                {"FragmentationGradient", StrategyName::kFragmentation},
                {"", StrategyName::kLeast}});
  if (type == StrategyName::kMost) args.strategy = Strategy::kMostAllocated;
  if (type == StrategyName::kFragmentation) args.fragmentation.emplace();
  given.object("fragmentation", [&](sdk::Args& inner) {
    if (!args.fragmentation) inner.problem("", "needs the type FragmentationGradient");
    FragmentationArgs read = read_fragmentation(inner);
    if (args.fragmentation) args.fragmentation = std::move(read);
  });
  given.each_object("resources", [&](sdk::Args& entry) {
    std::string name;
    int64_t weight = 1;
    if (!entry.has("name") || (entry.read("name", name) && name.empty()))
      entry.problem("name", "must be given");
    entry.read("weight", weight, 1, 100);
    args.weights.emplace_back(current_resource_name(name), weight);
  });
}

void read_templates(sdk::Args& given, DeviceArgs& args) {
  constexpr std::string_view kWhy =
      "templates of shared NPUs are not read: pods that need one are refused";
  given.idle("configMapNamespace", std::string(), kWhy);
  given.idle("configMapName", std::string(), kWhy);
  given.read("matchedResources", args.template_resources);
}

void read_unsupported(sdk::Args& models, DeviceArgs& args) {
  models.refuse_nulls();
  for (const std::string& vendor : models.names()) {
    std::vector<std::string> names;
    models.read(vendor, names);
    args.unsupported_models[vendor].insert(names.begin(), names.end());
  }
}

void read_fields(sdk::Args& given, DeviceArgs& args) {
  given.idle("allocator", std::string(), "there is one allocator");
  given.object("scoringStrategy", [&](sdk::Args& inner) { read_strategy(inner, args); });
  given.read("disableDeviceNUMATopologyAlignment", args.disable_numa_alignment);
  given.object("gpuSharedResourceTemplatesConfig",
               [&](sdk::Args& inner) { read_templates(inner, args); });
  given.object("gpuShareUnsupportedModels",
               [&](sdk::Args& inner) { read_unsupported(inner, args); });
  read_device_types(given, args.types);
}

}  // namespace

Result<DeviceArgs> parse_device_args(std::string_view json,
                                     const std::function<void(std::string_view)>& warn) try {
  DeviceArgs args;
  const auto read = [&](sdk::Args& given) { read_fields(given, args); };
  sdk::read_args(json, {"DeviceShareArgs", "NodeDeviceArgs", ""}, read, warn);
  if (args.template_resources.empty()) args.template_resources = {"huawei.com/npu-core"};
  return args;
} catch (const std::runtime_error& error) {
  return fail(error.what());
}

}  // namespace plimsoll::devices
