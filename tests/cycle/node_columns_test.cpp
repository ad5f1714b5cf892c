// What the builtin plugins say of nodes by their columns, held against what they say node by node:
// every verdict with its reason and every score, in clusters that change at random.

#include "framework/cluster/node_columns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "framework/api/decode/decode.hpp"
#include "framework/api/lists.hpp"
#include "framework/cluster/cluster_state.hpp"
#include "plugins/builtin/builtin.hpp"
#include "tests/cycle/random_objects.hpp"
#include "tests/runtime/support.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;

constexpr size_t kNodes = 12;
constexpr size_t kSteps = 1'500;

std::string number(size_t value, const char* unit = "") {
  return std::to_string(value) + unit;
}

// Amounts so scarce that all ways of not fitting occur.
Json some_resources(Dice& dice, size_t most, bool pods) {
  Json amounts = Json::object();
  if (!dice.one_in(6)) amounts["cpu"] = number(dice.below(most * 1000), "m");
  if (!dice.one_in(6)) amounts["memory"] = number(dice.below(most << 20), "Ki");
  if (dice.one_in(12)) amounts["memory"] = number(1 + dice.below(100), "Ti");  // or huge
  if (dice.one_in(3)) amounts["ephemeral-storage"] = number(dice.below(most), "Gi");
  for (const char* scalar : {"example.com/gpu", "example.com/nic", "hugepages-2Mi"}) {
    if (!dice.one_in(3)) continue;
    amounts[scalar] = std::string(scalar) == "hugepages-2Mi" ? number(2 * dice.below(most), "Mi")
                                                             : number(dice.below(most));
  }
  if (pods && !dice.one_in(8)) amounts["pods"] = number(dice.below(8));
  return amounts;
}

Json some_taints(Dice& dice) {
  Json taints = Json::array();
  for (size_t count = dice.below(3); count > 0; --count) {
    static constexpr const char* kEffects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
    taints.push_back({{"key", "taint-" + number(dice.below(3))},
                      {"value", number(dice.below(2))},
                      {"effect", kEffects[dice.below(3)]}});
  }
  return taints;
}

Json some_node(Dice& dice, const std::string& name) {
  Json labels = {{"kubernetes.io/hostname", name}};
  if (!dice.one_in(4)) labels["zone"] = "zone-" + number(dice.below(3));
  if (!dice.one_in(3)) labels["cores"] = number(dice.below(5));
  if (dice.one_in(3)) labels["disk"] = dice.one_in(2) ? "ssd" : "";
  Json spec = {{"taints", some_taints(dice)}};
  if (dice.one_in(5)) spec["unschedulable"] = true;
  return {{"metadata", {{"name", name}, {"labels", labels}}},
          {"spec", spec},
          {"status", {{"allocatable", some_resources(dice, 16, true)}}}};
}

Json some_requirement(Dice& dice) {
  static constexpr const char* kKeys[] = {"zone", "cores", "disk", "absent",
                                          "kubernetes.io/hostname"};
  Json requirement = {{"key", kKeys[dice.below(5)]}};
  switch (dice.below(6)) {
    case 0:
      requirement["operator"] = "Exists";
      break;
    case 1:
      requirement["operator"] = "DoesNotExist";
      break;
    case 2:
      requirement["operator"] = dice.one_in(2) ? "Gt" : "Lt";
      requirement["values"] = {number(dice.below(5))};
      break;
    case 3:
      requirement["operator"] = "Unheard";
      break;
    default:
      requirement["operator"] = dice.one_in(3) ? "NotIn" : "In";
      requirement["values"] = {"zone-" + number(dice.below(3)), "ssd", number(dice.below(5)),
                               "n" + number(dice.below(kNodes))};
  }
  return requirement;
}

Json some_terms(Dice& dice) {
  Json terms = Json::array();
  for (size_t count = 1 + dice.below(2); count > 0; --count) {
    Json expressions = Json::array();
    for (size_t more = dice.below(3); more > 0; --more) {
      expressions.push_back(some_requirement(dice));
    }
    Json term = {{"matchExpressions", expressions}};
    if (dice.one_in(6)) {
      term["matchFields"] = {{{"key", "metadata.name"},
                              {"operator", dice.one_in(2) ? "In" : "NotIn"},
                              {"values", {"n" + number(dice.below(kNodes))}}}};
    }
    terms.push_back(term);
  }
  return terms;
}

