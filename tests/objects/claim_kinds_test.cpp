// The kinds of <plimsoll/claims.h>, as they come from an API server.
#include <gmock/gmock.h>

#include <string>

#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"
#include "tests/support/decoded_objects.hpp"

namespace plimsoll {
namespace {

using sdk::kDeviceClasses;
using sdk::kDeviceTaintRules;
using sdk::kResourceClaims;
using sdk::kResourceSlices;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ClaimKindsTest : public ::testing::Test {
 protected:
  static std::vector<std::string> texts(const plimsoll_list& list) {
    std::vector<std::string> all;
    for (const plimsoll_str& text : items<plimsoll_str>(list)) all.emplace_back(view(text));
    return all;
  }
  static std::vector<std::string> amounts(const plimsoll_list& list) {
    std::vector<std::string> all;
    for (const auto& each : items<plimsoll_named_quantity>(list)) {
      all.push_back(std::string(view(each.name)) + "=" + std::string(view(each.value)));
    }
    return all;
  }
  test::DecodedObjects decoded_;
};

TEST_F(ClaimKindsTest, ASliceHasItsDevices) {
  const plimsoll_resource_slice& slice = decoded_(kResourceSlices, "", "s", R"({
      "metadata": {"name": "s", "resourceVersion": "7"},
      "spec": {"driver": "gpu.example.com", "nodeName": "n1", "perDeviceNodeSelection": false,
        "skipNodeOperations": ["NodePrepareResources"],
        "pool": {"name": "p", "generation": 3, "resourceSliceCount": 2},
        "sharedCounters": [{"name": "mem", "counters": {"b": {"value": "2Gi"}, "a": {"value": "1"}}}],
        "devices": [
          {"name": "d0", "allowMultipleAllocations": true, "bindsToNode": true,
           "attributes": {"numa": {"int": 1}, "on": {"bool": true}, "model": {"string": "L4"},
                          "x/ver": {"version": "1.2.0"}, "cpus": {"ints": [0, 2]},
                          "later": {"colour": "red"}},
           "capacity": {"memory": {"value": "80Gi", "requestPolicy": {"default": "1Gi",
                          "validValues": ["1Gi", "2Gi"],
                          "validRange": {"min": "1", "max": "3", "step": "500m"}}},
                        "cores": {"value": 8}},
           "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}],
           "consumesCounters": [{"counterSet": "mem", "counters": {"a": {"value": "1"}},
                                 "compatibilityGroups": ["g"]}],
           "bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"],
           "nodeAllocatableResources": {
             "cpu": {"mapping": {"capacityKey": "cores", "capacityMultiplier": "2"},
                     "overhead": {"perPod": "100m", "perContainer": "10m"}},
             "memory": {"mapping": {"deviceMultiplier": "1Gi"}}}},
          {"name": "d1", "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [
             {"key": "zone", "operator": "In", "values": ["a"]}]}]}},
          {"name": "d2", "allNodes": true}]}})");
  EXPECT_EQ(slice.object.size, sizeof(plimsoll_resource_slice));
  EXPECT_EQ(slice.object.unreadable.len, 0U) << view(slice.object.unreadable);
  EXPECT_EQ(view(slice.driver), "gpu.example.com");
  EXPECT_EQ(view(slice.pool), "p");
  EXPECT_EQ(slice.generation, 3);
  EXPECT_EQ(slice.slice_count, 2);
  EXPECT_EQ(view(slice.place.node_name), "n1");
  const auto counters = items<plimsoll_counter_set>(slice.shared_counters);
  ASSERT_EQ(counters.size(), 1U);
  EXPECT_EQ(view(counters[0].name), "mem");
  EXPECT_THAT(amounts(counters[0].counters), ElementsAre("a=1", "b=2Gi"));

  const auto devices = items<plimsoll_device>(slice.devices);
  ASSERT_EQ(devices.size(), 3U);
  const plimsoll_device& d0 = devices[0];
  EXPECT_EQ(view(d0.name), "d0");
  EXPECT_EQ(d0.allow_multiple_allocations, 1);
  EXPECT_EQ(d0.binds_to_node, 1);
  std::vector<std::string> attributes;
  for (const auto& each : items<plimsoll_device_attribute>(d0.attributes)) {
    std::string text = std::string(view(each.name)) + ":" + std::to_string(each.type) +
                       (each.is_list != 0 ? "[]" : "");
    for (const auto& value : items<plimsoll_device_value>(each.values)) {
      text += "," + std::to_string(value.number) + std::string(view(value.text));
    }
    attributes.push_back(text);
  }
  EXPECT_THAT(attributes, ElementsAre("cpus:1[],0,2", "later:0", "model:3,0L4", "numa:1,1",
                                      "on:2,1", "x/ver:4,01.2.0"));
  const auto capacity = items<plimsoll_device_capacity>(d0.capacity);
  ASSERT_EQ(capacity.size(), 2U);
  EXPECT_EQ(view(capacity[0].name), "cores");
  EXPECT_EQ(view(capacity[0].value), "8");
  EXPECT_EQ(capacity[0].has_policy, 0U);
  EXPECT_EQ(view(capacity[1].value), "80Gi");
  EXPECT_EQ(capacity[1].has_policy, 1U);
  EXPECT_EQ(capacity[1].has_range, 1U);
  EXPECT_EQ(view(capacity[1].fallback), "1Gi");
  EXPECT_THAT(texts(capacity[1].valid_values), ElementsAre("1Gi", "2Gi"));
  EXPECT_EQ(view(capacity[1].min), "1");
  EXPECT_EQ(view(capacity[1].max), "3");
  EXPECT_EQ(view(capacity[1].step), "500m");
  const auto taints = items<plimsoll_device_taint>(d0.taints);
  ASSERT_EQ(taints.size(), 1U);
  EXPECT_EQ(view(taints[0].effect), "NoExecute");
  const auto consumes = items<plimsoll_counter_set>(d0.consumes);
  ASSERT_EQ(consumes.size(), 1U);
  EXPECT_EQ(view(consumes[0].name), "mem");
  EXPECT_THAT(amounts(consumes[0].counters), ElementsAre("a=1"));
  EXPECT_EQ(consumes[0].has_compatibility_groups, 1U);
  EXPECT_EQ(counters[0].has_compatibility_groups, 0U);
  EXPECT_EQ(slice.skip_node_operations, 1U);
  EXPECT_THAT(texts(d0.binding_conditions), ElementsAre("Ready"));
  EXPECT_THAT(texts(d0.binding_failure_conditions), ElementsAre("Failed"));
  const auto takes = items<plimsoll_device_allocatable>(d0.allocatable);
  ASSERT_EQ(takes.size(), 2U);
  EXPECT_EQ(view(takes[0].name), "cpu");
  EXPECT_EQ(view(takes[0].capacity_key), "cores");
  EXPECT_EQ(view(takes[0].capacity_multiplier), "2");
  EXPECT_EQ(view(takes[0].per_pod), "100m");
  EXPECT_EQ(view(takes[0].per_container), "10m");
  EXPECT_EQ(view(takes[1].device_multiplier), "1Gi");

  EXPECT_EQ(devices[1].place.has_selector, 1U);
  ASSERT_EQ(items<plimsoll_node_selector_term>(devices[1].place.node_selector).size(), 1U);
  EXPECT_EQ(devices[2].place.all_nodes, 1U);
}

