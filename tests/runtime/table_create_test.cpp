// TestInitFrameworkWithScorePlugins, TestNewFrameworkErrors, TestPreEnqueuePlugins,
// TestPreFilterPlugins (extensions), TestListPlugins. How multiPoint is expanded is the
// configuration's: tests/config.

#include <gmock/gmock.h>

#include "tests/runtime/tables.hpp"

namespace plimsoll {
namespace {

using namespace plimsoll::testing;  // NOLINT: the tables' helpers
using sdk::FakeNode;
using sdk::FakePod;
using ::testing::ElementsAre;

TEST(CreateTable, Errors) {
  struct Row {
    const char* name;
    ExtensionPoint point;
    std::vector<PluginEntry> entries;
    std::vector<std::string> errors;
  };
  const Row rows[] = {
      {"a plugin that does not exist",
       ExtensionPoint::kScore,
       {{"notExist", 1}},
       {"ScorePlugin \"notExist\" does not exist"}},
      {"a plugin that does not score",
       ExtensionPoint::kScore,
       {{"Idle", 1}},
       {"plugin \"Idle\" does not extend ScorePlugin plugin"}},
      {"no Score plugins", ExtensionPoint::kScore, {}, {}},
      {"a Score plugin without a weight counts once", ExtensionPoint::kScore, {{"A"}}, {}},
      {"the largest weights that fit",
       ExtensionPoint::kScore,
       {{"A", 2147483647}, {"B", 2147483647}},
       {}},
      {"a name given twice",
       ExtensionPoint::kPreFilter,
       {{"A"}, {"A"}},
       {"plugin \"A\" already registered as \"PreFilterPlugin\""}},
      {"no Bind plugin",
       ExtensionPoint::kBind,
       {},
       {"at least one bind plugin is needed for profile with scheduler name \"test-scheduler\""}},
      {"no QueueSort plugin",
       ExtensionPoint::kQueueSort,
       {},
       {"only one queue sort plugin required for profile with scheduler name \"test-scheduler\", "
        "but got 0"}},
      {"a PreEnqueue plugin", ExtensionPoint::kPreEnqueue, {{"A"}}, {}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    World world;
    ProfileSpec spec = minimal_profile();
    spec.at(row.point) = row.entries;
    EXPECT_EQ(world.errors_of(spec), row.errors);
  }
}

TEST(CreateTable, ListsPluginsInTheOrderOfTheProfile) {
  World world;
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kScore) = {{"C"}, {"A", 2}, {"B"}};
  Framework& framework = world.make(spec);
  std::vector<std::string> listed;
  for (size_t i = 0; i < kExtensionPoints; ++i) {
    const auto point = static_cast<ExtensionPoint>(i);
    for (const auto& slot : framework.at(point)) {
      listed.push_back(std::string(name(point)) + " " +
                       std::string(framework.plugin_name(slot.plugin)) + " " +
                       std::to_string(slot.weight));
    }
  }
  EXPECT_THAT(listed, ElementsAre("QueueSort Sort 1", "Score C 1", "Score A 2", "Score B 1",
                                  "Bind Binder 1"));
}

// A plugin that only takes part in PreFilter, without what-ifs, is not asked about them.
TEST(CreateTable, PreFilterWithoutExtensions) {
  static int asked = 0;
  const plimsoll_plugin_create_fn create = [](const plimsoll_host*, plimsoll_str,
                                              plimsoll_plugin* out) -> int32_t {
    *out = plimsoll_plugin{};
    out->size = sizeof *out;
    out->destroy = [](void*) {};
    out->pre_filter = [](void*, plimsoll_cycle*, const plimsoll_pod*, uint32_t*, plimsoll_list*,
                         uint32_t*) -> int32_t {
      ++asked;
      return PLIMSOLL_SUCCESS;
    };
    return PLIMSOLL_SUCCESS;
  };
  World world;
  const StaticModule module[] = {{"Plain", "1", create}};
  world.modules.add_builtin(module);
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kPreFilter) = {{"Plain"}, {"A"}};
  Framework& framework = world.make(spec);
  calls().clear();
  FakePod pod("team/a");
  FakeNode node("n1");
  auto cycle = framework.new_cycle();
  asked = 0;
  EXPECT_TRUE(framework.run_pre_filter(*cycle, pod.get()).status.ok());
  EXPECT_TRUE(framework.run_add_pod(*cycle, pod.get(), pod.get(), node.get()).ok());
  EXPECT_TRUE(framework.run_remove_pod(*cycle, pod.get(), pod.get(), node.get()).ok());
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(calls(), ElementsAre("A.pre_filter", "A.add_pod", "A.remove_pod"));
}

}  // namespace
}  // namespace plimsoll
