// The comparison with kube-scheduler, in small: every contestant that is built binds all pods of
// every kind of load, and the report says so.

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "bench/peers/report.hpp"

namespace plimsoll::bench {
namespace {

Programs programs() {
  const char* bin = std::getenv("PLIMSOLL_BIN_DIR");
  const char* plugins = std::getenv("PLIMSOLL_PLUGIN_DIR");
  return {.plimsoll = std::filesystem::path(bin == nullptr ? "" : bin) / "plimsoll",
          .plugins = plugins == nullptr ? "" : plugins,
          .peers = find_peers().value_or("")};
}

Load shaped(const char* name, Shape shape) {
  return {.name = name,
          .fleet = {.nodes = 51, .pods = 100, .zones = 0},
          .shape = shape,
          .peer_pods = {}};
}

std::vector<Load> small_loads() {
  return {{.name = "default", .fleet = {.nodes = 50, .pods = 100, .zones = 0}, .peer_pods = {}},
          {.name = "topology",
           .profile = Profile::kTopology,
           .fleet = {.nodes = 50, .pods = 100, .zones = 2},
           .peer_pods = 20},
          shaped("spreading", Shape::kSpread),
          shaped("affinity", Shape::kAffinity),
          shaped("volumes", Shape::kCsiVolumes),
          shaped("claims", Shape::kClaims),
          shaped("matching claims", Shape::kMatching),
          {.name = "arrival",
           .fleet = {.nodes = 50, .pods = 100, .zones = 0},
           .arrival = 100,
           .peer_pods = {}}};
}

TEST(PeersBench, EveryContestantBindsAllPodsOfEveryLoad) {
  if (!test::find_kube_programs()) {
    ASSERT_EQ(std::getenv("CI"), nullptr) << "tests/kube/build was not run";
    GTEST_SKIP() << "SKIPPED: no kube-apiserver and etcd; run tests/kube/build";
  }
  const Programs built = programs();
  std::vector<Outcome> outcomes;
  for (const Load& load : small_loads()) {
    Outcome outcome{load, {}};
    std::vector<Contestant> contestants{Contestant::kPlimsoll};
    if (!built.peers.empty()) contestants.push_back(Contestant::kPeer);
    if (load.arrival == 0) {
      contestants.insert(contestants.end(), {Contestant::kSilent, Contestant::kCeiling});
    }
    for (const Contestant who : contestants) {
      SCOPED_TRACE(load.name + ", contestant " + std::to_string(static_cast<int>(who)));
      const auto measure = run_contest(load, who, built);
      ASSERT_TRUE(measure) << measure.error().message;
      const int pods = who == Contestant::kPeer ? load.peer_pods.value_or(100) : 100;
      EXPECT_EQ(measure->pods, pods);
      EXPECT_EQ(measure->bound, pods);
      // One of LeaderElection at most.
      if (who == Contestant::kSilent) {
        EXPECT_LE(measure->events, 1);
      } else {
        EXPECT_GE(measure->events, pods);
      }
      if (load.arrival == 0) {
        EXPECT_GT(measure->per_second, 0);
        EXPECT_GE(measure->per_second, measure->per_second_from_start);
      } else {
        EXPECT_GT(measure->latency_p50, 0);
        EXPECT_GE(measure->latency_p99, measure->latency_p50);
      }
      if (who != Contestant::kCeiling) {
        EXPECT_GT(measure->peak_mib, 1);
      }
      outcome.rounds[who].push_back(*measure);
    }
    outcomes.push_back(std::move(outcome));
  }
  const nlohmann::json report = as_json(outcomes);
  ASSERT_EQ(report.size(), outcomes.size());
  EXPECT_EQ(report[1]["contestants"]["Plimsoll"]["median"]["bound"], 100);
  EXPECT_NE(tables(outcomes).find("| topology | ceiling | 100 |"), std::string::npos)
      << tables(outcomes);
}

Measure with_rate(double per_second, int bound) {
  Measure measure;
  measure.pods = 10;
  measure.bound = bound;
  measure.per_second = per_second;
  return measure;
}

TEST(PeersBenchReport, TakesTheMedianOfEachFigureAndTheFewestBound) {
  const Measure measure =
      median({with_rate(30, 10), with_rate(10, 10), with_rate(20, 7), with_rate(50, 10)});
  EXPECT_EQ(measure.per_second, 25);
  EXPECT_EQ(measure.bound, 7);
}

TEST(PeersBenchReport, SaysRatiosOfMediansAndWhoDidNotBindAll) {
  Outcome outcome{{.name = "a load", .fleet = {}, .peer_pods = {}}, {}};
  outcome.rounds[Contestant::kPlimsoll] = {with_rate(90, 10)};
  outcome.rounds[Contestant::kPeer] = {with_rate(30, 9)};
  outcome.rounds[Contestant::kCeiling] = {with_rate(100, 10)};
  const std::string text = tables({outcome});
  EXPECT_NE(text.find("| a load | 0.90 |  | 3.0 |"), std::string::npos) << text;
  EXPECT_NE(text.find("| a load | kube-scheduler | 9 of 10 |"), std::string::npos) << text;
}

}  // namespace
}  // namespace plimsoll::bench
