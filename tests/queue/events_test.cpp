// What is made of a change: NodeSchedulingPropertiesChange, PodSchedulingPropertiesChange,
// MatchClusterEvents.

#include "framework/queue/events.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"

namespace plimsoll {
namespace {

class Events : public ::testing::Test {
 protected:
  using Labels = std::vector<std::string>;

  static Labels labels(const std::vector<ClusterEvent>& events) {
    Labels texts;
    for (const ClusterEvent& event : events) texts.push_back(event.label);
    return texts;
  }
  NodeRef node(const std::string& fields) {
    auto decoded = decode_node(R"({"metadata":{"name":"n"})" + fields + "}", symbols_);
    EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
    return *decoded;
  }
  Labels node_change(const std::string& before, const std::string& after) {
    return labels(node_updated(node(before), node(after)));
  }
  PodRef pod(const std::string& meta, const std::string& spec) {
    auto decoded = decode_pod(
        R"({"metadata":{"name":"p","uid":"u")" + meta + R"(},"spec":{)" + spec + "}}", symbols_);
    EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
    return *decoded;
  }
  Labels pod_change(const std::string& before, const std::string& after) {
    return labels(pod_updated(kResourceUnschedulablePod, pod("", before), pod("", after)));
  }
  plimsoll_event_interest interest(std::string_view resource, uint32_t actions) {
    return {symbols_.intern(resource), actions, 0};
  }

  SymbolTable symbols_;
};

TEST_F(Events, ACordonSaysNothingAndItsEndCountsAsATaint) {
  constexpr const char* kCordoned = R"(,"spec":{"unschedulable":true})";
  constexpr const char* kTainted = R"(,"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]})";
  EXPECT_EQ(node_change("", kCordoned), Labels{});
  EXPECT_EQ(node_change(kCordoned, ""), Labels{"NodeUpdateNodeTaint"});
  EXPECT_EQ(node_change("", kTainted), Labels{"NodeUpdateNodeTaint"});
  EXPECT_EQ(node_change(kCordoned, kTainted),
            (Labels{"NodeUpdateNodeTaint", "NodeUpdateNodeTaint"}));
}

TEST_F(Events, EachPropertyOfANodeHasItsEvent) {
  EXPECT_EQ(node_change("", ""), Labels{});
  EXPECT_EQ(node_change(R"(,"status":{"allocatable":{"cpu":"1"}})",
                        R"(,"status":{"allocatable":{"cpu":"2"}})"),
            Labels{"NodeUpdateNodeAllocatable"});
  EXPECT_EQ(node_change(R"(,"status":{"allocatable":{"cpu":"1"}})",
                        R"(,"status":{"allocatable":{"cpu":"1000m"}})"),
            Labels{});
  EXPECT_EQ(node_change("", R"(,"status":{"declaredFeatures":["f"]})"),
            Labels{"NodeUpdateNodeDeclaredFeature"});
  EXPECT_EQ(node_change("", R"(,"status":{"images":[{"names":["i"],"sizeBytes":1}]})"), Labels{});
}

TEST_F(Events, ConditionsAreComparedByTypeAndStatus) {
  const auto conditions = [](const std::string& list) {
    return R"(,"status":{"conditions":[)" + list + "]}";
  };
  const std::string ready = R"({"type":"Ready","status":"True"})";
  const std::string disk = R"({"type":"DiskPressure","status":"False"})";
  EXPECT_EQ(node_change(conditions(ready), conditions(ready + "," + disk)),
            Labels{"NodeUpdateNodeCondition"});
  EXPECT_EQ(node_change(conditions(ready + "," + disk), conditions(disk + "," + ready)), Labels{});
  EXPECT_EQ(node_change(conditions(ready),
                        conditions(R"({"type":"Ready","status":"True","reason":"KubeletReady"})")),
            Labels{});
}

