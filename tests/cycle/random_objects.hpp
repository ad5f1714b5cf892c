#pragma once
// Pods and nodes of many shapes for the random-event test, as JSON.

#include <string>

#include "lab/lint/draw.hpp"

namespace plimsoll::testing {

inline constexpr const char* kNumaAnnotation = "scheduling.koordinator.sh/numa-topology-spec";

inline constexpr size_t kClaimNames = 6;  // c0, c1, ...

using lint::Dice;

[[nodiscard]] nlohmann::json random_pod(Dice& dice, const std::string& name, size_t node_names);
// Its phase says that it is over.
[[nodiscard]] bool finished(const nlohmann::json& pod);
[[nodiscard]] nlohmann::json random_node(Dice& dice, const std::string& name);
// Changes what schedulers read of it: allocatable, labels, taints, unschedulable.
void change_node(Dice& dice, nlohmann::json& node);
// The Device object of a node with a GPU in each of two zones; `ill`: the one that is unhealthy, or
// none of them.
[[nodiscard]] nlohmann::json two_gpus(const std::string& node, int ill);
// The same, one of which may be unhealthy.
[[nodiscard]] nlohmann::json random_devices(Dice& dice, const std::string& node);
[[nodiscard]] nlohmann::json random_budget(Dice& dice, const std::string& name);

}  // namespace plimsoll::testing
