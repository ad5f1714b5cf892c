#pragma once
// Machines and jobs of the trace as Kubernetes objects, as JSON texts. GPUs are asked for in
// percent (koordinator.sh/gpu), models by node affinity on node.koordinator.sh/gpu-model.

#include <string>
#include <utility>
#include <vector>

#include "bench/openb/trace.hpp"

namespace plimsoll::openb {

inline constexpr const char* kSchedulerName = "openb";

[[nodiscard]] std::string node_object(const Machine& machine);
// GPUs two by two at a PCIe id, half of them in each of two zones (the trace does not say where
// they are).
[[nodiscard]] std::string device_object(const Machine& machine);
// `node` empty: it waits.
[[nodiscard]] std::string pod_object(
    size_t number, const Job& job, const std::string& node = {},
    const std::vector<std::pair<std::string, std::string>>& annotations = {});
[[nodiscard]] std::string pod_name(size_t number);

}  // namespace plimsoll::openb
