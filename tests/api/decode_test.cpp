#include "framework/api/decode/decode.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/views.hpp>
#include <random>

#include "framework/api/symbols.hpp"

namespace plimsoll {
namespace {

using sdk::Labels;
using sdk::List;
using sdk::Resources;
using ::testing::HasSubstr;

constexpr std::string_view kPod = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {
    "name": "web-1", "namespace": "shop", "uid": "u-1", "resourceVersion": "42",
    "labels": {"tier": "front", "app": "web"},
    "annotations": {"a": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
    "creationTimestamp": "2024-02-29T12:00:00Z",
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web",
                         "uid": "o-1", "controller": true}]
  },
  "spec": {
    "schedulerName": "topo", "priority": 7, "nodeSelector": {"disk": "ssd"},
    "initContainers": [
      {"name": "setup", "resources": {"requests": {"cpu": "2"}}},
      {"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}}],
    "containers": [
      {"name": "main", "image": "web:1", "ports": [{"containerPort": 80, "hostPort": 8080}],
       "resources": {"requests": {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": 1},
                     "limits": {"nvidia.com/gpu": "1"}}}],
    "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
      "nodeSelectorTerms": [{"matchExpressions": [
        {"key": "zone", "operator": "In", "values": ["a", "b"]}]}]}}},
    "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone",
      "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}],
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c", "readOnly": true}},
                {"name": "cfg", "configMap": {"name": "m"}}],
    "schedulingGates": [{"name": "g"}]
  },
  "status": {"phase": "Pending", "nominatedNodeName": "n9",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                    "message": "0/3 nodes"}]}
})";

TEST(DecodePod, ReadsEveryFieldThatSchedulingUses) {
  SymbolTable symbols;
  auto decoded = decode_pod(kPod, symbols);
  ASSERT_TRUE(decoded) << decoded.error().message;
  const plimsoll_pod& pod = **decoded;
  EXPECT_EQ(pod.size, sizeof(plimsoll_pod));
  EXPECT_EQ(full_name(pod), "shop/web-1");
  EXPECT_EQ(view(pod.meta.uid), "u-1");
  EXPECT_EQ(view(pod.meta.resource_version), "42");
  EXPECT_EQ(pod.meta.creation_ms, 1709208000000);
  EXPECT_EQ(Labels(pod.meta.labels).get("app"), "web");
  EXPECT_EQ(Labels(pod.meta.labels).size(), 2u);
  EXPECT_EQ(Labels(pod.meta.annotations).size(), 1u);
  EXPECT_EQ(List<plimsoll_owner>(pod.meta.owners)[0].controller, 1u);
  EXPECT_EQ(pod.priority, 7);
  EXPECT_EQ(view(pod.scheduler_name), "topo");
  EXPECT_EQ(view(pod.nominated_node_name), "n9");
  EXPECT_EQ(view(pod.scheduled_message), "0/3 nodes");
  EXPECT_EQ(pod.qos, PLIMSOLL_QOS_BURSTABLE);

  EXPECT_EQ(Resources(pod.requests).amount("cpu"), 2000);  // the init container's peak
  EXPECT_EQ(Resources(pod.requests).amount("memory"), int64_t{1} << 30);
  EXPECT_EQ(Resources(pod.used).amount("nvidia.com/gpu"), 1);
  EXPECT_EQ(pod.nonzero_cpu, 2000);

  const List<plimsoll_container> init = pod.init_containers;
  ASSERT_EQ(init.size(), 2u);
  EXPECT_EQ(init[0].kind, uint32_t{PLIMSOLL_CONTAINER_INIT});
  EXPECT_EQ(init[1].kind, uint32_t{PLIMSOLL_CONTAINER_SIDECAR});
  const plimsoll_container& main = List<plimsoll_container>(pod.containers)[0];
  const plimsoll_host_port& port = List<plimsoll_host_port>(main.ports)[0];
  EXPECT_EQ(port.port, 8080);
  EXPECT_EQ(view(port.ip), "0.0.0.0");
  EXPECT_EQ(view(port.protocol), "TCP");

  ASSERT_NE(pod.node_affinity, nullptr);
  EXPECT_EQ(pod.pod_affinity, nullptr);
  const auto& term = List<plimsoll_node_selector_term>(pod.node_affinity->required)[0];
  const auto& zone = List<plimsoll_requirement>(term.expressions)[0];
  EXPECT_EQ(zone.op, uint32_t{PLIMSOLL_OP_IN});
  EXPECT_EQ(view(List<plimsoll_str>(zone.values)[1]), "b");
  const auto& spread = List<plimsoll_spread_constraint>(pod.spread_constraints)[0];
  EXPECT_EQ(spread.max_skew, 2);
  EXPECT_EQ(spread.do_not_schedule, 1);
  EXPECT_EQ(spread.selector.present, 1u);
  const List<plimsoll_volume> volumes = pod.volumes;
  EXPECT_EQ(view(volumes[0].kind), "persistentVolumeClaim");
  EXPECT_EQ(view(volumes[0].target), "c");
  EXPECT_EQ(volumes[0].read_only, 1u);
  EXPECT_EQ(view(volumes[1].kind), "configMap");
  EXPECT_EQ(view(List<plimsoll_str>(pod.scheduling_gates)[0]), "g");
}

