// The strategy FragmentationGradient through the plugin's table of functions.

#include <gmock/gmock.h>

#include <plimsoll/fake_host.hpp>

#include "tests/plugins/nodedevice/plugin_instance.hpp"

namespace plimsoll::devices {
namespace {

using sdk::FakeCycle;
using sdk::FakeHost;
using sdk::FakeNode;
using sdk::FakePod;
using test::Instance;
using testing::ElementsAre;
using testing::HasSubstr;

// All pods want 0.47 of a GPU, or 0.53.
constexpr const char* kHalves = R"({"scoringStrategy":{"type":"FragmentationGradient",
    "fragmentation":{"typicalPods":[{"cpu":"1","gpus":1,"gpuMilli":470,"weight":3},
                                    {"cpu":"1","gpus":1,"gpuMilli":530,"weight":1}]}}})";

class FragmentationTest : public ::testing::Test {
 protected:
  FragmentationTest() {
    for (FakeNode* node : {&first_, &second_}) {
      node->allocatable("cpu", 16000);
      host_.add(*node);
    }
  }
  void report(Instance& plugin, FakeNode& node, const std::string& name, int cards) {
    std::vector<test::Json> devices;
    for (int i = 0; i < cards; ++i) devices.push_back(test::gpu(i, "16Gi"));
    plugin.node(node);
    plugin.device(name, test::device_object(name, devices));
  }
  static std::vector<int64_t> scores(Instance& plugin, FakePod& pod,
                                     const std::vector<FakeNode*>& nodes) {
    FakeCycle cycle;
    plugin.pre_filter(cycle, pod);
    std::vector<const plimsoll_node_info*> rows;
    for (FakeNode* node : nodes) rows.push_back(&node->get());
    const plimsoll_nodes all{sizeof all, static_cast<uint32_t>(rows.size()), rows.data(), nullptr,
                             nullptr};
    std::vector<int64_t> scores(rows.size());
    const plimsoll_plugin& slots = plugin.slots();
    EXPECT_EQ(slots.pre_score(slots.self, cycle.get(), &pod.get(), &all), 0);
    EXPECT_EQ(slots.score(slots.self, cycle.get(), &pod.get(), &all, scores.data()), 0);
    // What was worked out at once is what is worked out node by node.
    FakeCycle other;
    plugin.pre_filter(other, pod);
    for (size_t i = 0; i < nodes.size(); ++i)
      EXPECT_EQ(plugin.raw_score(other, pod, *nodes[i]), scores[i]);
    EXPECT_EQ(slots.normalize(slots.self, cycle.get(), &pod.get(), &all, scores.data()), 0);
    return scores;
  }

  FakeHost host_;
  FakeNode first_{"node-1", 1};
  FakeNode second_{"node-2", 2};
};

TEST_F(FragmentationTest, PrefersTheCardThatIsFilledToTheBrim) {
  Instance plugin(host_, kHalves);
  ASSERT_TRUE(plugin.made()) << host_.error;
  report(plugin, first_, "node-1", 2);
  report(plugin, second_, "node-2", 1);
  FakePod half("ns/half");
  half.request("cpu", 1000).request("koordinator.sh/gpu", 53);
  EXPECT_THAT(plugin.place(half, second_), HasSubstr(R"("minor":0)"));
  FakePod rest("ns/rest");
  rest.request("cpu", 1000).request("koordinator.sh/gpu", 47);
  EXPECT_THAT(scores(plugin, rest, {&first_, &second_}), ElementsAre(testing::Lt(100), 100));
  // And on a node: 0.47 goes next to 0.53, not next to 0.47.
  FakePod other("ns/other");
  other.request("cpu", 1000).request("koordinator.sh/gpu", 47);
  FakePod third("ns/third");
  third.request("cpu", 1000)
      .request("koordinator.sh/gpu-core", 60)
      .request("koordinator.sh/gpu-memory-ratio", 60);
  EXPECT_THAT(plugin.place(other, first_), HasSubstr(R"("minor":0)"));
  EXPECT_THAT(plugin.place(third, first_), HasSubstr(R"("minor":1)"));
  FakePod fits_first("ns/fits-first");
  fits_first.request("cpu", 1000).request("koordinator.sh/gpu", 53);
  EXPECT_THAT(plugin.place(fits_first, first_), HasSubstr(R"("minor":0)"));
}

TEST_F(FragmentationTest, TheFirstNameWinsAmongEquals) {
  for (const char* measure : {"Lookahead", "Published"}) {
    FakeHost host;
    FakeNode a("a", 7);
    FakeNode b("b", 3);
    Instance plugin(host, R"({"scoringStrategy":{"type":"FragmentationGradient",
        "fragmentation":{"measure":")" +
                              std::string(measure) +
                              R"(","typicalPods":[{"cpu":"1","gpus":1}]}}})");
    ASSERT_TRUE(plugin.made()) << host.error;
    for (FakeNode* node : {&a, &b}) {
      node->allocatable("cpu", 16000);
      host.add(*node);
    }
    report(plugin, a, "a", 2);
    report(plugin, b, "b", 2);
    FakePod pod("ns/pod");
    pod.request("cpu", 1000).request("nvidia.com/gpu", 1);
    EXPECT_THAT(scores(plugin, pod, {&b, &a}), ElementsAre(99, 100));
  }
}

