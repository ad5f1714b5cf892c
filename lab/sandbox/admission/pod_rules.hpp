#pragma once
// The API server's rules for pods beyond storing them: defaults on creation, the binding
// subresource, the status subresource, and what an update must not change.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "lab/sandbox/store/api_status.hpp"
#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::sandbox {

// Sets the values of kube-apiserver's defaulting and admission that a scheduler reads: requests
// from limits, protocols of ports, host ports of pods on the host's network, what matchLabelKeys
// and mismatchLabelKeys add, schedulerName, restartPolicy, tolerations of DefaultTolerationSeconds,
// priority, phase Pending, qosClass, and the SchedulingGated condition. Existing values stay.
void set_pod_defaults(nlohmann::json& pod);

// The admission plugin DefaultTolerationSeconds.
void default_tolerations(nlohmann::json& spec);

// SetDefaults_Pod: a limit without a request becomes the request, in every container.
void default_requests(nlohmann::json& spec);

// Guaranteed, Burstable or BestEffort (ComputePodQOS); pod-level resources take precedence.
[[nodiscard]] std::string qos_class(const nlohmann::json& pod);

// Applies a Binding to a pod, with the messages of the pods/binding registry. 409 if the pod is
// already assigned, is being deleted or is gated. Otherwise merges the Binding's annotations and
// labels, sets nodeName and the condition PodScheduled=True.
ApiResult<void> apply_binding(nlohmann::json& pod, const nlohmann::json& binding);

// Sets a condition by type; lastTransitionTime changes only with the status. Returns whether
// anything changed.
bool set_condition(nlohmann::json& object, std::string_view type, std::string_view status,
                   std::string_view reason = {}, std::string_view message = {});

// Whether the pod is Succeeded or Failed.
[[nodiscard]] bool is_terminal(const nlohmann::json& pod);
[[nodiscard]] bool is_terminal(const StoredObject& pod);  // without parsing it

// An update of the main resource must not move a pod: 422 if nodeName differs from the stored one.
ApiResult<void> check_pod_update(const nlohmann::json& before, const nlohmann::json& after);

}  // namespace plimsoll::sandbox
