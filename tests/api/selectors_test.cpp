#include "framework/api/selectors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <plimsoll/views.hpp>
#include <random>
#include <set>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"

namespace plimsoll {
namespace {

PodRef pod_of(SymbolTable& symbols, const std::string& spec) {
  auto pod = decode_pod(R"({"metadata": {"name": "p"}, "spec": )" + spec + "}", symbols);
  EXPECT_TRUE(pod) << (pod ? "" : pod.error().message);
  return pod ? *pod : nullptr;
}

NodeRef node_of(SymbolTable& symbols, const std::string& labels, const std::string& spec = "{}") {
  return *decode_node(
      R"({"metadata": {"name": "n1", "labels": )" + labels + R"(}, "spec": )" + spec + "}",
      symbols);
}

TEST(NodeSelector, OneBadTermDoesNotSpoilTheOthers) {
  SymbolTable symbols;
  const NodeRef node = node_of(symbols, R"({"zone": "a", "cpus": "16"})");
  const auto affinity = [&](const std::string& terms) {
    return pod_of(symbols, R"({"affinity": {"nodeAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": )" +
                               terms + "}}}}");
  };
  struct {
    std::string terms;
    bool matches;
  } const cases[] = {
      {"[]", false},
      {"[{}]", false},
      {R"([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}])", true},
      {R"([{"matchExpressions": [{"key": "zone", "operator": "Is", "values": ["a"]}]}])", false},
      {R"([{"matchExpressions": [{"key": "zone", "operator": "In"}]},
           {"matchExpressions": [{"key": "cpus", "operator": "Gt", "values": ["8"]}]}])",
       true},
      {R"([{"matchExpressions": [{"key": "cpus", "operator": "Lt", "values": ["8"]}]}])", false},
      {R"([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}])",
       true},
      {R"([{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]}])",
       false},
  };
  for (const auto& each : cases) {
    const PodRef pod = affinity(each.terms);
    EXPECT_EQ(matches_required_node_affinity(*pod, *node), each.matches) << each.terms;
  }
}

// What a selector of any size says is what its requirements say one by one.
TEST(LabelSelector, SaysTheSameInAnySize) {
  SymbolTable symbols;
  std::mt19937_64 dice(20'240'607);
  const auto roll = [&](size_t sides) { return static_cast<size_t>(dice() % sides); };
  size_t matching = 0;
  for (int round = 0; round < 400; ++round) {
    const size_t sizes[] = {1, 3, 9, 40};
    const size_t keys = sizes[roll(4)];
    const auto key = [&] { return "k" + std::to_string(roll(keys + 2)); };
    std::map<std::string, std::string> labels;
    for (size_t i = roll(keys + 1); i > 0; --i) labels[key()] = std::to_string(roll(3));
    nlohmann::json expressions = nlohmann::json::array();
    bool expected = true;
    for (size_t i = roll(sizes[roll(4)] + 1); i > 0; --i) {
      const std::string of = key();
      const bool is_there = labels.contains(of);
      const std::array operators = {"In", "NotIn", "Exists", "DoesNotExist", "NotIn", "Has"};
      // Mostly one that holds, so that long selectors match too.
      std::string op = is_there ? "Exists" : "DoesNotExist";
      if (roll(8) != 0) op = operators[roll(roll(10) == 0 ? 6 : 5)];
      std::set<std::string> values;
      for (size_t n = 1 + roll(12); n > 0; --n) values.insert(std::to_string(roll(30)));
      if (roll(4) != 0 && is_there) {
        if (op == "In") values.insert(labels[of]);
        if (op == "NotIn") values.erase(labels[of]);
      }
      const bool is_named = is_there && values.contains(labels[of]);
      nlohmann::json each = {{"key", of}, {"operator", op}};
      if (op.ends_with("In")) {
        if (values.empty()) continue;
        std::vector<std::string> shuffled(values.begin(), values.end());
        std::shuffle(shuffled.begin(), shuffled.end(), dice);
        each["values"] = shuffled;
      }
      expressions.push_back(each);
      const bool holds = op == "In"             ? is_named
                         : op == "NotIn"        ? !is_named
                         : op == "Exists"       ? is_there
                         : op == "DoesNotExist" ? !is_there
                                                : false;
      expected = expected && holds;
    }
    const nlohmann::json selector = {{"matchExpressions", expressions}};
    const std::string spec =
        nlohmann::json{{"topologySpreadConstraints", {{{"labelSelector", selector}}}}}.dump();
    const PodRef pod = pod_of(symbols, spec);
    const NodeRef node = node_of(symbols, nlohmann::json(labels).dump());
    const auto& constraint = sdk::List<plimsoll_spread_constraint>(pod->spread_constraints)[0];
    EXPECT_EQ(matches(constraint.selector, node->meta.labels), expected)
        << selector << " and " << nlohmann::json(labels);
    matching += expected ? 1 : 0;
  }
  EXPECT_GT(matching, 40u);
}

