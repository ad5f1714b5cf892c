#pragma once
// Patterns (draw.hpp) of the fields of pods and nodes: [name, presence, pattern], see Field.

namespace plimsoll::lint {

// clang-format off
inline constexpr const char* kParts = R"json({
  "few": {"{key}*4": "=label_value"},
  "many": {"@key?2": "=label_value"},
  "odd_value": "{-1|-12|1.5|1e9|0x10|2GB|18446744073709551616|many}",
  "label_value": {"|": ["{true|false|yes|no|0|1|2|4|10|web}", "{value}", "{value}", "", "=odd_value"]},
  "scalar": {"|": ["{value}", "{key}", "#{0-9}", "#{true|false}", "{1-64}", "{1-64}Gi", "=odd_value",
    "#{-1|-12|1.5|9223372036854775807}"]},
  "tree": {"{field}*4": {"|": ["=scalar", ["=scalar", "=scalar"], {"{field}*3": "=scalar"},
    [{"name": "{key}", "value": "{value}", "{field}*3": "=scalar"}]]}},
  "labels": {"|": ["=many", "=few", "=few"]},
  "annotations": {"+": ["=labels", {"|": [null, "=given", "=given"]}]},
  "asked": {"cpu?5/6": "{250-4000/250}m", "memory?5/6": "{1-8}Gi", "ephemeral-storage?6": "{1-8}Gi",
            "{resource}?3": "{1-3}"},
  "amounts": {"|": [{}, "=asked", "=asked", "=asked", "=asked", "=asked"]},
  "resources": {"|": [
    {"requests": "=amounts"},
    {"limits": "=amounts", "requests": "==amounts"},
    {"limits": {"+": ["=amounts", {"cpu": "16"}]}, "requests": "==amounts"}]},
  "offered": {"cpu": "{1-16}", "memory": "{2-31}Gi", "ephemeral-storage": "{4-63}Gi",
              "pods": "{1-20}", "@resource?2": "{0-8}"},
  "image": "example.com/app:{0-3}",
  "node_rule": {"|": [
    {"key": "{label}", "operator": "{In|NotIn}", "values": ["{=}", "{value}"]},
    {"key": "{label}", "operator": "{Exists|DoesNotExist}"}]},
  "node_name": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["{node}"]}]},
  "node_label": {"matchExpressions": ["=node_rule"]},
  "node_term": {"|": ["=node_name", "=node_label", "=node_label", "=node_label", "=node_label"]},
  "selector": {"matchLabels": {"{key}": "{value}"}},
  "given": null,
  "pod_term": {"labelSelector": "=selector", "topologyKey": "{key}",
               "namespaces?3": ["default", "team-1"], "namespaceSelector?4": {}},
  "pod_rules": {
    "requiredDuringSchedulingIgnoredDuringExecution?2/3": ["=pod_term", {"?3": "=pod_term"}],
    "preferredDuringSchedulingIgnoredDuringExecution?2":
      [{"weight": "#{1-100}", "podAffinityTerm": "=pod_term"}]},
  "taint_key": {"|": ["dedicated", "{key}"]},
  "effect": "{NoSchedule|PreferNoSchedule|NoExecute}",
  "time": "2026-02-{10-27}T00:00:00Z",
  "maybe_node": {"|": [null, "{node}", "{node}"]}
})json";

inline constexpr const char* kNode = R"json({
  "metadata": {}, "spec": {}, "status": {"allocatable": "=offered", "capacity": "=offered"}
})json";

