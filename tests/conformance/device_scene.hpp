#pragma once
// One node of device.jsonl and what pods ask of it, in the types of plugins/nodedevice.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/api/symbols.hpp"
#include "plugins/nodedevice/allocation/allocator.hpp"
#include "tests/conformance/findings.hpp"

namespace plimsoll::conformance {

[[nodiscard]] const devices::DeviceTypes& device_types();

// Amounts by resource name, in whole units: the spelling of a quantity does not matter.
[[nodiscard]] Json amounts_json(const Json& resources);
[[nodiscard]] Json amounts_json(int type, const devices::Amounts& of);
// {type: [{minor, resources, extension}]}, resources in whole units.
[[nodiscard]] Json allocation_json(const devices::Allocation& allocation);
[[nodiscard]] Json allocation_json(const Json& expected);
// Throws if it is not a device-allocated annotation.
[[nodiscard]] devices::Allocation read_expected(const Json& allocation);

[[nodiscard]] Json device_status(const char* code, const std::string& reason = "");
[[nodiscard]] Json device_status(const devices::Verdict& verdict);

// What a pod asks for; the status is PreFilter's.
struct PodAsk {
  Json status;
  devices::PodDemand demand;
};

class DeviceScene {
 public:
  explicit DeviceScene(const Json& test_case);

  devices::NodeState state;
  std::vector<std::pair<std::string, int64_t>> weights;
  bool most_allocated = false;

  [[nodiscard]] const devices::Scorer* scorer() const { return scorer_ ? &*scorer_ : nullptr; }
  [[nodiscard]] devices::NodeLabels labels() const;
  [[nodiscard]] PodAsk ask(const Json& pod);

  // What pods have on the node, by their names.
  void give(const std::string& pod, devices::Allocation allocation);
  void release(const std::string& pod);

 private:
  SymbolTable symbols_;
  NodeRef node_;
  std::optional<devices::Scorer> scorer_;
  std::map<std::string, devices::Allocation> held_;
};

}  // namespace plimsoll::conformance