TEST_F(ClaimKindsTest, AClaimHasItsRequestsAndItsAllocation) {
  const plimsoll_resource_claim& claim = decoded_(kResourceClaims, "ns", "c", R"({
      "metadata": {"uid": "u", "finalizers": ["a", "b"],
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}},
      "spec": {"devices": {
        "requests": [
          {"name": "gpu", "exactly": {"deviceClassName": "gpus", "adminAccess": true, "count": 2,
             "selectors": [{"cel": {"expression": "true"}}, {"later": {}}],
             "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 0}, {}],
             "capacity": {"requests": {"memory": "1Gi", "cores": 2}}}},
          {"name": "any", "firstAvailable": [{"name": "big", "deviceClassName": "a",
             "allocationMode": "All"}, {"name": "small", "deviceClassName": "b"}]},
          {"name": "later", "newKind": {}}],
        "constraints": [{"requests": ["gpu"], "matchAttribute": "x/y"}, {"distinctAttribute": "z"}],
        "config": [{"requests": ["gpu"], "opaque": {"driver": "d", "parameters": {"a" : [1, "}"]}}}]}},
      "status": {
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "pu"}],
        "devices": [{"driver": "d", "pool": "p", "device": "d0", "shareID": "s",
                     "conditions": [{"type": "Ready", "status": "True", "reason": "r"}]}],
        "allocation": {"allocationTimestamp": "2026-01-01T00:00:00Z",
          "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [
            {"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]},
          "devices": {"results": [{"request": "any/big", "driver": "d", "pool": "p", "device": "d0",
              "adminAccess": true, "shareID": "s", "consumedCapacity": {"memory": "1Gi"},
              "tolerations": [{"key": "k"}], "bindingConditions": ["Ready"],
              "bindingFailureConditions": ["Failed"]}],
            "config": [{"source": "FromClass", "opaque": {"driver": "d"}}]}}}})");
  EXPECT_EQ(claim.object.unreadable.len, 0U) << view(claim.object.unreadable);
  EXPECT_THAT(texts(claim.finalizers), ElementsAre("a", "b"));
  EXPECT_EQ(items<plimsoll_label>(claim.object.meta.annotations).size(), 1U);
  const auto requests = items<plimsoll_device_request>(claim.requests);
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(view(requests[0].name), "gpu");
  EXPECT_EQ(requests[0].first_available, 0U);
  ASSERT_EQ(requests[0].asks.count, 1U);
  const plimsoll_device_ask& gpu = items<plimsoll_device_ask>(requests[0].asks)[0];
  EXPECT_EQ(gpu.size, sizeof gpu);
  EXPECT_EQ(view(gpu.device_class), "gpus");
  EXPECT_EQ(gpu.admin_access, 1);
  EXPECT_EQ(gpu.count, 2);
  EXPECT_EQ(view(gpu.mode), "ExactCount");
  EXPECT_THAT(texts(gpu.selectors), ElementsAre("true", ""));
  EXPECT_THAT(amounts(gpu.capacity), ElementsAre("cores=2", "memory=1Gi"));
  const auto tolerations = items<plimsoll_device_toleration>(gpu.tolerations);
  ASSERT_EQ(tolerations.size(), 2U);
  EXPECT_EQ(view(tolerations[0].op), "Exists");
  EXPECT_EQ(tolerations[0].seconds, 0);
  EXPECT_EQ(view(tolerations[1].op), "Equal");
  EXPECT_EQ(tolerations[1].seconds, -1);
  EXPECT_EQ(requests[1].first_available, 1U);
  ASSERT_EQ(requests[1].asks.count, 2U);
  EXPECT_EQ(view(items<plimsoll_device_ask>(requests[1].asks)[0].mode), "All");
  EXPECT_EQ(view(items<plimsoll_device_ask>(requests[1].asks)[1].name), "small");
  EXPECT_EQ(items<plimsoll_device_ask>(requests[1].asks)[1].count, 1);
  EXPECT_EQ(requests[2].asks.count, 0U);
  const auto constraints = items<plimsoll_device_constraint>(claim.constraints);
  ASSERT_EQ(constraints.size(), 2U);
  EXPECT_THAT(texts(constraints[0].requests), ElementsAre("gpu"));
  EXPECT_EQ(view(constraints[0].match_attribute), "x/y");
  EXPECT_EQ(view(constraints[1].distinct_attribute), "z");
  const auto config = items<plimsoll_device_config>(claim.config);
  ASSERT_EQ(config.size(), 1U);
  EXPECT_EQ(view(config[0].opaque), R"({"driver": "d", "parameters": {"a" : [1, "}"]}})");

  EXPECT_EQ(claim.allocated, 1U);
  EXPECT_EQ(claim.has_selector, 1U);
  EXPECT_GT(claim.allocation_ms, 0);
  const auto users = items<plimsoll_claim_user>(claim.reserved_for);
  ASSERT_EQ(users.size(), 1U);
  EXPECT_EQ(view(users[0].uid), "pu");
  const auto results = items<plimsoll_device_result>(claim.results);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(view(results[0].request), "any/big");
  EXPECT_EQ(view(results[0].share_id), "s");
  EXPECT_EQ(results[0].admin_access, 1U);
  EXPECT_THAT(amounts(results[0].consumed_capacity), ElementsAre("memory=1Gi"));
  EXPECT_THAT(texts(results[0].binding_conditions), ElementsAre("Ready"));
  EXPECT_THAT(texts(results[0].binding_failure_conditions), ElementsAre("Failed"));
  EXPECT_EQ(results[0].tolerations.count, 1U);
  EXPECT_EQ(claim.allocation_config.count, 1U);
  EXPECT_EQ(view(items<plimsoll_device_config>(claim.allocation_config)[0].source), "FromClass");
  const auto devices = items<plimsoll_device_status>(claim.devices);
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(view(devices[0].share_id), "s");
  const auto conditions = items<plimsoll_condition>(devices[0].conditions);
  ASSERT_EQ(conditions.size(), 1U);
  EXPECT_EQ(view(conditions[0].status), "True");

  const plimsoll_resource_claim& bare = decoded_(kResourceClaims, "ns", "bare", R"({"spec": {}})");
  EXPECT_EQ(bare.allocated, 0U);
  EXPECT_EQ(bare.has_selector, 0U);
}

