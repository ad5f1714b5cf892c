// What-ifs on the ledger: by the strength of what is known about a pod, and against a simulated
// kubelet that placed the pods as it liked.

#include <gtest/gtest.h>

#include <iostream>
#include <optional>
#include <random>

#include "plugins/topology/ledger/ledger.hpp"
#include "tests/plugins/topology/topology_scene.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology {
namespace {

constexpr uint32_t kSlot = 0;
constexpr int kCpus = 16;

class LedgerWhatIf : public ::testing::Test {
 protected:
  LedgerWhatIf() { ledger_->node_added("n1", kSlot); }

  static ReportSpec spec(const std::vector<int>& cpus_free) {
    ReportSpec spec;
    spec.allocatable = std::to_string(kCpus);
    for (size_t i = 0; i < cpus_free.size(); ++i) {
      spec.zones.push_back({static_cast<int>(i), {{"cpu", std::to_string(cpus_free[i])}}});
    }
    return spec;
  }
  // `names`: the pods that its fingerprint counts.
  void report(const std::vector<int>& cpus_free, const std::vector<std::string>& names) {
    ReportSpec next = spec(cpus_free);
    next.version = std::to_string(++versions_);
    next.fingerprint = fingerprint_of(names);
    ledger_->report(scene_.nrt(next), kYear2026Ms);
  }
  PodRef bound(const std::string& name, int cpus) {
    const PodRef pod = scene_.pod(guaranteed(name, cpus));
    ledger_->pod_assigned(*pod, "n1", kYear2026Ms);
    return pod;
  }
  // Whether a zone has so many CPUs without these pods.
  bool room(int cpus, const std::vector<std::string>& without) const {
    std::vector<plimsoll_str> uids;
    std::vector<std::string> texts;
    for (const std::string& name : without) texts.push_back("uid-" + name);
    for (const std::string& text : texts) uids.push_back(sdk::str(text));
    return ledger_->ask().fits_without(kSlot, uids, [&](const plimsoll_numa_node& node) {
      const uint32_t row = row_of(node, PLIMSOLL_RESOURCE_CPU);
      for (uint32_t zone = 0; zone < node.zone_count; ++zone) {
        if (node.free[row * node.zone_count + zone] >= cpus * 1000) return true;
      }
      return false;
    });
  }