Json some_pod(Dice& dice, const std::string& name, size_t most) {
  Json containers = Json::array();
  for (size_t count = 1 + dice.below(2); count > 0; --count) {
    containers.push_back({{"name", "c" + number(count)},
                          {"resources", {{"requests", some_resources(dice, most, false)}}}});
  }
  Json spec = {{"containers", containers}, {"priority", static_cast<int>(dice.below(5)) - 2}};
  Json tolerations = Json::array();
  for (size_t count = dice.below(3); count > 0; --count) {
    Json toleration = {{"key", "taint-" + number(dice.below(3))}};
    toleration["operator"] = dice.one_in(2) ? "Exists" : "Equal";
    if (toleration["operator"] == "Equal") toleration["value"] = number(dice.below(2));
    if (dice.one_in(2)) toleration["effect"] = dice.one_in(2) ? "NoSchedule" : "PreferNoSchedule";
    tolerations.push_back(toleration);
  }
  if (dice.one_in(8)) tolerations.push_back({{"operator", "Exists"}});
  spec["tolerations"] = tolerations;
  if (dice.one_in(3)) {
    spec["nodeSelector"] = {{"zone", "zone-" + number(dice.below(3))}};
    if (dice.one_in(2)) spec["nodeSelector"]["disk"] = "ssd";
  }
  if (dice.one_in(2)) {
    Json affinity = Json::object();
    if (dice.one_in(2)) {
      affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
          {"nodeSelectorTerms", some_terms(dice)}};
    }
    Json preferred = Json::array();
    for (size_t count = dice.below(3); count > 0; --count) {
      preferred.push_back({{"weight", 1 + dice.below(100)}, {"preference", some_terms(dice)[0]}});
    }
    affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferred;
    spec["affinity"] = {{"nodeAffinity", affinity}};
  }
  return {{"metadata", {{"name", name}, {"namespace", "ns"}, {"uid", name}}}, {"spec", spec}};
}

ProfileSpec profile(const char* fit_args, const char* balanced_args, const char* affinity_args) {
  ProfileSpec spec;
  spec.scheduler_name = "columns";
  spec.at(ExtensionPoint::kQueueSort) = {{"PrioritySort"}};
  spec.at(ExtensionPoint::kPreFilter) = {{"NodeAffinity"}};
  spec.at(ExtensionPoint::kFilter) = {
      {"NodeUnschedulable"}, {"TaintToleration"}, {"NodeAffinity"}, {"NodeResourcesFit"}};
  spec.at(ExtensionPoint::kPreScore) = {{"NodeAffinity"}, {"NodeResourcesBalancedAllocation"}};
  spec.at(ExtensionPoint::kScore) = {{"TaintToleration"},
                                     {"NodeAffinity"},
                                     {"NodeResourcesFit"},
                                     {"NodeResourcesBalancedAllocation"}};
  spec.at(ExtensionPoint::kBind) = {{"DefaultBinder"}};
  spec.args["NodeResourcesFit"] = fit_args;
  spec.args["NodeResourcesBalancedAllocation"] = balanced_args;
  spec.args["NodeAffinity"] = affinity_args;
  return spec;
}

class NodeColumnsTest : public ::testing::Test {
 protected:
  NodeColumnsTest() {
    world_.modules.add_builtin(builtin_modules());
    world_.make(profile("{}", "{}", "{}"));
    world_.make(profile(R"({"scoringStrategy":{"type":"MostAllocated","resources":[
                          {"name":"cpu","weight":2},{"name":"memory","weight":2}]}})",
                        R"({"resources":[{"name":"cpu","weight":1},
                          {"name":"example.com/gpu","weight":1}]})",
                        R"({"addedAffinity":{
                          "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
                            {"matchExpressions":[{"key":"zone","operator":"Exists"}]}]},
                          "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":7,
                            "preference":{"matchExpressions":[
                              {"key":"disk","operator":"In","values":["ssd"]}]}}]}})"));
    world_.make(profile(R"({"ignoredResources":["example.com/nic"],"scoringStrategy":{
                          "type":"RequestedToCapacityRatio","resources":[
                            {"name":"cpu","weight":3},{"name":"memory","weight":1},
                            {"name":"example.com/gpu","weight":2}],
                          "requestedToCapacityRatio":{"shape":[{"utilization":0,"score":0},
                            {"utilization":40,"score":10},{"utilization":100,"score":2}]}}})",
                        R"({"resources":[{"name":"cpu","weight":1},{"name":"memory","weight":1},
                          {"name":"ephemeral-storage","weight":1}]})",
                        "{}"));
  }
  NodeRows all() const { return {cluster_.rows(), cluster_.row_slots(), &cluster_.columns()}; }
  PodRef decode(const Json& pod) {
    auto decoded = decode_pod(pod.dump(), world_.symbols);
    EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
    return *decoded;
  }
  void change();
  void expect_columns_as_rows();
  void compare(Framework& framework, const plimsoll_pod& pod, NodeRows rows);

  Dice dice_{test::test_seed()};
  World world_;
  ClusterState cluster_;
  size_t pods_ = 0;
  size_t refused_ = 0;
  size_t scored_ = 0;
};

