// CPUs that a driver gives away through claims (KEP-5517) beside those that pods ask for, in a
// whole cluster, in both spellings: none is given twice, and none is lost.
//
// PLIMSOLL_LONG=1: 200 nodes and 2,000 pods instead of 20 and 200.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <tuple>

#include "framework/base/log.hpp"
#include "tests/plugins/dynamicresources/claimed_cluster.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::dra::test {
namespace {

constexpr uint32_t kArrivals = 5;  // so often many pods come

class ClaimedCpus : public testing::TestWithParam<std::tuple<bool, bool>> {};
INSTANTIATE_TEST_SUITE_P(Clusters, ClaimedCpus, testing::Combine(testing::Bool(), testing::Bool()),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param) ? "GateOn" : "ByHand") +
                                  (std::get<1>(each.param) ? "Counts" : "AllFacts");
                         });

TEST_P(ClaimedCpus, NoneIsGivenTwiceNorLost) {
  log_to_stderr(LogLevel::kError, LogFormat::kText);  // of writes that are to fail
  const uint32_t nodes = plimsoll::test::in_full_length() ? 200 : 20;
  const uint32_t seed = plimsoll::test::test_seed();
  const auto [gate, counts] = GetParam();
  ClaimedCluster cluster({.gate = gate, .counts = counts, .nodes = nodes, .seed = seed});
  std::mt19937 random(seed + 1);
  size_t with_claims = 0, waiting = 0;
  int64_t least_free = std::numeric_limits<int64_t>::max();
  const auto check = [&] {
    cluster.come_to_rest();
    cluster.recount();
    cluster.expect_nobody_waits_in_vain();
    const ClaimedCluster::Totals now = cluster.totals();
    std::cout << now.there << " pods, " << now.bound << " on nodes, " << now.with_claims
              << " of them with claims; " << now.free_cpus << " of " << now.cpus << " CPUs free"
              << std::endl;
    with_claims = std::max(with_claims, now.with_claims);
    waiting = std::max(waiting, now.there - now.bound);
    least_free = std::min(least_free, now.free_cpus);
  };
  for (uint32_t wave = 0; wave < kArrivals && !HasFailure(); ++wave) {
    for (uint32_t i = 0; i < nodes * 10 / kArrivals; ++i) {
      cluster.arrive();
      if (random() % 10 < (wave < 3 ? 1U : 4U)) cluster.leave();
      if (random() % 4 == 0) cluster.pass(static_cast<double>(random() % 1000) / 1000);
    }
    check();
  }
  // Who waits is told when room comes free.
  for (uint32_t wave = 0; wave < 3 && !HasFailure(); ++wave) {
    for (uint32_t i = 0; i < nodes / 2; ++i) cluster.leave();
    check();
  }
  if (HasFailure()) return;
  EXPECT_GT(with_claims, nodes * 2);
  EXPECT_GT(waiting, nodes / 4);
  EXPECT_LT(least_free, int64_t{nodes} * 6);
  cluster.leave_all();
  cluster.come_to_rest();
  cluster.recount();
  EXPECT_EQ(cluster.totals().there, 0U);
  EXPECT_EQ(cluster.totals().free_cpus, cluster.totals().cpus);
  cluster.expect_as_fresh();
}

}  // namespace
}  // namespace plimsoll::dra::test
