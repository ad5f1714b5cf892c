#include "lab/sandbox/kubelet/node_admission.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "node/report/node_report.hpp"
#include "plugins/topology/report/fingerprint.hpp"
#include "plugins/topology/report/nrt_object.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;
using topology::pod_fingerprint;

json zone(int id, const std::string& cpu, const std::string& memory,
          const std::string& gpus = "0") {
  const auto resource = [](const char* name, const std::string& amount) {
    return json{
        {"name", name}, {"capacity", amount}, {"allocatable", amount}, {"available", amount}};
  };
  json resources = json::array({resource("cpu", cpu), resource("memory", memory)});
  if (gpus != "0") resources.push_back(resource("nvidia.com/gpu", gpus));
  return {{"name", "node-" + std::to_string(id)}, {"type", "Node"}, {"resources", resources}};
}

// Lists are vectors: of {one value} GCC makes a JSON array and clang that value itself.
json nrt(const std::string& policy, const std::string& scope, const std::vector<json>& zones) {
  return {{"zones", zones},
          {"attributes",
           {{{"name", "topologyManagerPolicy"}, {"value", policy}},
            {{"name", "topologyManagerScope"}, {"value", scope}}}}};
}

const json kNode = {
    {"metadata", {{"name", "n"}}},
    {"status",
     {{"allocatable",
       {{"cpu", "16"}, {"memory", "32Gi"}, {"pods", "4"}, {"nvidia.com/gpu", "2"}}}}}};

json container(const char* cpu, const char* memory, const char* gpus = nullptr) {
  json limits = {{"cpu", cpu}, {"memory", memory}};
  if (gpus != nullptr) limits["nvidia.com/gpu"] = gpus;
  return {{"name", "c"}, {"resources", {{"limits", limits}, {"requests", limits}}}};
}

json pod(const std::string& uid, const std::vector<json>& containers,
         const std::vector<json>& init = {}) {
  return {{"metadata", {{"uid", uid}, {"name", uid}, {"namespace", "d"}}},
          {"spec", {{"containers", containers}, {"initContainers", init}}}};
}

std::unique_ptr<NodeAdmission> make(const json& topology) {
  return make_node_admission(describe_node(kNode, topology).value());
}

std::string show(const AdmissionDecision& decision) {
  return decision.admitted ? "ok" : decision.reason;
}

std::int64_t cpus(const NodeAdmission& node, std::size_t zone) {
  return node::amount_of(node.zones().zones[zone].available, "cpu") / 1000;
}

TEST(NodeAdmission, SingleNumaNodeContainerScopeGoesToTheLowestZone) {
  const auto node =
      make(nrt("single-numa-node", "container", {zone(0, "8", "16Gi"), zone(1, "8", "16Gi")}));
  EXPECT_EQ(show(node->admit(pod("a", {container("6", "1Gi"), container("6", "1Gi")}))), "ok");
  EXPECT_EQ(cpus(*node, 0), 2);
  EXPECT_EQ(cpus(*node, 1), 2);
  EXPECT_EQ(show(node->admit(pod("b", {container("3", "1Gi")}))), "TopologyAffinityError");
  EXPECT_EQ(cpus(*node, 0), 2);
  EXPECT_EQ(show(node->admit(pod("c", {container("2", "1Gi")}))), "ok");
  EXPECT_TRUE(node->holds_exclusively("c"));
  node->release("a");
  EXPECT_EQ(cpus(*node, 0), 6);
  EXPECT_EQ(cpus(*node, 1), 8);
  node->release("unknown");
}

TEST(NodeAdmission, ARejectedPodLeavesNoTrace) {
  const auto node =
      make(nrt("single-numa-node", "container", {zone(0, "8", "16Gi"), zone(1, "8", "16Gi")}));
  EXPECT_EQ(show(node->admit(
                pod("a", {container("8", "1Gi"), container("8", "1Gi"), container("1", "1Gi")}))),
            "TopologyAffinityError");
  EXPECT_EQ(cpus(*node, 0), 8);
  EXPECT_EQ(cpus(*node, 1), 8);
}

