// mergePluginSet and the expansion of multiPoint, row by row as kube-scheduler's own tables have
// them (default_plugins_test.go, framework_test.go). Sets are written in one line:
// "A B=2 -C" enables A, and B with weight 2, and disables C.

#include <gtest/gtest.h>

#include <sstream>

#include "config/profile/profile_expansion.hpp"
#include "config/profile/profile_merge.hpp"

namespace plimsoll::config {
namespace {

using enum ExtensionPoint;

PluginSet set_of(const std::string& text) {
  PluginSet out;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    PluginRef ref;
    auto& list = word[0] == '-' ? out.disabled : out.enabled;
    if (word[0] == '-') word.erase(0, 1);
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) ref.weight = std::stoi(word.substr(equals + 1));
    ref.name = ref.written = word.substr(0, equals);
    list.push_back(ref);
  }
  return out;
}

std::string text_of(const PluginSet& set) {
  std::string out;
  for (const PluginRef& plugin : set.enabled) {
    out += (out.empty() ? "" : " ") + plugin.name;
    if (plugin.weight) out += '=' + std::to_string(*plugin.weight);
  }
  for (const PluginRef& plugin : set.disabled) out += (out.empty() ? "-" : " -") + plugin.name;
  return out;
}

struct MergeRow {
  const char* name;
  const char* defaults;
  const char* custom;
  const char* merged;
};

std::ostream& operator<<(std::ostream& out, const MergeRow& row) {
  return out << row.name;
}

class MergePlugins : public testing::TestWithParam<MergeRow> {};

TEST_P(MergePlugins, AsKubeScheduler) {
  const MergeRow& row = GetParam();
  EXPECT_EQ(text_of(merge_plugin_set(set_of(row.defaults), set_of(row.custom))), row.merged);
}

INSTANTIATE_TEST_SUITE_P(
    Table, MergePlugins,
    testing::Values(
        MergeRow{"custom appended", "D1 D2", "C", "D1 D2 C"},
        MergeRow{"a default moved behind the others", "D1 D2", "C D2 -D2", "D1 C D2 -D2"},
        MergeRow{"custom before all defaults", "D1 D2", "C D1 D2 -*", "C D1 D2 -*"},
        MergeRow{"defaults reordered", "D1 D2", "D2 D1 -*", "D2 D1 -*"},
        MergeRow{"nothing custom", "D1 D2", "", "D1 D2"},
        MergeRow{"overridden in place", "P1 P2 P3", "P1=2 P3=3", "P1=2 P2 P3=3"},
        MergeRow{"order kept after overriding", "P1 P2 P3", "P2=2 P1=1", "P1=1 P2=2 P3"},
        MergeRow{"the last repetition replaces, the others stay to be reported", "P1 P2 P3",
                 "P1 P2=2 P3 P2=4", "P1 P2=4 P3 P2=2"},
        MergeRow{"disabled and two appended", "D1 D2", "C1 C2 -D2", "D1 C1 C2 -D2"},
        MergeRow{"a weight for a default", "D", "D=5", "D=5"},
        MergeRow{"disabled in the defaults", "D1 -D2", "C", "D1 C -D2"},
        MergeRow{"disabled in the defaults only, nothing enabled", "-D2", "", "-D2"},
        MergeRow{"only disabled", "D", "-D", "-D"},
        MergeRow{"a default's weight is lost when it is named without one", "D=3", "D", "D"},
        MergeRow{"a name that is not a default disables nothing", "D", "-Other", "D -Other"}));

// testPlugin of framework_test.go implements every point; Sort, Bind, S1 and S2 one or two.
PluginRegistry framework_registry() {
  PluginRegistry out;
  for (const ExtensionPoint point : all_extension_points()) {
    if (point != kPreEnqueue) out["Test"].add(point);
  }
  out["Test2"] = out["Test"];
  out["Sort"] = {kQueueSort};
  out["Bind"] = {kBind};
  out["S1"] = {kPreScore, kScore};
  out["S2"] = {kScore};
  return out;
}

struct ExpandRow {
  const char* name;
  const char* multi_point;
  std::map<std::string, const char*> points;
  const char* expected;  // only points with plugins
};

std::ostream& operator<<(std::ostream& out, const ExpandRow& row) {
  return out << row.name;
}

class ExpandMultiPoint : public testing::TestWithParam<ExpandRow> {};

std::string shown(const ProfileSpec& profile) {
  std::string out;
  for (const ExtensionPoint point : all_extension_points()) {
    if (profile.points[point].empty()) continue;
    out += (out.empty() ? "" : "; ") + std::string(field_name(point)) + ':';
    for (const PluginEntry& plugin : profile.points[point]) {
      out += ' ' + plugin.name;
      if (point == kScore) out += '=' + std::to_string(plugin.weight);
    }
  }
  return out;
}

TEST_P(ExpandMultiPoint, AsKubeScheduler) {
  Profile profile;
  profile.scheduler_name = "s";
  profile.plugins.multi_point = set_of(GetParam().multi_point);
  for (const ExtensionPoint point : all_extension_points()) {
    const auto found = GetParam().points.find(std::string(field_name(point)));
    if (found != GetParam().points.end()) profile.plugins.points[point] = set_of(found->second);
  }
  Problems errors, warnings;
  const ProfileSpec expanded = expand_profile(profile, framework_registry(), errors, warnings);
  std::string found = shown(expanded);
  for (const Problem& error : errors) found += "\nerror: " + error.message;
  EXPECT_EQ(found, GetParam().expected);
}

constexpr const char* kEverywhere =
    "queueSort: Test; preFilter: Test; filter: Test; postFilter: Test; preScore: Test; "
    "score: Test=5; reserve: Test; permit: Test; preBind: Test; bind: Test; postBind: Test";

