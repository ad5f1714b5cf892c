#pragma once
// What an exporter writes about a node of admit.jsonl: the object as an API server sends it, with
// zone counts as resource-topology-exporter has them.

#include <string>
#include <vector>

#include "plugins/topology/report/facts.hpp"
#include "tests/conformance/admit_scene.hpp"

namespace plimsoll::conformance {

// From nrt_cap, nrt_alloc, and the step's nrt; and policy and scope. Nothing else is known.
[[nodiscard]] Json counts_report(const Json& line, const Json& step);

// The same with everything that the model and the state say.
[[nodiscard]] Json facts_report(const Json& line, const Json& step,
                                const topology::kubelet::NodeModel& model,
                                const topology::kubelet::NodeState& state,
                                const ResourceNames& names);

// Throws if it cannot be parsed.
[[nodiscard]] topology::NrtObject parsed_report(const Json& report);

// The indices of `names`, which must outlive what is returned.
[[nodiscard]] topology::kubelet::InternResource interning(ResourceNames& names);

}  // namespace plimsoll::conformance
