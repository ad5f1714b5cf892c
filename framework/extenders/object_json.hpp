#pragma once
// Pods and nodes as the JSON of the API, as far as this scheduler reads them.

#include <plimsoll/objects.h>

#include <nlohmann/json_fwd.hpp>

namespace plimsoll::extender_wire {

[[nodiscard]] nlohmann::json node_json(const plimsoll_node& node);
// Metadata, where it runs, its priority and its containers.
[[nodiscard]] nlohmann::json pod_json(const plimsoll_pod& pod);

}  // namespace plimsoll::extender_wire
