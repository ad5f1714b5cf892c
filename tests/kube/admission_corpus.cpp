#include "tests/kube/admission_corpus.hpp"

#include <algorithm>
#include <filesystem>
#include <random>

#include "tests/kube/yaml_json.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

struct Kind {
  const char* kind;
  const char* api_version;
  const char* plural;
  bool namespaced;
  const char* base;    // a whole object without metadata
  const char* fields;  // JSON pointers, and values of which some are wrong
};

// What any field may be given beside its own values.
constexpr const char* kOdd =
    R"([null, "", "x", "Bad Value!", -1, 1.5, true, {}, [], [null], {"a": null}])";

// Fields of every kind.
constexpr const char* kMetadata = R"({
  "/metadata/labels": [{"app": "web", "rev": "2"}, {"app": null}, {"bad key!": "x"}, {"a": "bad value!"}, {"a": 5},
    {"a/b/c": "x"}],
  "/metadata/annotations": [{"a": "any text!"}, {"a": null}, {"a": 5}, {"bad key!": "x"}],
  "/metadata/name": ["node", "plain", "Upper", "under_score", "-dash", "has space", "a..b", "a/b"],
  "/metadata/generateName": ["gen-", "Gen-"],
  "/metadata/finalizers": [["example.com/f"], ["bad"], ["bad finalizer/"]],
  "/metadata/namespace": ["elsewhere"],
  "/metadata/resourceVersion": ["5"],
  "/metadata/uid": ["u-1"],
  "/metadata/ownerReferences": [[{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}],
    [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r"}], [{"kind": "ReplicaSet"}]],
  "/spec/noSuchField": [1],
  "/apiVersion": ["v9", "apps/v1"],
  "/kind": ["Odd"]
})";

