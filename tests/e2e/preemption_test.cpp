// A full cluster: pods of lower priority make way, down to the zone and the device, and a budget is
// respected.

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tests/e2e/e2e_test.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kPriorityClasses = "/apis/scheduling.k8s.io/v1/priorityclasses";

class PreemptionTest : public E2eTest {
 protected:
  void SetUp() override {
    E2eTest::SetUp();
    for (const auto& [name, value] :
         {std::pair("low", 10), std::pair("middle", 100), std::pair("high", 1000)}) {
      client().post(kPriorityClasses, json{{"apiVersion", "scheduling.k8s.io/v1"},
                                           {"kind", "PriorityClass"},
                                           {"metadata", {{"name", name}}},
                                           {"value", value}});  // there already, after the first
    }
  }
  void add_node(const std::string& name, Resources allocatable) {
    allocatable.emplace_back("pods", "20");
    create(kNodes, node_object(name, allocatable));
  }
  void add_pod(const std::string& name, const std::string& priority, const Resources& requests) {
    json pod = pod_object({.name = name, .scheduler = kScheduler, .requests = requests});
    pod["metadata"]["labels"]["app"] = name;
    pod["spec"]["priorityClassName"] = priority;
    create(pods_path(), pod);
  }
  // A budget for the pods labelled with this app.
  void protect(const std::string& app) {
    const std::string budgets = "/apis/policy/v1/namespaces/" + ns() + "/poddisruptionbudgets";
    create(budgets,
           {{"apiVersion", "policy/v1"},
            {"kind", "PodDisruptionBudget"},
            {"metadata", {{"name", app}}},
            {"spec", {{"minAvailable", 1}, {"selector", {{"matchLabels", {{"app", app}}}}}}}});
    change(budgets + "/" + app + "/status", {{"status",
                                              {{"disruptionsAllowed", 0},
                                               {"currentHealthy", 1},
                                               {"desiredHealthy", 1},
                                               {"expectedPods", 1}}}});
  }
  json pod(const std::string& name) { return client().get(pods_path(name)).json(); }
  bool terminating(const std::string& name) {
    return pod(name)["metadata"].contains("deletionTimestamp");
  }
  std::string annotation(const std::string& name, const std::string& key) {
    return pod(name)["metadata"]["annotations"].value(key, "");
  }
  void expect_told(const std::string& victim, const std::string& preemptor,
                   const std::string& node) {
    const json gone = pod(victim);
    json target;
    for (const json& condition : gone["status"]["conditions"]) {
      if (condition["type"] == "DisruptionTarget") target = condition;
    }
    ASSERT_FALSE(target.is_null()) << gone["status"];
    EXPECT_EQ(target["status"], "True");
    EXPECT_EQ(target["reason"], "PreemptionByScheduler");
    EXPECT_EQ(target["message"],
              std::string(kScheduler) + ": preempting to accommodate a higher priority pod");
    EXPECT_EQ(wait_event(victim, "Preempted"),
              "Preempted by pod " + pod(preemptor)["metadata"]["uid"].get<std::string>() +
                  " on node " + node);
    EXPECT_EQ(events(victim, "Preempted")[0]["action"], "Preempting");
  }
};

TEST_F(PreemptionTest, AZoneIsClearedAndTheBudgetRespected) {
  add_node("n", {{"cpu", "8"}, {"memory", "16Gi"}});
  const Resources zone{{"cpu", "4"}, {"memory", "8Gi"}};
  create(kNrts, nrt_object({.node = "n", .zones = {zone, zone}}));
  ASSERT_NO_FATAL_FAILURE(start());
  const Resources whole{{"cpu", "4"}, {"memory", "2Gi"}};
  add_pod("guarded", "low", whole);
  ASSERT_EQ(wait_bound("guarded"), "n");  // or the kubelet would see whose binding is the faster
  add_pod("free", "low", whole);
  ASSERT_EQ(wait_bound("free"), "n");
  protect("guarded");
  const std::string zones = annotation("free", "topology.plimsoll.io/zones");
  ASSERT_NE(zones, "");

  add_pod("urgent", "high", whole);
  ASSERT_TRUE(eventually(60s, [&] { return terminating("free"); })) << tail(log(), 30);
  ASSERT_NO_FATAL_FAILURE(expect_told("free", "urgent", "n"));
  EXPECT_TRUE(eventually(
      30s, [&] { return pod("urgent")["status"].value("nominatedNodeName", "") == "n"; }));
  EXPECT_EQ(wait_refused("urgent"), "0/1 nodes are available: 1 Insufficient cpu.");
  // One of lower priority may not slip in while the victim ends.
  add_pod("late", "low", whole);
  EXPECT_THAT(wait_refused("late"), HasSubstr("1 Insufficient cpu"));
  remove(pods_path("free"));  // as its kubelet does in the end
  EXPECT_EQ(wait_bound("urgent"), "n") << tail(log(), 30);
  EXPECT_EQ(annotation("urgent", "topology.plimsoll.io/zones"), zones);
  EXPECT_FALSE(terminating("guarded"));
  EXPECT_EQ(node_of("late"), "");
  EXPECT_THAT(events("guarded", "Preempted"), IsEmpty());
}