TEST_F(Events, EachPropertyOfAPodHasItsEventAndTheRestIsAPlainUpdate) {
  const auto requests = [](const std::string& cpu) {
    return R"("containers":[{"name":"c","resources":{"requests":{"cpu":")" + cpu + R"("}}}])";
  };
  EXPECT_EQ(pod_change("", ""), Labels{"TargetPodUpdate"});
  EXPECT_EQ(pod_change("", R"("priority":7)"), Labels{"TargetPodUpdate"});
  EXPECT_EQ(pod_change(requests("2"), requests("1")), Labels{"TargetPodUpdatePodScaleDown"});
  EXPECT_EQ(pod_change(requests("1"), requests("2")), Labels{"TargetPodUpdate"});
  EXPECT_EQ(pod_change(R"("schedulingGates":[{"name":"a"},{"name":"b"}])",
                       R"("schedulingGates":[{"name":"b"}])"),
            Labels{"TargetPodUpdate"});
  EXPECT_EQ(pod_change(R"("schedulingGates":[{"name":"a"}])", ""),
            Labels{"TargetPodUpdatePodSchedulingGatesEliminated"});
  const std::string claims = R"("resourceClaims":[{"name":"c","resourceClaimTemplateName":"t"}])";
  EXPECT_EQ(pod_change(claims, claims + R"(},"status":{"resourceClaimStatuses":[{"name":"c",
                                              "resourceClaimName":"p-c"}])"),
            Labels{"TargetPodUpdatePodGeneratedResourceClaim"});
  EXPECT_EQ(pod_change(claims, claims), Labels{"TargetPodUpdate"});
  EXPECT_EQ(pod_change("", R"("tolerations":[{"operator":"Exists"}])"),
            Labels{"TargetPodUpdatePodToleration"});
  const auto assigned = pod_updated(kResourceAssignedPod, pod("", requests("2")),
                                    pod(R"(,"labels":{"a":"b"})", requests("1")));
  EXPECT_EQ(labels(assigned),
            (Labels{"AssignedPodUpdatePodLabel", "AssignedPodUpdatePodScaleDown"}));
}

TEST_F(Events, AnInterestCoversWhatIsTheSameOrMoreSpecific) {
  const ClusterEvent taint = node_updated(node(R"(,"spec":{"unschedulable":true})"), node(""))[0];
  EXPECT_TRUE(matches(interest("Node", PLIMSOLL_ACTION_UPDATE), taint));
  EXPECT_TRUE(matches(interest("Node", PLIMSOLL_ACTION_UPDATE_NODE_TAINT), taint));
  EXPECT_TRUE(matches(interest("*", PLIMSOLL_ACTION_ALL), taint));
  EXPECT_FALSE(matches(interest("Node", PLIMSOLL_ACTION_UPDATE_NODE_LABEL), taint));
  EXPECT_FALSE(matches(interest("Pod", PLIMSOLL_ACTION_UPDATE), taint));
  const ClusterEvent deleted = assigned_pod_deleted(pod("", ""));
  EXPECT_TRUE(matches(interest("Pod", PLIMSOLL_ACTION_DELETE), deleted));
  EXPECT_TRUE(matches(interest("AssignedPod", PLIMSOLL_ACTION_DELETE), deleted));
  for (const char* other : {"UnschedulablePod", "TargetPod", "UnscheduledPod"})
    EXPECT_FALSE(matches(interest(other, PLIMSOLL_ACTION_DELETE), deleted)) << other;
  // A change of the waiting pod itself has a name in 1.36, and another in 1.37.
  const ClusterEvent own =
      pod_updated(kResourceUnschedulablePod, pod("", ""), pod(R"(,"labels":{"a":"b"})", ""))[0];
  EXPECT_EQ(own.label, "TargetPodUpdatePodLabel");
  for (const char* name : {"Pod", "UnschedulablePod", "TargetPod"})
    EXPECT_TRUE(matches(interest(name, PLIMSOLL_ACTION_UPDATE_POD_LABEL), own)) << name;
  for (const char* other : {"AssignedPod", "UnscheduledPod"})
    EXPECT_FALSE(matches(interest(other, PLIMSOLL_ACTION_UPDATE_POD_LABEL), own)) << other;
}

// updatePodOther "should only trigger plugins registering a generic Pod/Update event".
TEST_F(Events, AnUpdateOfNothingNamedIsForThoseWhoWantEveryUpdate) {
  const auto events = pod_updated(kResourceUnschedulablePod, pod("", ""), pod("", ""));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(matches(interest("Pod", PLIMSOLL_ACTION_UPDATE), events[0]));
  EXPECT_TRUE(matches(interest("Pod", PLIMSOLL_ACTION_ALL), events[0]));
  EXPECT_FALSE(matches(interest("Pod", PLIMSOLL_ACTION_UPDATE_POD_SCALE_DOWN), events[0]));
  EXPECT_FALSE(matches(interest("Pod", PLIMSOLL_ACTION_DELETE | PLIMSOLL_ACTION_UPDATE_POD_LABEL),
                       events[0]));
}

}  // namespace
}  // namespace plimsoll
