// Pods of a PodGroup against a real API server with the feature gates GenericWorkload and
// TopologyAwareWorkloadScheduling: together or not at all, in one rack, and the group is told.

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/claims_fixture.hpp"
#include "tests/e2e/e2e_test.hpp"
#include "tests/e2e/facts.hpp"
#include "tests/support/environment.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class GroupsTest : public ClaimsFixture {
 public:
  static void SetUpTestSuite() {
    E2eTest::SetUpTestSuite();
    for (const char* flag :
         {"--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true",
          "--runtime-config=scheduling.k8s.io/v1beta1=true",
          // No controller takes the protection of groups off.
          "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,"
          "StorageObjectInUseProtection,PodGroupProtection"}) {
      options().apiserver_flags.emplace_back(flag);
    }
  }

 protected:
  void add_node(const std::string& name, int cpu, const std::string& rack = {}) {
    json node =
        node_object(name, {{"cpu", std::to_string(cpu)}, {"memory", "64Gi"}, {"pods", "110"}});
    if (!rack.empty()) node["metadata"]["labels"]["example.com/rack"] = rack;
    create(kNodes, node);
  }
  [[nodiscard]] std::string groups() const {
    return "/apis/scheduling.k8s.io/v1beta1/namespaces/" + ns() + "/podgroups";
  }
  void add_group(const std::string& name, int min_count, const json& constraints = {}) {
    json group = {{"apiVersion", "scheduling.k8s.io/v1beta1"},
                  {"kind", "PodGroup"},
                  {"metadata", {{"name", name}}},
                  {"spec", {{"schedulingPolicy", {{"gang", {{"minCount", min_count}}}}}}}};
    if (!constraints.is_null()) group["spec"]["schedulingConstraints"] = constraints;
    create(groups(), group);
  }
  void add_member(const std::string& name, const std::string& group, const std::string& cpu,
                  const std::string& claim = {}) {
    json pod = pod_object({.name = name, .scheduler = kScheduler, .requests = {{"cpu", cpu}}});
    if (!claim.empty())
      pod["spec"]["resourceClaims"] = {{{"name", "card"}, {"resourceClaimName", claim}}};
    pod["spec"]["schedulingGroup"] = {{"podGroupName", group}};
    const json created = create(pods_path(), pod);
    ASSERT_EQ(text_at(created, "/spec/schedulingGroup/podGroupName"), group);
  }
  json condition(const std::string& group) {
    const json object = client().get(groups() + "/" + group).json();
    const json::json_pointer conditions("/status/conditions");
    if (!object.contains(conditions)) return json::object();
    for (const json& each : object.at(conditions)) {
      if (each["type"] == "PodGroupInitiallyScheduled") return each;
    }
    return json::object();
  }
  bool wait_condition(const std::string& group, const std::string& reason) {
    return eventually(30s, [&] { return condition(group).value("reason", "") == reason; });
  }
};

TEST_F(GroupsTest, AllOrNoneAndTheGroupIsTold) {
  add_node("n1", 4);
  ASSERT_NO_FATAL_FAILURE(start());
  for (const char* name : {"a", "b", "c"}) add_member(name, "train", "3");  // before the group
  add_group("train", 3);
  ASSERT_TRUE(wait_condition("train", "Unschedulable")) << tail(log(), 30);
  const json refused = condition("train");
  EXPECT_EQ(refused["status"], "False");
  EXPECT_THAT(refused["message"].get<std::string>(),
              StartsWith("minCount (3) cannot be satisfied: 1 scheduled, 1 remaining"));
  EXPECT_THAT(wait_refused("c"), HasSubstr("minCount (3) cannot be satisfied"));
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(node_of(name), "") << name;

  // The room that it does not hold is there for others, and what comes free wakes it.
  create_pod({.name = "single", .scheduler = kScheduler, .requests = {{"cpu", "4"}}});
  EXPECT_EQ(wait_bound("single"), "n1");
  add_node("n2", 4);
  add_node("n3", 4);
  remove(pods_path("single"));
  std::set<std::string> nodes;
  for (const char* name : {"a", "b", "c"}) nodes.insert(wait_bound(name));
  EXPECT_EQ(nodes, (std::set<std::string>{"n1", "n2", "n3"})) << tail(log(), 30);
  ASSERT_TRUE(wait_condition("train", "Scheduled"));
  EXPECT_EQ(condition("train")["status"], "True");

  // One that is made anew comes back to those that run, whoever schedules by then.
  ASSERT_NO_FATAL_FAILURE(start());
  remove(pods_path("b"));
  add_member("b2", "train", "3");
  EXPECT_NE(wait_bound("b2"), "") << tail(log(), 30);
}

