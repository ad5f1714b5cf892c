#include "plugins/topology/report/nrt_object.hpp"

#include <gtest/gtest.h>

#include <plimsoll/quantity.hpp>

#include "plugins/topology/report/numa_node.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

TEST(ParseNrt, ReadsZonesCostsAmountsAndAttributes) {
  const auto nrt = parse_nrt(R"({
    "apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology",
    "metadata": {"name": "n1", "resourceVersion": "42",
                 "managedFields": [{"time": "2026-01-01T00:01:00Z"}, {"time": "2026-01-01T00:00:30Z"}]},
    "topologyPolicies": ["BestEffortPodLevel"],
    "attributes": [
      {"name": "topologyManagerPolicy", "value": "restricted"},
      {"name": "topologyManagerPolicy", "value": "bogus"},
      {"name": "topologyManagerMaxNUMANodes", "value": "5000"},
      {"name": "nodeTopologyPodsFingerprint", "value": "pfp0v001ef46db3751d8e999"},
      {"name": "nodeTopologyPodsFingerprintMethod", "value": "with-exclusive-resources"}],
    "zones": [
      {"name": "socket-0", "type": "Socket", "resources": []},
      {"name": "node-8", "type": "Node", "costs": [{"name": "node-0", "value": 21}],
       "resources": [{"name": "cpu", "capacity": 20, "allocatable": "19500m", "available": "0.5"},
                     {"name": "memory", "capacity": "1Gi", "allocatable": "1Gi", "available": 1e3}]},
      {"name": "node-0", "type": "Node", "resources": []},
      {"name": "numa-node-1", "type": "Node"},
      {"name": "node-99", "type": "Node"}]})");
  ASSERT_TRUE(nrt) << nrt.error();
  EXPECT_EQ(nrt->name, "n1");
  EXPECT_EQ(nrt->resource_version, "42");
  EXPECT_EQ(nrt->written_ms, kYear2026Ms + 60'000);
  EXPECT_EQ(nrt->manager.policy, Policy::kRestricted);
  EXPECT_EQ(nrt->manager.scope, Scope::kPod);
  EXPECT_EQ(nrt->manager.max_numa_nodes, 1024);
  EXPECT_EQ(nrt->method, FingerprintMethod::kExclusiveResources);
  ASSERT_EQ(nrt->zones.size(), 2u);
  EXPECT_EQ(nrt->zones[0].id, 8u);
  ASSERT_EQ(nrt->zones[0].resources.size(), 2u);
  EXPECT_EQ(nrt->zones[0].resources[0].capacity, 20'000);
  EXPECT_EQ(nrt->zones[0].resources[0].allocatable, 19'500);
  EXPECT_EQ(nrt->zones[0].resources[0].available, 500);
  EXPECT_EQ(nrt->zones[0].resources[1].available, 1000);
}

TEST(ParseNrt, TellsThatTheKubeletIsAway) {
  const auto away = [](const std::string& attributes) {
    const auto nrt = parse_nrt(R"({"metadata": {"name": "n"}, "attributes": [)" + attributes +
                               R"(], "zones": []})");
    return nrt && nrt->kubelet_away;
  };
  EXPECT_TRUE(away(R"({"name": "kubeletState", "value": "away"})"));
  EXPECT_FALSE(away(R"({"name": "kubeletState", "value": "there"})"));
  EXPECT_FALSE(away(""));
}

TEST(ParseNrt, PoliciesHaveDefaultsAndTheAnnotationIsAFallback) {
  const auto nrt = parse_nrt(R"({"metadata": {"name": "n", "annotations":
      {"topology.node.k8s.io/fingerprint": "pfp0v001c673abf0b4ced2d6"}},
      "topologyPolicies": ["Restricted"], "zones": []})");
  ASSERT_TRUE(nrt) << nrt.error();
  EXPECT_EQ(nrt->manager.policy, Policy::kNone);
  EXPECT_EQ(nrt->manager.scope, Scope::kContainer);
  EXPECT_EQ(nrt->manager.max_numa_nodes, 8);
  EXPECT_EQ(nrt->fingerprint, "pfp0v001c673abf0b4ced2d6");
}

