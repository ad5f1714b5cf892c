#pragma once
// What Kubernetes up to 1.36 counted for a pod that is resized in place. Since 1.37 the largest of
// the pod's sums counts, before that the sum of each container's largest.

#include "framework/api/requests.hpp"
#include "tests/conformance/findings.hpp"

namespace plimsoll::conformance {

// The pod with a spec that asks for what 1.36 counted, and without a status.
[[nodiscard]] PodResources as_counted_by_1_36(const Json& pod, PodResources resources);

// The same as an object, for pods on the nodes of a case.
[[nodiscard]] Json asking_for_what_1_36_counted(Json pod);

}  // namespace plimsoll::conformance
