#pragma once
// Cluster events for the queue: what happened to which kind, and which pods it may help.
// Kubernetes: staging/src/k8s.io/kube-scheduler/framework/types.go (ActionType, EventResource) and
// pkg/scheduler/framework/events.go (NodeSchedulingPropertiesChange,
// PodSchedulingPropertiesChange).

#include <plimsoll/plugin_abi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/api/objects.hpp"

namespace plimsoll {

inline constexpr std::string_view kResourceNode = "Node";
inline constexpr std::string_view kResourcePod = "Pod";  // what plugins register
inline constexpr std::string_view kResourceAssignedPod = "AssignedPod";
// The pod itself that waits. Plugins see and may register it under the name of Kubernetes 1.36 and
// may register it under that of 1.37 (TargetPod); labels have the latter. There are no events for a
// pod that another waiting pod changed (UnscheduledPod of 1.37).
inline constexpr std::string_view kResourceUnschedulablePod = "UnschedulablePod";
inline constexpr std::string_view kResourceTargetPod = "TargetPod";
inline constexpr std::string_view kResourceAny = "*";

struct ClusterEvent {
  std::string resource;  // one of kResource..., or "<plural>.<version>.<group>"
  uint32_t actions = 0;  // PLIMSOLL_ACTION_*
  std::string
      label;  // as in the metric queue_incoming_pods_total: "NodeAdd", "AssignedPodDelete", ...
  PodRef old_pod;
  PodRef new_pod;
  NodeRef old_node;
  NodeRef new_node;
  RawRef old_object;
  RawRef new_object;
  ObjectRef old_decoded;  // what the old object said; that of the new one is in new_object
  bool wildcard = false;  // requeues every pod, whatever its rejecting plugins registered
  // The event helps only pods of at most this priority: pods of higher priority could always have
  // used what a nominated pod releases.
  int32_t max_priority = INT32_MAX;
};

// The wildcard event of the periodic flush, which retries pods that were unschedulable for too
// long.
[[nodiscard]] ClusterEvent unschedulable_timeout_event();
[[nodiscard]] ClusterEvent force_activate_event();

[[nodiscard]] ClusterEvent node_added(NodeRef node);
[[nodiscard]] ClusterEvent node_deleted(NodeRef node);
// One event for each kind of property that changed, in the order of NodeSchedulingPropertiesChange;
// none if no change matters to scheduling. Cordoning a node gives no event. If a node is uncordoned
// and changes its taints at the same time, the taint event appears twice.
[[nodiscard]] std::vector<ClusterEvent> node_updated(const NodeRef& before, const NodeRef& after);

[[nodiscard]] ClusterEvent assigned_pod_added(PodRef pod);
[[nodiscard]] ClusterEvent assigned_pod_deleted(PodRef pod);
// One event for each kind of property that changed, in the order of PodSchedulingPropertiesChange.
// `resource` is kResourceAssignedPod or kResourceUnschedulablePod.
[[nodiscard]] std::vector<ClusterEvent> pod_changes(std::string_view resource, const PodRef& before,
                                                    const PodRef& after);
// The same; a plain update if none changed.
[[nodiscard]] std::vector<ClusterEvent> pod_updated(std::string_view resource, const PodRef& before,
                                                    const PodRef& after);

// An event of a kind that only plugins understand.
[[nodiscard]] ClusterEvent object_event(RawRef before, RawRef after);

// The objects that pods name and plugins may wait for: claims, of devices and of volumes. As in
// object_key; some may be there twice.
[[nodiscard]] std::vector<std::string> named_objects(const plimsoll_pod& pod);
// "resource/namespace/name" of the event's object; empty: it is about none.
[[nodiscard]] std::string object_key(const ClusterEvent& event);

// The names of the actions in a set: "Add", "UpdateNodeLabel"; "*" for all of them, "Update" for
// every kind of update.
[[nodiscard]] std::vector<std::string> action_names(uint32_t actions);

// Whether an interest that a plugin registered covers this event.
[[nodiscard]] bool matches(const plimsoll_event_interest& interest, const ClusterEvent& event);

}  // namespace plimsoll