TEST(Tolerations, MatchByEffectKeyAndValue) {
  SymbolTable symbols;
  const NodeRef node =
      node_of(symbols, "{}", R"({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]})");
  const plimsoll_taint& taint = sdk::List<plimsoll_taint>(node->taints)[0];
  struct {
    std::string toleration;
    bool tolerates;
  } const cases[] = {
      {R"({"operator": "Exists"})", true},
      {R"({"key": "k", "operator": "Exists"})", true},
      {R"({"key": "k", "value": "v"})", true},
      {R"({"key": "k", "value": "w"})", false},
      {R"({"key": "k", "value": "v", "effect": "NoExecute"})", false},
      {R"({"key": "k", "value": "v", "effect": "NoSchedule"})", true},
      {R"({"key": "x", "operator": "Exists"})", false},
      {R"({"key": "k", "operator": "Gt", "value": "v"})", false},
  };
  for (const auto& each : cases) {
    const PodRef pod = pod_of(symbols, R"({"tolerations": [)" + each.toleration + "]}");
    EXPECT_EQ(tolerated(pod->tolerations, taint), each.tolerates) << each.toleration;
  }
}

TEST(LabelQuery, ReadsMatchesAndPrints) {
  SymbolTable symbols;
  const NodeRef node = node_of(symbols, R"({"app": "web", "cpus": "16"})");
  struct {
    std::string_view text;
    bool matches;
    std::string_view printed;
  } const cases[] = {
      {"", true, ""},
      {"app=web", true, "app=web"},
      {" app in ( web , db ) , cpus > 8 ", true, "app in (db,web),cpus>8"},
      {"!app", false, "!app"},
      {"app!=web", false, "app!=web"},
      {"x notin (a,)", true, "x notin (,a)"},
      {"app", true, "app"},
  };
  for (const auto& each : cases) {
    const auto query = LabelQuery::parse(each.text);
    ASSERT_TRUE(query) << each.text << ": " << query.error().message;
    EXPECT_EQ(query->matches(node->meta.labels), each.matches) << each.text;
    EXPECT_EQ(query->text(), each.printed);
  }
  for (std::string_view bad : {",", "a,", "a=b=c", "a in b", "a in (b", "=", "a>b", "!a=b", "-a",
                               "a in (b c)", "a!", ")"}) {
    EXPECT_FALSE(LabelQuery::parse(bad)) << bad;
  }
}

TEST(HostPorts, ConflictOnTheSameAddressOrOnAll) {
  const plimsoll_host_port all{str("0.0.0.0"), str("TCP"), 80, 0};
  const plimsoll_host_port local{str("127.0.0.1"), str("TCP"), 80, 0};
  const plimsoll_host_port other{str("10.0.0.1"), str("TCP"), 80, 0};
  const plimsoll_host_port udp{str("0.0.0.0"), str("UDP"), 80, 0};
  EXPECT_TRUE(conflicts(all, local));
  EXPECT_TRUE(conflicts(local, local));
  EXPECT_FALSE(conflicts(local, other));
  EXPECT_FALSE(conflicts(all, udp));
}

}  // namespace
}  // namespace plimsoll
