// Strangers' objects in the loop: for every list and map of pods and nodes, what the scheduler does
// with them costs, and keeps, what is in proportion to them, and nothing when they are gone. Pods
// that wait for this scheduler, run on a node, or are another scheduler's; beside other pods that
// wait and that hints ask about.

#include <gtest/gtest.h>

#include "tests/cycle/full_scheduler.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/growing_objects.hpp"
#include "tests/support/growth.hpp"

namespace plimsoll::testing {
namespace {

constexpr int kNodes = 20;
constexpr int kWaiting = 20;

class BindsAtOnce final : public ApiWriter {
 public:
  void bind(BindRequest, Done done) override { done({}); }
  void record_event(EventRecord) override {}
  void patch_condition(ConditionPatch, Done done) override { done({}); }
  void request(ApiRequest, Answered done) override { done(200, "{}"); }
};

Json small_node(int number) {
  const std::string name = "n" + std::to_string(number);
  return {{"metadata", {{"name", name}, {"uid", name}, {"labels", {{"zone", "a"}}}}},
          {"status", {{"allocatable", {{"cpu", "8"}, {"memory", "8Gi"}, {"pods", "110"}}}}}};
}

// Fits nowhere, so that every event is held against it.
Json waiting_pod(int number) {
  const std::string name = "waits-" + std::to_string(number);
  const Json requests = {{"cpu", "100"}, {"memory", "1Gi"}};
  const Json container = {
      {"name", "c"}, {"ports", {{{"hostPort", 80}}}}, {"resources", {{"requests", requests}}}};
  return {{"metadata", {{"name", name}, {"namespace", "w"}, {"uid", name}}},
          {"spec", {{"schedulerName", "topo"}, {"containers", {container}}}}};
}

struct Case {
  test::GrowingObject object;
  Kind kind;
  std::string node;       // of a pod: where it runs
  std::string scheduler;  // ...: whose it is
  std::string name;

  friend void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const test::GrowingObject& pod : test::growing_pods()) {
    all.push_back({pod, Kind::kPods, "", "topo", "Waiting_" + pod.name()});
    all.push_back({pod, Kind::kPods, "n1", "other", "Running_" + pod.name()});
  }
  all.push_back({test::growing_pods()[3], Kind::kPods, "", "other", "AnotherSchedulers_requests"});
  for (const test::GrowingObject& node : test::growing_nodes()) {
    all.push_back({node, Kind::kNodes, "", "", "Node_" + node.name()});
  }
  return all;
}

class LoopGrowth : public ::testing::TestWithParam<Case> {};

TEST_P(LoopGrowth, IsLinearAndReturns) {
  const Case& with = GetParam();
  BindsAtOnce api;
  FullScheduler scheduler(FullScheduler::Role::kLiving, api, 1'700'000'000'000);
  for (int i = 0; i < kNodes; ++i) scheduler.deliver(Change{Kind::kNodes, false, small_node(i)});
  scheduler.sync();
  for (int i = 0; i < kWaiting; ++i) scheduler.deliver(Change{Kind::kPods, false, waiting_pod(i)});
  ASSERT_TRUE(scheduler.settle());
  test::GrowthLimits limits;
  limits.few = 200;
  limits.many = test::in_full_length() ? 6'000 : 3'000;
  // Plugins remember a bounded number of kinds of pods (PodMemo), and parts of the last object may
  // be kept until the next one comes.
  limits.left_floor = 512 << 10;
  test::expect_linear(
      with.name,
      [&](size_t entries, size_t round) {
        auto object = std::make_shared<Json>(with.object.make(entries, round));
        if (with.kind == Kind::kPods) {
          (*object)["spec"]["schedulerName"] = with.scheduler;
          if (!with.node.empty()) (*object)["spec"]["nodeName"] = with.node;
        }
        auto later = std::make_shared<Json>(*object);
        (*later)["metadata"]["resourceVersion"] = "2";
        return test::Growing{[&, object, later] {
                               scheduler.deliver(Change{with.kind, false, *object});
                               EXPECT_TRUE(scheduler.settle());
                               scheduler.deliver(Change{with.kind, false, *later});
                               EXPECT_TRUE(scheduler.settle());
                             },
                             [&, later] {
                               scheduler.deliver(Change{with.kind, true, *later});
                               EXPECT_TRUE(scheduler.settle());
                             }};
      },
      limits);
}

INSTANTIATE_TEST_SUITE_P(Objects, LoopGrowth, ::testing::ValuesIn(cases()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace plimsoll::testing
