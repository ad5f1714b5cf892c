#include "tests/api/protobuf_encode.hpp"

#include <plimsoll/time_text.hpp>

#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>
#include <stdexcept>

#include "framework/api/decode/decoder.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string quantity(const json& value) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_string(1, value.is_null() ? "0" : text_of(value));
  return bytes;
}

void add(protozero::pbf_writer& writer, uint32_t number, const ProtoField& field,
         const json& value) {
  switch (field.kind) {
    case ProtoKind::kText:
      writer.add_string(number, value.get<std::string>());
      return;
    case ProtoKind::kInteger:
      writer.add_int64(number,
                       value.is_boolean() ? int64_t{value.get<bool>()} : value.get<int64_t>());
      return;
    case ProtoKind::kQuantity:
      writer.add_message(number, quantity(value));
      return;
    case ProtoKind::kTime: {
      const auto ms = sdk::parse_time(value.get<std::string>());
      if (!ms) throw std::runtime_error("not a time");
      std::string bytes;
      protozero::pbf_writer time(bytes);
      time.add_int64(1, *ms / 1000);
      time.add_int32(2, 0);
      writer.add_message(number, bytes);
      return;
    }
    case ProtoKind::kMessage:
      writer.add_message(number, encode_protobuf(value, *field.message));
      return;
  }
}

}  // namespace

std::string encode_protobuf(const json& object, const ProtoMessage& message) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (const ProtoField& field : message.fields) {
    if (field.shape == ProtoShape::kInline) {
      writer.add_message(field.number, encode_protobuf(object, *field.message));
      continue;
    }
    const auto found = object.find(field.name);
    if (found == object.end() || found->is_null()) continue;
    if (field.shape == ProtoShape::kMany) {
      for (const json& item : *found) add(writer, field.number, field, item);
    } else if (field.shape == ProtoShape::kMap) {
      for (const auto& [key, value] : found->items()) {
        std::string entry;
        protozero::pbf_writer entry_writer(entry);
        entry_writer.add_string(1, key);
        add(entry_writer, 2, field, value);
        writer.add_message(field.number, entry);
      }
    } else {
      add(writer, field.number, field, *found);
    }
  }
  return bytes;
}

json whole_pod() {
  return json::parse(R"({
    "metadata": {"name": "web-1", "namespace": "shop", "uid": "u-1", "resourceVersion": "42",
      "generation": 3, "labels": {"tier": "front", "app": "web"}, "annotations": {"a": "x"},
      "creationTimestamp": "2024-02-29T12:00:00Z", "deletionTimestamp": "2024-03-01T00:00:00Z",
      "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web",
                           "uid": "o-1", "controller": true}]},
    "spec": {"schedulerName": "topo", "priority": -7, "nodeName": "n1", "hostNetwork": true,
      "priorityClassName": "high", "runtimeClassName": "kata", "preemptionPolicy": "Never",
      "nodeSelector": {"disk": "ssd"}, "overhead": {"cpu": "10m"},
      "resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "4"}},
      "hostUsers": false,
      "initContainers": [{"name": "proxy", "restartPolicy": "Always",
                          "restartPolicyRules": [{"action": "RestartAllContainers"}],
                          "resources": {"requests": {"cpu": "100m"}}}],
      "schedulingGroup": {"podGroupName": "g"},
      "containers": [{"name": "main", "image": "web:1",
        "volumeMounts": [{"name": "data", "mountPath": "/d", "bindMountOptions": ["noexec"]}],
        "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1", "protocol": "UDP"}],
        "resources": {"requests": {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": "1"},
                      "claims": [{"name": "gpu"}, {"name": "nic", "request": "r"}],
                      "limits": {"nvidia.com/gpu": "1"}}}],
      "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
      "affinity": {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}],
             "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]},
          "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference":
            {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["3"]}]}}]},
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
          {"topologyKey": "host", "namespaces": ["a"], "labelSelector": {"matchLabels": {"x": "y"}},
           "namespaceSelector": {}}]},
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
          {"weight": 9, "podAffinityTerm": {"topologyKey": "host"}}]}},
      "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone", "minDomains": 3,
        "whenUnsatisfiable": "DoNotSchedule", "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["h"],
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}],
      "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c", "readOnly": true}},
                  {"name": "files", "image": {"reference": "files:1"}},
                  {"name": "disk", "rbd": {"image": "i", "pool": "p", "monitors": ["m1", "m2"],
                                           "readOnly": true}},
                  {"name": "azure", "azureDisk": {"diskURI": "u", "kind": "Managed"}},
                  {"name": "cinder", "cinder": {"volumeID": "v", "readOnly": true}},
                  {"name": "px", "portworxVolume": {"volumeID": "v"}},
                  {"name": "vs", "vsphereVolume": {"volumePath": "p"}},
                  {"name": "inline", "csi": {"driver": "d", "readOnly": true}},
                  {"name": "cfg", "configMap": {"name": "m"}}],
      "schedulingGates": [{"name": "g"}], "resourceClaims": [
        {"name": "gpu", "resourceClaimName": "shared"}, {"name": "nic", "resourceClaimTemplateName": "t"},
        {"name": "none", "resourceClaimTemplateName": "t"}, {"name": "soon", "resourceClaimTemplateName": "t"}]},
    "status": {"phase": "Running", "reason": "NodeLost", "qosClass": "Burstable", "nominatedNodeName": "n9",
      "startTime": "2024-02-29T12:00:01Z",
      "resourceClaimStatuses": [{"name": "nic", "resourceClaimName": "web-1-nic"}, {"name": "none"}],
      "extendedResourceClaimStatus": {"resourceClaimName": "web-1-extended"},
      "nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "shared", "containers": ["main"],
        "mapping": [{"name": "cpu", "quantity": "2"}],
        "overhead": [{"name": "memory", "perPod": "1Mi", "perContainer": "2500m"}]}],
      "allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "2"}},
      "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "1"},
                             "resources": {"requests": {"cpu": "1700m"}}}],
      "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3"},
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}})");
}

}  // namespace plimsoll::test
