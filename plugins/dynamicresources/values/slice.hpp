#pragma once
// A ResourceSlice (resource.k8s.io/v1), as a value.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugins/dynamicresources/values/device.hpp"
#include "plugins/dynamicresources/values/node_selector.hpp"

namespace plimsoll::dra {

struct CounterSet {  // v1.CounterSet
  std::string name;
  std::map<std::string, Quantity> counters;
};

// Taints of DeviceTaintRules are among the devices' own already (resourceslice/tracker).
struct Slice {
  std::string name;  // of the object
  std::string driver;
  std::string pool;
  int64_t generation = 0;
  int64_t slice_count = 0;  // pool.resourceSliceCount
  // Which nodes reach the devices: one of these, or else nobody knows.
  std::optional<std::string> node_name;
  std::optional<NodeSelector> node_selector;
  bool all_nodes = false;
  bool per_device_nodes = false;  // perDeviceNodeSelection: each device says
  std::vector<Device> devices;
  std::vector<CounterSet> counters;    // sharedCounters
  bool skips_node_operations = false;  // skipNodeOperations names some (alpha)
};

}  // namespace plimsoll::dra
