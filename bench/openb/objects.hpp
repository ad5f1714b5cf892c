#pragma once
// Machines and jobs of the trace as Kubernetes objects, as JSON texts. Pods request GPUs in percent
// (koordinator.sh/gpu), and models by node affinity on node.koordinator.sh/gpu-model.

#include <string>
#include <utility>
#include <vector>

#include "bench/openb/trace.hpp"

namespace plimsoll::openb {

inline constexpr const char* kSchedulerName = "openb";

[[nodiscard]] std::string node_object(const Machine& machine);
// Two GPUs have the same PCIe id, and each of two zones has half of the GPUs. (The trace does not
// say where they are.)
[[nodiscard]] std::string device_object(const Machine& machine);
// `node` empty: the pod is pending.
[[nodiscard]] std::string pod_object(
    size_t number, const Job& job, const std::string& node = {},
    const std::vector<std::pair<std::string, std::string>>& annotations = {});
[[nodiscard]] std::string pod_name(size_t number);

}  // namespace plimsoll::openb
