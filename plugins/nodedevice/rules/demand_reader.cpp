#include "plugins/nodedevice/rules/demand_reader.hpp"

#include <algorithm>

#include "plugins/nodedevice/accounts/pod_reading.hpp"

namespace plimsoll::devices {

std::shared_ptr<const PodDemand> DemandReader::read(sdk::Pod pod, std::string& invalid) const {
  const std::vector<ResourceQuantity> requests = requests_of(types_, pod);
  if (requests.empty()) return nullptr;
  auto request = parse_device_request(types_, requests, containers_of(types_, pod));
  if (!request) {
    invalid = std::move(request.error());
    return nullptr;
  }
  const Elsewhere elsewhere = devices_elsewhere(types_, requests);
  if (request->empty() && !uses_any(elsewhere)) return nullptr;
  const auto text = [&](std::string_view key) { return pod.annotation(key).value_or(""); };
  auto hints = parse_device_hints(
      types_, text(kHintAnnotation), text(kJointAnnotation),
      request->find(gpu_) != nullptr ? text(kPartitionAnnotation) : std::string_view());
  if (!hints) {
    invalid = std::move(hints.error());
    return nullptr;
  }
  const auto numa = numa_.spec_of(pod);
  invalid = numa ? not_supported(*request, *hints) : numa.error();
  if (!invalid.empty()) return nullptr;
  return std::make_shared<const PodDemand>(
      PodDemand{*std::move(request), *std::move(hints), *numa, elsewhere});
}

// What a pod may ask for that is not there is refused, never left out.
std::string DemandReader::not_supported(const DeviceRequest& request,
                                        const DeviceHints& hints) const {
  for (const TypeRequest& asked : request.types) {
    if (asked.parts.empty()) continue;
    const DeviceType& type = types_.type(asked.type);
    const std::string why = " is not served for devices of type " + type.name +
                            ": several containers ask for them, each for itself";
    const auto listed = [&hints](const TypeRequest& each) {
      const auto& joint = hints.joint->types;
      return std::find(joint.begin(), joint.end(), each.type) != joint.end();
    };
    if (hints.joint && listed(asked) &&
        std::count_if(request.types.begin(), request.types.end(), listed) > 1)
      return std::string(kJointAnnotation) + why;
    const TypeHint* hint = hints.hint(asked.type);
    if (hint != nullptr && !type.is_topology_aware && hint->strategy != TypeHint::Strategy::kUnset)
      return std::string(kHintAnnotation) + ": allocateStrategy" + why;
  }
  const TypeRequest* gpu = request.find(gpu_);
  if (gpu == nullptr || !gpu->is_shared) return {};
  for (const std::string& name : template_resources_) {
    const int dim = types_.find_dim(gpu_, name);
    if (dim >= 0 && gpu->per_device.has(dim)) return "no matched GPU shared resource template";
  }
  return {};
}

}  // namespace plimsoll::devices
