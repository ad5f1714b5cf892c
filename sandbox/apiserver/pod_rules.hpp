#pragma once
// What the API server does to a pod beyond storing it: defaults on creation, the binding
// subresource, the status subresource, and what an update may not change.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "sandbox/apiserver/api_status.hpp"
#include "sandbox/apiserver/object_store.hpp"

namespace plimsoll::sandbox {

// Fills in what kube-apiserver's defaulting and admission fill in and a scheduler reads: requests
// from limits, schedulerName, restartPolicy, tolerations of DefaultTolerationSeconds, priority,
// phase Pending, qosClass, and the SchedulingGated condition. What is there already stays.
void set_pod_defaults(nlohmann::json& pod);

// Guaranteed, Burstable or BestEffort (ComputePodQOS); pod-level resources first where present.
[[nodiscard]] std::string qos_class(const nlohmann::json& pod);

// Applies a Binding to a pod in the words of the pods/binding registry: 409 when the pod is
// assigned already, is being deleted or is gated; merges the Binding's annotations and labels,
// sets nodeName and the condition PodScheduled=True.
ApiResult<void> apply_binding(nlohmann::json& pod, const nlohmann::json& binding);

// Sets a condition by type; lastTransitionTime moves only when the status changes.
// True: something changed.
bool set_condition(nlohmann::json& object, std::string_view type, std::string_view status,
                   std::string_view reason = {}, std::string_view message = {});

// The pod is Succeeded or Failed.
[[nodiscard]] bool is_terminal(const nlohmann::json& pod);
[[nodiscard]] bool is_terminal(const StoredObject& pod);  // without parsing it

// A main-resource update may not move a pod: 422 when nodeName differs from the stored one.
ApiResult<void> check_pod_update(const nlohmann::json& before, const nlohmann::json& after);

}  // namespace plimsoll::sandbox
