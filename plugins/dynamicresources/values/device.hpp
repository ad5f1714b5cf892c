#pragma once
// Devices as drivers publish them in ResourceSlices (resource.k8s.io/v1), with names and amounts
// already read. Values only; nothing here refers to the object that it was read from.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plugins/dynamicresources/values/node_selector.hpp"
#include "plugins/dynamicresources/values/quantity.hpp"

namespace plimsoll::dra {

// The name of an attribute or a capacity. Without a "/" its domain is the driver's.
struct QualifiedName {
  std::string domain;
  std::string id;
  auto operator<=>(const QualifiedName&) const = default;
};

struct Version {  // semantic versioning 2.0.0, as written
  std::string text;
  auto operator<=>(const Version&) const = default;
};

// One of v1.DeviceAttribute's fields; lists are of one type (KEP-5491). Monostate: none that we
// know.
using AttributeValue =
    std::variant<int64_t, bool, std::string, Version, std::vector<int64_t>, std::vector<bool>,
                 std::vector<std::string>, std::vector<Version>, std::monostate>;

struct RequestPolicy {  // v1.CapacityRequestPolicy
  struct Range {
    std::optional<Quantity> min, max, step;
  };
  std::optional<Quantity> fallback;  // default
  std::vector<Quantity> valid_values;
  std::optional<Range> valid_range;
};

struct Capacity {  // v1.DeviceCapacity
  Quantity value;
  std::optional<RequestPolicy> policy;
};

struct Taint {  // v1.DeviceTaint
  std::string key, value, effect;
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct CounterUse {  // v1.DeviceCounterConsumption
  std::string set;
  std::map<std::string, Quantity> counters;
  bool has_compatibility_groups = false;  // alpha; the groups themselves are not read
};

// One entry of v1.Device.nodeAllocatableResources (KEP-5517): what the device is of its node's
// CPUs, memory or huge pages, and what using it takes of them.
struct Allocatable {
  std::string resource;
  std::string capacity_key;  // mapping: consumed capacity of this name, times capacity_multiplier
  std::optional<Quantity> capacity_multiplier;
  std::optional<Quantity> device_multiplier;       // mapping: this for the device
  std::optional<Quantity> per_pod, per_container;  // overhead
  [[nodiscard]] bool maps() const { return !capacity_key.empty() || device_multiplier; }
};

// A driver may write an attribute by its id alone and by the full name: then the full name wins in
// constraints. Keys of `attributes` and `capacity` are as written.
struct Device {
  std::string name;
  std::map<std::string, AttributeValue> attributes;
  std::map<std::string, Capacity> capacity;
  std::vector<Taint> taints;
  std::vector<CounterUse> consumes;
  std::vector<Allocatable> allocatable;  // by resource
  bool allow_multiple_allocations = false;
  bool binds_to_node = false;
  std::vector<std::string> binding_conditions, binding_failure_conditions;
  // Which nodes reach the device; read only where its slice leaves that to the devices.
  std::optional<std::string> node_name;
  std::optional<NodeSelector> node_selector;
  bool all_nodes = false;
  int zone = -1;  // NUMA, by an attribute; -1: none says
};

}  // namespace plimsoll::dra
