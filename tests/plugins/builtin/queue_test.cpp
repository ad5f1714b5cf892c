// PrioritySort and SchedulingGates.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/plugins/builtin/support.hpp"

namespace plimsoll::builtin_test {
namespace {

TEST(PrioritySort, PutsHigherPriorityFirstThenWhoWaitedLonger) {
  Bench bench;
  ASSERT_FALSE(bench.create("PrioritySort"));
  const auto key = [&](int priority, int64_t queued_ms) {
    std::array<uint8_t, 24> bytes{};
    const PodRef pod = bench.pod("p", R"({"priority": )" + std::to_string(priority) + "}");
    EXPECT_EQ(bench.plugin.sort_key(bench.plugin.self, pod.get(), queued_ms, bytes.data()), 0);
    return bytes;
  };
  EXPECT_LT(key(10, 500), key(9, 1));
  EXPECT_LT(key(0, 500), key(-1, 1));
  EXPECT_LT(key(2'000'000'000, 1), key(0, 1));
  EXPECT_LT(key(5, 100), key(5, 101));
  EXPECT_EQ(key(5, 100), key(5, 100));
}

TEST(SchedulingGates, HoldsThePodUntilTheLastGateIsGone) {
  Bench bench;
  ASSERT_FALSE(bench.create("SchedulingGates"));
  uint32_t reason = 0;
  const PodRef gated = bench.pod("p", R"({"schedulingGates": [{"name": "a"}, {"name": "b"}]})");
  EXPECT_EQ(bench.plugin.pre_enqueue(bench.plugin.self, gated.get(), &reason),
            PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE);
  EXPECT_EQ(reason, 0U) << "whose texts are kept for ever";
  EXPECT_EQ(bench.context.error, "waiting for scheduling gates: [a b]");
  const PodRef open = bench.pod("p", "{}");
  EXPECT_EQ(bench.plugin.pre_enqueue(bench.plugin.self, open.get(), &reason), PLIMSOLL_SUCCESS);
  EXPECT_TRUE(bench.queues(gated, gated, open));
  EXPECT_FALSE(bench.queues(gated, gated, bench.pod("other", "{}")));
}

}  // namespace
}  // namespace plimsoll::builtin_test
