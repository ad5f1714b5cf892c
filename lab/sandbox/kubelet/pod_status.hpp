#pragma once
// Applies the pod statuses that a kubelet writes to a pod in place.

#include <nlohmann/json_fwd.hpp>

#include "lab/sandbox/kubelet/node_admission.hpp"

namespace plimsoll::sandbox {

// Phase Running, every container started and ready; plain init containers have completed.
void set_running(nlohmann::json& pod);
// Phase Succeeded, every container exited with 0.
void set_succeeded(nlohmann::json& pod);
// Phase Failed with the admission's reason, like rejectPod.
void set_rejected(nlohmann::json& pod, const AdmissionDecision& decision);

}  // namespace plimsoll::sandbox