TEST_F(GroupsTest, FewerThatAreNeededWakeTheGroup) {
  add_node("n1", 2);
  ASSERT_NO_FATAL_FAILURE(start());
  add_group("train", 3);
  for (const char* name : {"a", "b", "c"}) add_member(name, "train", "1");
  ASSERT_TRUE(wait_condition("train", "Unschedulable")) << tail(log(), 30);
  change(groups() + "/train", {{"spec", {{"schedulingPolicy", {{"gang", {{"minCount", 2}}}}}}}});
  EXPECT_TRUE(eventually(30s, [&] {
    int bound = 0;
    for (const char* name : {"a", "b", "c"}) bound += node_of(name).empty() ? 0 : 1;
    return bound == 2;
  })) << tail(log(), 30);
  EXPECT_TRUE(wait_condition("train", "Scheduled"));
}

TEST_F(GroupsTest, AllInOneRack) {
  add_node("alone", 64);
  add_node("a1", 2, "a");
  add_node("b1", 2, "b");
  ASSERT_NO_FATAL_FAILURE(start());
  add_group("train", 3, {{"topology", {{{"key", "example.com/rack"}}}}});
  for (const char* name : {"p-0", "p-1", "p-2"}) add_member(name, "train", "1");
  ASSERT_TRUE(wait_condition("train", "Unschedulable")) << tail(log(), 30);
  EXPECT_THAT(condition("train")["message"].get<std::string>(),
              HasSubstr("0/2 placements are available, first placement status: minCount (3)"));
  add_node("b2", 2, "b");
  EXPECT_EQ(wait_bound("p-0"), "b1") << tail(log(), 30);
  EXPECT_EQ(wait_bound("p-1") + wait_bound("p-2"), "b1b2");
}