// kind, target and details of the only volume of a pod, as "kind|target|detail|detail".
std::string read_volume(std::string_view source) {
  SymbolTable symbols;
  const auto decoded =
      decode_pod(R"({"metadata": {"name": "p"}, "spec": {"volumes": [{"name": "v", )" +
                     std::string(source) + "}]}}",
                 symbols);
  if (!decoded) return decoded.error().message;
  const plimsoll_volume& volume = List<plimsoll_volume>((*decoded)->volumes)[0];
  std::string text = std::string(view(volume.kind)) + "|" + std::string(view(volume.target));
  for (const plimsoll_str& detail : List<plimsoll_str>(volume.details)) {
    text += "|" + std::string(view(detail));
  }
  return text;
}

TEST(DecodePod, SaysWhichVolumeASourceNames) {
  EXPECT_EQ(read_volume(R"("gcePersistentDisk": {"pdName": "d", "kind": "x"})"),
            "gcePersistentDisk|d");
  EXPECT_EQ(read_volume(R"("awsElasticBlockStore": {"volumeID": "vol-1"})"),
            "awsElasticBlockStore|vol-1");
  EXPECT_EQ(read_volume(R"("iscsi": {"iqn": "q", "lun": 1})"), "iscsi|q");
  EXPECT_EQ(read_volume(R"("rbd": {"image": "i", "monitors": ["a", "b"], "pool": "p"})"),
            "rbd|p/i|p|i|a|b");
  EXPECT_EQ(read_volume(R"("rbd": {"image": "i"})"), "rbd|rbd/i|rbd|i");
  EXPECT_EQ(read_volume(R"("azureDisk": {"diskURI": "u", "diskName": "n"})"), "azureDisk|u");
  EXPECT_EQ(read_volume(R"("azureDisk": {"diskURI": "u", "kind": "Managed"})"),
            "azureDisk|u|Managed");
  EXPECT_EQ(read_volume(R"("cinder": {"volumeID": "c"})"), "cinder|c");
  EXPECT_EQ(read_volume(R"("portworxVolume": {"volumeID": "x"})"), "portworxVolume|x");
  EXPECT_EQ(read_volume(R"("vsphereVolume": {"volumePath": "[ds] v"})"), "vsphereVolume|[ds] v");
  EXPECT_EQ(read_volume(R"("azureFile": {"shareName": "s"})"), "azureFile|");
  EXPECT_EQ(read_volume(R"("csi": {"driver": "d"})"), "csi|d");
  EXPECT_THAT(read_volume(R"("rbd": {"monitors": "a"})"),
              HasSubstr("spec.volumes[0].rbd.monitors"));
}

