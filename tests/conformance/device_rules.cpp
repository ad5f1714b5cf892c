#include "tests/conformance/device_rules.hpp"

#include "tests/conformance/device_rule.hpp"

namespace plimsoll::conformance {

namespace dev = plimsoll::devices;

int gpu_type() {
  return device_types().find_type("gpu");
}

const dev::TypeRequest* gpu_request(const DeviceStep& step) {
  return step.demand.request.find(gpu_type());
}

std::set<int> minors_in(const Json& allocation) {
  std::set<int> minors;
  for (const Json& entry : member(allocation, "gpu")) minors.insert(entry.at("minor").get<int>());
  return minors;
}

std::set<int> minors_of(const DeviceStep& step) {
  std::set<int> minors;
  for (const dev::DeviceShare& share : step.given)
    if (share.type == gpu_type()) minors.insert(share.minor);
  return minors;
}

Json answer(const Json& filter, const Json& allocation) {
  return {{"filter", filter}, {"allocation", allocation}};
}

namespace {

// Not a difference: the same devices and the same bytes of them.
constexpr const char* kRounded =
    "shares in bytes whose percent are rounded up here and cut off in the reference";

Json ours(const DeviceStep& step) {
  return answer(device_status(step.verdict),
                step.verdict.fits() ? allocation_json(step.given) : Json::object());
}

}  // namespace

const std::vector<std::string>& device_rules() {
  static const std::vector<std::string> kRules = {
      kShared,
      kExclusive,
      kPartitions,
      kPercent,
      "W5 another isolation provider refuses one node (no such pod here)",
      kJoint,
      kLimits,
      kMissing,
      "W9 reservations made before pods (not in these inputs)",
      "W10 scores of nodes (followed: the reference's are kept)",
  };
  return kRules;
}

std::set<std::string> judge_step(const std::string& pod, const DeviceStep& step,
                                 Findings& findings) {
  std::set<std::string> rules;
  Json allocation = step.allocation;
  const size_t rounded = correct_percent(step, allocation);
  if (rounded > 0) findings.tally(kRounded, rounded);
  const Json reference = answer(step.filter, allocation);
  if (reference == ours(step)) return rules;
  if (comes_under_exclusive(step) && exclusive_explains(step, reference))
    rules.insert(kExclusive);
  else if (comes_under_joint(step) && joint_explains(step))
    rules.insert(kJoint);
  else if (comes_under_partitions(step) && partitions_explain(step, rules))
    return rules;
  else if (comes_under_shared(step) && shared_explains(step, rules))
    return rules;
  else if (is_overcommitted(step, step.allocation) && problem_of_ours(step).empty())
    rules.insert(kPercent);
  else if (comes_under_missing(step) && problem_of_ours(step).empty())
    rules.insert(kMissing);
  else
    findings.expect(pod, reference, ours(step));
  return rules;
}

}  // namespace plimsoll::conformance
