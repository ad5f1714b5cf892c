// What resource claims have of a node's zones (KEP-5517), in the ledger. On counts per zone.

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "plugins/topology/ledger/ledger.hpp"
#include "tests/plugins/topology/topology_scene.hpp"
#include "tests/plugins/topology/two_ledgers.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology {
namespace {

constexpr uint32_t kSlot = 0;

std::vector<Charge> cpus(uint32_t zone, int64_t count) {
  return {{zone, PLIMSOLL_RESOURCE_CPU, count * 1000, count * 1000}};
}

class LedgerClaims : public ::testing::Test {
 protected:
  LedgerClaims() {
    ledger_.node_added("n1", kSlot);
    report();
  }
  void report(const std::vector<std::string>& pods = {}) {
    const ReportSpec spec =
        cpu_report(++versions_, {"16", "16"}, fingerprint_of(pods), "single-numa-node");
    ledger_.report(scene_.nrt(spec), ++now_);
  }
  void hold(const std::string& claim, std::vector<Charge> charges, const std::string& again = "") {
    ledger_.hold({{claim, "n1", again, std::move(charges)}}, ++now_);
  }
  bool reserve(const std::string& name, int count) {
    return ledger_.reserve(*scene_.pod(guaranteed(name, count)), kSlot, ++now_).complete;
  }
  Verdict verdict(int count, const std::string& name = "asked") {
    const PodRef pod = scene_.pod(guaranteed(name, count));
    Inquiry inquiry(*pod);
    return ledger_.ask().judge(kSlot, inquiry).verdict;
  }
  std::vector<int64_t> free() {
    const plimsoll_numa_node& node = *ledger_.ask().node(kSlot);
    return {node.free[0] / 1000, node.free[1] / 1000};
  }
  using Free = std::vector<int64_t>;