TEST(DecodePod, NamesTheClaimsThatWereMadeForIt) {
  SymbolTable symbols;
  auto decoded = decode_pod(R"({"metadata": {"name": "p"},
      "status": {"resourceClaimStatuses": [{"name": "nic", "resourceClaimName": "p-nic-x"},
          {"name": "none", "resourceClaimName": null}, {"name": "nic", "resourceClaimName": "second"},
          {"name": "gpu", "resourceClaimName": "not this"}],
        "extendedResourceClaimStatus": {"resourceClaimName": "p-extended",
                                        "requestMappings": [{"containerName": "c"}]}},
      "spec": {"resourceClaims": [
        {"name": "gpu", "resourceClaimName": "shared"},
        {"name": "nic", "resourceClaimTemplateName": "t"},
        {"name": "none", "resourceClaimTemplateName": "t"},
        {"name": "soon", "resourceClaimTemplateName": "t"}]}})",
                            symbols);
  ASSERT_TRUE(decoded) << decoded.error().message;
  const plimsoll_pod& pod = **decoded;
  std::vector<std::string> claims;
  for (const plimsoll_pod_claim& claim : List<plimsoll_pod_claim>(pod.claims)) {
    claims.push_back(std::string(view(claim.name)) + "=" + std::string(view(claim.claim)) + "/" +
                     std::string(view(claim.template_name)) + "/" + std::to_string(claim.needless));
  }
  EXPECT_THAT(claims,
              ::testing::ElementsAre("gpu=shared//0", "nic=p-nic-x/t/0", "none=/t/1", "soon=/t/0"));
  EXPECT_EQ(pod.resource_claims.count, 4U);
  EXPECT_EQ(view(pod.extended_claim), "p-extended");
}

TEST(DecodePod, CountsWhatItsClaimsAreOfTheNode) {
  SymbolTable symbols;
  auto decoded = decode_pod(R"({"metadata": {"name": "p"},
      "spec": {"schedulingGroup": {"podGroupName": "team"},
        "overhead": {"cpu": "250m"},
        "initContainers": [{"name": "i", "resources": {"claims": [{"name": "cpus"}]}}],
        "containers": [
          {"name": "a", "resources": {"claims": [{"name": "cpus"}, {"name": "gpu", "request": "r"}],
                                      "requests": {"cpu": "1", "memory": "1Gi"}}},
          {"name": "b", "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "g"},
                           {"name": "cpus", "resourceClaimName": "c"}, {"name": "idle"}]},
      "status": {"nodeAllocatableResourceClaimStatuses": [
        {"resourceClaimName": "c", "containers": ["i", "a"],
         "mapping": [{"name": "cpu", "quantity": "2500m"}]},
        {"overhead": [{"name": "memory", "perPod": "1Mi", "perContainer": "1500m"}],
         "containers": ["a", "b", "x"], "resourceClaimName": "g"}]}})",
                            symbols);
  ASSERT_TRUE(decoded) << decoded.error().message;
  const plimsoll_pod& pod = **decoded;
  EXPECT_EQ(view(pod.group), "team");
  std::vector<std::string> claims;
  for (const plimsoll_pod_claim& claim : List<plimsoll_pod_claim>(pod.claims)) {
    claims.push_back(std::string(view(claim.name)) + ":");
    for (const plimsoll_str& user : List<plimsoll_str>(claim.containers))
      claims.back() += " " + std::string(view(user));
  }
  EXPECT_THAT(claims, ::testing::ElementsAre("gpu: a b", "cpus: i a", "idle:"));
  std::vector<std::string> amounts;
  for (const auto& amount : List<plimsoll_claim_amount>(pod.claim_amounts)) {
    amounts.push_back(std::string(view(amount.claim)) + " " + std::string(view(amount.resource)) +
                      " " + std::to_string(amount.mapped) + "+" + std::to_string(amount.overhead));
  }
  const int64_t memory = (int64_t{1} << 20) + 5;  // 4.5 bytes, rounded up
  EXPECT_THAT(amounts,
              ::testing::ElementsAre("c cpu 2500+0", "g memory 0+" + std::to_string(memory)));
  const List<plimsoll_resource> requests(pod.requests);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].value, 1000 + 2500 + 250);
  EXPECT_EQ(requests[1].value, memory + (int64_t{1} << 30));
}

