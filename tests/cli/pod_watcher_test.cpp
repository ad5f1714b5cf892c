#include "lab/simulate/pod_watcher.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace plimsoll::cli {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using sandbox::ApiResult;
using sandbox::kPods;

class PodWatcherTest : public testing::Test {
 protected:
  std::string add(const std::string& name, const std::string& node = "",
                  const std::string& scheduler = "plimsoll") {
    json pod = {{"metadata", {{"name", name}, {"namespace", "d"}}},
                {"spec", {{"schedulerName", scheduler}, {"containers", json::array()}}},
                {"status", {{"phase", "Pending"}}}};
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    return (*store.create(kPods, std::move(pod)))->uid;
  }
  void change(const std::string& name, const std::function<void(json&)>& with) {
    ASSERT_TRUE(store.modify(kPods, {"d", name}, {}, [&](json& pod) -> ApiResult<void> {
      with(pod);
      return {};
    }));
  }
  void bind(const std::string& name) {
    change(name, [](json& pod) { pod["spec"]["nodeName"] = "n"; });
  }
  void refuse(const std::string& name) {
    change(name, [](json& pod) {
      pod["status"]["conditions"] = {{{"type", "PodScheduled"},
                                      {"status", "False"},
                                      {"reason", "Unschedulable"},
                                      {"message", "no node"}}};
    });
  }

  sandbox::ObjectStore store{{.seed = 1}};
  double seconds = 0;  // each question takes one
  std::function<double()> clock = [this] { return ++seconds; };
};

TEST_F(PodWatcherTest, CountsWhatBecomesOfOurPods) {
  const std::string waiting = add("waiting");
  PodWatcher watcher(store, {"plimsoll"}, {}, clock);
  watcher.expect(**store.get(kPods, {"d", "waiting"}));
  add("foreign", "", "default-scheduler");
  const std::string a = add("a");
  ASSERT_TRUE(watcher.follow(0ms));
  EXPECT_EQ(watcher.arrived(), 2U);
  EXPECT_FALSE(watcher.all_decided());
  EXPECT_EQ(watcher.seconds(), 0) << "nothing was bound";
  bind("a");
  refuse("waiting");
  ASSERT_TRUE(watcher.follow(0ms));
  EXPECT_EQ(watcher.bound(), 1U);
  EXPECT_EQ(watcher.refused(), 1U);
  EXPECT_TRUE(watcher.all_decided());
  ASSERT_TRUE(watcher.times(a) && watcher.times(waiting));
  EXPECT_GT(watcher.times(a)->bound.value_or(0), watcher.times(a)->created);
  EXPECT_FALSE(watcher.times(waiting)->bound);
  EXPECT_EQ(watcher.first_created(), watcher.times(waiting)->created);
  EXPECT_EQ(watcher.last_created(), watcher.times(a)->created);
  const double seconds = watcher.seconds();
  EXPECT_GT(seconds, 0);
  ASSERT_TRUE(store.remove(kPods, {"d", "a"}));
  ASSERT_TRUE(watcher.follow(0ms));
  EXPECT_EQ(watcher.bound(), 0U);
  EXPECT_EQ(watcher.seconds(), seconds) << "a pod that is gone was bound all the same";
  EXPECT_FALSE(watcher.follow(0ms));
}

// Nobody writes the condition of a gated pod again.
TEST_F(PodWatcherTest, AWaitingPodIsJudgedByItsCondition) {
  add("gated");
  refuse("gated");
  const std::string waiting = add("waiting");
  PodWatcher watcher(store, {"plimsoll"}, {}, clock);
  for (const char* name : {"gated", "waiting"}) watcher.expect(**store.get(kPods, {"d", name}));
  EXPECT_EQ(watcher.arrived(), 2U);
  EXPECT_EQ(watcher.refused(), 1U);
  EXPECT_TRUE(watcher.decided((*store.get(kPods, {"d", "gated"}))->uid));
  EXPECT_FALSE(watcher.decided(waiting));
}

// They start, end and are deleted while the simulation runs.
TEST_F(PodWatcherTest, PodsThatRanBeforeDoNotCount) {
  std::set<std::string> before;
  for (const char* name : {"old", "ended", "gone"}) before.insert(add(name, "n"));
  PodWatcher watcher(store, {"plimsoll"}, before, clock);
  change("old", [](json& pod) { pod["status"]["phase"] = "Running"; });
  change("ended", [](json& pod) { pod["status"]["phase"] = "Succeeded"; });
  ASSERT_TRUE(store.remove(kPods, {"d", "gone"}));
  EXPECT_TRUE(watcher.follow(0ms)) << "something moves";
  EXPECT_EQ(watcher.arrived(), 0U);
  EXPECT_EQ(watcher.bound(), 0U);
  EXPECT_EQ(watcher.seconds(), 0) << "nothing was created";
  add("new");
  ASSERT_TRUE(watcher.follow(0ms));
  EXPECT_EQ(watcher.arrived(), 1U);
  EXPECT_FALSE(watcher.all_decided()) << "pods of before do not stand for it";
}

TEST_F(PodWatcherTest, ALostHistoryIsMadeUpForByAList) {
  sandbox::ObjectStore small({.history_per_kind = 4, .seed = 1});
  const auto pod = [](int i, const char* node) {
    return json{{"metadata", {{"name", "p" + std::to_string(i)}, {"namespace", "d"}}},
                {"spec", {{"schedulerName", "plimsoll"}, {"nodeName", node}}},
                {"status", {{"phase", "Pending"}}}};
  };
  const std::string before = (*small.create(kPods, pod(0, "n")))->uid;
  PodWatcher watcher(small, {"plimsoll"}, {before}, [] { return 0.0; });
  for (int i = 1; i <= 20; ++i) ASSERT_TRUE(small.create(kPods, pod(i, i % 2 == 0 ? "n" : "")));
  ASSERT_TRUE(watcher.follow(0ms));
  EXPECT_EQ(watcher.arrived(), 20U);
  EXPECT_EQ(watcher.bound(), 10U);
}

}  // namespace
}  // namespace plimsoll::cli
