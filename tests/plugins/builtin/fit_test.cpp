// NodeResourcesFit beside pods that ask for all that there can be.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/plugins/builtin/support.hpp"

namespace plimsoll::builtin_test {
namespace {

// Of a pod without requests, on a node with 64 GiB of which pods ask for so much.
int64_t score(const std::string& strategy, int64_t asked_for) {
  Bench bench;
  EXPECT_FALSE(
      bench.create("NodeResourcesFit", R"({"scoringStrategy":{"type":")" + strategy + "\"}}"));
  const PodRef pod = bench.pod("p", R"({"containers":[{"name":"c"}]})");
  TestNode& node = bench.add_node("n", "{}");
  std::vector<int64_t> allocatable{4'000, int64_t{64} << 30, 0, 110};
  std::vector<int64_t> requested{0, asked_for, 0, 1};
  node.info.resource_count = static_cast<uint32_t>(allocatable.size());
  node.info.allocatable = allocatable.data();
  node.info.requested = requested.data();
  node.info.nonzero_memory = asked_for;
  conformance::BenchCycle cycle;
  const plimsoll_nodes nodes{sizeof(plimsoll_nodes), 1, bench.rows.data(), nullptr, nullptr};
  int64_t score = -1;
  EXPECT_EQ(bench.plugin.score(bench.plugin.self, &cycle.abi(), pod.get(), &nodes, &score),
            PLIMSOLL_SUCCESS);
  return score;
}

// A tenant may ask for 2^63 - 1 bytes: what other pods get as a score stays one.
TEST(FitScore, ASumBeyondAllAmountsIsAFullNode) {
  constexpr int64_t kFull = int64_t{64} << 30;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const int64_t asked : {kFull, kMost - 1, kMost}) {
    EXPECT_EQ(score("LeastAllocated", asked), score("LeastAllocated", kFull)) << asked;
    EXPECT_EQ(score("MostAllocated", asked), score("MostAllocated", kFull)) << asked;
  }
  EXPECT_GT(score("LeastAllocated", 0), score("LeastAllocated", kFull));
}

}  // namespace
}  // namespace plimsoll::builtin_test
