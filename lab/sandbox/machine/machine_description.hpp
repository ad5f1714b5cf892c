#pragma once
// How a Node object names its machine: the annotation `sandbox.plimsoll.io/machine`, a JSON object.
//
//   {"hwlocXml": "epyc.xml",                  either: a file of `lstopo --of xml`, in the folder of
//   the
//                                             cluster file or below
//    "hwlocSynthetic": "pack:2 core:8 pu:2",  or: a description in hwloc's synthetic form
//    "memory":    [{"numaNode": 0, "amount": "64Gi"}],       instead of what hwloc says
//    "hugepages": [{"numaNode": 0, "amounts": {"hugepages-1Gi": "4Gi"}}],
//    "devices":   [{"resource": "nvidia.com/gpu", "id": "gpu-0", "zones": [0], "healthy": true}],
//    "kubelet":   { part of a KubeletConfiguration:
//        topologyManagerPolicy, topologyManagerScope, topologyManagerPolicyOptions,
//        cpuManagerPolicy, cpuManagerPolicyOptions, memoryManagerPolicy, reservedSystemCPUs,
//        reservedMemory, maxPods, featureGates: {"PodLevelResourceManagers": true} }}
//
// Everything but one of the first two is optional; what is left out has the kubelet's default. An
// unknown field, and settings with which a kubelet would not start, are errors. docs/simulation.md
// explains it to users.

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "node/machine/machine.hpp"

namespace plimsoll::sandbox {

inline constexpr const char* kMachineAnnotation = "sandbox.plimsoll.io/machine";

// Parses one annotation's text. Blocks on the XML file. Fails with kInvalid or kNotFound and lists
// every problem of the description with its field.
[[nodiscard]] Result<node::Machine> read_machine(const std::string& text,
                                                 const std::filesystem::path& folder);

// The settings with which a kubelet would not start; empty: none. Pure.
[[nodiscard]] std::vector<std::string> problems_of(const node::Machine& machine);

// The machines of a cluster. Each text is parsed once, however many nodes have it. Owned by a
// simulation, used by one thread at a time.
class MachineLibrary {
 public:
  // XML files are relative to `folder`.
  explicit MachineLibrary(std::filesystem::path folder = {}) : folder_(std::move(folder)) {}

  // Null: the node's annotations name no machine. Fails like read_machine, with the node's name.
  [[nodiscard]] Result<std::shared_ptr<const node::Machine>> machine_of(const nlohmann::json& node);

 private:
  std::filesystem::path folder_;
  std::map<std::string, Result<std::shared_ptr<const node::Machine>>> known_;  // by text
};

}  // namespace plimsoll::sandbox
