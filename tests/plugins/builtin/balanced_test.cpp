// NodeResourcesBalancedAllocation of five resources. Where the deviation is a whole percentage, the
// last bit decides which score is given: these are kube-scheduler's on x86-64, where no
// multiplication is fused with an addition.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/plugins/builtin/support.hpp"

namespace plimsoll::builtin_test {
namespace {

constexpr size_t kResources = 5;
using Amounts = std::array<int64_t, kResources>;

constexpr std::array<const char*, kResources> kNames = {"cpu", "memory", "ephemeral-storage",
                                                        "nvidia.com/gpu", "example.com/foo"};
constexpr int64_t kRoom = 8;  // of each resource

int64_t score(const Amounts& used, const Amounts& adds) {
  Bench bench;
  std::string listed;
  std::string asked;
  for (size_t i = 0; i < kResources; ++i) {
    const std::string separator = i == 0 ? "" : ",";
    const std::string amount = std::to_string(adds[i]) + (i == 0 ? "m" : "");
    listed += separator + R"({"name":")" + kNames[i] + R"(","weight":1})";
    asked += separator + "\"" + kNames[i] + R"(":")" + amount + "\"";
  }
  EXPECT_FALSE(
      bench.create("NodeResourcesBalancedAllocation", R"({"resources":[)" + listed + "]}"));
  const PodRef pod =
      bench.pod("p", R"({"containers":[{"name":"c","resources":{"requests":{)" + asked + "}}}]}");
  TestNode& node = bench.add_node("n", "{}");
  std::vector<int64_t> allocatable;
  std::vector<int64_t> requested;
  for (size_t i = 0; i < kResources; ++i) {
    const uint32_t index = bench.symbols.resource_index(kNames[i]);
    if (index >= allocatable.size()) allocatable.resize(index + 1);
    requested.resize(allocatable.size());
    allocatable[index] = kRoom;
    requested[index] = used[i];
  }
  node.info.resource_count = static_cast<uint32_t>(allocatable.size());
  node.info.allocatable = allocatable.data();
  node.info.requested = requested.data();
  conformance::BenchCycle cycle;
  const plimsoll_nodes nodes{sizeof(plimsoll_nodes), 1, bench.rows.data(), nullptr, nullptr};
  int64_t score = -1;
  EXPECT_EQ(bench.plugin.score(bench.plugin.self, &cycle.abi(), pod.get(), &nodes, &score),
            PLIMSOLL_SUCCESS);
  return score;
}

TEST(BalancedAllocation, RoundsEachProductByItself) {
  struct {
    Amounts used;
    Amounts adds;
    int64_t score;
  } const cases[] = {
      // fused, each of these would be one less
      {{0, 0, 8, 0, 0}, {1, 0, 0, 1, 1}, 77},
      {{0, 0, 8, 0, 0}, {0, 0, 0, 2, 2}, 77},
      {{0, 0, 8, 0, 0}, {1, 1, 0, 2, 2}, 79},
      {{0, 0, 8, 0, 0}, {0, 0, 0, 8, 8}, 71},
      {{0, 8, 0, 0, 0}, {0, 0, 0, 2, 2}, 77},
      // the same either way
      {{8, 0, 0, 0, 0}, {0, 0, 0, 2, 2}, 77},
      {{0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, 75},
      {{0, 0, 0, 0, 0}, {0, 0, 0, 1, 1}, 71},
      {{9, 8, 8, 7, 7}, {0, 0, 0, 1, 1}, 78},
  };
  for (const auto& each : cases) EXPECT_EQ(score(each.used, each.adds), each.score);
}

}  // namespace
}  // namespace plimsoll::builtin_test
