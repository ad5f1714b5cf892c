// What comes free when pods go, by the report alone.

#include "plugins/topology/possible/release.hpp"

#include <gtest/gtest.h>

#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

class ReleaseTest : public ::testing::Test {
 protected:
  // Zones of 16 CPUs and so many GPUs as are given; memory is listed and never in use.
  void zones(const std::vector<int>& cpus_free, const std::vector<int>& gpus_free = {}) {
    ReportSpec spec;
    spec.scope = scope_;
    spec.allocatable = "16";
    for (size_t i = 0; i < cpus_free.size(); ++i) {
      ZoneSpec zone{static_cast<int>(i), {{"cpu", std::to_string(cpus_free[i])}, {"memory", "16"}}};
      if (!gpus_free.empty()) zone.available.emplace_back("x.io/gpu", std::to_string(gpus_free[i]));
      spec.zones.push_back(zone);
    }
    node_ = scene_.node(spec);
  }
  PodRequest pod(const std::vector<std::string>& apps) {
    PodSpec spec;
    spec.apps = apps;
    pods_.push_back(scene_.pod(spec));
    return PodRequest(*pods_.back());
  }
  static std::string cpus(int count) {
    return R"({"cpu":")" + std::to_string(count) + R"(","memory":"1"})";
  }
  Release release() { return {node_.view(), node_.available()}; }
  // A pod of one container that asks for so many CPUs in one zone.
  bool fits(Release release, int cpus, size_t* calls = nullptr) {
    return release.fits([&](const plimsoll_numa_node& node) {
      if (calls != nullptr) ++*calls;
      const uint32_t row = row_of(node, PLIMSOLL_RESOURCE_CPU);
      for (uint32_t zone = 0; zone < node.zone_count; ++zone) {
        if (node.free[row * node.zone_count + zone] >= cpus * 1000) return true;
      }
      return false;
    });
  }

  std::string scope_ = "container";
  TopologyScene scene_;
  std::vector<PodRef> pods_;
  NumaNode node_;
};

TEST_F(ReleaseTest, WhatIsKnownComesFreeWhereItIs) {
  zones({4, 0});
  Release located = release();
  located.free_at(PLIMSOLL_RESOURCE_CPU, 0, 6000, true);
  EXPECT_TRUE(fits(located, 10));
  EXPECT_FALSE(fits(located, 11));
  EXPECT_FALSE(fits(release(), 5));
}

TEST_F(ReleaseTest, OneOfTwoEqualPodsLeavesOneZoneWhicheverItIs) {
  zones({0, 0});
  Release one = release();
  one.free_somewhere(pod({cpus(16)}));
  one.keep_somewhere(pod({cpus(16)}));
  EXPECT_TRUE(fits(one, 16));
}

TEST_F(ReleaseTest, ZonesThatCannotHoldItAreRuledOut) {
  zones({8, 0});  // 8 in use in zone 0, 16 in zone 1
  Release big = release();
  big.free_somewhere(pod({cpus(12)}));
  big.keep_somewhere(pod({cpus(8)}));
  big.keep_somewhere(pod({cpus(4)}));
  EXPECT_TRUE(fits(big, 12)) << "only zone 1 has 12 in use";
  Release small = release();
  small.free_somewhere(pod({cpus(8)}));
  small.keep_at(PLIMSOLL_RESOURCE_CPU, 1, 12'000);
  small.keep_somewhere(pod({cpus(4)}));
  EXPECT_TRUE(fits(small, 16)) << "zone 1 has 4 beside what is known to stay";
}

TEST_F(ReleaseTest, WhatMayBeElsewhereIsNotCountedOn) {
  zones({8, 0});
  Release unsure = release();
  unsure.free_somewhere(pod({cpus(8)}));
  for (int i = 0; i < 2; ++i) unsure.keep_somewhere(pod({cpus(8)}));
  EXPECT_TRUE(fits(unsure, 8));
  EXPECT_FALSE(fits(unsure, 9)) << "it is free with 8 others only if the pod is in zone 0";
}

TEST_F(ReleaseTest, WhatNobodyKnownUsesStays) {
  zones({0, 0});
  Release all = release();
  all.free_somewhere(pod({cpus(10)}));
  EXPECT_TRUE(fits(all, 10));
  EXPECT_FALSE(fits(all, 11)) << "22 are in use by nobody known";
  Release known = release();
  known.free_somewhere(pod({cpus(10)}));
  known.keep_at(PLIMSOLL_RESOURCE_CPU, 0, 16'000);
  EXPECT_TRUE(fits(known, 10));
}

TEST_F(ReleaseTest, AReportThatCannotBeTrueSaysNothing) {
  zones({12, 12});  // 8 in use
  Release finished = release();
  finished.free_somewhere(pod({cpus(4)}));
  finished.keep_somewhere(pod({cpus(8)}));
  EXPECT_FALSE(fits(finished, 13)) << "one of the pods is not in the report any more";
  Release given_up = release();
  given_up.free_somewhere(pod({cpus(4)}));
  given_up.free_somewhere(pod({cpus(4)}));
  EXPECT_TRUE(fits(given_up, 16));
  given_up.give_up();
  EXPECT_FALSE(fits(given_up, 13));
}

TEST_F(ReleaseTest, ContainersMayLieApartButNotPodsInScopePod) {
  zones({0, 0});
  const auto two = [&] {
    Release both = release();
    both.free_somewhere(pod({cpus(8), cpus(8)}));
    both.keep_somewhere(pod({cpus(8)}));
    both.keep_somewhere(pod({cpus(8)}));
    return both;
  };
  EXPECT_FALSE(fits(two(), 16));
  scope_ = "pod";
  zones({0, 0});
  EXPECT_TRUE(fits(two(), 16));
}

TEST_F(ReleaseTest, ResourcesComeFreeTogether) {
  zones({0, 0}, {16, 14});  // two GPUs in use in zone 1: the pod that has them has its CPUs there
  Release release = this->release();
  release.free_somewhere(pod({R"({"cpu":"6","memory":"1","x.io/gpu":"2"})"}));
  release.keep_somewhere(pod({cpus(16)}));
  release.keep_somewhere(pod({cpus(10)}));
  size_t calls = 0;
  EXPECT_TRUE(fits(release, 6, &calls));
  EXPECT_EQ(calls, 2u) << "one way to lay it out";
}

TEST_F(ReleaseTest, TooManyWaysAreNotTriedButTheSureOnesCount) {
  zones({0, 0, 0, 0});
  Release all = release();
  for (int i = 0; i < 64; ++i) all.free_somewhere(pod({cpus(1)}));
  EXPECT_TRUE(fits(all, 16)) << "nothing stays";
  Release many = release();
  for (int i = 0; i < 32; ++i) many.free_somewhere(pod({cpus(1)}));
  for (int i = 0; i < 32; ++i) many.keep_somewhere(pod({cpus(1)}));
  size_t calls = 0;
  EXPECT_FALSE(fits(many, 8, &calls)) << "true in fact, but not worth the time";
  EXPECT_EQ(calls, 1u);
  Release few = release();
  for (int i = 1; i <= 8; ++i) few.free_somewhere(pod({cpus(i)}));
  few.keep_somewhere(pod({cpus(28)}));
  calls = 0;
  EXPECT_FALSE(fits(few, 2, &calls)) << "the same";
  EXPECT_EQ(calls, kMaxLayouts + 1);
}

}  // namespace
}  // namespace plimsoll::topology