TEST_F(FragmentationTest, CpuOnlyPodsLeaveTheCpuThatGpusNeed) {
  Instance plugin(host_, R"({"scoringStrategy":{"type":"FragmentationGradient","fragmentation":
      {"typicalPods":[{"cpu":"8","gpus":1}]}}})");
  ASSERT_TRUE(plugin.made()) << host_.error;
  report(plugin, first_, "node-1", 2);   // needs all of its 16 CPUs
  report(plugin, second_, "node-2", 1);  // needs 8
  FakePod pod("ns/pod");
  pod.request("cpu", 4000);
  EXPECT_THAT(scores(plugin, pod, {&first_, &second_}), ElementsAre(0, 100));
  EXPECT_FALSE(plugin.sign(pod).empty());
}

TEST_F(FragmentationTest, ModelsThatTypicalPodsNameAreKeptForThem) {
  Instance plugin(host_, R"({"scoringStrategy":{"type":"FragmentationGradient","fragmentation":
      {"typicalPods":[{"cpu":"1","gpus":1,"models":["H100"]},
                      {"cpu":"1","gpus":2,"models":["L4"]}]}}})");
  ASSERT_TRUE(plugin.made()) << host_.error;
  first_.label("node.koordinator.sh/gpu-model", "H100");
  second_.label("node.koordinator.sh/gpu-model", "A10");
  report(plugin, first_, "node-1", 2);
  report(plugin, second_, "node-2", 2);
  FakePod pod("ns/pod");
  pod.request("cpu", 1000).request("nvidia.com/gpu", 1);
  EXPECT_THAT(scores(plugin, pod, {&first_, &second_}), ElementsAre(0, 100))
      << "nobody else wants the A10";
}

TEST_F(FragmentationTest, LearnsWhatPodsAskFor) {
  Instance plugin(host_, R"({"scoringStrategy":{"type":"FragmentationGradient"}})");
  ASSERT_TRUE(plugin.made()) << host_.error;
  report(plugin, first_, "node-1", 1);
  report(plugin, second_, "node-2", 2);
  FakePod pod("ns/pod");
  pod.request("cpu", 1000).request("nvidia.com/gpu", 1);
  EXPECT_THAT(scores(plugin, pod, {&first_, &second_}), ElementsAre(100, 99));
  // Pods that wait for two GPUs: a node with two is not broken up.
  std::vector<std::unique_ptr<FakePod>> pairs;
  for (int i = 0; i < 20; ++i) {
    pairs.push_back(std::make_unique<FakePod>("ns/pair-" + std::to_string(i)));
    pairs.back()->request("cpu", 1000).request("nvidia.com/gpu", 2);
    FakeCycle cycle;
    EXPECT_EQ(plugin.pre_filter(cycle, *pairs.back()), "ok");
  }
  const auto touched = host_.touched.size();
  EXPECT_THAT(scores(plugin, pod, {&second_, &first_}), ElementsAre(testing::Lt(99), 100));
  EXPECT_GE(host_.touched.size(), touched);
}

TEST_F(FragmentationTest, ArgsThatAreWrongAreNamed) {
  const auto problem = [](const std::string& strategy) {
    FakeHost host;
    Instance plugin(host, R"({"scoringStrategy":)" + strategy + "}");
    return plugin.made() ? std::string() : host.error;
  };
  EXPECT_EQ(problem(R"({"type":"FragmentationGradient"})"), "");
  EXPECT_EQ(problem(R"({"type":"FragmentationGradient","fragmentation":{"measure":"Published",
      "typicalPods":[{"cpu":"8"},{"cpu":4,"gpus":8,"gpuMilli":1000,"models":["T4"]}]}})"),
            "");
  EXPECT_THAT(problem(R"({"type":"LeastAllocated","fragmentation":{}})"),
              HasSubstr("scoringStrategy.fragmentation: needs the type FragmentationGradient"));
  EXPECT_THAT(
      problem(R"({"type":"FragmentationGradient","fragmentation":{"measure":"x","y":1,
      "typicalPods":[{"cpu":"-1"},{"gpus":33},{"gpus":1,"gpuMilli":0},{"gpus":1,"weight":0.5},
                     {"models":"T4","gpu":1}]}})"),
      testing::AllOf(
          HasSubstr("scoringStrategy.fragmentation.y: unknown field"),
          HasSubstr("scoringStrategy.fragmentation.measure: must be Lookahead or Published"),
          HasSubstr("scoringStrategy.fragmentation.typicalPods[0].cpu: must be an amount of CPU"),
          HasSubstr("typicalPods[1].gpus: must be a number from 0 to 32"),
          HasSubstr("typicalPods[2].gpuMilli: must be a number from 1 to 1000"),
          HasSubstr("typicalPods[3].weight: must be a number from 1 to 1000000"),
          HasSubstr("typicalPods[4].gpu: unknown field")));
  EXPECT_THAT(problem(R"({"type":"FragmentationGradient","fragmentation":{"typicalPods":[]}})"),
              HasSubstr("typicalPods: must be a list of at least one pod"));
  EXPECT_THAT(
      problem(R"({"type":"FragmentationGradient","fragmentation":{"typicalPods":[{"cpu":"1"}]}})"),
      HasSubstr("typicalPods: must have a pod with gpus"));
}

}  // namespace
}  // namespace plimsoll::devices
