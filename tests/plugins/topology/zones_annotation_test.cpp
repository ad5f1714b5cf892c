#include "plugins/topology/record/zones_annotation.hpp"

#include <gtest/gtest.h>

#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

class ZonesAnnotation : public ::testing::Test {
 protected:
  static ReportSpec two_zones(const std::string& cpu0, const std::string& cpu1) {
    ReportSpec spec;
    spec.zones = {{0, {{"cpu", cpu0}, {"memory", "64Gi"}}},
                  {1, {{"cpu", cpu1}, {"memory", "64Gi"}}}};
    return spec;
  }
  // Where a pod is by its annotation.
  Placement placed(const PodSpec& spec, const ReportSpec& report, const std::string& text) {
    const PodRef pod = scene_.pod(spec);
    const NumaNode node = scene_.node(report);
    const PodRequest request(*pod);
    Scratch scratch;
    Placement placement = placement_of(zones_of(text, request), request, node.view(), scratch);
    if (placement.complete) {
      EXPECT_EQ(zones_annotation(request, placement.where), text);
    }
    return placement;
  }

  TopologyScene scene_;
};

TEST_F(ZonesAnnotation, InitContainersAreReusedAndKeepTheirSurplus) {
  PodSpec pod = guaranteed("p", 2);
  pod.init = {R"({"cpu":"6","memory":"2Gi"})"};
  const Placement placement = placed(
      pod, two_zones("8", "8"), R"({"c0":{"cpu":[0],"memory":[0]},"i0":{"cpu":[0],"memory":[0]}})");
  ASSERT_TRUE(placement.complete);
  ASSERT_EQ(placement.charges.size(), 2u);
  for (const Charge& charge : placement.charges) {
    const bool cpu = charge.resource == PLIMSOLL_RESOURCE_CPU;
    EXPECT_EQ(charge.amount, cpu ? 6000 : int64_t{2} << 30);
    EXPECT_EQ(charge.held, cpu ? 4000 : 0);
  }
}

TEST_F(ZonesAnnotation, OneThatFitsIsFollowed) {
  const PodSpec pod = guaranteed("p", 4);
  const ReportSpec report = two_zones("8", "8");
  const Placement placement = placed(pod, report, R"({"c0":{"cpu":[1],"memory":[1]}})");
  ASSERT_TRUE(placement.complete);
  ASSERT_EQ(placement.charges.size(), 2u);
  EXPECT_EQ(placement.charges[0].zone_id, 1u);
  for (const char* text : {"", "[]", "{}", R"({"c0":{"cpu":[7],"memory":[7]}})",
                           R"({"c0":{"cpu":[0,7],"memory":[0]}})", R"({"c0":{"cpu":["x"]}})",
                           R"({"c0":{"cpu":[4294967296],"memory":[0]}})", R"({"c0":[1]})",
                           R"({"c0":{"cpu":[],"memory":[0]}})"}) {
    EXPECT_FALSE(placed(pod, report, text).complete) << text;
  }
}

TEST_F(ZonesAnnotation, AZoneThatIsNamedAgainAndAgainIsNamedOnce) {
  const PodRef pod = scene_.pod(guaranteed("p", 4));
  EXPECT_EQ(zones_of(R"({"c0":{"cpu":[1,1,1,0,1],"memory":[63]}})", PodRequest(*pod)).size(), 3u);
}

// What a pod holds in several zones is charged to each of them after a restart, as before it.
TEST_F(ZonesAnnotation, MayNameSeveralZones) {
  const Placement placement =
      placed(guaranteed("p", 10), two_zones("4", "8"), R"({"c0":{"cpu":[0,1],"memory":[0]}})");
  ASSERT_TRUE(placement.complete);
  ASSERT_EQ(placement.charges.size(), 3u);
  EXPECT_EQ(placement.charges[0].zone_id, 0u);
  EXPECT_EQ(placement.charges[0].amount, 4000);
  EXPECT_EQ(placement.charges[1].zone_id, 1u);
  EXPECT_EQ(placement.charges[1].amount, 6000);
}

// Ordinary pods pin nothing, fractions of CPUs are nobody's alone.
TEST_F(ZonesAnnotation, NamesWhatIsPinned) {
  PodSpec burstable = guaranteed("p", 4);
  burstable.burstable = true;
  EXPECT_TRUE(placed(burstable, two_zones("8", "8"), "").complete);
  PodSpec fraction;
  fraction.apps = {R"({"cpu":"500m","memory":"1Gi"})"};
  EXPECT_TRUE(placed(fraction, two_zones("0", "0"), R"({"c0":{"memory":[0]}})").complete);
}

}  // namespace
}  // namespace plimsoll::topology
