// Pods with thousands of node selector terms: the same verdicts as term by term and node by node,
// at a cost that is not the product of the two.

#include "plugins/builtin/columns/label_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "framework/api/selectors.hpp"
#include "tests/plugins/builtin/support.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::builtin_test {
namespace {

using Json = nlohmann::json;
using sdk::Nodes;

class LabelIndexTest : public ::testing::Test {
 protected:
  LabelIndexTest() {
    EXPECT_FALSE(bench_.create("NodeAffinity"));
    random_.seed(test::test_seed());
  }

  size_t below(size_t limit) { return random_() % limit; }
  bool one_in(size_t count) { return below(count) == 0; }
  std::string some_key() { return "key-" + std::to_string(below(6)); }
  std::string some_value() { return one_in(5) ? "text" : std::to_string(below(12)); }

  void add_nodes(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      Json labels = Json::object();
      for (int key = 0; key < 6; ++key) {
        if (!one_in(3)) labels["key-" + std::to_string(key)] = some_value();
      }
      bench_.add_node("node-" + std::to_string(i), labels.dump());
    }
  }

  Json requirement() {
    const char* const ops[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
    const std::string op = ops[below(6)];
    Json values = Json::array();
    if (op == "In" || op == "NotIn") {
      for (size_t i = below(3) + 1; i > 0; --i) values.push_back(some_value());
    } else if (op == "Gt" || op == "Lt") {
      values.push_back(one_in(8) ? "text" : std::to_string(below(12)));
    }
    return {
        {"key", one_in(20) ? "no-node-has-it" : some_key()}, {"operator", op}, {"values", values}};
  }

  Json term() {
    Json term = Json::object();
    for (size_t i = below(4); i > 0; --i) term["matchExpressions"].push_back(requirement());
    if (one_in(4)) {
      const std::string node = one_in(6) ? "" : "node-" + std::to_string(below(80));
      term["matchFields"].push_back({{"key", one_in(6) ? "metadata.other" : "metadata.name"},
                                     {"operator", one_in(2) ? "In" : "NotIn"},
                                     {"values", {node}}});
    }
    return term;
  }

  PodRef pod_with(const Json& required, const Json& preferred,
                  const Json& node_selector = Json::object()) {
    Json affinity = Json::object();
    if (!required.empty()) {
      affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
          {"nodeSelectorTerms", required}};
    }
    if (!preferred.empty()) {
      affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferred;
    }
    Json spec = {{"nodeSelector", node_selector}};
    spec["affinity"]["nodeAffinity"] = affinity;
    return bench_.pod("p", spec.dump());
  }

  struct Answers {
    std::vector<uint8_t> codes;
    std::vector<int64_t> scores;
    bool operator==(const Answers&) const = default;
  };
  // By so many nodes at a time.
  Answers ask(const PodRef& pod, size_t at_once) {
    Answers answers;
    answers.codes.resize(bench_.rows.size());
    answers.scores.resize(bench_.rows.size());
    std::vector<uint32_t> reasons(bench_.rows.size());
    for (size_t from = 0; from < bench_.rows.size(); from += at_once) {
      const size_t count = std::min(at_once, bench_.rows.size() - from);
      const plimsoll_nodes nodes{sizeof nodes, static_cast<uint32_t>(count),
                                 bench_.rows.data() + from, nullptr, nullptr};
      EXPECT_EQ(bench_.plugin.filter(bench_.plugin.self, &cycle_.abi(), pod.get(), &nodes,
                                     answers.codes.data() + from, reasons.data() + from),
                PLIMSOLL_SUCCESS);
      EXPECT_EQ(bench_.plugin.score(bench_.plugin.self, &cycle_.abi(), pod.get(), &nodes,
                                    answers.scores.data() + from),
                PLIMSOLL_SUCCESS);
    }
    return answers;
  }

  std::mt19937_64 random_;
  Bench bench_;
  conformance::BenchCycle cycle_;
};

