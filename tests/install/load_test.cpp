// A third party's plugin takes part: what it was built against is what it runs with.

#include <gmock/gmock.h>

#include "tests/runtime/support.hpp"

namespace plimsoll {
namespace {

using sdk::FakeNode;
using sdk::FakePod;
using ::testing::ElementsAre;
using testing::minimal_profile;
using testing::World;

TEST(InstalledPlugin, FiltersAndScores) {
  World world;
  const ModuleRecord& record =
      world.modules.load_file(std::filesystem::absolute(PLIMSOLL_EXAMPLE_PLUGIN));
  ASSERT_TRUE(record.loaded) << record.refusal;
  EXPECT_EQ(record.name, "ZoneBalance");
  EXPECT_EQ(record.version, "1.0.0");
  EXPECT_EQ(record.license, "Apache-2.0");
  const auto points = world.modules.extension_points("ZoneBalance");
  ASSERT_TRUE(points) << points.error().message;
  EXPECT_THAT(*points, ElementsAre(ExtensionPoint::kPreFilter, ExtensionPoint::kFilter,
                                   ExtensionPoint::kPreScore, ExtensionPoint::kScore));

  ProfileSpec spec = minimal_profile();
  for (ExtensionPoint point : *points) spec.at(point) = {{"ZoneBalance", 3}};
  spec.args["ZoneBalance"] = R"({"zoneLabel": "zone", "maxPerZone": 2})";
  Framework& framework = world.make(spec);

  FakePod pod("shop/new"), first("shop/first"), second("shop/second"), third("shop/third");
  for (FakePod* web : {&pod, &first, &second, &third}) web->label("app", "web");
  FakeNode east("east", 0), west("west", 1), north("north", 2), nowhere("nowhere", 3);
  east.label("zone", "east").add(first).add(second);
  west.label("zone", "west").add(third);
  north.label("zone", "north");
  world.backend.nodes = {&east, &west, &north, &nowhere};

  auto cycle = framework.new_cycle();
  ASSERT_TRUE(framework.run_pre_filter(*cycle, pod.get()).status.ok());
  const std::vector<const plimsoll_node_info*> rows = {&east.get(), &west.get(), &north.get(),
                                                       &nowhere.get()};
  std::vector<uint8_t> codes(4);
  std::vector<uint32_t> reasons(4);
  std::vector<PluginIndex> rejectors(4);
  ASSERT_TRUE(framework.run_filters(*cycle, pod.get(), rows, {codes, reasons, rejectors}).ok());
  EXPECT_THAT(codes,
              ElementsAre(PLIMSOLL_UNSCHEDULABLE, 0, 0, PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE));
  EXPECT_EQ(world.env.reasons.message(reasons[0]),
            "node(s) were in a zone with enough pods of the application");
  EXPECT_EQ(world.env.reasons.message(reasons[3]), "node(s) had no zone");

  const std::vector<const plimsoll_node_info*> feasible = {rows[1], rows[2]};
  ASSERT_TRUE(framework.run_pre_score(*cycle, pod.get(), feasible).ok());
  ScoreTable scores;
  ASSERT_TRUE(framework.run_score(*cycle, pod.get(), feasible, scores).ok());
  EXPECT_THAT(scores.totals, ElementsAre(0, 300));

  // What-if: without the third pod the west zone is as good as the north.
  auto what_if = cycle->clone();
  ASSERT_TRUE(framework.run_remove_pod(*what_if, pod.get(), third.get(), *rows[1]).ok());
  ASSERT_TRUE(framework.run_score(*what_if, pod.get(), feasible, scores).ok());
  EXPECT_THAT(scores.totals, ElementsAre(300, 300));
}

TEST(InstalledPlugin, SaysWhatIsWrongWithItsArgs) {
  World world;
  ASSERT_TRUE(world.modules.load_file(std::filesystem::absolute(PLIMSOLL_EXAMPLE_PLUGIN)).loaded);
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kFilter) = {{"ZoneBalance"}};
  spec.args["ZoneBalance"] = R"({"maxPerZone": 0})";
  EXPECT_THAT(
      world.errors_of(spec),
      ElementsAre(
          "initializing plugin \"ZoneBalance\": maxPerZone: must be a number from 1 on, not 0"));
}

}  // namespace
}  // namespace plimsoll