TEST_F(PreemptionTest, ADeviceIsCleared) {
  add_node("g", {{"cpu", "8"}, {"memory", "16Gi"}, {"koordinator.sh/gpu", "200"}});
  create(kDevices, device_object("g", {gpu_device(0, 0), gpu_device(1, 1)}));
  ASSERT_NO_FATAL_FAILURE(start());
  const Resources one{{"cpu", "1"}, {"memory", "1Gi"}, {"koordinator.sh/gpu", "100"}};
  add_pod("a", "low", one);
  ASSERT_EQ(wait_bound("a"), "g");
  add_pod("b", "high", one);
  ASSERT_EQ(wait_bound("b"), "g");
  const std::string allocated = annotation("a", "scheduling.koordinator.sh/device-allocated");
  add_pod("urgent", "high", one);
  ASSERT_TRUE(eventually(60s, [&] { return terminating("a"); })) << tail(log(), 30);
  ASSERT_NO_FATAL_FAILURE(expect_told("a", "urgent", "g"));
  remove(pods_path("a"));
  EXPECT_EQ(wait_bound("urgent"), "g") << tail(log(), 30);
  EXPECT_EQ(json::parse(annotation("urgent", "scheduling.koordinator.sh/device-allocated")),
            json::parse(allocated));
  EXPECT_FALSE(terminating("b"));
}

// Cards that may be used in pairs only: the two pods of lowest priority sit in different pairs.
TEST_F(PreemptionTest, APartitionIsCleared) {
  add_node("g", {{"cpu", "8"}, {"memory", "16Gi"}, {"nvidia.com/gpu", "4"}});
  json cards =
      device_object("g", {gpu_device(0, 0), gpu_device(1, 0), gpu_device(2, 0), gpu_device(3, 0)});
  cards["metadata"]["labels"]["node.koordinator.sh/gpu-partition-policy"] = "Honor";
  cards["metadata"]["annotations"]["scheduling.koordinator.sh/gpu-partitions"] =
      R"({"1":[{"minors":[0]},{"minors":[1]},{"minors":[2]},{"minors":[3]}],)"
      R"("2":[{"minors":[0,1]},{"minors":[2,3]}]})";
  create(kDevices, cards);
  ASSERT_NO_FATAL_FAILURE(start());
  const auto minors = [&](const std::string& name) {
    const json given = json::parse(annotation(name, "scheduling.koordinator.sh/device-allocated"));
    std::set<int> found;
    for (const json& share : given["gpu"]) found.insert(share["minor"].get<int>());
    return found;
  };
  const Resources one{{"cpu", "1"}, {"memory", "1Gi"}, {"nvidia.com/gpu", "1"}};
  std::map<int, std::string> by_minor;
  for (int i = 0; i < 4; ++i) {
    const std::string name = "p" + std::to_string(i);
    add_pod(name, i % 2 == 0 ? "low" : "middle", one);
    ASSERT_EQ(wait_bound(name), "g") << tail(log(), 30);
    by_minor[*minors(name).begin()] = name;
  }
  ASSERT_THAT(by_minor, SizeIs(4));
  add_pod("urgent", "high", {{"cpu", "1"}, {"memory", "1Gi"}, {"nvidia.com/gpu", "2"}});
  const auto evicted = [&] {
    std::set<int> found;
    for (const auto& [minor, name] : by_minor)
      if (terminating(name)) found.insert(minor);
    return found;
  };
  ASSERT_TRUE(eventually(60s, [&] { return evicted().size() == 2; })) << tail(log(), 30);
  const std::set<int> victims = evicted();
  EXPECT_TRUE(victims == (std::set<int>{0, 1}) || victims == (std::set<int>{2, 3}))
      << ::testing::PrintToString(victims);
  for (const int minor : victims) remove(pods_path(by_minor[minor]));
  ASSERT_EQ(wait_bound("urgent"), "g") << tail(log(), 30);
  EXPECT_EQ(minors("urgent"), victims);
}

}  // namespace
}  // namespace plimsoll::test
