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

// What NodeResourcesFit says of a node of 16 CPUs, 10 of them in use, and 64 GiB, all but 1.5 in
// use.
std::string explained(const std::string& requests) {
  Bench bench;
  EXPECT_FALSE(bench.create("NodeResourcesFit"));
  const PodRef pod =
      bench.pod("p", R"({"containers":[{"name":"c","resources":{"requests":)" + requests + "}}]}");
  TestNode& node = bench.add_node("n", "{}");
  constexpr int64_t kGi = int64_t{1} << 30;
  std::vector<int64_t> allocatable{16'000, 64 * kGi, 0, 110};
  std::vector<int64_t> requested{10'000, 62 * kGi + kGi / 2, 0, 1};
  node.info.resource_count = static_cast<uint32_t>(allocatable.size());
  node.info.allocatable = allocatable.data();
  node.info.requested = requested.data();
  conformance::BenchCycle cycle;
  std::string text;
  bench.plugin.explain(
      bench.plugin.self, &cycle.abi(), pod.get(), &node.info,
      [](void* sink, const void* bytes, size_t len) {
        static_cast<std::string*>(sink)->append(static_cast<const char*>(bytes), len);
      },
      &text);
  return text;
}

TEST(FitExplain, SaysWhatIsAskedAndWhatIsFree) {
  EXPECT_EQ(explained(R"({"cpu":"9","memory":"1Gi"})"), "cpu: need 9, 6 free of 16");
  EXPECT_EQ(explained(R"({"cpu":"6250m","memory":"2Gi"})"),
            "cpu: need 6.25, 6 free of 16; memory: need 2Gi, 1.5Gi free of 64Gi");
  EXPECT_EQ(explained(R"({"cpu":"6","memory":"1Gi"})"), "");
}

// Names that a stranger makes up do not fill the answer.
TEST(FitExplain, IsShortHoweverManyResourcesAreAskedFor) {
  std::string requests = "{";
  for (int i = 0; i < 2'000; ++i)
    requests += std::string(i == 0 ? "" : ",") + R"("example.com/made-up-)" + std::to_string(i) +
                R"(":"1")";
  const std::string text = explained(requests + "}");
  EXPECT_LT(text.size(), 1'200U);
  EXPECT_TRUE(text.ends_with("; and more")) << text;
}

}  // namespace
}  // namespace plimsoll::builtin_test
