// 1,000 pods on 200 nodes, undisturbed and with everything around the scheduler dying: all that fit
// are bound, each by one write, and an independent recount finds nothing promised twice.

#include <gtest/gtest.h>

#include "tests/e2e/load_fixture.hpp"

namespace plimsoll::test {
namespace {

TEST_F(LoadTest, AllThatFitIsBoundByOneWriteEach) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(create_pods());
  ASSERT_NO_FATAL_FAILURE(settle());
  check_recount();
  check_writes(true);
}

TEST_F(LoadTest, KillingTheSchedulerChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(create_pods());
  ASSERT_NO_FATAL_FAILURE(start());
  for (const int count : {150, 400, 600}) {
    ASSERT_NO_FATAL_FAILURE(wait_until_bound(count));
    scheduler().kill();
    ASSERT_NO_FATAL_FAILURE(start());
  }
  ASSERT_NO_FATAL_FAILURE(settle());
  check_recount();
  check_writes(false);
}

TEST_F(LoadTest, RestartingTheApiServerChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(create_pods());
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(wait_until_bound(200));
  const int at_restart = bound();
  const auto restarted = cluster().restart_apiserver();
  ASSERT_TRUE(restarted) << restarted.error().message;
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_GT(bound(), at_restart) << "the restart came too late to be in the middle";
  check_recount();
  check_writes(false);
}

}  // namespace
}  // namespace plimsoll::test
