// A pod with a node of which not all can be read: what can be read counts, and the node takes no
// further pod until the pod changes or goes. All else goes on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "tests/cycle/full_scheduler.hpp"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

// Takes every binding.
class Bindings final : public ApiWriter {
 public:
  void bind(BindRequest request, Done done) override {
    {
      const std::lock_guard lock(mutex_);
      places_[request.name] = request.node;
    }
    done({});
  }
  void record_event(EventRecord) override {}
  void patch_condition(ConditionPatch patch, Done done) override {
    {
      const std::lock_guard lock(mutex_);
      places_[patch.name] = patch.message;
    }
    done({});
  }
  void request(ApiRequest, Answered done) override { done(200, "{}"); }

  // Its node, or why it has none; empty: it was not tried.
  std::string place(const std::string& pod) {
    const std::lock_guard lock(mutex_);
    return places_[pod];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> places_;
};

Json node(const std::string& name) {
  return {{"metadata", {{"name", name}, {"uid", name}, {"labels", {{"name", name}}}}},
          {"status", {{"allocatable", {{"cpu", "8"}, {"memory", "8Gi"}, {"pods", "110"}}}}}};
}

Json pod(const std::string& name, const std::string& cpu, const std::string& node_name = "") {
  const Json container = {{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}};
  Json made = {{"metadata", {{"name", name}, {"namespace", "n"}, {"uid", "u-" + name}}},
               {"spec", {{"schedulerName", "topo"}, {"containers", {container}}}}};
  if (!node_name.empty()) made["spec"]["nodeName"] = node_name;
  return made;
}

class UnreadablePods : public ::testing::Test {
 protected:
  UnreadablePods() { scheduler_.sync(); }
  void deliver(Kind kind, const Json& object, bool deleted = false) {
    scheduler_.deliver(Change{kind, deleted, object});
    ASSERT_TRUE(scheduler_.settle());
    scheduler_.pass(60'000);
    ASSERT_TRUE(scheduler_.settle());
  }
  int64_t cpu_used(const std::string& node_name) {
    return scheduler_.view()[node_name].requested.at(PLIMSOLL_RESOURCE_CPU);
  }

  Bindings api_;
  FullScheduler scheduler_{FullScheduler::Role::kLiving, api_, 1'700'000'000'000};
};

TEST_F(UnreadablePods, TheirNodeTakesNobodyUntilTheyGo) {
  deliver(Kind::kNodes, node("a"));
  Json bad = pod("bad", "2", "a");
  bad["spec"]["initContainers"] = {
      {{"name", "i"}, {"resources", {{"requests", {{"cpu", "much"}}}}}}};
  deliver(Kind::kPods, bad);
  EXPECT_EQ(cpu_used("a"), 2000) << "what can be read counts";

  deliver(Kind::kPods, pod("waits", "1"));
  EXPECT_THAT(api_.place("waits"), HasSubstr("node(s) had a pod that cannot be read: n/bad"));
  deliver(Kind::kNodes, node("b"));
  EXPECT_EQ(api_.place("waits"), "b") << "other nodes take it";

  Json here = pod("here", "1");
  here["spec"]["nodeSelector"] = {{"name", "a"}};
  deliver(Kind::kPods, here);
  EXPECT_THAT(api_.place("here"), HasSubstr("cannot be read: n/bad"));
  deliver(Kind::kPods, bad, true);
  EXPECT_EQ(api_.place("here"), "a");
}

TEST_F(UnreadablePods, APodThatBecomesReadableFreesItsNode) {
  deliver(Kind::kNodes, node("a"));
  deliver(Kind::kPods, pod("changes", "2", "a"));
  deliver(Kind::kPods, pod("changes", "x", "a"));
  deliver(Kind::kPods, pod("waits", "1"));
  EXPECT_THAT(api_.place("waits"), HasSubstr("cannot be read: n/changes"));
  deliver(Kind::kPods, pod("changes", "3", "a"));
  EXPECT_EQ(cpu_used("a"), 4000);
  EXPECT_EQ(api_.place("waits"), "a");
}

TEST_F(UnreadablePods, OneWithoutANodeWaitsAlone) {
  deliver(Kind::kNodes, node("a"));
  deliver(Kind::kPods, pod("bad", "x"));
  EXPECT_THAT(api_.place("bad"), HasSubstr("a field that this scheduler cannot read"));
  deliver(Kind::kPods, pod("good", "1"));
  EXPECT_EQ(api_.place("good"), "a");
  deliver(Kind::kPods, pod("bad", "1"));
  EXPECT_EQ(api_.place("bad"), "a");
}

// Resources that pods name before anybody else does.
TEST_F(UnreadablePods, APodWaitsForAResourceUntilANodeHasIt) {
  deliver(Kind::kNodes, node("a"));
  Json asks = pod("asks", "1");
  asks["spec"]["containers"][0]["resources"]["requests"]["example.com/late"] = "2";
  deliver(Kind::kPods, asks);
  EXPECT_THAT(api_.place("asks"), HasSubstr("Insufficient example.com/late"));
  Json runs = asks;
  runs["metadata"]["name"] = "runs";
  runs["metadata"]["uid"] = "u-runs";
  runs["spec"]["nodeName"] = "a";
  deliver(Kind::kPods, runs);
  Json has = node("a");
  has["status"]["allocatable"]["example.com/late"] = "3";
  deliver(Kind::kNodes, has);
  EXPECT_THAT(api_.place("asks"), HasSubstr("Insufficient example.com/late"))
      << "the pod that came before counts";
  has["status"]["allocatable"]["example.com/late"] = "4";
  deliver(Kind::kNodes, has);
  EXPECT_EQ(api_.place("asks"), "a");
}

}  // namespace
}  // namespace plimsoll::testing