TEST(DecodePod, TakesAmountsInsteadOfItsOwn) {
  SymbolTable symbols;
  const auto sums = [](const plimsoll_pod& pod) {
    std::string text;
    for (const auto& each : List<plimsoll_resource>(pod.used))
      text += std::string(view(each.name)) + "=" + std::to_string(each.value) + " ";
    return text + std::to_string(pod.nonzero_cpu) + " " + std::to_string(pod.nonzero_memory);
  };
  auto pod = decode_pod(R"({"metadata": {"name": "p"}, "spec": {"containers": [
      {"name": "a", "resources": {"requests": {"cpu": "1", "memory": "4"}}}]},
      "status": {"nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "old",
        "mapping": [{"name": "cpu", "quantity": "7"}]}]}})",
                        symbols);
  ASSERT_TRUE(pod);
  ASSERT_EQ(sums(**pod), "cpu=8000 memory=4 8000 4");
  const std::vector<plimsoll_claim_amount> amounts{
      {sdk::str("c"), sdk::str("cpu"), 2000, 100},
      {sdk::str("c"), sdk::str("hugepages-2Mi"), 1 << 21, 0}};
  const plimsoll_list list{amounts.data(), 2, sizeof(plimsoll_claim_amount)};
  const PodRef amended = with_claim_amounts(*pod, list, symbols);
  EXPECT_EQ(sums(*amended), "cpu=3100 memory=4 hugepages-2Mi=2097152 3100 4");
  EXPECT_EQ(sums(*with_claim_amounts(amended, {}, symbols)),
            "cpu=1000 memory=4 hugepages-2Mi=0 1000 4");
  // Pod-level requests cover what the claims are.
  auto covered = decode_pod(R"({"metadata": {"name": "p"}, "spec": {
      "resources": {"requests": {"cpu": "5"}}, "containers": [{"name": "a"}]}})",
                            symbols);
  ASSERT_TRUE(covered);
  EXPECT_EQ(sums(*with_claim_amounts(*covered, list, symbols)).substr(0, 9), "cpu=5000 ");
}

TEST(DecodeNode, ReadsEveryFieldThatSchedulingUses) {
  SymbolTable symbols;
  auto decoded = decode_node(R"({"metadata": {"name": "n1", "labels": {"zone": "a"}},
    "spec": {"unschedulable": true, "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]},
    "status": {"capacity": {"cpu": "4"}, "allocatable": {"pods": 110, "cpu": "3500m"},
      "images": [{"names": ["a", "b"], "sizeBytes": 12}],
      "conditions": [{"type": "Ready", "status": "True"}], "declaredFeatures": ["F"]}})",
                             symbols);
  ASSERT_TRUE(decoded) << decoded.error().message;
  const plimsoll_node& node = **decoded;
  EXPECT_EQ(node.unschedulable, 1u);
  EXPECT_EQ(view(node.meta.name), "n1");
  EXPECT_EQ(view(*Labels(node.meta.labels).find("zone")), "a");
  EXPECT_EQ(List<plimsoll_taint>(node.taints)[0].effect, uint32_t{PLIMSOLL_EFFECT_NO_EXECUTE});
  EXPECT_EQ(Resources(node.allocatable).amount("cpu"), 3500);
  EXPECT_EQ(Resources(node.allocatable).amount(uint32_t{PLIMSOLL_RESOURCE_PODS}), 110);
  EXPECT_EQ(Resources(node.capacity).amount("cpu"), 4000);
  EXPECT_EQ(List<plimsoll_image>(node.images)[0].bytes, 12);
  EXPECT_EQ(view(List<plimsoll_condition>(node.conditions)[0].type), "Ready");
  EXPECT_EQ(view(List<plimsoll_str>(node.declared_features)[0]), "F");
}

TEST(DecodePod, TextsThatManyObjectsHaveGoWithTheLastOne) {
  SymbolTable symbols;
  const std::string json = R"({"metadata": {"name": "p", "namespace": "a-namespace",
      "labels": {"a-key": "a-value"}}, "spec": {"nodeName": "n", "tolerations": [{"key": "t"}]}})";
  PodRef first = *decode_pod(json, symbols);
  PodRef second = *decode_pod(json, symbols);
  EXPECT_EQ(first->meta.ns.data, second->meta.ns.data);
  const PodRef copy = assigned_copy(first, "m");
  first.reset();
  second.reset();
  EXPECT_EQ(view(copy->meta.ns), "a-namespace");
  EXPECT_NE(symbols.shared_count(), 0u);
}