void NodeColumnsTest::change() {
  const std::string name = "n" + number(dice_.below(kNodes));
  const size_t what = dice_.below(10);
  if (what == 0) {
    cluster_.remove_node(name);
  } else if (what < 4) {
    auto node = decode_node(some_node(dice_, name).dump(), world_.symbols);
    ASSERT_TRUE(node.has_value()) << node.error().message;
    cluster_.upsert_node(*node);
  } else if (what < 8) {
    Json pod = some_pod(dice_, "p" + number(dice_.below(60)), 4);
    pod["spec"]["nodeName"] = name;
    cluster_.upsert_pod(decode(pod));
  } else {
    cluster_.remove_pod("p" + number(dice_.below(60)));
  }
}

void NodeColumnsTest::expect_columns_as_rows() {
  const plimsoll_columns& columns = cluster_.columns();
  uint32_t unschedulable = 0;
  for (const plimsoll_node_info* row : cluster_.rows()) {
    const uint32_t slot = row->slot;
    for (uint32_t i = 0; i < columns.resource_count; ++i) {
      EXPECT_EQ(columns.allocatable[i][slot], i < row->resource_count ? row->allocatable[i] : 0);
      EXPECT_EQ(columns.requested[i][slot], i < row->resource_count ? row->requested[i] : 0);
    }
    EXPECT_EQ(columns.nonzero_cpu[slot], row->nonzero_cpu);
    EXPECT_EQ(columns.nonzero_memory[slot], row->nonzero_memory);
    EXPECT_EQ(columns.pod_count[slot], row->pod_count);
    int32_t lowest = INT32_MAX;
    for (uint32_t i = 0; i < row->pod_count; ++i) {
      lowest = std::min(lowest, row->pods[i]->priority);
    }
    EXPECT_EQ(columns.lowest_priority[slot], lowest);
    EXPECT_EQ(columns.unschedulable[slot], row->node->unschedulable);
    unschedulable += row->node->unschedulable;
    ASSERT_LT(columns.taint_set[slot], columns.taint_set_count);
    EXPECT_TRUE(same_taints(columns.taint_sets[columns.taint_set[slot]], row->node->taints));
    EXPECT_EQ(columns.taint_set[slot] == 0, row->node->taints.count == 0);
  }
  EXPECT_EQ(columns.unschedulable_count, unschedulable);
}

void NodeColumnsTest::compare(Framework& framework, const plimsoll_pod& pod, NodeRows rows) {
  if (rows.empty()) return;
  const auto cycle = framework.new_cycle();
  if (!framework.run_pre_filter(*cycle, pod).status.ok()) return;
  std::vector<uint8_t> codes(rows.size()), expected_codes(rows.size());
  std::vector<uint32_t> reasons(rows.size()), expected_reasons(rows.size());
  for (const auto& slot : framework.at(ExtensionPoint::kFilter)) {
    if (cycle->skip_filter.test(slot.plugin)) continue;
    const auto run = [&](NodeRows of, auto& to, auto& why) {
      ASSERT_TRUE(framework.run_filter(slot.plugin, *cycle, pod, of, to, why).ok());
    };
    run(rows, codes, reasons);
    run(rows.without_columns(), expected_codes, expected_reasons);
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(codes[i], expected_codes[i]) << framework.plugin_name(slot.plugin);
      ASSERT_EQ(world_.env.reasons.message(reasons[i]),
                world_.env.reasons.message(expected_reasons[i]));
      if (codes[i] != PLIMSOLL_SUCCESS) ++refused_;
    }
  }
  if (!framework.run_pre_score(*cycle, pod, rows).ok()) return;
  std::vector<int64_t> scores(rows.size()), expected(rows.size());
  for (const auto& slot : framework.at(ExtensionPoint::kScore)) {
    if (cycle->skip_score.test(slot.plugin)) continue;
    ASSERT_TRUE(framework.run_raw_score(slot.plugin, *cycle, pod, rows, scores).ok());
    ASSERT_TRUE(
        framework.run_raw_score(slot.plugin, *cycle, pod, rows.without_columns(), expected).ok());
    ASSERT_EQ(scores, expected) << framework.plugin_name(slot.plugin);
    ++scored_;
  }
}