TEST(NodeAdmission, PodScopeNeedsOneZoneForAll) {
  const auto node =
      make(nrt("single-numa-node", "pod", {zone(0, "8", "16Gi"), zone(1, "8", "16Gi")}));
  EXPECT_EQ(show(node->admit(pod("a", {container("6", "1Gi"), container("6", "1Gi")}))),
            "TopologyAffinityError");
  EXPECT_EQ(show(node->admit(pod("b", {container("4", "1Gi")}, {container("8", "1Gi")}))), "ok");
  EXPECT_EQ(cpus(*node, 0), 0);  // the init container's peak is held
}

TEST(NodeAdmission, AppContainersReuseTheInitContainersZone) {
  const auto node =
      make(nrt("single-numa-node", "container", {zone(0, "8", "16Gi"), zone(1, "8", "16Gi")}));
  EXPECT_EQ(show(node->admit(pod("a", {container("4", "1Gi")}, {container("6", "1Gi")}))), "ok");
  EXPECT_EQ(cpus(*node, 0), 2);
  EXPECT_EQ(cpus(*node, 1), 8);
}

TEST(NodeAdmission, OnlyGuaranteedWholeCpusAreAligned) {
  const auto node =
      make(nrt("single-numa-node", "container", {zone(0, "4", "16Gi"), zone(1, "4", "16Gi")}));
  json burstable = pod("a", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", "6"}}}}}}});
  EXPECT_EQ(show(node->admit(burstable)), "ok");
  EXPECT_FALSE(node->holds_exclusively("a"));
  EXPECT_EQ(show(node->admit(pod("b", {container("2500m", "1Gi")}))), "ok");
  EXPECT_EQ(cpus(*node, 0), 4);
}

TEST(NodeAdmission, DevicesAreAlignedForAnyQos) {
  const auto node =
      make(nrt("single-numa-node", "container", {zone(0, "8", "16Gi"), zone(1, "8", "16Gi", "2")}));
  const json limits = {{"nvidia.com/gpu", "1"}};
  EXPECT_EQ(show(node->admit(pod("a", {{{"name", "c"}, {"resources", {{"limits", limits}}}}}))),
            "ok");
  EXPECT_EQ(show(node->admit(pod("b", {container("2", "1Gi", "1")}))), "ok");
  EXPECT_EQ(cpus(*node, 1), 6);
  EXPECT_EQ(show(node->admit(pod("c", {{{"name", "c"}, {"resources", {{"limits", limits}}}}}))),
            "TopologyAffinityError");
}

TEST(NodeAdmission, OtherPoliciesAdmitOnTheTotal) {
  const auto node =
      make(nrt("best-effort", "container", {zone(0, "8", "16Gi"), zone(1, "8", "16Gi")}));
  EXPECT_EQ(show(node->admit(pod("a", {container("12", "1Gi")}))), "ok");
  EXPECT_EQ(cpus(*node, 0), 0);
  EXPECT_EQ(cpus(*node, 1), 4);
  EXPECT_EQ(show(node->admit(pod("b", {container("5", "1Gi")}))), "UnexpectedAdmissionError");
}

TEST(NodeAdmission, ResourcesMustFitWithoutATopologyToo) {
  const auto node = make(json());
  EXPECT_EQ(show(node->admit(pod("a", {container("12", "1Gi")}))), "ok");
  const AdmissionDecision refused = node->admit(pod("b", {container("5", "1Gi")}));
  EXPECT_EQ(refused.reason, "OutOfcpu");
  EXPECT_EQ(refused.message,
            "Node didn't have enough resource: cpu, requested: 5000, used: 12000, capacity: 16000");
  EXPECT_EQ(show(node->admit(pod("m", {container("1", "64Gi")}))), "OutOfmemory");
  for (const char* uid : {"c", "d", "e"})
    EXPECT_EQ(show(node->admit(pod(uid, {container("1", "1Gi")}))), "ok");
  EXPECT_EQ(show(node->admit(pod("f", {}))), "OutOfpods");
  EXPECT_EQ(show(node->admit(pod("x", {container("lots", "1Gi")}))), "UnexpectedAdmissionError");
}

// Kubernetes 1.37: by the sums of what the pod asks for, was granted and has, and the largest.
TEST(NodeAdmission, RunningPodsCountAsResized) {
  const auto node = make(json());
  json resized = pod("a", {container("12", "1Gi")});
  resized["status"]["containerStatuses"] = {
      {{"name", "c"}, {"allocatedResources", {{"cpu", "4"}, {"memory", "1Gi"}}}}};
  const auto room = [&](json status, const char* cpu) {
    json running = resized;
    running["status"].update(status);
    node->restore(running);
    const std::string said = show(node->try_admit(pod("b", {container(cpu, "1Gi")})));
    node->release("a");
    return said;
  };
  EXPECT_EQ(room(json::object(), "5"), "OutOfcpu") << "it grows, and what it asks for is more";
  const json never = {{"conditions", {{{"type", "PodResizePending"}, {"reason", "Infeasible"}}}}};
  EXPECT_EQ(room(never, "12"), "ok") << "it never gets what it asks for";
  EXPECT_EQ(room(never, "13"), "OutOfcpu");
  EXPECT_EQ(show(node->admit(pod("c", {container("16", "1Gi")}))), "ok") << "all was given back";
}

// A kubelet counts other pods once they are admitted (1.37), so a refused one takes no room.
TEST(NodeAdmission, RefusedPodsCountForNothing) {
  const auto node = make(json());
  EXPECT_EQ(show(node->admit(pod("a", {container("2", "1Gi")}))), "ok");
  EXPECT_EQ(show(node->admit(pod("b", {container("15", "1Gi")}))), "OutOfcpu");
  EXPECT_EQ(show(node->admit(pod("c", {container("14", "1Gi")}))), "ok");
}

TEST(NodeAdmission, RunningPodsExplainWhatTheReportShowsAsUsed) {
  json topology =
      nrt("single-numa-node", "container", {zone(0, "8", "16Gi"), zone(1, "8", "16Gi")});
  topology["zones"][1]["resources"][0]["available"] = "2";
  topology["zones"][1]["resources"][1]["available"] = "15Gi";
  const auto node = make(topology);
  node->restore(pod("a", {container("6", "1Gi")}));
  EXPECT_EQ(cpus(*node, 0), 8);
  EXPECT_EQ(cpus(*node, 1), 2);
  node->release("a");
  EXPECT_EQ(cpus(*node, 1), 8);
  node->restore(pod("b", {container("7", "1Gi")}));  // not in the report yet
  EXPECT_EQ(cpus(*node, 0), 1);
}

TEST(NodeDescription, ReadsPolicyScopeAndZones) {
  json topology = {{"topologyPolicies", {"SingleNUMANodePodLevel"}},
                   {"zones",
                    {zone(1, "4", "1Gi"),
                     zone(0, "8", "1Gi"),
                     {{"name", "numa-node-2"}, {"type", "Node"}},
                     {{"name", "node-3"}, {"type", "Socket"}}}}};
  auto node = describe_node(kNode, topology).value();
  EXPECT_EQ(node.policy + "/" + node.scope, "single-numa-node/pod");
  ASSERT_EQ(node.zones.size(), 2U);
  EXPECT_EQ(node.zones[0].id, 0);
  topology["attributes"] = {{{"name", "topologyManagerScope"}, {"value", "container"}},
                            {{"name", "topologyManagerPolicy"}, {"value", "nonsense"}}};
  node = describe_node(kNode, topology).value();
  EXPECT_EQ(node.policy + "/" + node.scope, "single-numa-node/container");
  topology["zones"][0]["resources"][0]["allocatable"] = "4x";
  const auto broken = describe_node(kNode, topology);
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message.find("zone node-1: cpu"), std::string::npos)
      << broken.error().message;
}

