// The experiment of docs/performance.md: the figures that device scheduling is held to.

#include <gtest/gtest.h>

#include <cstdlib>

#include "bench/links/experiment.hpp"

namespace plimsoll::links_bench {
namespace {

Outcomes outcomes(const Machine& machine, Told told, double mean_stay) {
  Load load = usual_load(machine);
  load.mean_stay = mean_stay;
  return run(std::string(std::getenv("PLIMSOLL_PLUGIN_DIR")) + "/NodeDevice.so", machine, told,
             load);
}

TEST(LinksBench, LinkedCardsOnAMesh) {
  const Outcomes by_links = outcomes(dgx1(), Told::kLinks, 5);
  const Outcomes by_place = outcomes(dgx1(), Told::kTopology, 5);
  EXPECT_GT(by_links[2].pods, 1000);
  EXPECT_GE(by_links[2].mean_lanes(), 1.85);
  EXPECT_GE(by_links[2].mean_lanes(), 1.3 * by_place[2].mean_lanes());
  EXPECT_GE(by_links[4].mean_lanes(), by_place[4].mean_lanes());
  EXPECT_LE(by_links[2].unlinked_percent(), 6);
}

TEST(LinksBench, BridgedPairsAcrossZones) {
  const Outcomes by_links = outcomes(rtx8000(), Told::kLinks, 5);
  const Outcomes by_place = outcomes(rtx8000(), Told::kTopology, 5);
  EXPECT_GT(by_links[2].pods, 500);
  EXPECT_GE(by_links[2].mean_lanes(), 1.42);
  EXPECT_GE(by_links[2].mean_lanes(), 4 * by_place[2].mean_lanes());
}

}  // namespace
}  // namespace plimsoll::links_bench