  TopologyScene scene_;
  std::optional<Ledger> ledger_{std::in_place, scene_.index()};
  int versions_ = 0;
};

TEST_F(LedgerWhatIf, AnOpenPromiseComesFreeWhereItWasMade) {
  report({8, 4}, {});
  const PodRef pod = scene_.pod(guaranteed("a", 8));
  ASSERT_TRUE(ledger_->reserve(*pod, kSlot, kYear2026Ms).complete);
  EXPECT_FALSE(room(5, {}));
  EXPECT_TRUE(room(8, {"a"}));
  EXPECT_FALSE(room(9, {"a"}));
  EXPECT_TRUE(ledger_->ask().holds(kSlot, "uid-a"));
  EXPECT_FALSE(ledger_->ask().holds(kSlot, "uid-b"));
  EXPECT_FALSE(ledger_->ask().holds(7, "uid-a"));
}

TEST_F(LedgerWhatIf, APodComesFreeWhereItAloneCanBe) {
  report({10, 0}, {"a", "b"});
  bound("a", 6);
  bound("b", 16);
  EXPECT_TRUE(room(16, {"b"}));
  EXPECT_FALSE(room(17, {"b"}));
  EXPECT_FALSE(room(11, {}));
}

// After a restart nothing is located: what the report shows decides.
TEST_F(LedgerWhatIf, APodThatIsSomewhereComesFreeAsFarAsItIsSure) {
  report({8, 0}, {"a", "b", "c"});
  for (const char* name : {"a", "b", "c"}) bound(name, 8);
  EXPECT_TRUE(room(8, {}));
  EXPECT_FALSE(room(9, {"a"})) << "it may be one of the two in zone 1";
  EXPECT_TRUE(room(16, {"a", "b"})) << "either both of zone 1, or the one of zone 0";
  EXPECT_TRUE(room(16, {"a", "b", "c"}));
}

TEST_F(LedgerWhatIf, AReportThatNobodyCanExplainGivesNothingBack) {
  report({0, 0}, {"a", "stranger"});
  bound("a", 16);
  EXPECT_FALSE(room(1, {})) << "counted twice until it is known";
  EXPECT_FALSE(room(17, {"a"}));
  EXPECT_FALSE(room(1, {"a"})) << "only the promise on top of the report goes";
}

// The pod that made room is gone and no report says so yet: no more pods have to go.
TEST_F(LedgerWhatIf, PodsThatAreGoneAlreadyCountAsReportedGone) {
  report({0, 0}, {"a", "b"});
  const PodRef gone = bound("a", 16);
  bound("b", 16);
  ledger_->pod_removed(*gone, kYear2026Ms);
  EXPECT_EQ(ledger_->ask().node(kSlot)->free[0], 0);
  EXPECT_EQ(ledger_->ask().node(kSlot)->free[1], 0);
  EXPECT_TRUE(room(16, {}));
  report({16, 0}, {"b"});
  EXPECT_TRUE(room(16, {}));
}

TEST_F(LedgerWhatIf, ANodeWithoutReportFitsNothingForSure) {
  EXPECT_FALSE(room(0, {}));
}

// Pods lie where a kubelet put them, which nobody knows. What a what-if says fits, fits.
TEST_F(LedgerWhatIf, WhatIsSaidToFitFitsWhateverTheTruthIs) {
  int said = 0, true_at_all = 0;
  const uint32_t first = test::test_seed();
  for (uint32_t seed = first; seed < first + 1500 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    ledger_.emplace(scene_.index());
    ledger_->node_added("n1", kSlot);
    const size_t zones = 1 + random() % 4;
    std::vector<int> free(zones, kCpus);
    struct Truth {
      std::string name;
      int cpus;
      size_t zone;
    };
    std::vector<Truth> pods;
    for (size_t i = 0; i < 12; ++i) {
      const int cpus = 1 + static_cast<int>(random() % 12);
      const size_t zone = random() % zones;
      if (free[zone] < cpus) continue;
      free[zone] -= cpus;
      pods.push_back({"p" + std::to_string(i), cpus, zone});
    }
    // Some use that no pod accounts for.
    const bool stranger = random() % 4 == 0 && free[0] >= 2;
    if (stranger) free[0] -= 2;
    std::vector<std::string> names;
    for (const Truth& pod : pods) names.push_back(pod.name);
    report(free, names);
    for (const Truth& pod : pods) bound(pod.name, pod.cpus);
    for (int ask = 0; ask < 6; ++ask) {
      std::vector<std::string> without;
      std::vector<int> then = free;
      for (const Truth& pod : pods) {
        if (random() % 2 == 0) continue;
        without.push_back(pod.name);
        then[pod.zone] += pod.cpus;
      }
      const int cpus = 1 + static_cast<int>(random() % kCpus);
      const bool truth = *std::max_element(then.begin(), then.end()) >= cpus;
      const bool answer = room(cpus, without);
      ASSERT_TRUE(truth || !answer) << cpus << " of " << without.size() << " pods";
      said += answer ? 1 : 0;
      true_at_all += truth ? 1 : 0;
      if (without.size() == pods.size() && !stranger) {
        EXPECT_EQ(answer, truth) << "nothing stays";
      }
    }
  }
  std::cout << said << " of " << true_at_all << " seen\n";
  EXPECT_GT(said * 10, true_at_all * 8) << "what is there is mostly seen";
}

// Counts say where a pod is that came alone between two reports.
TEST_F(LedgerWhatIf, APodThatCameAloneIsWhereMoreIsInUse) {
  report({16, 16}, {});
  bound("a", 7);
  report({9, 16}, {"a"});
  bound("b", 7);
  report({2, 16}, {"a", "b"});
  bound("c", 7);
  report({2, 9}, {"a", "b", "c"});
  const PodRef d = bound("d", 7);
  report({2, 2}, {"a", "b", "c", "d"});
  EXPECT_TRUE(room(16, {"a", "b"}));
  EXPECT_TRUE(room(16, {"c", "d"}));
  EXPECT_FALSE(room(10, {"a", "c"}));
  EXPECT_FALSE(room(10, {"b", "d"}));
  ledger_->pod_removed(*d, kYear2026Ms);
  EXPECT_TRUE(room(16, {"c"})) << "the other is gone already";
  EXPECT_FALSE(room(10, {"a"}));
}

// A report may list a pod that holds nothing yet, or nothing any more. Then it says nothing of
// places until it adds up again.
TEST_F(LedgerWhatIf, AReportThatDoesNotAddUpSaysNothingOfPlaces) {
  report({16, 16}, {});
  bound("a", 7);
  bound("b", 7);
  report({9, 16}, {"a", "b"});  // one of them holds nothing yet
  bound("c", 7);
  report({9, 2}, {"a", "b", "c"});
  EXPECT_FALSE(room(16, {"c"})) << "it need not be the one that came last";
  EXPECT_FALSE(room(10, {"b"}));
  report({2, 9}, {"a", "b", "c"});
  EXPECT_FALSE(room(10, {"c"})) << "the kubelet has begun anew";
}

// Pods come and go, alone and together, reports miss some, and the scheduler is started again.
TEST_F(LedgerWhatIf, WhatOneReportAfterTheOtherShowsIsNeverWrong) {
  int said = 0, true_at_all = 0;
  const uint32_t first = test::test_seed(5000);
  for (uint32_t seed = first; seed < first + 400 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto one_in = [&](uint32_t n) { return random() % n == 0; };
    struct Truth {
      std::string name;
      int cpus;
      size_t zone;
      PodRef object;
    };
    std::vector<Truth> pods;
    std::vector<int> free(2 + random() % 3, kCpus);
    ledger_.emplace(scene_.index());
    ledger_->node_added("n1", kSlot);
    for (int step = 0, number = 0; step < 25; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      for (auto come = random() % 3; come > 0; --come) {
        const int cpus = 1 + static_cast<int>(random() % 8);
        const size_t zone = random() % free.size();
        if (free[zone] < cpus) continue;
        free[zone] -= cpus;
        const std::string name = "p" + std::to_string(number++);
        pods.push_back({name, cpus, zone, bound(name, cpus)});
      }
      for (auto go = random() % 3; go > 0 && !pods.empty() && one_in(2); --go) {
        const size_t at = random() % pods.size();
        free[pods[at].zone] += pods[at].cpus;
        ledger_->pod_removed(*pods[at].object, kYear2026Ms);
        pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(at));
      }
      if (one_in(12)) {
        ledger_.emplace(scene_.index());
        ledger_->node_added("n1", kSlot);
        for (const Truth& pod : pods) ledger_->pod_assigned(*pod.object, "n1", kYear2026Ms);
      }
      if (one_in(4)) continue;
      std::vector<int> shown = free;
      const bool is_odd = !pods.empty() && one_in(5);
      if (is_odd) {  // listed, and holds nothing
        const Truth& pod = pods[one_in(2) ? pods.size() - 1 : random() % pods.size()];
        shown[pod.zone] += pod.cpus;
      }
      std::vector<std::string> names;
      for (const Truth& pod : pods) names.push_back(pod.name);
      report(shown, names);
      for (int ask = 0; ask < 4 && !is_odd; ++ask) {
        std::vector<std::string> without;
        std::vector<int> then = free;
        for (const Truth& pod : pods) {
          if (one_in(2)) continue;
          without.push_back(pod.name);
          then[pod.zone] += pod.cpus;
        }
        const int cpus = 1 + static_cast<int>(random() % kCpus);
        const bool truth = *std::max_element(then.begin(), then.end()) >= cpus;
        const bool answer = room(cpus, without);
        ASSERT_TRUE(truth || !answer) << cpus << " of " << without.size() << " pods";
        said += answer ? 1 : 0;
        true_at_all += truth ? 1 : 0;
      }
    }
  }
  std::cout << said << " of " << true_at_all << " seen\n";
  EXPECT_GT(said * 100, true_at_all * 90);
}

}  // namespace
}  // namespace plimsoll::topology