// And its reports say so, since they list what koordlet's do.
TEST(NodeDescription, ManagersThatKoordletSaysAreOffPinNothing) {
  json topology = {
      {"metadata",
       {{"name", "n"},
        {"annotations", {{"kubelet.koordinator.sh/cpu-manager-policy", R"({"policy":"none"})"}}}}},
      {"topologyPolicies", {"SingleNUMANodeContainerLevel"}},
      {"zones", {zone(0, "8", "16Gi"), zone(1, "8", "16Gi")}}};
  const auto node = make(topology);
  EXPECT_EQ(show(node->admit(pod("wide", {container("12", "20Gi")}))), "ok");
  EXPECT_EQ(cpus(*node, 0), 8);
  node::write_report(topology, node->report(node::ReportKind::kCounts));
  const auto again = describe_node(kNode, topology).value();
  EXPECT_TRUE(again.cpu_manager_off && again.memory_manager_off);
  const auto read = topology::parse_nrt(topology.dump()).value();
  for (const topology::NrtAttribute& said :
       {topology::NrtAttribute{"cpuManagerPolicy", "none"}, {"memoryManagerPolicy", "None"}}) {
    EXPECT_EQ(std::count(read.attributes.begin(), read.attributes.end(), said), 1) << said.name;
  }
  // koordlet says nothing of the memory manager: the kubelet's default.
  topology["attributes"] = json::array();
  topology["metadata"]["annotations"]["kubelet.koordinator.sh/cpu-manager-policy"] =
      R"({"policy":"static"})";
  const auto pinning = make(topology);
  EXPECT_EQ(show(pinning->admit(pod("wide", {container("12", "1Gi")}))), "TopologyAffinityError");
  EXPECT_EQ(show(pinning->admit(pod("big", {container("6", "20Gi")}))), "ok");
}

