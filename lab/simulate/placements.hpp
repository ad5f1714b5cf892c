#pragma once
// The results of a simulation's pods, read from the API objects.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::cli {

struct Placement {
  std::string pod;   // "namespace/name"
  std::string node;  // empty: not placed
  std::string phase;
  std::string failure;  // status.reason if its kubelet rejected it ("TopologyAffinityError")
  std::string message;  // why it was not placed: the PodScheduled condition
  std::string reason;   // of that condition: "Unschedulable", "SchedulerError", ...
  // Container -> zones that its CPUs, memory and devices are predicted to come from.
  std::vector<std::pair<std::string, std::vector<int64_t>>> zones;
  // Device type -> minors.
  std::map<std::string, std::vector<int64_t>> devices;
  // Seconds since the scheduler was ready. `tried`: first and last.
  double created = 0;
  std::optional<double> tried;
  std::optional<double> last_tried;
  std::optional<double> bound;
  std::optional<double> ended;
  uint64_t tries = 0;
};

// Reads the pod object; annotations in an unexpected form are ignored.
[[nodiscard]] Placement placement_of(const nlohmann::json& pod);

// "c0:0 c1:1,2"; "-" if nothing is known.
[[nodiscard]] std::string zones_text(const Placement& placement);
// "gpu 0,1  rdma 2"; "-" if none.
[[nodiscard]] std::string devices_text(const Placement& placement);

// Splits a message such as "0/12 nodes are available: 3 Insufficient cpu, 9 node(s) were
// unschedulable." into the first line, one line per reason, and the text about preemption.
[[nodiscard]] std::vector<std::string> message_parts(const std::string& message);

}  // namespace plimsoll::cli
