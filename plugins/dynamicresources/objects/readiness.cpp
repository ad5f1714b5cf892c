#include "plugins/dynamicresources/objects/readiness.hpp"

#include <algorithm>
#include <plimsoll/views.hpp>

namespace plimsoll::dra {

using sdk::List;
using sdk::view;

namespace {

const plimsoll_device_status* status_of(const plimsoll_resource_claim& claim,
                                        const plimsoll_device_result& device) {
  for (const auto& each : List<plimsoll_device_status>(claim.devices)) {
    if (view(each.device) == view(device.device) && view(each.driver) == view(device.driver) &&
        view(each.pool) == view(device.pool)) {
      return &each;
    }
  }
  return nullptr;
}

bool is_true(const plimsoll_device_status& device, std::string_view condition) {
  const List<plimsoll_condition> conditions(device.conditions);
  return std::any_of(conditions.begin(), conditions.end(), [&](const plimsoll_condition& each) {
    return view(each.type) == condition && view(each.status) == "True";
  });
}

}  // namespace

Readiness readiness(const plimsoll_resource_claim& claim) {
  using Kind = Readiness::Kind;
  for (const auto& device : List<plimsoll_device_result>(claim.results)) {
    const List<plimsoll_str> wanted(device.binding_conditions);
    if (wanted.size() == 0) continue;
    const plimsoll_device_status* status = status_of(claim, device);
    if (status == nullptr) return {Kind::kPending, {}};
    for (const plimsoll_str& each : List<plimsoll_str>(device.binding_failure_conditions)) {
      if (is_true(*status, view(each))) return {Kind::kFailed, view(each)};
    }
    for (const plimsoll_str& each : wanted) {
      if (!is_true(*status, view(each))) return {Kind::kPending, {}};
    }
  }
  return {};
}

bool has_binding_conditions(const plimsoll_resource_claim& claim) {
  const List<plimsoll_device_result> results(claim.results);
  return std::any_of(results.begin(), results.end(), [](const plimsoll_device_result& each) {
    return each.binding_conditions.count != 0;
  });
}

bool waited_too_long(const plimsoll_resource_claim& claim, int64_t now_ms, int64_t timeout_ms) {
  return claim.allocation_ms != 0 && has_binding_conditions(claim) &&
         claim.allocation_ms + timeout_ms < now_ms;
}

}  // namespace plimsoll::dra