// Kill -9 while bindings are under way, in full length (PLIMSOLL_LONG=1) twenty times.
TEST_F(GroupsTest, TheRestOfAGroupIsPlacedFirstByTheNextScheduler) {
  ASSERT_NO_FATAL_FAILURE(start());
  for (int round = 0; round < (in_full_length() ? 20 : 2); ++round) {
    const std::string rack = "r" + std::to_string(round);
    for (const char* name : {"-a", "-b", "-c", "-d"}) add_node(rack + name, 6, rack);
    add_group(rack, 24, {{"topology", {{{"key", "example.com/rack"}}}}});
    std::vector<std::string> members, singles;
    for (int i = 0; i < 24; ++i)
      add_member(members.emplace_back(rack + "-" + std::to_string(i)), rack, "1");
    const auto bound = [&](const std::vector<std::string>& pods) {
      return std::ranges::count_if(pods, [&](const auto& name) { return !node_of(name).empty(); });
    };
    ASSERT_TRUE(eventually(30s, [&] { return bound(members) > 0; })) << tail(log(), 30);
    for (int i = 0; i < 4; ++i) {
      singles.push_back("single-" + std::to_string(round) + "-" + std::to_string(i));
      create_pod({.name = singles.back(), .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
    }
    ASSERT_NO_FATAL_FAILURE(start());
    ASSERT_TRUE(eventually(30s, [&] { return bound(members) == 24; })) << tail(log(), 30);
    for (const std::string& name : members) EXPECT_THAT(node_of(name), StartsWith(rack)) << name;
    EXPECT_EQ(bound(singles), 0);
    for (const auto* pods : {&singles, &members}) {
      for (const std::string& name : *pods) remove(pods_path(name));
    }
    for (const char* name : {"-a", "-b", "-c", "-d"})
      remove(std::string(kNodes) + "/" + rack + name);
  }
}

TEST_F(GroupsTest, PodsOfLowerPriorityMakeWayForTheWholeGroup) {
  create("/apis/scheduling.k8s.io/v1/priorityclasses", {{"apiVersion", "scheduling.k8s.io/v1"},
                                                        {"kind", "PriorityClass"},
                                                        {"metadata", {{"name", "high"}}},
                                                        {"value", 1000}});
  add_node("n1", 4);
  add_node("n2", 4);
  ASSERT_NO_FATAL_FAILURE(start());
  const std::set<std::string> low{"low-1", "low-2"};
  for (const std::string& name : low) {
    create_pod({.name = name, .scheduler = kScheduler, .requests = {{"cpu", "3"}}});
    ASSERT_NE(wait_bound(name), "");
  }
  create(groups(),
         {{"apiVersion", "scheduling.k8s.io/v1beta1"},
          {"kind", "PodGroup"},
          {"metadata", {{"name", "train"}}},
          {"spec",
           {{"schedulingPolicy", {{"gang", {{"minCount", 2}}}}}, {"priorityClassName", "high"}}}});
  for (const char* name : {"a", "b"}) {
    json pod = pod_object({.name = name, .scheduler = kScheduler, .requests = {{"cpu", "3"}}});
    pod["spec"]["schedulingGroup"] = {{"podGroupName", "train"}};
    pod["spec"]["priorityClassName"] = "high";
    create(pods_path(), pod);
  }
  const auto is_going = [&](const std::string& name) {
    return client().get(pods_path(name)).json()["metadata"].contains("deletionTimestamp");
  };
  ASSERT_TRUE(eventually(30s, [&] { return is_going("low-1") && is_going("low-2"); }))
      << tail(log(), 30);
  EXPECT_THAT(wait_event("low-1", "Preempted"), StartsWith("Preempted by podgroup "));
  std::set<std::string> nominated;
  ASSERT_TRUE(eventually(30s, [&] {
    for (const char* name : {"a", "b"})
      nominated.insert(text_at(client().get(pods_path(name)).json(), "/status/nominatedNodeName"));
    return nominated.contains("n1") && nominated.contains("n2");
  })) << tail(log(), 30);
  // No kubelet ends them.
  for (const std::string& name : low) remove(pods_path(name));
  std::set<std::string> nodes;
  for (const char* name : {"a", "b"}) nodes.insert(wait_bound(name));
  EXPECT_EQ(nodes, (std::set<std::string>{"n1", "n2"})) << tail(log(), 30);
  EXPECT_TRUE(wait_condition("train", "Scheduled"));
}

// A job before has left it a card on a node that is full now.
TEST_F(GroupsTest, AClaimThatAllShareIsGivenBackAndAllocatedOnceWhereAllFit) {
  add_node("n1", 4);
  add_node("n2", 8);
  for (const char* node : {"n1", "n2"}) add_slice(node, {{{"name", "card"}}});
  create(claims(), {{"metadata", {{"name", "shared"}}}, {"spec", claim_spec(1)}});
  const json on_n1 = {{"key", "metadata.name"}, {"operator", "In"}, {"values", {"n1"}}};
  const json card = {
      {"request", "card"}, {"driver", kCardDriver}, {"pool", "n1"}, {"device", "card"}};
  const auto given = client().patch(
      claim_path("shared") + "/status",
      {{"status",
        {{"allocation",
          {{"devices", {{"results", {card}}}},
           {"nodeSelector", {{"nodeSelectorTerms", {{{"matchFields", {on_n1}}}}}}}}}}}});
  ASSERT_TRUE(given.ok()) << given.body;
  ASSERT_NO_FATAL_FAILURE(start());
  create_pod({.name = "full", .scheduler = kScheduler, .requests = {{"cpu", "7"}}});
  ASSERT_EQ(wait_bound("full"), "n2");
  for (const char* name : {"a", "b", "c"}) add_member(name, "train", "2", "shared");
  add_group("train", 3);
  ASSERT_TRUE(wait_condition("train", "Unschedulable")) << tail(log(), 30);
  remove(pods_path("full"));
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(wait_bound(name), "n2") << tail(log(), 30);
  const json status = client().get(claim_path("shared")).json()["status"];
  EXPECT_EQ(text_at(status, "/allocation/devices/results/0/pool"), "n2");
  EXPECT_EQ(status["reservedFor"].size(), 3U);
}

// The CRD as scheduler-plugins has it (config/crd/bases), and a profile as it is written for its
// Coscheduling.
TEST_F(GroupsTest, PodGroupsOfCoschedulingByTheirLabel) {
  create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", coscheduling_crd());
  const std::string labelled =
      "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/" + ns() + "/podgroups";
  ASSERT_TRUE(eventually(30s, [&] { return client().get(labelled).status == 200; }));
  add_node("n1", 4);
  ASSERT_NO_FATAL_FAILURE(start({.kubeconfig = cluster().kubeconfig_token(),
                                 .config = "examples/profiles/coscheduling.yaml"}));
  const char* const scheduler_name = "gang-scheduler";
  for (const char* name : {"a", "b", "c"}) {
    json pod = pod_object({.name = name, .scheduler = scheduler_name, .requests = {{"cpu", "3"}}});
    pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "train";
    create(pods_path(), pod);
  }
  create(labelled, {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                    {"kind", "PodGroup"},
                    {"metadata", {{"name", "train"}}},
                    {"spec", {{"minMember", 3}}}});
  EXPECT_THAT(wait_refused("c"),
              HasSubstr("PodGroup " + ns() + "/train gets rejected due to Pod b"));
  create_pod({.name = "single", .scheduler = scheduler_name, .requests = {{"cpu", "4"}}});
  EXPECT_EQ(wait_bound("single"), "n1") << "nothing is held: " << tail(log(), 30);
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(node_of(name), "") << name;
  remove(pods_path("single"));
  for (const char* node : {"n2", "n3"}) add_node(node, 4);
  std::set<std::string> nodes;
  for (const char* name : {"a", "b", "c"}) nodes.insert(wait_bound(name));
  EXPECT_EQ(nodes, (std::set<std::string>{"n1", "n2", "n3"})) << tail(log(), 30);
  // The controller of scheduler-plugins writes the status.
  EXPECT_FALSE(client().get(labelled + "/train").json().contains("status"));
}

}  // namespace
}  // namespace plimsoll::test