INSTANTIATE_TEST_SUITE_P(
    Table, ExpandMultiPoint,
    testing::Values(
        ExpandRow{"at every point", "Test=5", {}, kEverywhere},
        ExpandRow{"disabled at some points",
                  "Test",
                  {{"preScore", "-Test"}, {"score", "-Test"}},
                  "queueSort: Test; preFilter: Test; filter: Test; postFilter: Test; "
                  "reserve: Test; permit: Test; preBind: Test; bind: Test; postBind: Test"},
        ExpandRow{"several",
                  "Test S1",
                  {},
                  "queueSort: Test; preFilter: Test; filter: Test; postFilter: Test; "
                  "preScore: Test S1; score: Test=1 S1=1; reserve: Test; permit: Test; "
                  "preBind: Test; bind: Test; postBind: Test"},
        ExpandRow{"* at a point leaves what the point enables",
                  "Test S1",
                  {{"score", "S2 -*"}},
                  "queueSort: Test; preFilter: Test; filter: Test; postFilter: Test; "
                  "preScore: Test S1; score: S2=1; reserve: Test; permit: Test; preBind: Test; "
                  "bind: Test; postBind: Test"},
        ExpandRow{"reordered: the specific set goes first",
                  "S1 Test S2",
                  {{"score", "S2 S1 Test"}},
                  "queueSort: Test; preFilter: Test; filter: Test; postFilter: Test; "
                  "preScore: S1 Test; score: S2=1 S1=1 Test=1; reserve: Test; permit: Test; "
                  "preBind: Test; bind: Test; postBind: Test"},
        ExpandRow{"reordered: only what is in multiPoint too goes first",
                  "Test S1",
                  {{"score", "S2 S1"}},
                  "queueSort: Test; preFilter: Test; filter: Test; postFilter: Test; "
                  "preScore: Test S1; score: S1=1 Test=1 S2=1; reserve: Test; permit: Test; "
                  "preBind: Test; bind: Test; postBind: Test"},
        ExpandRow{"weights overridden",
                  "Test=5 S1=3",
                  {{"score", "S1=7"}},
                  "queueSort: Test; preFilter: Test; filter: Test; postFilter: Test; "
                  "preScore: Test S1; score: S1=7 Test=5; reserve: Test; permit: Test; "
                  "preBind: Test; bind: Test; postBind: Test"},
        ExpandRow{"disabled with * and enabled",
                  "Sort Bind S1 -*",
                  {},
                  "queueSort: Sort; preScore: S1; score: S1=1; bind: Bind"},
        ExpandRow{"disabled by name and enabled",
                  "Bind Sort S1 -S1",
                  {},
                  "queueSort: Sort; preScore: S1; score: S1=1; bind: Bind"},
        ExpandRow{"overridden weights, each plugin once",
                  "Test S1",
                  {{"score", "S1=5 S2=5 Test=3"}},
                  "queueSort: Test; preFilter: Test; filter: Test; postFilter: Test; "
                  "preScore: Test S1; score: S1=5 Test=3 S2=5; reserve: Test; permit: Test; "
                  "preBind: Test; bind: Test; postBind: Test"},
        ExpandRow{"twice",
                  "Test=5 Test",
                  {},
                  "queueSort: Test; preFilter: Test; filter: Test; postFilter: Test; "
                  "preScore: Test; score: Test=5; reserve: Test; permit: Test; preBind: Test; "
                  "bind: Test; postBind: Test\n"
                  "error: plugin \"Test\" already registered as \"MultiPoint\""},
        ExpandRow{"a score plugin that does not exist",
                  "Sort Bind",
                  {{"score", "None"}},
                  "queueSort: Sort; bind: Bind\n"
                  "error: ScorePlugin \"None\" does not exist: no built-in plugin has this name, "
                  "and no file in a plugin folder; --plugin-dir adds one"},
        ExpandRow{"a score plugin that does not score",
                  "Sort Bind",
                  {{"score", "Sort"}},
                  "queueSort: Sort; bind: Bind\n"
                  "error: plugin \"Sort\" does not extend ScorePlugin plugin"},
        ExpandRow{"no score plugin", "Sort Bind", {}, "queueSort: Sort; bind: Bind"},
        ExpandRow{"two that sort",
                  "Test Test2 -*",
                  {{"preScore", "-*"},
                   {"score", "-*"},
                   {"filter", "-*"},
                   {"preFilter", "-*"},
                   {"postFilter", "-*"},
                   {"reserve", "-*"},
                   {"permit", "-*"},
                   {"preBind", "-*"},
                   {"postBind", "-*"}},
                  "queueSort: Test Test2; bind: Test Test2\n"
                  "error: only one queue sort plugin required for profile with scheduler name "
                  "\"s\", but got 2"},
        ExpandRow{"nothing that binds",
                  "Sort S2",
                  {},
                  "queueSort: Sort; score: S2=1\n"
                  "error: at least one bind plugin is needed for profile with scheduler name "
                  "\"s\""}));

TEST(ExpandMultiPoint, PluginsAtNoPointAreStillMade) {
  Profile profile;
  profile.scheduler_name = "s";
  profile.plugins.multi_point = set_of("Sort Bind S2");
  profile.plugins.points[kScore] = set_of("-S2");
  Problems errors, warnings;
  const ProfileSpec expanded = expand_profile(profile, framework_registry(), errors, warnings);
  EXPECT_EQ(shown(expanded), "queueSort: Sort; bind: Bind");
  EXPECT_EQ(expanded.plugins, (std::vector<std::string>{"Sort", "Bind", "S2"}));
}

}  // namespace
}  // namespace plimsoll::config