TEST(ParseNrt, NamesTheFieldThatIsWrong) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "not JSON"},
      {"[1]", "the object: must be an object"},
      {R"({"zones": []})", "metadata.name: is missing"},
      {R"({"metadata": {"name": "n"}, "zones": {}})", "zones: must be a list"},
      {R"({"metadata": {"name": "n"}, "zones": [{"type": "Node"}]})", "zones[0].name: is missing"},
      {R"({"metadata": {"name": "n"}, "zones": [{"name": "node-0", "type": "Node", "resources":
          [{"name": "cpu", "capacity": "1", "allocatable": "1"}]}]})",
       "zones[0].resources[0].available: is missing"},
      {R"({"metadata": {"name": "n"}, "zones": [{"name": "node-0", "type": "Node", "resources":
          [{"name": "cpu", "capacity": "1", "allocatable": "1", "available": "1x"}]}]})",
       "zones[0].resources[0].available: invalid quantity \"1x\""},
      {R"({"metadata": {"name": "n"}, "zones": [{"name": "node-0", "type": "Node", "resources":
          [{"name": "cpu", "capacity": true, "allocatable": "1", "available": "1"}]}]})",
       "zones[0].resources[0].capacity: must be a quantity"},
      {R"({"metadata": {"name": "n"}, "zones": [{"name": "node-0", "type": "Node"},
          {"name": "node-0", "type": "Node"}]})",
       "zones[1].name: node-0 is listed twice"},
  };
  for (const auto& [json, error] : kCases) {
    const auto nrt = parse_nrt(json);
    ASSERT_FALSE(nrt) << json;
    EXPECT_EQ(nrt.error().substr(0, std::string(error).size()), error) << json;
  }
}

TEST(ParseNrt, CapacityCountsWhereAllocatableIsNotSaid) {
  const auto report = [](const std::string& said) {
    const auto one = [&](int id, const std::string& available) {
      return R"({"name":"node-)" + std::to_string(id) +
             R"(","type":"Node","resources":[{"name":"cpu","capacity":"8",)" + said +
             R"("available":")" + available +
             R"("},{"name":"memory","capacity":"8Gi","allocatable":"0","available":"0"}]})";
    };
    return parse_nrt(R"({"metadata":{"name":"n"},"zones":[)" + one(0, "6") + "," + one(1, "0") +
                     "]}");
  };
  for (const char* said : {R"("allocatable":"0",)", ""}) {
    const auto nrt = report(said);
    ASSERT_TRUE(nrt) << nrt.error();
    for (const NrtZone& zone : nrt->zones) {
      EXPECT_EQ(zone.resources[0].allocatable, 8000) << "also where all of it is taken";
      EXPECT_EQ(zone.resources[1].allocatable, 0) << "a manager that is off";
    }
    EXPECT_EQ(nrt->contradiction,
              "zones have cpu available, but allocatable is 0 or missing; their capacity counts "
              "instead");
  }
  const auto said = report(R"("allocatable":"7",)");
  EXPECT_EQ(said->zones[0].resources[0].allocatable, 7000);
  EXPECT_EQ(said->contradiction, "");
}

// An object as koordlet writes it, with this text about the kubelet's CPU manager.
NrtObject of_koordlet(const std::string& cpus, const std::string& attributes = "") {
  std::string escaped;
  for (char c : cpus) escaped += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
  return parse_nrt(
             R"({"metadata":{"name":"n","annotations":{"kubelet.koordinator.sh/cpu-manager-policy":")" +
             escaped + R"("}},"topologyPolicies":["SingleNUMANodeContainerLevel"],"attributes":[)" +
             attributes + R"(],"zones":[{"name":"node-0","type":"Node","resources":[
               {"name":"cpu","capacity":"8","allocatable":"8","available":"8"}]}]})")
      .value();
}

TEST(ParseNrt, WhatKoordletSaysOfTheKubeletCountsAsAttributes) {
  EXPECT_EQ(
      of_koordlet(R"({"policy":"none"})").attributes,
      (std::vector<NrtAttribute>{{"cpuManagerPolicy", "none"}, {"memoryManagerPolicy", "None"}}));
  const NrtObject all = of_koordlet(
      R"({"policy":"static","options":{"full-pcpus-only":"true","x=1,y":"true","z":"5"},"reservedCPUs":"0-1"})");
  EXPECT_EQ(all.attributes,
            (std::vector<NrtAttribute>{{"cpuManagerPolicy", "static"},
                                       {"cpuManagerPolicyOptions", "full-pcpus-only=true"},
                                       {"reservedCPUs", "0-1"},
                                       {"memoryManagerPolicy", "None"}}));
  EXPECT_EQ(all.contradiction, "");
  // koordlet may not ask the kubelet.
  EXPECT_EQ(of_koordlet("{}").attributes,
            (std::vector<NrtAttribute>{{"memoryManagerPolicy", "None"}}));
}

TEST(ParseNrt, AttributesWinOverWhatKoordletSays) {
  const NrtObject own =
      of_koordlet(R"({"policy":"none"})", R"({"name":"memoryManagerPolicy","value":"Static"})");
  EXPECT_EQ(own.attributes, (std::vector<NrtAttribute>{{"memoryManagerPolicy", "Static"},
                                                       {"cpuManagerPolicy", "none"}}));
  // koordlet writes none: the annotation was left on another exporter's object.
  const NrtObject another =
      of_koordlet(R"({"policy":"none"})", R"({"name":"topologyManagerPolicy","value":"none"})");
  EXPECT_EQ(another.attributes, (std::vector<NrtAttribute>{{"topologyManagerPolicy", "none"}}));
}

