#include "lab/sandbox/store/patch.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/store/kinds.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

struct Row {
  const char* name;
  const char* object;
  const char* patch;
  const char* result;
};

TEST(StrategicMergePatch, Table) {
  const Row rows[] = {
      {"a condition is replaced by type",
       R"({"status":{"conditions":[{"type":"Ready","status":"False","reason":"X"},{"type":"B","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"Ready","status":"True","reason":"X"},{"type":"B","status":"True"}]}})"},
      {"a new condition is appended", R"({"status":{}})",
       R"({"status":{"$setElementOrder/conditions":[{"type":"C"}],"conditions":[{"type":"C","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"C","status":"True"}]}})"},
      {"$patch: delete removes an entry", R"({"spec":{"taints":[{"key":"a"},{"key":"b"}]}})",
       R"({"spec":{"taints":[{"key":"a","$patch":"delete"}]}})",
       R"({"spec":{"taints":[{"key":"b"}]}})"},
      {"$patch: replace replaces a list", R"({"spec":{"taints":[{"key":"a"},{"key":"b"}]}})",
       R"({"spec":{"taints":[{"$patch":"replace"},{"key":"c"}]}})",
       R"({"spec":{"taints":[{"key":"c"}]}})"},
      {"$patch: replace replaces an object", R"({"spec":{"a":{"x":1,"y":2}}})",
       R"({"spec":{"a":{"$patch":"replace","z":3}}})", R"({"spec":{"a":{"z":3}}})"},
      {"null removes", R"({"spec":{"a":1,"b":2}})", R"({"spec":{"a":null}})",
       R"({"spec":{"b":2}})"},
      {"a list without a merge key is replaced", R"({"spec":{"tolerations":[{"key":"a"}]}})",
       R"({"spec":{"tolerations":[{"key":"b"}]}})", R"({"spec":{"tolerations":[{"key":"b"}]}})"},
      {"finalizers are a set", R"({"metadata":{"finalizers":["a"]}})",
       R"({"metadata":{"finalizers":["a","b"]}})", R"({"metadata":{"finalizers":["a","b"]}})"},
      {"$deleteFromPrimitiveList", R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}})",
       R"({"metadata":{"finalizers":["b"]}})"},
  };
  for (const Row& row : rows) {
    json object = json::parse(row.object);
    apply_strategic_merge_patch(object, json::parse(row.patch));
    EXPECT_EQ(object, json::parse(row.result)) << row.name;
  }
}

TEST(Patch, ChoosesByContentType) {
  json object = {{"a", 1}};
  EXPECT_TRUE(
      apply_patch(object, "application/merge-patch+json; charset=utf-8", {{"b", 2}}, false));
  EXPECT_EQ(object["b"], 2);
  const json replace = {{{"op", "replace"}, {"path", "/a"}, {"value", 9}}};
  EXPECT_TRUE(apply_patch(object, "application/json-patch+json", replace, false));
  EXPECT_EQ(object["a"], 9);
  const json missing = {{{"op", "replace"}, {"path", "/zz"}, {"value", 9}}};
  EXPECT_EQ(apply_patch(object, "application/json-patch+json", missing, false).error().code, 422);
  EXPECT_EQ(
      apply_patch(object, "application/strategic-merge-patch+json", {{"a", 1}}, false).error().code,
      415);
  EXPECT_EQ(apply_patch(object, "application/merge-patch+json", json::array(), true).error().code,
            400);
}

json containers(const char* list) {
  return {{"spec", {{"containers", json::parse(list)}}}};
}

TEST(PodRules, QosClass) {
  const std::pair<const char*, const char*> rows[] = {
      {R"([{}])", "BestEffort"},
      {R"([{"resources":{"limits":{"nvidia.com/gpu":"1"}}}])", "BestEffort"},
      {R"([{"resources":{"requests":{"cpu":"0"}}}])", "BestEffort"},
      {R"([{"resources":{"requests":{"cpu":"1"}}}])", "Burstable"},
      {R"([{"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}])", "Guaranteed"},
      {R"([{"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1000m"}}}])",
       "Guaranteed"},
      {R"([{"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}}}])",
       "Burstable"},
      {R"([{"resources":{"limits":{"cpu":"1","memory":"1Gi"}}},{}])", "Burstable"},
      {R"([{"resources":{"limits":{"cpu":"1"}}}])", "Burstable"},
  };
  for (const auto& [list, expected] : rows)
    EXPECT_EQ(qos_class(containers(list)), expected) << list;
}

TEST(PodRules, PodLevelResourcesThatNameNothingLeaveTheClassToTheContainers) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({})", "Guaranteed"},
      {R"({"requests":{}})", "Guaranteed"},
      {R"({"requests":{"cpu":"2"}})", "Burstable"},
      {R"({"limits":{"hugepages-2Mi":"2Mi"}})", "BestEffort"},
  };
  for (const auto& [resources, expected] : rows) {
    json pod = containers(R"([{"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}])");
    pod["spec"]["resources"] = json::parse(resources);
    EXPECT_EQ(qos_class(pod), expected) << resources;
  }
}

TEST(PodRules, DefaultsFillInAndKeep) {
  json pod =
      containers(R"([{"resources":{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1"}}}])");
  pod["metadata"]["name"] = "a";
  pod["spec"]["schedulerName"] = "mine";
  pod["spec"]["schedulingGates"] = {{{"name", "g"}}};
  set_pod_defaults(pod);
  EXPECT_EQ(pod["spec"]["containers"][0]["resources"]["requests"],
            json({{"cpu", "1"}, {"memory", "1Gi"}}));
  EXPECT_EQ(pod["spec"]["schedulerName"], "mine");
  EXPECT_EQ(pod["spec"]["tolerations"].size(), 2U);
  EXPECT_EQ(pod["status"]["phase"], "Pending");
  EXPECT_EQ(pod["status"]["qosClass"], "Burstable");
  EXPECT_EQ(pod["status"]["conditions"][0]["reason"], "SchedulingGated");
  const json once = pod;
  set_pod_defaults(pod);
  EXPECT_EQ(pod, once);
}

TEST(Kinds, EventsAreShownInBothGroups) {
  json event = {{"apiVersion", "events.k8s.io/v1"},
                {"note", "n"},
                {"regarding", {{"name", "p"}}},
                {"reportingController", "c"}};
  const json original = event;
  convert_object(event, "v1");
  EXPECT_EQ(event["message"], "n");
  EXPECT_EQ(event["involvedObject"]["name"], "p");
  EXPECT_EQ(event["reportingComponent"], "c");
  convert_object(event, "events.k8s.io/v1");
  EXPECT_EQ(event, original);
}

}  // namespace
}  // namespace plimsoll::sandbox
