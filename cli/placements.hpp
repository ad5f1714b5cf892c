#pragma once
// What became of the pods of a simulation, read back from the API objects.

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
  std::string failure;  // status.reason of a pod that its kubelet refused ("TopologyAffinityError")
  std::string message;  // why it was not placed: the PodScheduled condition
  // Container -> zones that its CPUs, memory and devices are predicted to come from.
  std::vector<std::pair<std::string, std::vector<int64_t>>> zones;
  // Device type -> minors.
  std::map<std::string, std::vector<int64_t>> devices;
  std::optional<double> bind_ms;  // from creation to binding
};

// Reads the pod object; what its annotations say in another form than expected is left out.
[[nodiscard]] Placement placement_of(const nlohmann::json& pod);

// "c0:0 c1:1,2"; "-" if nothing is known.
[[nodiscard]] std::string zones_text(const Placement& placement);
// "gpu 0,1  rdma 2"; "-" if none.
[[nodiscard]] std::string devices_text(const Placement& placement);

// A message such as "0/12 nodes are available: 3 Insufficient cpu, 9 node(s) were unschedulable."
// in its parts: the first line, then one a reason, last what is said of preemption.
[[nodiscard]] std::vector<std::string> message_parts(const std::string& message);

}  // namespace plimsoll::cli
