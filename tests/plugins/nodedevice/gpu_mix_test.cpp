// The measures of fragmentation: against numbers worked out by hand, and against the definitions
// carried out word for word over random nodes.

#include "plugins/nodedevice/fragmentation/gpu_mix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "plugins/nodedevice/fragmentation/fragmentation.hpp"
#include "plugins/nodedevice/fragmentation/pod_census.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::devices {
namespace {

struct RawNode {
  int64_t cpu = 0;
  std::string model;
  std::vector<int32_t> left;
};

FreeGpus free_of(const GpuMix& mix, const RawNode& node) {
  FreeGpus free;
  free.cpu_milli = node.cpu;
  free.model = mix.model_number(node.model);
  for (const int32_t milli : node.left) free.add(milli);
  return free;
}

// F_n as it is defined, times the weight of all pods.
int64_t fragmentation_by_definition(const std::vector<TypicalPod>& pods, const RawNode& node) {
  int64_t sum = 0;
  for (const TypicalPod& pod : pods) {
    int64_t all = 0;
    int64_t too_small = 0;
    int enough = 0;
    for (const int32_t left : node.left) {
      all += left;
      if (left < pod.gpu_milli) too_small += left;
      if (left >= pod.gpu_milli) ++enough;
    }
    const bool model_fits = pod.models.empty() || std::find(pod.models.begin(), pod.models.end(),
                                                            node.model) != pod.models.end();
    const bool hosts =
        pod.gpus > 0 && enough >= pod.gpus && model_fits && node.cpu >= pod.cpu_milli;
    sum += pod.weight * (hosts ? too_small : all);
  }
  return sum;
}

// S_n when all pods are of one kind: every future is the same.
int64_t stranded_by_definition(const TypicalPod& pod, RawNode node) {
  while (node.cpu >= pod.cpu_milli) {
    std::sort(node.left.begin(), node.left.end());
    const auto first = std::lower_bound(node.left.begin(), node.left.end(), pod.gpu_milli);
    if (node.left.end() - first < pod.gpus) break;
    for (auto it = first; it != first + pod.gpus; ++it) *it -= pod.gpu_milli;
    node.cpu -= pod.cpu_milli;
  }
  int64_t sum = 0;
  for (const int32_t left : node.left) sum += left;
  return sum;
}

class GpuMixTest : public testing::Test {
 protected:
  int any(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  RawNode any_node() {
    RawNode node{1000 * any(0, 96), std::string(1, static_cast<char>('A' + any(0, 3))), {}};
    for (int i = any(0, 8); i > 0; --i) node.left.push_back(any(0, 3) == 0 ? 1000 : any(0, 1000));
    return node;
  }
  TypicalPod any_pod() {
    TypicalPod pod{500 * any(0, 60), any(0, 5) == 0 ? 0 : 1, 0, {}, any(1, 1000)};
    if (any(0, 4) == 0) pod.gpus = any(2, 8);
    if (pod.gpus > 0) pod.gpu_milli = any(0, 1) == 0 ? 1000 : 10 * any(1, 99);
    if (any(0, 3) == 0) pod.models = {std::string(1, static_cast<char>('A' + any(0, 4)))};
    return pod;
  }

  std::mt19937_64 random_{plimsoll::test::test_seed()};
};

TEST_F(GpuMixTest, FragmentationIsWhatHandsWorkOut) {
  const std::vector<TypicalPod> pods = {
      {4000, 1, 470, {}, 2},      // hosted by the first GPU; 300 are too small for it
      {16000, 1, 200, {}, 1},     // not enough CPU: all 830 are lost to it
      {1000, 0, 0, {}, 1},        // asks for no GPU: all 830
      {0, 2, 250, {"T4"}, 3},     // both GPUs will do, nothing is too small
      {0, 1, 100, {"P100"}, 1}};  // another model: all 830
  const GpuMix mix(pods);
  const RawNode node{8000, "T4", {530, 0, 300}};
  EXPECT_EQ(mix.weight(), 8);
  EXPECT_EQ(mix.fragmentation(free_of(mix, node)), 2 * 300 + 830 + 830 + 0 + 830);
  EXPECT_EQ(fragmentation_by_definition(pods, node), 2 * 300 + 830 + 830 + 0 + 830);
}

TEST_F(GpuMixTest, LookaheadSeesWhatTheLastPodWillLeave) {
  const GpuMix mix({{0, 1, 470, {}, 1}});
  const auto stranded = [&](int32_t left) {
    return mix.stranded(free_of(mix, {1000, "", {left}})) / GpuMix::kFutures;
  };
  EXPECT_EQ(stranded(470), 0);
  EXPECT_EQ(stranded(530), 60);
  EXPECT_EQ(stranded(1000), 60);
  EXPECT_EQ(stranded(460), 460);
  // To the published measure a whole card and one with 0.47 are the same: of use.
  EXPECT_EQ(mix.fragmentation(free_of(mix, {1000, "", {1000}})), 0);
  EXPECT_EQ(mix.fragmentation(free_of(mix, {1000, "", {470}})), 0);
}

TEST_F(GpuMixTest, LookaheadSeesThatCpuRunsOut) {
  const GpuMix mix({{12000, 1, 1000, {}, 1}});
  EXPECT_EQ(mix.stranded(free_of(mix, {96000, "", std::vector<int32_t>(8, 1000)})), 0);
  EXPECT_EQ(mix.stranded(free_of(mix, {95999, "", std::vector<int32_t>(8, 1000)})),
            1000 * GpuMix::kFutures);
}

TEST_F(GpuMixTest, RanksAreThePublishedScoreAndTheStepsOfLookahead) {
  const Fragmentation published(FragmentationMeasure::kPublished, GpuMix({{0, 1, 470, {}, 2}}));
  EXPECT_EQ(published.rank(0, 0), 50);
  EXPECT_EQ(published.rank(0, 2 * 530), 37);   // sigmoid(-0.53) = 0.3705
  EXPECT_EQ(published.rank(2 * 1000, 0), 73);  // sigmoid(1) = 0.7311
  EXPECT_EQ(published.rank(0, 2 * 8000), 0);
  const Fragmentation lookahead(FragmentationMeasure::kLookahead, GpuMix({{0, 1, 470, {}, 2}}));
  constexpr int64_t kTimes = GpuMix::kFutures;
  EXPECT_EQ(lookahead.rank(0, 0), 0);
  EXPECT_EQ(lookahead.rank(199 * kTimes, 0), 0);
  EXPECT_EQ(lookahead.rank(200 * kTimes, 0), 1);
  EXPECT_EQ(lookahead.rank(0, kTimes), -1);
  EXPECT_EQ(lookahead.rank(0, 200 * kTimes), -1);
  EXPECT_EQ(lookahead.rank(0, 201 * kTimes), -2);
}

TEST_F(GpuMixTest, FragmentationIsTheDefinition) {
  for (int round = 0; round < 300; ++round) {
    std::vector<TypicalPod> pods(static_cast<size_t>(any(1, 40)));
    for (TypicalPod& pod : pods) pod = any_pod();
    const GpuMix mix(pods);
    for (int i = 0; i < 20; ++i) {
      const RawNode node = any_node();
      ASSERT_EQ(mix.fragmentation(free_of(mix, node)), fragmentation_by_definition(pods, node));
    }
  }
}

TEST_F(GpuMixTest, StrandedIsTheDefinitionForPodsOfOneKind) {
  for (int round = 0; round < 2000; ++round) {
    TypicalPod pod = any_pod();
    // So few fit that all have come before a future ends.
    if (pod.gpus == 0) pod.gpus = 1;
    pod.gpu_milli = std::max(pod.gpu_milli, 250);
    pod.models.clear();
    const GpuMix mix({pod});
    const RawNode node = any_node();
    ASSERT_EQ(mix.stranded(free_of(mix, node)),
              GpuMix::kFutures * stranded_by_definition(pod, node))
        << pod.gpus << " x " << pod.gpu_milli << ", CPU " << pod.cpu_milli << " of " << node.cpu;
  }
}

TEST_F(GpuMixTest, StrandedIsNoMoreThanWhatIsFreeAndTheSameEachTime) {
  for (int round = 0; round < 100; ++round) {
    std::vector<TypicalPod> pods(static_cast<size_t>(any(1, 20)));
    for (TypicalPod& pod : pods) pod = any_pod();
    const GpuMix mix(pods);
    const FreeGpus node = free_of(mix, any_node());
    const int64_t stranded = mix.stranded(node);
    EXPECT_GE(stranded, 0);
    EXPECT_LE(stranded, GpuMix::kFutures * node.total());
    EXPECT_EQ(GpuMix(pods).stranded(node), stranded);
  }
}

TEST_F(GpuMixTest, TheMostPopularCoverTheirShare) {
  const std::vector<TypicalPod> pods = {
      {1, 1, 100, {}, 5}, {2, 1, 100, {}, 60}, {3, 1, 100, {}, 30}, {4, 1, 100, {}, 5}};
  const auto most = GpuMix::most_popular(pods, 95);
  ASSERT_EQ(most.size(), 3U);
  EXPECT_EQ(most[0].cpu_milli, 2);
  EXPECT_EQ(most[1].cpu_milli, 3);
  EXPECT_EQ(most[2].cpu_milli, 1);  // of the equally popular ones, the one that asks for less
  EXPECT_EQ(GpuMix::most_popular(pods, 90).size(), 2U);
  EXPECT_EQ(GpuMix::most_popular(pods, 100).size(), 4U);
}

TEST_F(GpuMixTest, TheCensusDependsOnWhichPodsThereAre) {
  const TypicalPod share{4000, 1, 470, {}, 1};
  const TypicalPod whole{8000, 1, 1000, {"T4"}, 1};
  PodCensus census;
  census.waits("a", share);
  census.waits("b", whole);
  const auto first = census.changed_mix();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->size(), 2U);
  EXPECT_FALSE(census.changed_mix().has_value()) << "nothing has changed";
  census.assigned("a", share);  // counted already
  census.waits("a", share);
  EXPECT_FALSE(census.changed_mix().has_value());
  census.assigned("c", share);
  census.gone("b");
  PodCensus other;
  other.assigned("c", share);
  other.assigned("a", share);
  const auto now = census.changed_mix();
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(*now, *other.changed_mix());
  ASSERT_EQ(now->size(), 1U);
  EXPECT_EQ(now->front().weight, 2);
}

TEST_F(GpuMixTest, TheCensusForgetsTheWaitingPodsThatWereTriedLongestAgo) {
  PodCensus census;
  const TypicalPod share{4000, 1, 470, {}, 1};
  for (size_t i = 0; i < PodCensus::kMaxWaiting + 100; ++i)
    census.waits("pod-" + std::to_string(i), share);
  const auto mix = census.changed_mix();
  ASSERT_TRUE(mix.has_value());
  EXPECT_EQ(mix->front().weight, static_cast<int64_t>(PodCensus::kMaxWaiting));
}

}  // namespace
}  // namespace plimsoll::devices