TEST(DecodePod, AmountsThatAKubeletCannotHoldAreMarkedAndRoundedUp) {
  SymbolTable symbols(0);
  // 1.1Gi as the API server sends it; 1000m it sends as 1; cpu counts in thousandths.
  const PodRef pod = *decode_pod(R"({"metadata": {"name": "p", "uid": "u"}, "spec": {
      "containers": [{"name": "c", "resources": {"requests":
        {"cpu": "1500m", "memory": "1181116006400m", "ephemeral-storage": "1000m"}}},
        {"name": "d", "resources": {"requests":
        {"cpu": "1", "memory": "1.1Gi", "ephemeral-storage": "1.5Gi"}}}]}})",
                                 symbols);
  for (const plimsoll_container& container : List<plimsoll_container>(pod->containers)) {
    const Resources requests = container.requests;
    EXPECT_EQ(requests.find("cpu")->flags, 0U);
    EXPECT_EQ(requests.find("memory")->flags, uint32_t{PLIMSOLL_RESOURCE_NOT_INT64});
    EXPECT_EQ(requests.find("memory")->value, 1181116007);
    EXPECT_EQ(requests.find("ephemeral-storage")->flags, 0U);
  }
}

TEST(DecodePod, WhatNoNodeNamesGetsItsPositionWhenOneDoes) {
  SymbolTable symbols(0);
  const PodRef pod = *decode_pod(R"({"metadata": {"name": "p", "uid": "u"}, "spec": {
      "overhead": {"example.com/b": "1"},
      "containers": [{"name": "c", "resources": {"requests":
        {"cpu": "1", "example.com/b": "2", "example.com/a": "3"}}}]}})",
                                 symbols);
  constexpr uint32_t kNowhere = PLIMSOLL_RESOURCE_OF_NO_NODE;
  EXPECT_TRUE(has_unplaced(*pod));
  const Resources requests = pod->requests;
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].index, uint32_t{PLIMSOLL_RESOURCE_CPU});
  EXPECT_EQ(requests[1].index, kNowhere);
  EXPECT_EQ(view(requests[1].name), "example.com/a");
  EXPECT_EQ(requests[2].index, kNowhere);
  EXPECT_EQ(reindexed(pod, symbols), pod);

  const uint32_t b = symbols.resource_index("example.com/b");
  PodRef now = reindexed(pod, symbols);
  ASSERT_NE(now, pod);
  EXPECT_TRUE(has_unplaced(*now));
  EXPECT_EQ(Resources(now->requests).find("example.com/b")->index, b);
  EXPECT_EQ(Resources(now->requests).amount(b), 3);
  EXPECT_EQ(Resources(now->used).amount(b), 3);
  EXPECT_EQ(Resources(now->overhead).amount(b), 1);
  const auto container = List<plimsoll_container>(now->containers)[0];
  EXPECT_EQ(Resources(container.requests).amount(b), 2);
  EXPECT_EQ(Resources(container.requests)[2].index, kNowhere) << "those come last";
  EXPECT_EQ(Resources(pod->requests)[2].index, kNowhere) << "others may hold the old one";

  const uint32_t a = symbols.resource_index("example.com/a");
  now = reindexed(now, symbols);
  EXPECT_FALSE(has_unplaced(*now));
  EXPECT_EQ(Resources(now->requests).amount(a), 3);
  EXPECT_EQ(Resources(now->requests).amount(b), 3);
}

TEST(AssignedCopy, IsTheSamePodOnANode) {
  SymbolTable symbols;
  PodRef pod = *decode_pod(kPod, symbols);
  const PodRef copy = assigned_copy(pod, std::string("n") + "7");
  EXPECT_EQ(view(copy->node_name), "n7");
  EXPECT_EQ(view(pod->node_name), "");
  EXPECT_EQ(full_name(*copy), "shop/web-1");
  EXPECT_EQ(copy->node_affinity, pod->node_affinity) << "what does not differ is shared";
  pod.reset();
  EXPECT_EQ(full_name(*copy), "shop/web-1") << "and lives as long as the copy";
  EXPECT_EQ(Resources(copy->requests).amount("cpu"), 2000);
}

}  // namespace
}  // namespace plimsoll
