// TestRunPreScorePlugins, TestRunScorePlugins.

#include <gmock/gmock.h>

#include <optional>

#include "tests/runtime/tables.hpp"

namespace plimsoll {
namespace {

using namespace plimsoll::testing;  // NOLINT: the codes of the tables
using sdk::FakeNode;
using sdk::FakePod;

class ScoreTableTest : public ::testing::Test {
 protected:
  ScoreTableTest() : rows_{&n1_.get(), &n2_.get()} {}
  World world_;
  FakePod pod_{"team/a"};
  FakeNode n1_{"n1", 0}, n2_{"n2", 1};
  std::vector<const plimsoll_node_info*> rows_;
};

TEST_F(ScoreTableTest, PreScore) {
  struct Row {
    const char* name;
    Codes codes;
    const char* skipped;
    const char* status;
  };
  const Row rows[] = {
      {"all succeed", {kSuccess, kSuccess}, "", "Success"},
      {"one succeeds, another fails",
       {kSuccess, kError},
       "",
       "Error: running PreScore plugin \"B\": injected"},
      {"one skips, another fails",
       {kSkip, kError},
       "A",
       "Error: running PreScore plugin \"B\": injected"},
      {"all skip", {kSkip, kSkip, kSkip}, "ABC", "Success"},
      {"some skip", {kSkip, kSuccess, kSkip, kSuccess}, "AC", "Success"},
      {"a rejection is not legal here",
       {kUnschedulable},
       "",
       "Error: running PreScore plugin \"A\": it returned Unschedulable, which it must not return "
       "here"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    scripts().clear();
    Framework& framework = world_.make(profile_at(ExtensionPoint::kPreScore, row.codes.size()));
    for (size_t i = 0; i < row.codes.size(); ++i) {
      scripts()[plugin_letter(i)].pre_score = injected(row.codes[i]);
    }
    auto cycle = framework.new_cycle();
    EXPECT_EQ(text_of(world_, framework.run_pre_score(*cycle, pod_.get(), rows_)), row.status);
    EXPECT_EQ(letters(framework, cycle->skip_score), row.skipped);
  }
}

struct Scorer {
  int32_t weight = 1;
  int64_t score = 0;
  std::optional<int64_t> normalized;  // unset: normalize changes nothing
  bool score_fails = false;
  bool normalize_fails = false;
};

constexpr Scorer scores(int64_t score, int32_t weight = 1) {
  return {weight, score, {}, false, false};
}
constexpr Scorer normalizes(int64_t score, int64_t to, int32_t weight = 1) {
  return {weight, score, to, false, false};
}
constexpr Scorer fails() {
  return {0, 0, {}, true, false};
}
constexpr Scorer fails_to_normalize() {
  return {0, 0, {}, false, true};
}

TEST_F(ScoreTableTest, Score) {
  struct Row {
    const char* name;
    std::vector<Scorer> plugins;
    const char* skipped;
    const char* error;
    std::vector<int64_t> parts;  // weighted, the same for both nodes
  };
  const Row rows[] = {
      {"no Score plugins", {}, "", "", {}},
      {"one plugin", {scores(1)}, "", "", {1}},
      {"one plugin that normalizes", {normalizes(10, 5)}, "", "", {5}},
      {"three plugins, two normalize, one has a weight",
       {scores(1), normalizes(3, 4), normalizes(4, 5, 2)},
       "",
       "",
       {1, 4, 10}},
      {"score fails",
       {scores(0), fails()},
       "",
       "running Score plugins: plugin \"B\" failed with: injected",
       {}},
      {"normalize fails",
       {scores(0), fails_to_normalize()},
       "",
       "running Normalize on Score plugins: plugin \"B\" failed with: injected",
       {}},
      {"a score above 100",
       {scores(101)},
       "",
       "applying score defaultWeights on Score plugins: plugin \"A\" returns an invalid score 101 "
       "for node n1, it should in the range of [0, 100] after normalizing",
       {}},
      {"a score below 0",
       {scores(-1)},
       "",
       "applying score defaultWeights on Score plugins: plugin \"A\" returns an invalid score -1 "
       "for node n1, it should in the range of [0, 100] after normalizing",
       {}},
      {"normalized to above 100",
       {normalizes(5, 101)},
       "",
       "applying score defaultWeights on Score plugins: plugin \"A\" returns an invalid score 101 "
       "for node n1, it should in the range of [0, 100] after normalizing",
       {}},
      {"normalized to below 0",
       {normalizes(5, -1)},
       "",
       "applying score defaultWeights on Score plugins: plugin \"A\" returns an invalid score -1 "
       "for node n1, it should in the range of [0, 100] after normalizing",
       {}},
      {"any raw score, if it is normalized", {normalizes(-1'000'000, 7)}, "", "", {7}},
      {"a weight", {scores(1, 3)}, "", "", {3}},
      {"one succeeds, one that would fail is skipped", {scores(1), fails()}, "B", "", {1}},
      {"all are skipped", {fails()}, "A", "", {}},
      {"the largest weight", {scores(100, 2147483647)}, "", "", {214748364700}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    scripts().clear();
    ProfileSpec spec = profile_at(ExtensionPoint::kScore, row.plugins.size());
    for (size_t i = 0; i < row.plugins.size(); ++i) {
      const Scorer plugin = row.plugins[i];
      spec.at(ExtensionPoint::kScore)[i].weight = plugin.weight;
      Script& script = scripts()[plugin_letter(i)];
      script.score_node = [plugin](const sdk::Host&, sdk::Node) {
        if (plugin.score_fails) throw std::runtime_error("injected");
        return plugin.score;
      };
      script.normalize = [plugin](const sdk::Host& host, std::span<int64_t> values) {
        if (plugin.normalize_fails) return host.error("injected");
        for (int64_t& value : values) value = plugin.normalized.value_or(value);
        return sdk::Status();
      };
    }
    Framework& framework = world_.make(spec);
    auto cycle = framework.new_cycle();
    cycle->skip_score = mask_of(framework, row.skipped);
    plimsoll::ScoreTable table;
    const Status status = framework.run_score(*cycle, pod_.get(), rows_, table, true);
    EXPECT_EQ(status.error, row.error);
    EXPECT_EQ(status.code, *row.error == 0 ? Code::kSuccess : Code::kError);
    if (!status.ok()) continue;
    std::vector<int64_t> parts;
    int64_t total = 0;
    for (const auto& part : table.parts) {
      ASSERT_EQ(part.weighted.size(), 2U);
      EXPECT_EQ(part.weighted[0], part.weighted[1]);
      parts.push_back(part.weighted[0]);
      total += part.weighted[0];
    }
    EXPECT_EQ(parts, row.parts);
    EXPECT_THAT(table.totals, ::testing::ElementsAre(total, total));
  }
}

}  // namespace
}  // namespace plimsoll