constexpr Kind kKinds[] = {
    {"Pod", "v1", "pods", true,
     R"({"spec": {"containers": [{"name": "c", "image": "example.com/app:1"}]}})", R"({
  "/spec": [null, {},
    {"runtimeClassName": "kata", "tolerations": [{"operator": "Exists"}], "containers": [{"name": "c", "image": "x"}]},
    {"runtimeClassName": "kata", "tolerations": [{"key": "vm", "operator": "Equal", "value": "a", "effect": "NoSchedule"},
      {"key": "vm", "operator": "Exists"}, {"key": "other", "value": "b"}], "containers": [{"name": "c", "image": "x"}]},
    {"runtimeClassName": "kata", "overhead": {"cpu": "0.25"}, "nodeSelector": {"vm": "yes"}, "containers": [{"name": "c", "image": "x"}]},
    {"priorityClassName": "high", "priority": 1000, "preemptionPolicy": "Never", "containers": [{"name": "c", "image": "x"}]},
    {"priorityClassName": "high", "priority": 5, "containers": [{"name": "c", "image": "x"}]},
    {"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority", "containers": [{"name": "c", "image": "x"}]},
    {"containers":[{"name":"c0","image":"x","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]},
    {"resources":{},"containers":[{"name":"c0","image":"x","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]},
    {"resources":{"requests":{"cpu":"2","memory":"2Gi"}},"containers":[{"name":"c0","image":"x","resources":{"limits":{"cpu":"1","memory":"1Gi"}}},{"name":"c1","image":"x","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]},
    {"resources":{"requests":{"cpu":"3","memory":"1Gi"}},"containers":[{"name":"c0","image":"x","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]},
    {"resources":{"requests":{"cpu":"3","memory":"3Gi"}},"containers":[{"name":"c0","image":"x","resources":{"limits":{"cpu":"1","memory":"1Gi"}}},{"name":"c1","image":"x","resources":{"requests":{"cpu":"500m","memory":"512Mi"}}}]},
    {"resources":{"limits":{"cpu":"3","memory":"3Gi"}},"containers":[{"name":"c0","image":"x","resources":{"requests":{"cpu":"500m","memory":"512Mi"}}}]},
    {"resources":{"limits":{"cpu":"3","memory":"3Gi"}},"containers":[{"name":"c0","image":"x"}]},
    {"resources":{"limits":{"cpu":"3"}},"containers":[{"name":"c0","image":"x","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]},
    {"resources":{"requests":{"cpu":"3"}},"containers":[{"name":"c0","image":"x","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}],"initContainers":[{"name":"i0","image":"x","restartPolicy":"Always","resources":{"limits":{"cpu":"2","memory":"1Gi"}}},{"name":"i1","image":"x","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]},
    {"resources":{"requests":{"cpu":"3"}},"containers":[{"name":"c0","image":"x","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}],"initContainers":[{"name":"i0","image":"x","resources":{"requests":{"cpu":"500m","memory":"512Mi"}}}]},
    {"resources":{"requests":{"cpu":"2","memory":"2Gi"}},"containers":[{"name":"c0","image":"x","resources":{"limits":{"cpu":"1","memory":"1Gi","hugepages-2Mi":"64Mi"}}}]},
    {"containers":[{"name":"c0","image":"x","resources":{"limits":{"cpu":"1","memory":"1Gi"}}},{"name":"c1","image":"x","resources":{"requests":{"cpu":"500m","memory":"512Mi"}}}],"initContainers":[{"name":"i0","image":"x","restartPolicy":"Always","resources":{"limits":{"cpu":"2","memory":"1Gi"}}},{"name":"i1","image":"x","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}],
  "/spec/containers": [[], null, [{"name": "c"}], [{"image": "x"}], [{"name": "Bad", "image": "x"}],
    [{"name": "c", "image": "x"}, {"name": "c", "image": "x"}], [null]],
  "/spec/priority": [0, 7, 1000, -3, 3000000000],
  "/spec/priorityClassName": ["high", "none-such", "system-node-critical"],
  "/spec/preemptionPolicy": ["Never", "PreemptLowerPriority"],
  "/spec/runtimeClassName": ["kata", "plain", "none-such", ""],
  "/spec/overhead": [{"cpu": "1"}, {"cpu": "250m"}],
  "/spec/schedulerName": ["other"],
  "/spec/restartPolicy": ["Never", "OnFailure", "Odd"],
  "/spec/terminationGracePeriodSeconds": [0, 5, -5],
  "/spec/nodeName": ["node", "none-such"],
  "/spec/nodeSelector": [{"a": "b"}, {"a": null}, {"a": 5}, {"bad key!": "x"}, {"a": "bad value!"}, {"vm": "no"}],
  "/spec/hostNetwork": [true],
  "/spec/schedulingGates": [[{"name": "example.com/g"}], [{"name": ""}], [{"name": "bad gate"}],
    [{"name": "a"}, {"name": "a"}]],
  "/spec/tolerations": [[{"operator": "Exists"}], [{"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}],
    [{"key": "a", "operator": "Odd"}], [{"key": "a", "operator": "Exists", "value": "b"}], [{"key": "a", "effect": "Odd"}],
    [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5}], [{"operator": "Equal", "value": "x"}],
    [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
    [{"key": "bad key!", "operator": "Exists"}], [{"key": "a", "operator": "Gt", "value": "5"}],
    [{"key": "a", "value": null}], [{"key": "a", "value": "bad value!"}]],
  "/spec/topologySpreadConstraints": [
    [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}],
    [{"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
    [{"maxSkew": 1, "topologyKey": "", "whenUnsatisfiable": "DoNotSchedule"}],
    [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "Odd"}],
    [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2}],
    [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 0}],
    [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["rev"],
      "labelSelector": {"matchLabels": {"app": "web"}}}],
    [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "nodeTaintsPolicy": "Odd"}],
    [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
     {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]],
  "/spec/affinity": [
    {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]}}},
    {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
    {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]}}},
    {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}]}}},
    {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1", "2"]}]}]}}},
    {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]}},
    {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["rev"]}]}},
    {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "", "labelSelector": {}}]}},
    {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "podAffinityTerm": {"topologyKey": "zone"}}]}},
    {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}}]}}],
  "/spec/resources": [{"requests": {"cpu": "2", "memory": "2Gi"}}, {"limits": {"cpu": "3"}}, {"requests": {"cpu": "-1"}},
    {"requests": {"cpu": "3"}, "limits": {"cpu": "2"}}, {"requests": {"example.com/gpu": "1"}}],
  "/spec/containers/0/resources": [{"limits": {"cpu": "1", "memory": "1Gi"}}, {"requests": {"cpu": "500m", "memory": "512Mi"}},
    {"requests": {"cpu": null}}, {"limits": {"cpu": null}}, {"requests": {"cpu": "-1"}}, {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
    {"requests": {"cpu": 2, "memory": 1e9}}, {"requests": {"cpu": "0.0001", "memory": "100m"}}, {"requests": {"cpu": "much"}},
    {"requests": {"cpu": "1e3", "memory": "1.5Gi", "ephemeral-storage": "1k"}}, {"limits": {"example.com/gpu": "1"}},
    {"requests": {"example.com/gpu": "1"}}, {"limits": {"example.com/gpu": "1.5"}}, {"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "1"}},
    {"requests": {"gpu": "1"}}, {"requests": {"pods": "1"}}, {"limits": {"hugepages-2Mi": "64Mi"}},
    {"limits": {"hugepages-2Mi": "64Mi", "cpu": "1", "memory": "1Gi"}}, {"requests": {"cpu": ""}}, {"requests": {"cpu": true}},
    {"requests": {"cpu": "0"}}, {"limits": {"cpu": "0"}}, {"requests": {"kubernetes.io/x": "1"}}, {"limits": []}],
  "/spec/containers/0/ports": [[{"containerPort": 80}], [{"containerPort": 80, "hostPort": 8080}], [{"containerPort": 0}],
    [{"containerPort": 70000}], [{"containerPort": 80, "protocol": "Odd"}], [{"containerPort": 80, "protocol": "UDP", "hostIP": "10.0.0.1"}],
    [{"containerPort": 80, "hostPort": 81}, {"containerPort": 82, "hostPort": 81}], [{"hostPort": 80}],
    [{"containerPort": 80, "name": "Bad Name"}], [{"containerPort": "80"}]],
  "/spec/containers/0/image": ["", " x", "app", "app:latest"],
  "/spec/containers/1": [{"name": "d", "image": "x", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}],
  "/spec/initContainers": [[{"name": "i", "image": "x", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}],
    [{"name": "i", "image": "x", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}], [{"name": "c", "image": "x"}],
    [{"name": "i", "image": "x", "restartPolicy": "Odd"}]],
  "/spec/volumes": [[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}], [{"name": "v"}],
    [{"name": "v", "persistentVolumeClaim": {}}], [{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}],
    [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}],
    [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": []}}}}], [{"name": "v", "ephemeral": {}}],
    [{"name": "v", "csi": {"driver": "d.example.com"}}], [{"name": "v", "hostPath": {"path": "/x"}}], [{"name": "Bad Name", "emptyDir": {}}],
    [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}]],
  "/spec/serviceAccountName": ["default", "none-such"],
  "/spec/resourceClaims": [[{"name": "r", "resourceClaimName": "c"}], [{"name": "r"}]],
  "/spec/hostname": ["h"],
  "/status": [{"phase": "Running"}]
})"},
    {"Node", "v1", "nodes", false,
     R"({"status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}}})", R"({
  "/spec/unschedulable": [true, false],
  "/spec/taints": [[{"key": "a", "value": "b", "effect": "NoSchedule"}], [{"key": "a", "effect": "Odd"}], [{"key": "a"}],
    [{"key": "bad key!", "effect": "NoSchedule"}], [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}],
    [{"key": "a", "value": "bad value!", "effect": "NoExecute"}], [{"effect": "NoSchedule"}], [{"key": "a", "value": null, "effect": "NoSchedule"}]],
  "/spec/podCIDR": ["10.0.0.0/24"],
  "/spec/providerID": ["x://y"],
  "/status": [null, {}],
  "/status/capacity": [null, {}, {"cpu": "4"}, {"cpu": null}, {"cpu": "-1"}, {"cpu": "0.0001"}, {"cpu": "much"}, {"cpu": 4, "memory": 1e9},
    {"example.com/gpu": "1.5"}, {"gpu": "1"}, {"memory": "1.5Gi"}],
  "/status/allocatable": [null, {}, {"cpu": "3"}, {"cpu": "5"}, {"cpu": null}, {"cpu": "-1"}],
  "/status/conditions": [[{"type": "Ready", "status": "True"}], [{"type": "Ready", "status": "False"}]],
  "/status/images": [[{"names": ["a:1"], "sizeBytes": 5}], [{"names": null, "sizeBytes": 5}]],
  "/status/addresses": [[{"type": "InternalIP", "address": "10.0.0.1"}]],
  "/status/volumesAttached": [[{"name": "v", "devicePath": ""}]],
  "/status/declaredFeatures": [["A", "B"]]
})"},
    {"Namespace", "v1", "namespaces", false, "{}", R"({
  "/metadata/labels": [{"kubernetes.io/metadata.name": "other"}],
  "/metadata/name": ["has.dot"],
  "/spec/finalizers": [["kubernetes"], []],
  "/status": [{"phase": "Terminating"}]
})"},
    {"PersistentVolume", "v1", "persistentvolumes", false,
     R"({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "d.example.com", "volumeHandle": "h"}}})",
     R"({
  "/spec/capacity": [null, {}, {"storage": "0"}, {"storage": "-1"}, {"storage": null}, {"storage": "1.5Gi"}, {"cpu": "1"}],
  "/spec/accessModes": [null, [], ["Odd"], ["ReadWriteOncePod", "ReadWriteOnce"], ["ReadWriteMany"]],
  "/spec/persistentVolumeReclaimPolicy": ["Delete", "Odd"],
  "/spec/volumeMode": ["Block", "Odd"],
  "/spec/storageClassName": ["fast", "none-such"],
  "/spec/csi": [null, {"driver": "d.example.com"}, {"volumeHandle": "h"}],
  "/spec/hostPath": [{"path": "/x"}],
  "/spec/claimRef": [{"namespace": "plain", "name": "c"}, {"name": "c"}],
  "/spec/nodeAffinity": [{"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]}},
    {"required": {"nodeSelectorTerms": []}}, {}],
  "/metadata/labels": [{"topology.kubernetes.io/zone": "z"}],
  "/status": [{"phase": "Available"}]
})"},
    {"PersistentVolumeClaim", "v1", "persistentvolumeclaims", true,
     R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})",
     R"({
  "/spec": [null, {}],
  "/spec/accessModes": [null, [], ["Odd"], ["ReadWriteOncePod"], ["ReadWriteOncePod", "ReadWriteOnce"]],
  "/spec/resources": [null, {"requests": {"storage": "0"}}, {"requests": {"storage": "-1"}}, {"requests": {"storage": null}},
    {"requests": {"storage": "1.5Gi"}}, {"requests": {"storage": "100m"}}, {"requests": {"cpu": "1"}}, {"requests": {"storage": "much"}}],
  "/spec/storageClassName": ["slow", "none-such"],
  "/metadata/annotations": [{"volume.beta.kubernetes.io/storage-class": "slow"}],
  "/spec/volumeName": ["v"],
  "/spec/volumeMode": ["Block", "Odd"],
  "/spec/selector": [{"matchLabels": {"a": "b"}}, {"matchExpressions": [{"key": "a", "operator": "Odd"}]}],
  "/spec/dataSource": [{"kind": "PersistentVolumeClaim", "name": "c"}],
  "/status": [{"phase": "Bound"}]
})"},
    {"StorageClass", "storage.k8s.io/v1", "storageclasses", false,
     R"({"provisioner": "p.example.com"})", R"({
  "/provisioner": [null, "kubernetes.io/no-provisioner", "Bad Name"],
  "/reclaimPolicy": ["Retain", "Recycle"],
  "/volumeBindingMode": ["WaitForFirstConsumer", "Immediate", "Odd"],
  "/allowVolumeExpansion": [true],
  "/parameters": [{"a": "b"}, {"a": null}, {"": "b"}],
  "/mountOptions": [["ro"]],
  "/allowedTopologies": [[{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}],
    [{"matchLabelExpressions": [{"key": "zone", "values": []}]}], [{"matchLabelExpressions": []}],
    [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "a"]}]}]],
  "/metadata/annotations": [{"storageclass.kubernetes.io/is-default-class": "false"}]
})"},
    {"CSINode", "storage.k8s.io/v1", "csinodes", false,
     R"({"spec": {"drivers": [{"name": "d.example.com", "nodeID": "n", "topologyKeys": ["zone"], "allocatable": {"count": 3}}]}})",
     R"({
  "/spec": [null, {}],
  "/spec/drivers": [[], null, [{"name": "d.example.com", "nodeID": ""}], [{"name": "", "nodeID": "n"}],
    [{"name": "d", "nodeID": "n"}, {"name": "d", "nodeID": "m"}]],
  "/spec/drivers/0/allocatable": [{}, {"count": -1}, {"count": 0}],
  "/spec/drivers/0/topologyKeys": [null, ["a", "a"], [""]]
})"},
    {"CSIDriver", "storage.k8s.io/v1", "csidrivers", false, R"({"spec": {}})", R"({
  "/spec/attachRequired": [false], "/spec/storageCapacity": [true], "/spec/podInfoOnMount": [true],
  "/spec/volumeLifecycleModes": [["Ephemeral"], ["Odd"], []],
  "/spec/fsGroupPolicy": ["File", "Odd"],
  "/spec/preventPodSchedulingIfMissing": [true]
})"},
    {"CSIStorageCapacity", "storage.k8s.io/v1", "csistoragecapacities", true,
     R"({"storageClassName": "fast", "capacity": "1Gi", "nodeTopology": {"matchLabels": {"zone": "a"}}})",
     R"({
  "/storageClassName": ["Bad Name"],
  "/capacity": ["1.5Gi", "-1", "0", 5, "much"],
  "/maximumVolumeSize": ["1Gi", "-1"],
  "/nodeTopology": [{}, {"matchExpressions": [{"key": "a", "operator": "Odd"}]}, {"matchLabels": {"a": null}}]
})"},
    {"VolumeAttachment", "storage.k8s.io/v1", "volumeattachments", false,
     R"({"spec": {"attacher": "d.example.com", "nodeName": "node", "source": {"persistentVolumeName": "v"}}})",
     R"({
  "/spec/attacher": [""], "/spec/nodeName": [""], "/spec/source": [{}, null], "/status": [{"attached": true}]
})"},
    {"PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", true,
     R"({"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}})", R"({
  "/spec": [null, {}],
  "/spec/minAvailable": [0, "50%", "150%", "half", null, 2],
  "/spec/maxUnavailable": [1, "50%"],
  "/spec/selector": [{}, null, {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}, {"matchLabels": {"a": null}}],
  "/spec/unhealthyPodEvictionPolicy": ["AlwaysAllow", "Odd"],
  "/status": [{"disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}]
})"},
    {"PriorityClass", "scheduling.k8s.io/v1", "priorityclasses", false, R"({"value": 100})", R"({
  "/value": [0, -5, 1000000001, 3000000000, "5"],
  "/globalDefault": [false, true],
  "/preemptionPolicy": ["Never", "PreemptLowerPriority"],
  "/description": ["d"],
  "/metadata/name": ["system-mine"]
})"},
    {"RuntimeClass", "node.k8s.io/v1", "runtimeclasses", false, R"({"handler": "h"})", R"({
  "/handler": ["Bad Handler", null],
  "/overhead": [{"podFixed": {"cpu": "250m"}}, {"podFixed": {"cpu": "-1"}}, {"podFixed": {"cpu": null}}, {"podFixed": {"gpu": "1"}}],
  "/scheduling": [{"nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": null}}, {"tolerations": [{"key": "a", "operator": "Exists"}]},
    {"tolerations": [{"key": "a", "operator": "Odd"}]}, {"nodeSelector": {"bad key!": "b"}}]
})"},
    {"LimitRange", "v1", "limitranges", true,
     R"({"spec": {"limits": [{"type": "Container", "default": {"cpu": "400m"}, "defaultRequest": {"cpu": "300m"}}]}})",
     R"({
  "/spec/limits": [null, [], [{"type": "example.com/t", "max": {"cpu": "1"}}],
    [{"type": "Container", "max": {"cpu": "4"}, "min": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "5"}}],
    [{"type": "Container", "default": {"example.com/gpu": "2"}, "defaultRequest": {"example.com/gpu": "1"}}], [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "8Mi"}}], [{"type": "Odd"}], [{}],
    [{"type": "Pod", "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "2"}}], [{"type": "Pod", "default": {"cpu": "2"}}],
    [{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}}], [{"type": "PersistentVolumeClaim"}],
    [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}], [{"type": "Container", "max": {"cpu": "1"}, "default": {"cpu": "2"}}],
    [{"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}}], [{"type": "Container", "maxLimitRequestRatio": {"cpu": "0.5"}}],
    [{"type": "Container", "max": {"cpu": "1"}}, {"type": "Container", "max": {"cpu": "2"}}], [{"type": "Container", "max": {"gpu": "1"}}],
    [{"type": "Container", "max": {"cpu": null}}], [{"type": "Container", "max": {"cpu": "much"}}]]
})"},
    {"ResourceQuota", "v1", "resourcequotas", true, R"({"spec": {"hard": {"pods": "3"}}})", R"({
  "/spec/hard": [null, {}, {"requests.cpu": "2", "limits.memory": "4Gi"}, {"pods": "-1"}, {"pods": "1.5"}, {"gpu": "1"},
    {"requests.example.com/gpu": "1"}, {"persistentvolumeclaims": "1", "requests.storage": "1Gi"}],
  "/spec": [{"hard": {"requests.cpu": "1"}, "scopes": ["BestEffort"]}, {"hard": {"pods": "1"}, "scopes": ["BestEffort", "Terminating"]}],
  "/spec/scopes": [["BestEffort"], ["Odd"], ["Terminating", "NotTerminating"]],
  "/status": [{"hard": {"pods": "3"}}]
})"},
    {"Service", "v1", "services", true,
     R"({"spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}})", R"({
  "/spec/selector": [null, {}, {"a": null}, {"bad key!": "x"}], "/spec/ports": [[], [{"port": 0}], [{"port": 80, "protocol": "Odd"}]],
  "/spec/type": ["ClusterIP", "Odd"], "/spec/clusterIP": ["None"]
})"},
    {"ReplicationController", "v1", "replicationcontrollers", true,
     R"({"spec": {"selector": {"app": "web"}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}}})",
     R"({"/spec/replicas": [0, 3, -1], "/spec/selector": [null, {}, {"a": "b"}], "/status": [{"replicas": 2}]})"},
    {"ReplicaSet", "apps/v1", "replicasets", true,
     R"({"spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}}})",
     R"({"/spec/replicas": [0, 3, -1], "/spec/selector": [null, {}, {"matchLabels": {"a": "b"}}], "/status": [{"replicas": 2}]})"},
    {"StatefulSet", "apps/v1", "statefulsets", true,
     R"({"spec": {"serviceName": "s", "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}}})",
     R"({"/spec/replicas": [0, 3, -1], "/spec/selector": [null, {}, {"matchLabels": {"a": "b"}}], "/status": [{"replicas": 2}]})"},
    {"NodeResourceTopology", "topology.node.k8s.io/v1alpha2", "noderesourcetopologies", false,
     R"({"zones": [{"name": "node-0", "type": "Node", "resources": [{"name": "cpu", "capacity": "4", "allocatable": "4", "available": "4"}]}]})",
     R"({"/zones": [null, []], "/zones/0/resources": [null, [{"name": "cpu"}]], "/attributes": [[{"name": "a", "value": "b"}], [{"name": "a"}]],
       "/topologyPolicies": [["SingleNUMANodePodLevel"]]})"},
};

