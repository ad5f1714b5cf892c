// W2, W6 and W8: where devices may be, and what they have.

#include <algorithm>

#include "tests/conformance/device_rule.hpp"

namespace plimsoll::conformance {

namespace dev = plimsoll::devices;

bool comes_under_exclusive(const DeviceStep& step) {
  const auto& asked = step.demand.request.types;
  return std::any_of(asked.begin(), asked.end(), [&](const dev::TypeRequest& request) {
    const dev::TypeHint* hint = hint_of(step, request.type);
    const auto& devices = step.scene.state.type(request.type).devices;
    return hint != nullptr && hint->exclusive == dev::TypeHint::Exclusive::kPcie &&
           std::any_of(devices.begin(), devices.end(),
                       [](const auto& each) { return each.in_use; });
  });
}

bool exclusive_explains(const DeviceStep& step, const Json& reference) {
  dev::PodDemand without = step.demand;
  for (auto& hint : without.hints.by_type)
    if (hint && hint->exclusive == dev::TypeHint::Exclusive::kPcie)
      hint->exclusive = dev::TypeHint::Exclusive::kNone;
  const dev::Allocator allocator(device_types(), step.scene.scorer());
  dev::Allocation given;
  const dev::Verdict verdict =
      allocator.allocate(step.scene.state, step.scene.labels(), without, given);
  const Json found =
      answer(device_status(verdict), verdict.fits() ? allocation_json(given) : Json::object());
  return found == reference && problem_of_ours(step).empty();
}

bool comes_under_joint(const DeviceStep& step) {
  const auto& joint = step.demand.hints.joint;
  return joint && joint->same_pcie && step.demand.request.types.size() > 1;
}

bool joint_explains(const DeviceStep& step) {
  return step.filter.at("code") == "Unschedulable" && step.verdict.fits() &&
         problem_of_ours(step).empty();
}

bool comes_under_missing(const DeviceStep& step) {
  for (const dev::TypeRequest& request : step.demand.request.types)
    for (const dev::DeviceState& device : step.scene.state.type(request.type).devices)
      if (device.healthy && (request.per_device.present & ~device.total.present) != 0) return true;
  return false;
}

}  // namespace plimsoll::conformance
