// Objects read from protobuf are the same as those read from JSON: for every pod and node of the
// recorded vectors, encoded by the schema that the reader itself goes by. That the schema's numbers
// are Kubernetes' is shown against a real API server (tests/kube/protobuf_test.cpp).

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>
#include <random>

#include "framework/api/decode.hpp"
#include "framework/api/decoder.hpp"
#include "framework/api/protobuf_schema.hpp"
#include "framework/api/symbols.hpp"
#include "tests/api/describe.hpp"
#include "tests/conformance/vector_file.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll {
namespace {

using nlohmann::json;

std::string encode(const json& object, const ProtoMessage& message);

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
      int64_t ms = 0;
      if (!parse_time(value.get<std::string>(), &ms)) throw std::runtime_error("not a time");
      std::string bytes;
      protozero::pbf_writer time(bytes);
      time.add_int64(1, ms / 1000);
      time.add_int32(2, 0);
      writer.add_message(number, bytes);
      return;
    }
    case ProtoKind::kMessage:
      writer.add_message(number, encode(value, *field.message));
      return;
  }
}

std::string encode(const json& object, const ProtoMessage& message) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (const ProtoField& field : message.fields) {
    if (field.shape == ProtoShape::kInline) {
      writer.add_message(field.number, encode(object, *field.message));
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

template <typename Ref>
using Decode = Result<Ref> (*)(std::string_view, SymbolTable&, Encoding);

// Compares the two readings of one object; false if JSON itself cannot be read.
template <typename Ref>
bool same(const json& object, const ProtoMessage& message, Decode<Ref> decode) {
  SymbolTable symbols;
  const auto from_json = decode(object.dump(), symbols, Encoding::kJson);
  if (!from_json) return false;
  std::string bytes;
  try {
    bytes = encode(object, message);
  } catch (const std::exception&) {
    return false;  // JSON takes a number for a text here and there, protobuf cannot
  }
  const auto from_protobuf = decode(bytes, symbols, Encoding::kProtobuf);
  EXPECT_TRUE(from_protobuf) << from_protobuf.error().message << "\n" << object.dump();
  if (from_protobuf) {
    EXPECT_EQ(test::describe(**from_json), test::describe(**from_protobuf)) << object.dump();
  }
  return true;
}

bool same_pod(const json& pod) {
  return same<PodRef>(pod, kPodMessage, decode_pod);
}
bool same_node(const json& node) {
  return same<NodeRef>(node, kNodeMessage, decode_node);
}

TEST(Protobuf, EveryRecordedObjectReadsLikeItsJson) {
  size_t pods = 0;
  size_t nodes = 0;
  size_t lines = 0;
  for (const char* file : {"fit", "selectors", "qos_requests", "device"}) {
    const auto read = conformance::for_each_line(
        std::string(PLIMSOLL_VECTORS) + "/" + file + ".jsonl.gz", [&](std::string_view line) {
          if (lines++ % 5 != 0) return true;  // enough of each kind
          const json vector = json::parse(line);
          for (const char* key : {"pod", "existingPods", "pods"}) {
            if (!vector.contains(key)) continue;
            const json& value = vector[key];
            for (const json& pod : value.is_array() ? value : json::array({value})) {
              if (pod.is_object() && pod.contains("spec")) pods += same_pod(pod);
            }
          }
          if (vector.contains("nodes") && vector["nodes"].is_array()) {
            for (const json& node : vector["nodes"]) {
              if (node.is_object()) nodes += same_node(node);
            }
          }
          return !::testing::Test::HasFailure();
        });
    ASSERT_TRUE(read) << read.error().message;
  }
  EXPECT_GT(pods, 1000U);
  EXPECT_GT(nodes, 1000U);
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
      "initContainers": [{"name": "proxy", "restartPolicy": "Always",
                          "resources": {"requests": {"cpu": "100m"}}}],
      "containers": [{"name": "main", "image": "web:1",
        "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1", "protocol": "UDP"}],
        "resources": {"requests": {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": "1"},
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
                  {"name": "disk", "rbd": {"image": "i", "pool": "p"}},
                  {"name": "cfg", "configMap": {"name": "m"}}],
      "schedulingGates": [{"name": "g"}], "resourceClaims": [{"name": "gpu"}]},
    "status": {"phase": "Running", "reason": "NodeLost", "qosClass": "Burstable", "nominatedNodeName": "n9",
      "startTime": "2024-02-29T12:00:01Z",
      "allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "2"}},
      "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "1"},
                             "resources": {"requests": {"cpu": "1700m"}}}],
      "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3"},
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}})");
}

TEST(Protobuf, APodWithEverythingReadsLikeItsJson) {
  EXPECT_TRUE(same_pod(whole_pod()));
}

TEST(Protobuf, ErrorsNameTheField) {
  SymbolTable symbols;
  json pod = whole_pod();
  pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "lots";
  const auto decoded = decode_pod(encode(pod, kPodMessage), symbols, Encoding::kProtobuf);
  ASSERT_FALSE(decoded);
  EXPECT_NE(decoded.error().message.find("spec.containers[0].resources.requests[cpu]: "),
            std::string::npos)
      << decoded.error().message;
  EXPECT_FALSE(decode_pod("", symbols, Encoding::kProtobuf)) << "no name";
}

// Whatever arrives: an error or an object, never a crash, never a byte beyond the end.
TEST(Protobuf, DamagedBytesNeverCrash) {
  std::mt19937 random(test::test_seed());
  const std::string whole = encode(whole_pod(), kPodMessage);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole.substr(0, random() % (whole.size() + 1));
    for (unsigned changes = random() % 4; changes > 0 && !bytes.empty(); --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const std::string exact(bytes);  // its own allocation, for the address sanitizer
    SymbolTable symbols;
    const auto pod = decode_pod(exact, symbols, Encoding::kProtobuf);
    EXPECT_TRUE(pod || !pod.error().message.empty());
    const auto node = decode_node(exact, symbols, Encoding::kProtobuf);
    EXPECT_TRUE(node || !node.error().message.empty());
  }
}

}  // namespace
}  // namespace plimsoll
