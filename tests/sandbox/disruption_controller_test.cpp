#include "lab/sandbox/controllers/not_simulated.hpp"
#include "tests/sandbox/controllers_test.hpp"

namespace plimsoll::sandbox {
namespace {

class DisruptionControllerTest : public ControllersTest {
 protected:
  // Pods name-0, name-1, ... that are ready and of one controller; none: of nobody.
  void add_pods(const std::string& name, int count, const json& owner = nullptr) {
    for (int i = 0; i < count; ++i) {
      json pod = {{"metadata",
                   {{"name", name + "-" + std::to_string(i)},
                    {"namespace", "team"},
                    {"labels", {{"app", name}}}}},
                  {"status", {{"phase", "Running"}}}};
      if (!owner.is_null()) pod["metadata"]["ownerReferences"] = {owner};
      add(kPods, pod);
    }
  }
  static json owner(const std::string& kind, const std::string& name) {
    return {{"apiVersion", "apps/v1"},
            {"kind", kind},
            {"name", name},
            {"uid", name + "-uid"},
            {"controller", true}};
  }
  void add_budget(const std::string& app, json spec, json status = json::object()) {
    spec["selector"]["matchLabels"]["app"] = app;
    add(kDisruptionBudgets, {{"metadata", {{"name", app}, {"namespace", "team"}}},
                             {"spec", std::move(spec)},
                             {"status", std::move(status)}});
  }
  json status_of(const std::string& budget) {
    return get(kDisruptionBudgets, {"team", budget}).at("status");
  }
  int allowed(const std::string& budget) {
    return status_of(budget).at("disruptionsAllowed").get<int>();
  }
};

TEST_F(DisruptionControllerTest, CountsFollowThePods) {
  add_pods("web", 3);
  add_budget("web", {{"minAvailable", 1}}, {{"disruptionsAllowed", 7}});
  SimulatedControllers controllers(store_);
  EXPECT_EQ(allowed("web"), 2);
  EXPECT_EQ(status_of("web").at("expectedPods"), 3);
  EXPECT_EQ(status_of("web").at("desiredHealthy"), 1);
  ASSERT_TRUE(store_.mark_deleted(kPods, {"team", "web-0"}, {}, std::chrono::seconds(30)));
  EXPECT_TRUE(eventually([&] { return allowed("web") == 1; })) << "a pod that goes";
  change(kPods, {"team", "web-1"}, [](json& now) {
    now["status"]["conditions"] = {{{"type", "Ready"}, {"status", "False"}}};
  });
  EXPECT_TRUE(eventually([&] { return allowed("web") == 0; })) << "a pod that is not ready";
  add(kPods, {{"metadata", {{"name", "new"}, {"namespace", "team"}, {"labels", {{"app", "web"}}}}},
              {"status",
               {{"phase", "Running"}, {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}});
  EXPECT_TRUE(eventually([&] { return allowed("web") == 1; })) << "a pod that comes";
  change(kPods, {"team", "new"}, [](json& now) { now["metadata"]["labels"]["app"] = "other"; });
  EXPECT_TRUE(eventually([&] { return allowed("web") == 0; })) << "a pod of others now";
}

// Kubernetes: getExpectedPodCount.
TEST_F(DisruptionControllerTest, SharesAreOfTheScaleOfTheControllers) {
  store_.serve_kind({{"apps", "deployments"}, "Deployment", {"v1"}, true, true});
  add({"apps", "deployments"},
      {{"metadata", {{"name", "web"}, {"namespace", "team"}}}, {"spec", {{"replicas", 10}}}});
  add(kReplicaSets, {{"metadata",
                      {{"name", "web-1"},
                       {"namespace", "team"},
                       {"ownerReferences", {owner("Deployment", "web")}}}},
                     {"spec", {{"replicas", 4}}}});
  add(kReplicaSets, {{"metadata",
                      {{"name", "web-2"},
                       {"namespace", "team"},
                       {"ownerReferences", {owner("Deployment", "web")}}}}});
  add_pods("web", 8, owner("ReplicaSet", "web-1"));
  change(kPods, {"team", "web-0"}, [&](json& now) {  // as in a rollout
    now["metadata"]["ownerReferences"] = json::array({owner("ReplicaSet", "web-2")});
  });
  add_pods("db", 5, owner("StatefulSet", "db"));  // which is not in the file
  add_pods("alone", 3);
  add_pods("log", 3, owner("DaemonSet", "log"));
  add_budget("web", {{"maxUnavailable", "25%"}});
  add_budget("db", {{"minAvailable", "50%"}});
  add_budget("alone", {{"maxUnavailable", 1}});
  add_budget("log", {{"maxUnavailable", 1}}, {{"disruptionsAllowed", 1}});
  SimulatedControllers controllers(store_);
  EXPECT_EQ(status_of("web").at("expectedPods"), 10);
  EXPECT_EQ(status_of("web").at("desiredHealthy"), 7);  // 25% of 10 are 3
  EXPECT_EQ(allowed("web"), 1);
  EXPECT_EQ(status_of("db").at("desiredHealthy"), 3);
  EXPECT_EQ(allowed("db"), 2);
  EXPECT_EQ(allowed("alone"), 0) << "pods without a controller have no scale";
  EXPECT_EQ(allowed("log"), 0) << "a DaemonSet has none";
  ASSERT_TRUE(store_.remove(kPods, {"team", "db-0"}));
  EXPECT_TRUE(eventually([&] { return allowed("db") == 1; }));
  EXPECT_EQ(status_of("db").at("expectedPods"), 5) << "its scale stays";
}

TEST_F(DisruptionControllerTest, BudgetsThatCannotBeReadAllowNothing) {
  add_pods("web", 2);
  add_budget("web", {{"minAvailable", "one"}}, {{"disruptionsAllowed", 1}});
  SimulatedControllers controllers(store_);
  EXPECT_EQ(allowed("web"), 0);
}

using TaintControllerTest = ControllersTest;

// Kubernetes: doNoScheduleTaintingPass.
TEST_F(TaintControllerTest, TaintsFollowConditionsAndTheCordon) {
  const auto taint = [](const std::string& key, const std::string& effect) {
    return json{{"key", "node.kubernetes.io/" + key}, {"effect", effect}};
  };
  add(kNodes, {{"metadata", {{"name", "n1"}}},
               {"spec", {{"unschedulable", true}, {"taints", {taint("x", "NoSchedule")}}}},
               {"status",
                {{"conditions",
                  {{{"type", "Ready"}, {"status", "Unknown"}},
                   {{"type", "DiskPressure"}, {"status", "True"}}}}}}});
  add(kNodes, {{"metadata", {{"name", "unknown"}}},
               {"spec", {{"taints", {taint("not-ready", "NoSchedule")}}}}});
  add(kNodes, {{"metadata", {{"name", "plain"}}}, {"spec", json::object()}});
  SimulatedControllers controllers(store_);
  EXPECT_EQ(get(kNodes, {"", "n1"}).at("spec").at("taints"),
            json({taint("x", "NoSchedule"), taint("unreachable", "NoSchedule"),
                  taint("unreachable", "NoExecute"), taint("disk-pressure", "NoSchedule"),
                  taint("unschedulable", "NoSchedule")}));
  EXPECT_EQ(get(kNodes, {"", "unknown"}).at("spec").at("taints").size(), 1U)
      << "no condition says that it is ready";
  EXPECT_FALSE(get(kNodes, {"", "plain"}).at("spec").contains("taints"));
  change(kNodes, {"", "n1"}, [](json& now) {
    now["spec"].erase("unschedulable");
    for (json& condition : now["status"]["conditions"]) {
      condition["status"] = condition["type"] == "Ready" ? "True" : "False";
    }
  });
  EXPECT_TRUE(eventually([&] {
    return get(kNodes, {"", "n1"}).at("spec").at("taints") == json({taint("x", "NoSchedule")});
  }));
}

TEST_F(TaintControllerTest, WhatNobodySimulatesIsNamedOnce) {
  EXPECT_EQ(not_simulated(store_), "");
  store_.serve_kind(
      {{"autoscaling", "horizontalpodautoscalers"}, "HorizontalPodAutoscaler", {"v2"}, true, true});
  for (const char* name : {"a", "b"}) {
    const json object = {{"metadata", {{"name", name}, {"namespace", "team"}}}};
    add(kReplicaSets, object);
    add(kStatefulSets, object);
    add({"autoscaling", "horizontalpodautoscalers"}, object);
    add(kNodes, {{"metadata", {{"name", name}}},
                 {"spec", {{"taints", {{{"key", "x"}, {"effect", "NoExecute"}}}}}}});
  }
  add(kPods, {{"metadata", {{"name", "p"}, {"namespace", "team"}}}, {"spec", {{"nodeName", "b"}}}});
  EXPECT_EQ(not_simulated(store_),
            "not simulated: pods made anew (ReplicaSet, StatefulSet); replicas that change "
            "(HorizontalPodAutoscaler); pods evicted by NoExecute taints (b)");
}

}  // namespace
}  // namespace plimsoll::sandbox