inline constexpr const char* kPodFields = R"json([
  ["spec.containers[].resources", 1, "=resources"],
  ["spec.containers[0].resources.limits", 0,
    {"+": [{}, "=/spec/containers/0/resources/requests", {"cpu?2": "{17-24}"}]}],
  ["spec.containers", 3, {"+": ["=/spec/containers",
    [{"name": "side-{1-9999}", "image": "=image", "resources": "=resources"}]]}],
  ["spec.initContainers", 5, [{"*2": {"name": "init-{1-9999}", "image": "=image",
    "resources": "=resources", "restartPolicy?2": "Always"}}]],
  ["spec.containers[0].ports", 4, [{"*2": {"containerPort": 80, "hostPort": "#{8080-8082}",
    "protocol": "{TCP|UDP}", "hostIP": "{|127.0.0.1|10.0.0.1}"}}]],
  ["spec.containers[0].image", 3, "=image"],
  ["spec.containers[0].name", 0, "c{0-999}"],
  ["spec.overhead", 8, {"cpu": "{1-3}", "memory": "1Gi"}],
  ["spec.resources", 8, {"requests": {"cpu": "{4-15}", "memory": "12Gi"}}],
  ["spec.volumes", 5, [
    {"?2": {"name": "scratch", "emptyDir": {}}},
    {"?2": {"name": "data", "persistentVolumeClaim": {"claimName": "claim-{0-2}"}}},
    {"?4": {"name": "disk", "gcePersistentDisk": {"pdName": "d{0-1}"}}},
    {"?4": {"name": "files", "image": {"reference": "=image"}}}]],
  ["spec.resourceClaims", 12, [{"name": "claim", "resourceClaimName": "r{0-2}"}]],
  ["metadata.labels", 1, "=labels"],
  ["metadata.annotations", 2, "=annotations"],
  ["metadata.name", 0, "other-{0-999}"],
  ["metadata.namespace", 3, "team-{0-2}"],
  ["metadata.uid", 0, "uid-other-{0-999}"],
  ["metadata.resourceVersion", 0, "{1-100000}"],
  ["metadata.generation", 0, "#{1-100}"],
  ["metadata.creationTimestamp", 1, "=time"],
  ["metadata.deletionTimestamp", 0, "=time"],
  ["metadata.ownerReferences", 4, [{"apiVersion": "apps/v1", "kind": "{ReplicaSet|Job|StatefulSet}",
    "name": "{value}", "uid": "owner-{0-8}", "controller": "#{true|false}"}]],
  ["spec.schedulerName", 0, "scheduler-{0-99}"],
  ["spec.priority", 2, "#{-1000|0|1000|2000|3000|4000}"],
  ["spec.priorityClassName", 4, {"|": ["system-node-critical", "{value}"]}],
  ["spec.preemptionPolicy", 5, "{Never|PreemptLowerPriority}"],
  ["spec.runtimeClassName", 6, "{value}"],
  ["spec.hostNetwork", 3, "#{true|false}"],
  ["spec.schedulingGroup", 12, {"podGroupName": "group-{0-2}"}],
  ["spec.hostUsers", 3, "#{true|false}"],
  ["spec.containers[0].restartPolicyRules", 3, [{"action": "{Restart|RestartAllContainers}",
    "exitCodes": {"operator": "In", "values": [1]}}]],
  ["status.qosClass", 0, "{Guaranteed|Burstable|BestEffort}"],
  ["status.startTime", 0, "=time"],
  ["status.reason", 0, "{value}"],
  ["status.conditions", 0, [
    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "{value}"},
    {"type": "DisruptionTarget", "status": "{True|False}", "reason": "{value}"}]],
  ["spec.nodeSelector", 5, {"{label}": "{=}"}],
  ["spec.affinity.nodeAffinity", 4, {
    "requiredDuringSchedulingIgnoredDuringExecution?2/3":
      {"nodeSelectorTerms": ["=node_term", {"?3": "=node_term"}]},
    "preferredDuringSchedulingIgnoredDuringExecution?2":
      [{"weight": "#{1-100}", "preference": "=node_term"}]}],
  ["spec.affinity.podAffinity", 10, "=pod_rules"],
  ["spec.affinity.podAntiAffinity", 10, "=pod_rules"],
  ["spec.tolerations", 2, [{"*3": {"|": [
    {"key?2/3": "=taint_key", "operator": "Exists", "effect?3/4": "=effect"},
    {"key": "=taint_key", "value": "{value}", "effect?3/4": "=effect"}]}}]],
  ["spec.topologySpreadConstraints", 8, [{"maxSkew": "#{1-3}", "topologyKey": "{key}",
    "whenUnsatisfiable": "{DoNotSchedule|ScheduleAnyway}", "labelSelector": "=selector"}]],
  ["spec.schedulingGates", 0, [{"name": "{key}"}]],
  ["spec.nodeName", 12, "=maybe_node"],
  ["status.nominatedNodeName", 6, "=maybe_node"]
])json";

inline constexpr const char* kNodeFields = R"json([
  ["status.allocatable", 1, {"+": [{}, "=/status/allocatable", {"~3": "=offered"}]}],
  ["status.capacity", 1, {"+": [{}, "=/status/capacity", {"~3": "=offered"}]}],
  ["metadata.labels", 1, {"+": ["=labels", {"~": {"+": [{}, "=/metadata/labels"]}}]}],
  ["metadata.annotations", 2, "=annotations"],
  ["spec.taints", 3, [{"*3": {"key": "=taint_key", "value": "{value}",
    "effect": "=effect"}}]],
  ["spec.unschedulable", 3, "#{true|false}"],
  ["status.images", 2, [
    {"?2": {"names": ["example.com/app:0"], "sizeBytes": "#{50-2500/50}000000"}},
    {"?2": {"names": ["example.com/app:1"], "sizeBytes": "#{50-2500/50}000000"}},
    {"?2": {"names": ["example.com/app:2"], "sizeBytes": "#{50-2500/50}000000"}}]],
  ["status.conditions", 2, [
    {"?3/4": {"type": "Ready", "status": "{True|False|Unknown}"}},
    {"?3/4": {"type": "MemoryPressure", "status": "{True|False|Unknown}"}},
    {"?3/4": {"type": "DiskPressure", "status": "{True|False|Unknown}"}},
    {"?3/4": {"type": "PIDPressure", "status": "{True|False|Unknown}"}}]],
  ["status.declaredFeatures", 3, [{"?2": "{key}"}, {"?2": "UserNamespacesHostNetworkSupport"},
    {"?2": "RestartAllContainersOnContainerExits"}]],
  ["metadata.resourceVersion", 0, "{1-100000}"],
  ["metadata.generation", 0, "#{1-1000}"],
  ["metadata.creationTimestamp", 0, "=time"],
  ["metadata.ownerReferences", 0, [{"apiVersion": "v1", "kind": "Machine", "name": "{value}",
    "uid": "{value}"}]]
])json";
// clang-format on

}  // namespace plimsoll::lint
