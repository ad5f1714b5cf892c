// The benchmark of gangs on an API server, in small: Plimsoll and the loop come to an end with all
// figures.

#include <gtest/gtest.h>

#include <cstdlib>

#include "bench/groups/contest.hpp"
#include "tests/kube/kube_fixture.hpp"

namespace plimsoll::bench {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

TEST(GangContest, PlimsollAndTheLoopHaveAllFigures) {
  if (!test::find_kube_programs()) {
    ASSERT_EQ(std::getenv("CI"), nullptr) << "tests/kube/build was not run";
    GTEST_SKIP() << "SKIPPED: no kube-apiserver and etcd; run tests/kube/build";
  }
  const Programs programs{
      .plimsoll = std::filesystem::path(variable("PLIMSOLL_BIN_DIR")) / "plimsoll",
      .plugins = variable("PLIMSOLL_PLUGIN_DIR"),
      .peers = {}};
  for (const GangContestant who : {GangContestant::kPlimsoll, GangContestant::kLoop}) {
    SCOPED_TRACE(name_of(who));
    const auto measure = run_gang_contest(
        {.nodes = 8, .pods = 12, .hold = std::chrono::milliseconds(0)}, who, programs);
    ASSERT_TRUE(measure) << measure.error().message;
    EXPECT_TRUE(measure->bound.has_value());
    ASSERT_TRUE(measure->told.has_value());
    ASSERT_TRUE(measure->all_told.has_value());
    EXPECT_LE(*measure->told, *measure->all_told);
    EXPECT_TRUE(measure->room_used.has_value());
  }
}

}  // namespace
}  // namespace plimsoll::bench