TEST(NodeDescription, AZoneIsListedOnce) {
  const json topology =
      nrt("restricted", "pod", {zone(0, "4", "1Gi"), zone(1, "4", "1Gi"), zone(0, "8", "1Gi")});
  const auto node = describe_node(kNode, topology);
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().message, "noderesourcetopology n: zone node-0 is listed twice");
}

TEST(NodeReport, TheLastOfTwoEntriesDoesNotOutliveAReport) {
  json topology = nrt("restricted", "pod", {zone(0, "4", "1Gi")});
  json again = topology["zones"][0]["resources"][0];
  again["available"] = "1";
  topology["zones"][0]["resources"].push_back(again);
  const auto node = make(topology);
  node::write_report(topology, node->report(node::ReportKind::kFacts));
  EXPECT_EQ(topology["zones"][0]["resources"].size(), 2U);
  EXPECT_EQ(topology["zones"][0]["resources"][0]["available"], "1");
}

TEST(PodFingerprint, GoldenVectors) {
  EXPECT_EQ(pod_fingerprint({}), "pfp0v001ef46db3751d8e999");
  EXPECT_EQ(pod_fingerprint({{"ns", "pod"}}), "pfp0v001c673abf0b4ced2d6");
  EXPECT_EQ(pod_fingerprint({{"c", "d"}, {"a", "b"}}), "pfp0v0013488490366c73835");
  EXPECT_EQ(pod_fingerprint({{"a", "b"}, {"a", "b"}}), "pfp0v0015a0007ca4c8b2639");
  EXPECT_EQ(pod_fingerprint({{"", "x"}}), "pfp0v001eccb3ab08f12a28f");
  EXPECT_EQ(pod_fingerprint({{"kube-system", "coredns-5d78c9869d-abcde"}}),
            "pfp0v00110fddc0344fd5813");
}

TEST(NodeAdmission, PodsInUnknownZonesCountInEveryZone) {
  const auto cautious = [](const char* policy) {
    return make_admission_factory(true)(
        describe_node(kNode, nrt(policy, "container", {zone(0, "8", "16Gi"), zone(1, "8", "16Gi")}))
            .value());
  };
  const auto node = cautious("single-numa-node");
  EXPECT_FALSE(node->restore(pod("a", {container("4", "1Gi")})));
  EXPECT_EQ(cpus(*node, 0), 4);
  EXPECT_EQ(cpus(*node, 1), 4);
  EXPECT_FALSE(node->restore(pod("b", {container("6", "1Gi")})));
  EXPECT_EQ(cpus(*node, 0), 0) << "both may be there, as far as there is room";
  EXPECT_EQ(cpus(*node, 1), 0);
  EXPECT_EQ(show(node->admit(pod("c", {container("3", "1Gi")}))), "TopologyAffinityError");
  node->release("b");
  EXPECT_EQ(show(node->admit(pod("c", {container("3", "1Gi")}))), "ok");
  EXPECT_EQ(cpus(*node, 0), 1);
  EXPECT_EQ(cpus(*node, 1), 4);
  node->release("a");
  EXPECT_EQ(cpus(*node, 0), 5);
  EXPECT_EQ(cpus(*node, 1), 8);
  EXPECT_EQ(node::amount_of(node->zones().zones[1].available, "memory"),
            node::amount_of(node->zones().zones[1].allocatable, "memory"));
  // Nothing depends on the zones where the policy ties nobody to them.
  EXPECT_TRUE(cautious("none")->restore(pod("a", {container("4", "1Gi")})));
  EXPECT_TRUE(cautious("best-effort")->restore(pod("a", {container("4", "1Gi")})));
}

}  // namespace
}  // namespace plimsoll::sandbox
