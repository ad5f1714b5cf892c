#pragma once
// Where Koordinator's deviceshare is plainly wrong (rules W1 to W10), device.jsonl cannot say what
// is right. A decision comes under a rule by its input; then the reference's answer must be what
// its defect makes of that input, and ours what a second, simpler implementation here finds right.

#include <set>
#include <string>
#include <vector>

#include "tests/conformance/device_scene.hpp"

namespace plimsoll::conformance {

// One pod on one node before it is placed, and both answers.
struct DeviceStep {
  const DeviceScene& scene;
  const devices::PodDemand& demand;
  // ours
  devices::Verdict verdict;
  devices::Allocation given;
  // the reference's: {"code", "reasons"}, and allocation_json of what it gave
  Json filter;
  Json allocation;
};

[[nodiscard]] const std::vector<std::string>& device_rules();

// The rules by which ours differs and is right. Whatever else differs becomes a finding.
[[nodiscard]] std::set<std::string> judge_step(const std::string& pod, const DeviceStep& step,
                                               Findings& findings);

// What is wrong with our answer as such, whatever the reference says; empty: nothing. A second
// implementation of what may be given: it shares no code with the allocator.
[[nodiscard]] std::string problem_of_ours(const DeviceStep& step);

}  // namespace plimsoll::conformance