TEST(ParseNrt, ADamagedWordOfKoordletCostsAWarning) {
  for (const char* text :
       {"", "none", "null", "[]", R"({"policy":"none")", R"({"policy":1})", R"({"policy":"none"}})",
        R"({"options":{"full-pcpus-only":true}})", R"({"reservedCPUs":["0"]})"}) {
    const NrtObject nrt = of_koordlet(text);
    EXPECT_TRUE(nrt.attributes.empty()) << text;
    EXPECT_EQ(nrt.zones.size(), 1U) << text;
    EXPECT_EQ(nrt.contradiction,
              "annotation kubelet.koordinator.sh/cpu-manager-policy is not an object such as "
              R"({"policy":"none"}; what the zones list decides which managers are on)")
        << text;
  }
  const NrtObject odd = of_koordlet(R"({"policy":"sometimes"})");
  EXPECT_TRUE(odd.attributes.empty());
  EXPECT_EQ(odd.contradiction,
            "annotation kubelet.koordinator.sh/cpu-manager-policy has the policy \"sometimes\", "
            "neither none nor static; what the zones list decides which managers are on");
}

TEST(ParseNrt, MoreNamesThanAnyKubeletHasAreRefused) {
  const auto report = [](size_t names) {
    ReportSpec spec;
    spec.zones = {{0, {}}, {1, {}}};
    for (size_t i = 0; i < names; ++i)
      spec.zones[i % 2].available.emplace_back("a.b/r" + std::to_string(i), "1");
    return parse_nrt(nrt_json(spec));
  };
  EXPECT_TRUE(report(kMaxResources));
  const auto refused = report(kMaxResources + 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "zones[1].resources[127]: more than 256 names of resources");
}

TEST(ParseNrt, SurvivesTruncationAnywhere) {
  ReportSpec spec;
  spec.zones = {{0, {{"cpu", "4"}}}, {1, {{"cpu", "4"}}}};
  const std::string json = nrt_json(spec);
  ASSERT_TRUE(parse_nrt(json));
  for (size_t length = 0; length < json.size(); ++length) {
    EXPECT_FALSE(parse_nrt(std::string_view(json).substr(0, length))) << length;
  }
}

TEST(NumaNode, SparseUnsortedZonesBecomeDenseColumns) {
  TopologyScene scene;
  ReportSpec spec;
  spec.zones = {{63, {{"cpu", "1"}}}, {0, {{"memory", "5"}}}, {9, {{"cpu", "-3"}}}};
  const NumaNode node = scene.node(spec);
  const plimsoll_numa_node& view = node.view();
  ASSERT_EQ(view.zone_count, 3u);
  EXPECT_EQ(view.zone_ids[0], 0u);
  EXPECT_EQ(view.zone_ids[2], 63u);
  EXPECT_EQ(view.report_order[0], 2u);
  const uint32_t cpu = row_of(view, PLIMSOLL_RESOURCE_CPU);
  ASSERT_NE(cpu, kNoRow);
  EXPECT_EQ(view.listed[cpu], 0b110u);
  EXPECT_EQ(view.free[cpu * 3 + 1], -3000);
  EXPECT_EQ(view.free[cpu * 3 + 2], 1000);
  EXPECT_EQ(view.distances[0], kUnknownDistance);
}

TEST(Quantity, BaseUnitsRoundAwayFromZeroAndSaturate) {
  using sdk::parse_quantity;
  using sdk::QuantityUnit;
  EXPECT_EQ(parse_quantity("1500m", QuantityUnit::kWhole), 2);
  EXPECT_EQ(parse_quantity("1500m", QuantityUnit::kMilli), 1500);
  EXPECT_EQ(parse_quantity("0.5Gi", QuantityUnit::kWhole), 536'870'912);
  EXPECT_EQ(parse_quantity("1e3", QuantityUnit::kWhole), 1000);
  EXPECT_EQ(parse_quantity("1E", QuantityUnit::kWhole), 1'000'000'000'000'000'000);
  EXPECT_EQ(parse_quantity("-1500m", QuantityUnit::kWhole), -2);
  EXPECT_EQ(parse_quantity("100Ei", QuantityUnit::kWhole), INT64_MAX);
  EXPECT_EQ(parse_quantity("1e999999999999", QuantityUnit::kWhole), INT64_MAX);
  EXPECT_EQ(parse_quantity("1e-999999999999", QuantityUnit::kWhole), 1);
  EXPECT_EQ(parse_quantity("9007199254740993", QuantityUnit::kWhole), 9'007'199'254'740'993);
  for (const char* text : {"", " ", "1x", "1.2.3", "1ee3", "e3x", "0x10", "1 Gi", "--1", "1i"}) {
    EXPECT_FALSE(parse_quantity(text, QuantityUnit::kWhole)) << text;
  }
}

}  // namespace
}  // namespace plimsoll::topology