std::string collection_of(const Kind& kind, const std::string& ns) {
  const std::string version = kind.api_version;
  return (version == "v1" ? "/api/v1" : "/apis/" + version) +
         (kind.namespaced ? "/namespaces/" + ns : "") + "/" + kind.plural;
}

json base_of(const Kind& kind, const std::string& name) {
  json object = json::parse(kind.base);
  object["apiVersion"] = kind.api_version;
  object["kind"] = kind.kind;
  object["metadata"]["name"] = name;
  return object;
}

// Sets a field; nothing happens where its parents are of another type.
void set(json& object, const std::string& pointer, const json& value) {
  try {
    object[json::json_pointer(pointer)] = value;
  } catch (const json::exception&) {
    return;
  }
}

}  // namespace

std::vector<CorpusObject> corpus_scene() {
  std::vector<CorpusObject> scene;
  const auto add = [&](const char* kind_name, const char* name, const char* text,
                       const std::string& ns = "plain") {
    const Kind& kind = *std::ranges::find_if(
        kKinds, [&](const Kind& each) { return std::string_view(each.kind) == kind_name; });
    json object = json::parse(text);
    object["apiVersion"] = kind.api_version;
    object["kind"] = kind.kind;
    object["metadata"]["name"] = name;
    scene.push_back({collection_of(kind, ns), kind.kind, std::move(object)});
  };
  for (const char* ns : {"plain", "limited", "roomy", "full", "going"}) add("Namespace", ns, "{}");
  add("Node", "node",
      R"({"metadata": {"labels": {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "a": "b"}}})");
  add("PriorityClass", "high", R"({"value": 1000, "preemptionPolicy": "Never"})");
  add("PriorityClass", "usual", R"({"value": 7, "globalDefault": true})");
  add("RuntimeClass", "plain", R"({"handler": "h"})");
  add("RuntimeClass", "kata",
      R"({"handler": "h", "overhead": {"podFixed": {"cpu": "250m"}}, "scheduling": {
      "nodeSelector": {"vm": "yes"}, "tolerations": [{"key": "vm", "operator": "Exists"}]}})");
  add("StorageClass", "slow", R"({"provisioner": "p.example.com"})");
  add("StorageClass", "fast", R"({"provisioner": "p.example.com",
      "metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}})");
  add("LimitRange", "a", R"({"spec": {"limits": [
      {"type": "Container", "default": {"cpu": "400m"}, "defaultRequest": {"cpu": "300m"}, "max": {"cpu": "1"},
       "maxLimitRequestRatio": {"cpu": "4"}},
      {"type": "Pod", "max": {"cpu": "1500m"}}, {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}]}})",
      "limited");
  add("LimitRange", "b",
      R"({"spec": {"limits": [{"type": "Container", "default": {"memory": "1Gi"},
      "defaultRequest": {"memory": "60Mi"}, "min": {"memory": "8Mi"}}]}})",
      "roomy");
  add("ResourceQuota", "q",
      R"({"spec": {"hard": {"requests.cpu": "2", "limits.memory": "2Gi", "requests.storage": "1Gi"}}})",
      "full");
  return scene;
}