  TopologyScene scene_;
  Ledger ledger_{scene_.index()};
  int versions_ = 0;
  int64_t now_ = kYear2026Ms;
};

TEST_F(LedgerClaims, AreInTheirZoneWhateverReportsShow) {
  hold("ns/c", cpus(0, 12));
  EXPECT_EQ(free(), (Free{4, 16}));
  report();
  EXPECT_EQ(free(), (Free{4, 16}));
  ASSERT_TRUE(reserve("p", 6));
  EXPECT_EQ(free(), (Free{4, 10})) << "no kubelet would be thought to put it beside the claim";
  EXPECT_EQ(verdict(12), Verdict::kCannotAlignContainer);
  (void)ledger_.take_changes();
  hold("ns/c", {});
  EXPECT_EQ(free(), (Free{10, 16})) << "the pod is played through anew";
  EXPECT_EQ(verdict(12), Verdict::kFits);
  EXPECT_EQ(ledger_.take_changes().freed, std::vector<uint32_t>{kSlot}) << "pods that wait for it";
}

TEST_F(LedgerClaims, MayComeBeforeTheNodeAndMove) {
  ledger_.hold({{"ns/c", "n2", "", cpus(1, 3)}}, ++now_);
  EXPECT_EQ(free(), (Free{16, 16}));
  ledger_.node_added("n2", 1);
  ReportSpec spec = cpu_report(1, {"16", "16"}, fingerprint_of({}), "single-numa-node");
  spec.node = "n2";
  ledger_.report(scene_.nrt(spec), ++now_);
  EXPECT_EQ(ledger_.ask().node(1)->free[1], 13000);
  hold("ns/c", cpus(0, 3));
  EXPECT_EQ(ledger_.ask().node(1)->free[1], 16000);
  EXPECT_EQ(free(), (Free{13, 16}));
  const uint64_t change = ledger_.ask().change_of(kSlot);
  hold("ns/c", cpus(0, 3));
  EXPECT_EQ(ledger_.ask().change_of(kSlot), change) << "no news";
}

TEST_F(LedgerClaims, WhatThePodAsksForAgainCountsOnce) {
  hold("ns/c", cpus(1, 4), "uid-p");
  EXPECT_EQ(free(), (Free{16, 12}));
  ASSERT_TRUE(reserve("p", 6));
  EXPECT_EQ(free(), (Free{14, 12})) << "two beside the claim's four";
  hold("ns/c", cpus(1, 6), "uid-p");
  EXPECT_EQ(free(), (Free{16, 10}));
  hold("ns/c", {});
  EXPECT_EQ(free(), (Free{10, 16})) << "it asks for six, and no claim has them";
  hold("ns/c", cpus(1, 4), "uid-p");
  EXPECT_EQ(free(), (Free{14, 12})) << "the claim came after the pod";
  hold("ns/c", cpus(1, 7), "uid-p");
  EXPECT_EQ(free(), (Free{10, 9})) << "who asks for less does not ask for the same";
}

// The switch is on where the pod was bound: its status says so.
TEST_F(LedgerClaims, WhatThePodsStatusNamesComesOnTop) {
  hold("ns/c", cpus(1, 4), "uid-p");
  PodSpec spec = guaranteed("p", 6);
  spec.node = "n1";
  std::string named = pod_json(spec);
  named.pop_back();
  named += R"(,"status":{"nodeAllocatableResourceClaimStatuses":[)"
           R"({"resourceClaimName":"c","mapping":[{"name":"cpu","quantity":"4"}]}]}})";
  ledger_.pod_assigned(*scene_.read_pod(named), "n1", ++now_);
  EXPECT_EQ(free(), (Free{10, 12}));
  ledger_.pod_assigned(*scene_.pod(spec), "n1", ++now_);
  EXPECT_EQ(free(), (Free{14, 12}));
  ledger_.pod_removed(*scene_.pod(spec), ++now_);
  EXPECT_EQ(free(), (Free{16, 12})) << "the claim has not given it back yet";
}

TEST_F(LedgerClaims, MayHaveMemory) {
  constexpr int64_t kGi = int64_t{1} << 30;
  const auto memory = [&](uint32_t zone) {
    return std::vector<Charge>{{zone, PLIMSOLL_RESOURCE_MEMORY, 20 * kGi, 20 * kGi}};
  };
  ReportSpec spec;
  spec.version = std::to_string(++versions_);
  spec.fingerprint = fingerprint_of({});
  spec.zones = {{0, {{"cpu", "16"}, {"memory", "32Gi"}}}, {1, {{"cpu", "16"}, {"memory", "32Gi"}}}};
  ledger_.report(scene_.nrt(spec), ++now_);
  const PodRef pod = scene_.pod(guaranteed("p", 2, "20Gi"));
  const auto fits = [&] {
    Inquiry inquiry(*pod);
    return ledger_.ask().judge(kSlot, inquiry).fits();
  };
  hold("ns/a", memory(0));
  EXPECT_TRUE(fits());
  hold("ns/b", memory(1));
  EXPECT_FALSE(fits());
  hold("ns/b", memory(1), "uid-p");
  ASSERT_TRUE(ledger_.reserve(*pod, kSlot, ++now_).complete) << "that is its own";
  for (const Charge& each : *ledger_.ask().charges_of("uid-p"))
    EXPECT_EQ(each.resource, uint32_t{PLIMSOLL_RESOURCE_CPU}) << "its memory is the claim's";
}

// Until it is there, it has to find room for all that it asks for: what its claims have is its own.
TEST_F(LedgerClaims, APodIsNotKeptOutByItsOwnClaims) {
  hold("ns/a", cpus(0, 16));
  hold("ns/c", cpus(1, 16), "uid-p");
  EXPECT_EQ(free(), (Free{0, 0}));
  EXPECT_TRUE(reserve("p", 16));
  EXPECT_EQ(free(), (Free{0, 0}));
  EXPECT_EQ(verdict(1), Verdict::kCannotAlignContainer);
}

// Where the switch is on the pod asks for nothing again. Filter has let it pass before its claim
// had devices, and kubelets know nothing of them.
TEST_F(LedgerClaims, NorByThoseOnTopOfWhatItAsksFor) {
  std::string named = pod_json(guaranteed("p", 8));
  const std::string_view spec = R"("spec":{)";
  named.insert(named.find(spec) + spec.size(),
               R"("resourceClaims":[{"name":"c","resourceClaimName":"c"}],)");
  const PodRef pod = scene_.read_pod(named);
  hold("ns/a", cpus(1, 16));
  hold("ns/c", cpus(0, 12));
  EXPECT_FALSE(reserve("third", 8));
  EXPECT_TRUE(ledger_.reserve(*pod, kSlot, ++now_).complete);
  EXPECT_EQ(free(), (Free{0, 0}));
  ledger_.unreserve(*pod);
  EXPECT_EQ(free(), (Free{4, 0})) << "the claim has its own still";
  hold("ns/b", cpus(0, 9));
  EXPECT_FALSE(ledger_.reserve(*pod, kSlot, ++now_).complete) << "it did not fit before";
  hold("ns/c", {});
  EXPECT_EQ(free(), (Free{7, 0}));
}

// A pod of which the ledger has no record is one that it never had, or that is bound later: what
// its claims have is not free for others.
TEST_F(LedgerClaims, AClaimIsItsPodsAloneWhetherThePodIsThereOrNot) {
  hold("ns/a", cpus(0, 12));
  hold("ns/c", cpus(1, 12), "uid-p");
  EXPECT_EQ(verdict(8), Verdict::kCannotAlignContainer);
  EXPECT_FALSE(reserve("third", 8));
  EXPECT_EQ(verdict(14, "p"), Verdict::kFits) << "two beside the claim's twelve";
  EXPECT_EQ(verdict(8, "p"), Verdict::kCannotAlignContainer) << "less than its claim has: both";
  const PodRef pod = scene_.pod(guaranteed("p", 14));
  const PodRef other = scene_.pod(guaranteed("third", 14));
  const auto changed = [&](const PodRef& asked) {
    Inquiry inquiry(*asked);
    return ledger_.ask().judge_changed(kSlot, inquiry, {}, {}, 0).verdict;
  };
  EXPECT_EQ(changed(pod), Verdict::kFits);
  EXPECT_EQ(changed(other), Verdict::kCannotAlignContainer);
  Inquiry inquiry(*pod);
  EXPECT_TRUE(ledger_.ask().where(kSlot, inquiry, "uid-p", {}, {}));
  EXPECT_TRUE(reserve("p", 14));
  EXPECT_EQ(free(), (Free{2, 4}));
  EXPECT_EQ(verdict(3), Verdict::kFits);
  EXPECT_EQ(verdict(5), Verdict::kCannotAlignContainer);
}

TEST_F(LedgerClaims, AreRoundedUpTogether) {
  for (int i = 0; i < 16; ++i) {
    hold("ns/" + std::to_string(i), {{0, PLIMSOLL_RESOURCE_CPU, 500, 500}});
  }
  hold("ns/other", cpus(1, 16));
  EXPECT_EQ(free(), (Free{8, 0}));
  EXPECT_EQ(verdict(8), Verdict::kFits);
  EXPECT_EQ(verdict(9), Verdict::kCannotAlignContainer);
}

// Its kubelet may have resized it or not: until a report counts it, and not for ever.
TEST_F(LedgerClaims, APodThatIsResizedAsksForItsClaimsAgain) {
  hold("ns/c", cpus(1, 4), "uid-p");
  const auto assign = [&](int count) {
    PodSpec spec = guaranteed("p", count);
    spec.node = "n1";
    ledger_.pod_assigned(*scene_.pod(spec), "n1", ++now_);
  };
  assign(6);
  report({"p"});
  assign(8);
  EXPECT_EQ(ledger_.stats().uncertain_unknown, 1U);
  report({"p"});
  EXPECT_EQ(ledger_.stats().uncertain_unknown, 0U);
  EXPECT_EQ(ledger_.ask().pod("uid-p")->asks()->containers[0].cpu_milli, 8000);
  EXPECT_EQ(ledger_.ask().pod("uid-p")->demand->containers[0].cpu_milli, 4000);
  const uint64_t change = ledger_.ask().change_of(kSlot);
  assign(8);
  EXPECT_EQ(ledger_.ask().change_of(kSlot), change) << "no news";
  hold("ns/c", {});
  EXPECT_EQ(ledger_.ask().pod("uid-p")->demand->containers[0].cpu_milli, 8000);
}

TEST_F(LedgerClaims, WhoAsksForNothingAgainStaysWhereItsAnnotationSays) {
  hold("ns/c", cpus(0, 2), "uid-p");
  PodSpec spec = guaranteed("p", 1);
  spec.node = "n1";
  spec.annotation = R"({"c0":{"cpu":[1]}})";
  ledger_.pod_assigned(*scene_.pod(spec), "n1", ++now_);
  EXPECT_EQ(free(), (Free{14, 15}));
  hold("ns/c", cpus(0, 3), "uid-p");
  EXPECT_EQ(free(), (Free{13, 15}));
}

TEST_F(LedgerClaims, WhatManyHaveIsPlayedThroughOnce) {
  for (const size_t holders : {8, 64}) {
    ASSERT_TRUE(reserve("p" + std::to_string(holders), 1));
    const size_t pods = holders == 8 ? 1 : 2;
    std::vector<std::string> names;
    for (size_t i = 0; i < holders; ++i)
      names.push_back(std::to_string(holders) + "/" + std::to_string(i));
    for (const int64_t milli : {100, 50}) {
      std::vector<Ledger::Holding> all;
      for (const std::string& name : names)
        all.push_back({name, "n1", name, {{0, PLIMSOLL_RESOURCE_CPU, milli, milli}}});
      const uint64_t before = ledger_.replayed();
      ledger_.hold(std::move(all), ++now_);
      EXPECT_EQ(ledger_.replayed() - before, pods) << holders << " holders";
    }
  }
  EXPECT_EQ(ledger_.ask().node(kSlot)->free[0], 16000 - 72 * 50 - 2000);
}

// With and without shortcuts the ledger says the same.
TEST(LedgerClaimsLives, ShortcutsChangeNothing) {
  const uint32_t first = test::test_seed();
  for (uint32_t seed = first; seed < first + 20 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("PLIMSOLL_TEST_SEED=" + std::to_string(seed));
    std::mt19937 random(seed);
    const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
    TopologyScene scene;
    TwoLedgers ledgers(scene.index());
    ledgers.node_added("n1", kSlot);
    int versions = 0;
    const auto report = [&](const std::set<std::string>& pods) {
      ledgers.report(
          scene.nrt(cpu_report(++versions, {"16", "16"}, fingerprint_of({pods.begin(), pods.end()}),
                               "single-numa-node")),
          kYear2026Ms);
    };
    report({});
    std::set<std::string> there, bound;
    for (int event = 0; event < 60 && !::testing::Test::HasFailure(); ++event) {
      const std::string name = "p" + std::to_string(draw(8));
      PodSpec spec = guaranteed(name, 1 + static_cast<int>(name.back() - '0') % 4);
      spec.node = "n1";
      const PodRef pod = scene.pod(spec);
      switch (draw(6)) {
        case 0:
          ledgers.hold(name, "n1", draw(2) != 0 ? "uid-" + name : "", cpus(draw(2), 1 + draw(4)));
          break;
        case 1:
          ledgers.hold(name, "n1", "", {});
          break;
        case 2:
        case 3:
          if (ledgers.reserve(*pod, kSlot, kYear2026Ms).complete) there.insert(name);
          break;
        case 4:
          if (there.count(name) == 0) break;
          ledgers.pod_assigned(*pod, "n1", kYear2026Ms);
          bound.insert(name);
          break;
        default:
          if (bound.count(name) != 0) {
            ledgers.pod_removed(*pod, kYear2026Ms);
          } else if (there.count(name) != 0) {
            ledgers.unreserve(*pod);
          }
          bound.erase(name);
          there.erase(name);
      }
      (void)ledgers.judge(*scene.pod(guaranteed("asked", 4)));
    }
  }
}

}  // namespace
}  // namespace plimsoll::topology