TEST_F(LabelIndexTest, SaysOfEachTermWhatMatchesSays) {
  add_nodes(150);
  int matching = 0;
  for (int round = 0; round < 20; ++round) {
    Json terms = Json::array();
    for (int i = 0; i < 100; ++i) terms.push_back(term());
    const PodRef pod = pod_with(terms, Json::array());
    const plimsoll_nodes raw{sizeof raw, static_cast<uint32_t>(bench_.rows.size()),
                             bench_.rows.data(), nullptr, nullptr};
    const builtin::LabelIndex::Terms decoded = pod->node_affinity->required;
    ASSERT_TRUE(builtin::LabelIndex::is_worth_it(Nodes(&raw), decoded));
    builtin::LabelIndex index(Nodes(&raw), decoded);
    for (size_t t = 0; t < decoded.size(); ++t) {
      const builtin::LabelIndex::Bits& these = index.matching(decoded[t]);
      for (size_t row = 0; row < bench_.rows.size(); ++row) {
        const bool expected = matches(decoded[t], *bench_.rows[row]->node);
        matching += expected ? 1 : 0;
        ASSERT_EQ(builtin::LabelIndex::has(these, row), expected) << terms[t] << " on " << row;
      }
    }
  }
  EXPECT_GT(matching, 10'000);
}

TEST_F(LabelIndexTest, VerdictsAndScoresAreTheSameNodeByNode) {
  add_nodes(100);
  int refused = 0;
  for (int round = 0; round < 10; ++round) {
    Json required = Json::array();
    Json preferred = Json::array();
    for (int i = 0; i < 60; ++i) {
      // Mostly of several requirements, so that some nodes match none.
      Json narrow = term();
      for (int more = 0; more < 4; ++more) narrow["matchExpressions"].push_back(requirement());
      required.push_back(narrow);
      preferred.push_back({{"weight", 1 + below(100)}, {"preference", term()}});
    }
    // With some seeds no node has the label.
    const Json selector = round % 2 == 0 ? Json{{"key-0", "3"}} : Json::object();
    const PodRef pod = pod_with(required, preferred, selector);
    const Answers together = ask(pod, bench_.rows.size());
    ASSERT_EQ(together, ask(pod, 1));
    refused += static_cast<int>(std::count_if(together.codes.begin(), together.codes.end(),
                                              [](uint8_t code) { return code != 0; }));
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 1000);
}

// Twenty times the nodes: the terms are read once, whatever the number of nodes. Each term fits no
// node, and each node has another value of the label.
TEST_F(LabelIndexTest, TermsTimesNodesIsNotTheCost) {
  constexpr size_t kFew = 100;
  constexpr size_t kMany = 2'000;
  for (size_t i = 0; i < kMany; ++i) {
    const std::string name = "node-" + std::to_string(i);
    bench_.add_node(name, Json{{"hostname", name}}.dump());
  }
  Json terms = Json::array();
  for (int i = 0; i < 10'000; ++i) {
    terms.push_back(
        {{"matchExpressions",
          {{{"key", "hostname"}, {"operator", "NotIn"}, {"values", {"other-" + std::to_string(i)}}},
           {{"key", "hostname"}, {"operator", "DoesNotExist"}}}}});
  }
  const PodRef pod = pod_with(terms, Json::array());
  const auto all = bench_.rows;
  const auto cpu_of = [&](size_t nodes) {
    bench_.rows.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(nodes));
    double least = 1e9;
    for (int i = 0; i < 5; ++i) {
      const std::clock_t begun = std::clock();
      const Answers answers = ask(pod, nodes);
      least = std::min(least, static_cast<double>(std::clock() - begun));
      EXPECT_EQ(std::count(answers.codes.begin(), answers.codes.end(), 0), 0);
    }
    return least / CLOCKS_PER_SEC;
  };
  const double few = cpu_of(kFew);
  const double many = cpu_of(kMany);
  EXPECT_LT(many, 8 * few + 0.05) << "CPU seconds, against " << few << " for " << kFew << " nodes";
  RecordProperty("few", std::to_string(few));
  RecordProperty("many", std::to_string(many));
}

}  // namespace
}  // namespace plimsoll::builtin_test