std::vector<CorpusObject> random_corpus(std::uint64_t seed, int each) {
  std::mt19937_64 random(seed);
  const json odd = json::parse(kOdd);
  std::vector<CorpusObject> corpus;
  const auto push = [&](const Kind& kind, const std::string& ns, json object) {
    corpus.push_back({collection_of(kind, ns), kind.kind, std::move(object)});
  };
  const auto name = [&] { return "x-" + std::to_string(corpus.size()); };
  for (const Kind& kind : kKinds) {
    json fields = json::parse(kMetadata);
    const json own = json::parse(kind.fields);
    for (const auto& [pointer, values] : own.items()) {
      for (const json& value : values) fields[pointer].push_back(value);
    }
    for (const auto& [pointer, values] : fields.items()) {
      for (const json& value : values) {
        json object = base_of(kind, name());
        set(object, pointer, value);
        push(kind, "plain", std::move(object));
      }
      for (const json& value : odd) {
        json object = base_of(kind, name());
        set(object, pointer, value);
        push(kind, "plain", std::move(object));
      }
    }
    for (const char* ns : {"going", "absent"}) {
      if (kind.namespaced) push(kind, ns, base_of(kind, name()));
    }
    for (int i = 0; i < each; ++i) {
      json object = base_of(kind, name());
      for (std::uint64_t change = random() % 4; change > 0; --change) {
        auto field = fields.begin();
        std::advance(field, random() % fields.size());
        const json& values = *field;
        set(object, field.key(), values[random() % values.size()]);
      }
      const bool scoped = std::string_view(kind.kind) == "Pod" ||
                          std::string_view(kind.kind) == "PersistentVolumeClaim";
      const char* const places[] = {"plain", "limited", "roomy", "full"};
      push(kind, scoped ? places[random() % 4] : "plain", std::move(object));
    }
  }
  return corpus;
}

std::vector<CorpusObject> example_corpus() {
  std::vector<CorpusObject> corpus;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("examples/clusters")) {
    const std::string name = entry.path().filename().string();
    if (name == "cluster.yaml" || name == "pods.yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const auto& file : files) {
    const auto documents = read_yaml(file);
    if (!documents) continue;
    for (json object : *documents) {
      const auto kind = std::ranges::find_if(kKinds, [&](const Kind& each) {
        return object.value("kind", "") == each.kind &&
               object.value("apiVersion", "") == each.api_version;
      });
      if (kind == std::end(kKinds)) continue;
      object["metadata"]["name"] = "e-" + std::to_string(corpus.size());
      object["metadata"].erase("namespace");
      corpus.push_back({collection_of(*kind, "plain"), kind->kind, std::move(object)});
    }
  }
  return corpus;
}

}  // namespace plimsoll::test
