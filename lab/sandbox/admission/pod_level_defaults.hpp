#pragma once
// The API server's defaults of spec.resources of a pod (Kubernetes 1.37, pkg/api/pod/util.go,
// DefaultPodLevelResources; gate PodLevelResourcesFixDefaulting, on).

#include <nlohmann/json_fwd.hpp>

namespace plimsoll::sandbox {

// If the pod names amounts of its own: huge page limits from the containers' limits; requests from
// the containers' requests, or else from the pod's limits; limits from the containers' limits where
// every container has one, and at least what is requested. `spec` is a pod's, its containers'
// requests are filled in. Nothing happens if an amount cannot be read.
void default_pod_level_resources(nlohmann::json& spec);

}  // namespace plimsoll::sandbox
