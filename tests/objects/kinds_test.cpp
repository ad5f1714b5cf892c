// The kinds of <plimsoll/kinds.h>, as they come from an API server.
#include "framework/objects/kinds.hpp"

#include <gmock/gmock.h>

#include <string>

#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"
#include "tests/support/decoded_objects.hpp"

namespace plimsoll {
namespace {

using sdk::kDisruptionBudgets;
using sdk::kNamespaces;
using sdk::kReplicaSets;
using sdk::kReplicationControllers;
using sdk::kServices;
using sdk::kStatefulSets;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KindsTest : public ::testing::Test {
 protected:
  static std::vector<std::string> texts(const plimsoll_list& list) {
    std::vector<std::string> all;
    for (const plimsoll_str& text : items<plimsoll_str>(list)) all.emplace_back(view(text));
    return all;
  }
  test::DecodedObjects decoded_;
};

TEST_F(KindsTest, ANamespaceHasItsMetadata) {
  const plimsoll_object& object = decoded_(kNamespaces, "", "team", R"({
      "metadata": {"name": "team", "uid": "u", "resourceVersion": "7",
                   "labels": {"tier": "a", "app": "b"}, "annotations": {"note": "x"},
                   "deletionTimestamp": "2026-01-01T00:00:00Z"},
      "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})");
  EXPECT_EQ(object.size, sizeof(plimsoll_object));
  EXPECT_EQ(view(object.meta.name), "team");
  EXPECT_EQ(view(object.meta.ns), "");
  EXPECT_EQ(view(object.meta.uid), "u");
  EXPECT_EQ(view(object.meta.resource_version), "7");
  EXPECT_GT(object.meta.deletion_ms, 0);
  EXPECT_EQ(object.unreadable.len, 0U);
  EXPECT_EQ(object.meta.annotations.count, 0U);
  const auto labels = items<plimsoll_label>(object.meta.labels);
  ASSERT_EQ(labels.size(), 2U);
  EXPECT_EQ(view(labels[0].key), "app");
  EXPECT_EQ(view(labels[1].value), "a");
}

TEST_F(KindsTest, ServicesAndReplicationControllersSelectByAMap) {
  for (const auto& kind : {kServices, kReplicationControllers}) {
    const plimsoll_pod_selector& object =
        decoded_(kind, "ns", "web", R"({"spec": {"selector": {"b": "2", "a": "1"}}})");
    EXPECT_EQ(object.object.size, sizeof(plimsoll_pod_selector));
    EXPECT_EQ(view(object.object.meta.ns), "ns");
    EXPECT_EQ(view(object.object.meta.name), "web");
    EXPECT_EQ(object.selector.present, 1U);
    EXPECT_EQ(selector_text(object.selector), "a=1,b=2");
  }
  EXPECT_EQ(decoded_(kServices, "ns", "none", R"({"spec": {}})").selector.present, 0U);
  EXPECT_EQ(decoded_(kServices, "ns", "null", R"({"spec": {"selector": null}})").selector.present,
            0U);
  EXPECT_EQ(decoded_(kServices, "ns", "empty", R"({"spec": {"selector": {}}})").selector.present,
            1U);
}

TEST_F(KindsTest, ReplicaSetsAndStatefulSetsSelectByASelector) {
  for (const auto& kind : {kReplicaSets, kStatefulSets}) {
    const plimsoll_pod_selector& object = decoded_(kind, "ns", "web", R"({"spec": {
        "replicas": 3, "selector": {"matchLabels": {"a": "1"}, "matchExpressions": [
          {"key": "b", "operator": "NotIn", "values": ["2", "3"]}]}}})");
    EXPECT_EQ(selector_text(object.selector), "a=1,b notin (2,3)");
  }
}

TEST_F(KindsTest, ABudgetHasItsSelectorAndItsStatus) {
  const plimsoll_disruption_budget& budget = decoded_(kDisruptionBudgets, "ns", "b", R"({
      "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"a": "1"}}},
      "status": {"disruptionsAllowed": 2, "currentHealthy": 5, "disruptedPods": {
        "p-2": "2026-01-01T00:00:00Z", "p-1": "2026-01-01T00:00:00Z"}}})");
  EXPECT_EQ(budget.object.size, sizeof(plimsoll_disruption_budget));
  EXPECT_EQ(selector_text(budget.selector), "a=1");
  EXPECT_EQ(budget.disruptions_allowed, 2);
  EXPECT_THAT(texts(budget.disrupted_pods), ElementsAre("p-1", "p-2"));
}

TEST_F(KindsTest, WhatCannotBeReadIsNamedAndTheRestIsAsIfAbsent) {
  const plimsoll_pod_selector& wrong = decoded_(kStatefulSets, "ns", "web", R"({
      "metadata": {"name": "web", "uid": "u"},
      "spec": {"selector": {"matchLabels": {"a": 1}}}})");
  EXPECT_THAT(std::string(view(wrong.object.unreadable)), HasSubstr("spec.selector.matchLabels"));
  EXPECT_EQ(view(wrong.object.meta.name), "web");
  EXPECT_EQ(view(wrong.object.meta.ns), "ns");
  EXPECT_EQ(wrong.object.meta.uid.len, 0U);
  EXPECT_EQ(wrong.selector.present, 0U);
  for (const char* json : {"", "{", "[]", "7", R"({"metadata": 3})", "{\"spec\": {\"selector\": \"",
                           R"({"metadata": {"labels": {"a": {}}}})"}) {
    const plimsoll_object& object = decoded_(kNamespaces, "", "n", json);
    EXPECT_NE(object.unreadable.len, 0U) << json;
    EXPECT_EQ(object.meta.labels.count, 0U) << json;
  }
}

TEST_F(KindsTest, OtherKindsAreNotDecoded) {
  for (const char* resource : {"configmaps", "services.v1.example.com", "deployments.v1.apps"}) {
    EXPECT_EQ(decode_object(resource, "ns", "n", "{}"), nullptr);
  }
  const RawRef raw = decoded({"services", "ns", "n", "u", "1", "{}"});
  ASSERT_NE(raw->decoded, nullptr);
  EXPECT_EQ(raw->json, "{}");
}

}  // namespace
}  // namespace plimsoll