TEST_F(NodeColumnsTest, PluginsSayTheSameByColumnsAndNodeByNode) {
  for (size_t step = 0; step < kSteps && !HasFatalFailure(); ++step) {
    for (size_t changes = 1 + dice_.below(4); changes > 0; --changes) change();
    if (HasFatalFailure()) return;
    expect_columns_as_rows();
    const PodRef pod = decode(some_pod(dice_, "pending", 8));
    // All nodes; and some of them, in any order.
    std::vector<const plimsoll_node_info*> rows(cluster_.rows());
    for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[dice_.below(i)]);
    if (!rows.empty()) rows.resize(1 + dice_.below(rows.size()));
    std::vector<uint32_t> slots;
    for (const plimsoll_node_info* row : rows) slots.push_back(row->slot);
    for (const auto& framework : world_.frameworks) {
      compare(*framework, *pod, all());
      compare(*framework, *pod, {rows, slots, &cluster_.columns()});
    }
  }
  EXPECT_GT(refused_, kSteps);
  EXPECT_GT(scored_, kSteps);
}

TEST_F(NodeColumnsTest, ValuesOfALabelHaveIds) {
  const auto put = [this](const std::string& name, const Json& labels) {
    const Json node = {{"metadata", {{"name", name}, {"labels", labels}}}};
    cluster_.upsert_node(*decode_node(node.dump(), world_.symbols));
  };
  const auto ids = [this](const char* key) {
    plimsoll_label_column column{sizeof column, 0, nullptr};
    const plimsoll_columns& columns = cluster_.columns();
    EXPECT_EQ(columns.label_column(&columns, str(key), &column), PLIMSOLL_SUCCESS);
    std::vector<uint32_t> of_rows;
    for (const uint32_t slot : cluster_.row_slots()) {
      of_rows.push_back(column.values[slot]);
      EXPECT_LT(of_rows.back(), column.value_count);
    }
    return of_rows;
  };
  put("a", {{"zone", "x"}});
  put("b", {{"zone", "y"}});
  put("c", {{"zone", "x"}});
  put("d", Json::object());
  const auto before = ids("zone");
  EXPECT_EQ(before[0], before[2]);
  EXPECT_NE(before[0], before[1]);
  EXPECT_NE(before[0], 0U);
  EXPECT_EQ(before[3], 0U);
  put("a", {{"zone", "y"}});
  put("d", {{"zone", ""}});
  cluster_.remove_node("c");
  const auto after = ids("zone");
  ASSERT_EQ(after.size(), 3U);
  EXPECT_EQ(after[0], after[1]);
  EXPECT_NE(after[2], 0U);  // an empty value is one, too
  EXPECT_EQ(ids("rack"), std::vector<uint32_t>(3, 0));
}

TEST_F(NodeColumnsTest, TooManyResourcesAndLabelsAreLeftToTheRows) {
  Json amounts = {{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "10"}};
  for (int i = 0; i < 60; ++i) amounts["example.com/of-node-" + std::to_string(i)] = "2";
  const Json node = {{"metadata", {{"name", "n"}}}, {"status", {{"allocatable", amounts}}}};
  cluster_.upsert_node(*decode_node(node.dump(), world_.symbols));
  const plimsoll_columns& columns = cluster_.columns();
  EXPECT_EQ(columns.resource_count, NodeColumns::kMostResources);
  const uint32_t last = world_.symbols.resource_index("example.com/of-node-59");
  ASSERT_GE(last, columns.resource_count);
  const auto wants = [&](const char* amount) {
    return decode({{"metadata", {{"name", "p"}, {"namespace", "ns"}, {"uid", "p"}}},
                   {"spec",
                    {{"containers",
                      {{{"name", "c"},
                        {"resources", {{"requests", {{"example.com/of-node-59", amount}}}}}}}}}}});
  };
  compare(*world_.frameworks.front(), *wants("2"), all());
  EXPECT_EQ(refused_, 0U);
  compare(*world_.frameworks.front(), *wants("3"), all());
  EXPECT_EQ(refused_, 1U);

  plimsoll_label_column column{sizeof column, 0, nullptr};
  for (size_t i = 0; i < NodeColumns::kMostLabels; ++i) {
    EXPECT_EQ(columns.label_column(&columns, str("key-" + number(i)), &column), PLIMSOLL_SUCCESS);
  }
  EXPECT_EQ(columns.label_column(&columns, str("one-more"), &column), PLIMSOLL_ERROR);
  Json labelled = node;
  labelled["metadata"]["labels"] = {{"one-more", "x"}};
  cluster_.upsert_node(*decode_node(labelled.dump(), world_.symbols));
  EXPECT_EQ(columns.label_column(&columns, str("one-more"), &column), PLIMSOLL_SUCCESS);
}

}  // namespace
}  // namespace plimsoll::testing
