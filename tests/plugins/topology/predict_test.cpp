#include "plugins/topology/predict.hpp"

#include <gtest/gtest.h>

#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

class Predict : public ::testing::Test {
 protected:
  // "container:resource@zone=amount ..." of what is placed, or "refused".
  std::string place(const PodSpec& spec, const ReportSpec& report) {
    const PodRef pod = scene_.pod(spec);
    const NumaNode node = scene_.node(report);
    const PodRequest request(*pod);
    Scratch scratch;
    const Placement placement = predict(request, node.view(), Doubt::kRefuse, scratch);
    if (!placement.complete) return "refused";
    last_ = placement;
    annotation_ = zones_annotation(request, placement.where);
    return annotation_;
  }
  const Charge* charge(uint32_t zone, uint32_t resource) const {
    for (const Charge& one : last_.charges) {
      if (one.zone_id == zone && one.resource == resource) return &one;
    }
    return nullptr;
  }
  static ReportSpec two_zones(const std::string& cpu0, const std::string& cpu1) {
    ReportSpec spec;
    spec.zones = {{0, {{"cpu", cpu0}, {"memory", "64Gi"}}},
                  {1, {{"cpu", cpu1}, {"memory", "64Gi"}}}};
    return spec;
  }

  TopologyScene scene_;
  Placement last_;
  std::string annotation_;
};

TEST_F(Predict, LowestZoneThatHoldsTheContainer) {
  EXPECT_EQ(place(guaranteed("p", 4), two_zones("8", "8")), R"({"c0":{"cpu":[0],"memory":[0]}})");
  EXPECT_EQ(place(guaranteed("p", 4), two_zones("2", "8")), R"({"c0":{"cpu":[1],"memory":[1]}})");
  EXPECT_EQ(place(guaranteed("p", 9), two_zones("8", "8")), "refused");
}

TEST_F(Predict, ContainersTakeWhatTheOnesBeforeThemLeft) {
  PodSpec pod = guaranteed("p", 6);
  pod.apps.push_back(pod.apps[0]);
  EXPECT_EQ(place(pod, two_zones("8", "8")),
            R"({"c0":{"cpu":[0],"memory":[0]},"c1":{"cpu":[1],"memory":[1]}})");
  ReportSpec as_pod = two_zones("8", "8");
  as_pod.scope = "pod";
  EXPECT_EQ(place(pod, as_pod), "refused");
}

TEST_F(Predict, OrdinaryPodsPinNothing) {
  PodSpec burstable = guaranteed("p", 4);
  burstable.burstable = true;
  EXPECT_EQ(place(burstable, two_zones("8", "8")), "");
  PodSpec fractional;
  fractional.apps = {R"({"cpu":"500m","memory":"1Gi"})"};
  EXPECT_EQ(place(fractional, two_zones("0", "0")), R"({"c0":{"memory":[0]}})");
}

TEST_F(Predict, InitContainersAreReusedAndKeepTheirSurplus) {
  PodSpec pod = guaranteed("p", 2);
  pod.init = {R"({"cpu":"6","memory":"2Gi"})"};
  EXPECT_EQ(place(pod, two_zones("8", "8")),
            R"({"c0":{"cpu":[0],"memory":[0]},"i0":{"cpu":[0],"memory":[0]}})");
  const Charge* cpu = charge(0, PLIMSOLL_RESOURCE_CPU);
  ASSERT_NE(cpu, nullptr);
  EXPECT_EQ(cpu->amount, 6000);
  EXPECT_EQ(cpu->visible, 2000);
  EXPECT_EQ(cpu->held, 4000);
  const Charge* memory = charge(0, PLIMSOLL_RESOURCE_MEMORY);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->held, 0);
}

TEST_F(Predict, SidecarsAreAdded) {
  PodSpec pod = guaranteed("p", 6);
  pod.sidecars = {R"({"cpu":"6","memory":"1Gi"})"};
  ReportSpec one_zone;
  one_zone.zones = {{0, {{"cpu", "8"}, {"memory", "64Gi"}}}};
  EXPECT_EQ(place(pod, one_zone), "refused");
  one_zone.scope = "pod";
  EXPECT_EQ(place(pod, one_zone), "refused");
}

TEST_F(Predict, OtherPoliciesSpreadOverAscendingZones) {
  ReportSpec report = two_zones("4", "8");
  report.policy = "best-effort";
  EXPECT_EQ(place(guaranteed("p", 10), report), R"({"c0":{"cpu":[0,1],"memory":[0]}})");
}

TEST_F(Predict, AnAnnotationThatFitsIsFollowed) {
  const PodRef pod = scene_.pod(guaranteed("p", 4));
  const NumaNode node = scene_.node(two_zones("8", "8"));
  const PodRequest request(*pod);
  Scratch scratch;
  const auto placed = [&](const char* text) {
    return placement_of(zones_of(text, request), request, node.view(), scratch);
  };
  const Placement placement = placed(R"({"c0":{"cpu":[1],"memory":[1]}})");
  ASSERT_TRUE(placement.complete);
  ASSERT_EQ(placement.charges.size(), 2u);
  EXPECT_EQ(placement.charges[0].zone_id, 1u);
  for (const char* text : {"", "[]", "{}", R"({"c0":{"cpu":[7],"memory":[7]}})",
                           R"({"c0":{"cpu":[0,7],"memory":[0]}})", R"({"c0":{"cpu":["x"]}})",
                           R"({"c0":{"cpu":[4294967296],"memory":[0]}})", R"({"c0":[1]})",
                           R"({"c0":{"cpu":[],"memory":[0]}})"}) {
    EXPECT_FALSE(placed(text).complete) << text;
  }
}

// What a pod holds in several zones is charged to each of them after a restart, as before it.
TEST_F(Predict, AnAnnotationMayNameSeveralZones) {
  const PodRef pod = scene_.pod(guaranteed("p", 10));
  const NumaNode node = scene_.node(two_zones("4", "8"));
  const PodRequest request(*pod);
  Scratch scratch;
  const std::string text = R"({"c0":{"cpu":[0,1],"memory":[0]}})";
  const Placement placement = placement_of(zones_of(text, request), request, node.view(), scratch);
  ASSERT_TRUE(placement.complete);
  ASSERT_EQ(placement.charges.size(), 3u);
  EXPECT_EQ(placement.charges[0].zone_id, 0u);
  EXPECT_EQ(placement.charges[0].amount, 4000);
  EXPECT_EQ(placement.charges[1].zone_id, 1u);
  EXPECT_EQ(placement.charges[1].amount, 6000);
  EXPECT_EQ(zones_annotation(request, placement.where), text);
}

}  // namespace
}  // namespace plimsoll::topology