TEST_F(ClaimKindsTest, AClassHasItsSelectorsAndItsName) {
  const plimsoll_device_class& object = decoded_(kDeviceClasses, "", "gpus", R"({
      "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
      "spec": {"extendedResourceName": "example.com/gpu",
        "selectors": [{"cel": {"expression": "device.driver == \"d\""}}],
        "config": [{"opaque": {"driver": "d", "parameters": {}}}]}})");
  EXPECT_THAT(texts(object.selectors), ElementsAre("device.driver == \"d\""));
  EXPECT_EQ(view(object.extended_resource_name), "example.com/gpu");
  EXPECT_EQ(object.config.count, 1U);
  EXPECT_GT(object.object.meta.creation_ms, 0);
}

TEST_F(ClaimKindsTest, ATaintRuleSelectsNoDeviceOrAll) {
  const char* taint = R"("taint": {"key": "k", "effect": "NoSchedule"})";
  const auto rule = [&](const std::string& selector) -> const plimsoll_device_taint_rule& {
    return decoded_(kDeviceTaintRules, "", "r", "{\"spec\": {" + selector + taint + "}}");
  };
  EXPECT_EQ(rule("").has_selector, 0U);
  EXPECT_EQ(view(rule("").taint.key), "k");
  EXPECT_EQ(rule(R"("deviceSelector": {}, )").has_selector, 1U);
  const auto& one = rule(R"("deviceSelector": {"driver": "d", "pool": "p", "device": "x"}, )");
  EXPECT_EQ(view(one.driver), "d");
  EXPECT_EQ(view(one.pool), "p");
  EXPECT_EQ(view(one.device), "x");
}

TEST_F(ClaimKindsTest, WhatCannotBeReadIsNamed) {
  const auto& slice = decoded_(kResourceSlices, "", "s", R"({"spec": {"driver": "d", "devices": [
      {"name": "d0", "capacity": {"memory": {"value": "much"}}}]}})");
  EXPECT_THAT(std::string(view(slice.object.unreadable)),
              HasSubstr("spec.devices[0].capacity[memory].value"));
  EXPECT_EQ(slice.devices.count, 0U);
  EXPECT_EQ(view(slice.driver), "");
  const auto& claim = decoded_(kResourceClaims, "ns", "c",
                               R"({"status": {"allocation": {"devices": {"results": [7]}}}})");
  EXPECT_THAT(std::string(view(claim.object.unreadable)),
              HasSubstr("status.allocation.devices.results[0]"));
  EXPECT_EQ(claim.allocated, 0U);
}

}  // namespace
}  // namespace plimsoll
