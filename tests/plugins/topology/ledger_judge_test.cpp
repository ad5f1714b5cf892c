// Questions to the ledger where more than one state of a node is possible.

#include <gtest/gtest.h>

#include <algorithm>

#include "plugins/topology/ledger/ledger.hpp"
#include "plugins/topology/record/zones_annotation.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

constexpr uint32_t kSlot = 0;

class LedgerJudge : public ::testing::Test {
 protected:
  LedgerJudge() { ledger_.node_added("n1", kSlot); }

  void report(const std::vector<std::string>& cpus, const std::vector<std::string>& pods,
              const std::string& policy = "single-numa-node") {
    ledger_.report(scene_.nrt(cpu_report(++versions_, cpus, fingerprint_of(pods), policy)), now_);
  }
  void away(const std::vector<std::string>& cpus, const std::vector<std::string>& pods) {
    NrtObject nrt =
        scene_.nrt(cpu_report(++versions_, cpus, fingerprint_of(pods), "single-numa-node"));
    nrt.kubelet_away = true;
    ledger_.report(nrt, now_);
  }
  PodSpec spec(const std::string& name, int cpus) {
    PodSpec made = guaranteed(name, cpus);
    made.node = "n1";
    return made;
  }
  Verdict verdict(int cpus) {
    const PodRef pod = scene_.pod(guaranteed("asked", cpus));
    Inquiry inquiry(*pod);
    return ledger_.ask().judge(kSlot, inquiry).verdict;
  }
  bool soon(int cpus) {
    const PodRef pod = scene_.pod(guaranteed("asked", cpus));
    Inquiry inquiry(*pod);
    return ledger_.ask().fits_soon(kSlot, inquiry);
  }
  bool reserve(const std::string& name, int cpus) {
    return ledger_.reserve(*scene_.pod(spec(name, cpus)), kSlot, ++now_).complete;
  }
  void bound(const std::string& name, int cpus) {
    ledger_.pod_assigned(*scene_.pod(spec(name, cpus)), "n1", ++now_);
  }
  void gone(const std::string& name, int cpus) {
    ledger_.pod_removed(*scene_.pod(spec(name, cpus)), ++now_);
  }
  // Pods whose order or zones are not known.
  size_t unplaced() { return ledger_.ask().likely_state(kSlot).unplaced; }

  TopologyScene scene_;
  Ledger ledger_{scene_.index()};
  int versions_ = 0;
  int64_t now_ = kYear2026Ms;
};

TEST_F(LedgerJudge, BindingsUnderWayMayOvertakeOneAnother) {
  report({"5", "4"}, {});
  ASSERT_TRUE(reserve("five", 5));
  EXPECT_EQ(verdict(4), Verdict::kUncertain) << "if it comes first it takes zone 0";
  EXPECT_EQ(verdict(5), Verdict::kCannotAlignContainer);
  EXPECT_FALSE(reserve("four", 4));
  EXPECT_TRUE(soon(4));
  bound("five", 5);  // before anything that is bound from now on
  EXPECT_TRUE(ledger_.eased(kSlot)) << "who was told to wait may ask again";
  EXPECT_EQ(verdict(4), Verdict::kFits);
}

TEST_F(LedgerJudge, OrdersThatMakeNoDifferenceHoldNobodyBack) {
  report({"9", "8"}, {});
  ASSERT_TRUE(reserve("six", 6));
  EXPECT_EQ(verdict(8), Verdict::kFits) << "if it comes first the six goes to zone 1";
  EXPECT_EQ(verdict(9), Verdict::kCannotAlignContainer) << "the six is in zone 0 by then, or soon";
  EXPECT_EQ(verdict(3), Verdict::kFits) << "both are in zone 0 whoever comes first";
  ASSERT_TRUE(reserve("three", 3));
  EXPECT_EQ(unplaced(), 0u);
  bound("six", 6);
  bound("three", 3);
  EXPECT_EQ(verdict(8), Verdict::kFits) << "it comes last now";
}

TEST_F(LedgerJudge, PodsThatAskForTheSameMayChangePlaces) {
  report({"8", "8"}, {});
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(reserve(name, 4));
  EXPECT_EQ(unplaced(), 0u);
  EXPECT_EQ(verdict(4), Verdict::kFits);
  bound("c", 4);  // overtook the others
  EXPECT_EQ(unplaced(), 0u);
  EXPECT_EQ(verdict(4), Verdict::kFits);
  EXPECT_EQ(verdict(5), Verdict::kCannotAlignContainer);
}

// In whatever order like pods are bound, it is as if they had been reserved in that order, one
// after the other.
TEST_F(LedgerJudge, LikePodsAreGivenWhatTheOrderOfTheirBindingsSays) {
  const std::vector<std::string> cpus = {"4", "5", "3"};
  std::vector<std::string> reserved = {"a", "b", "c", "d", "e"};
  std::vector<std::string> order = reserved;
  do {
    Ledger asked(scene_.index());
    asked.node_added("n1", kSlot);
    asked.report(scene_.nrt(cpu_report(1, cpus, fingerprint_of({}), "single-numa-node")), now_);
    for (const std::string& name : reserved) {
      ASSERT_TRUE(asked.reserve(*scene_.pod(spec(name, 2)), kSlot, ++now_).complete);
    }
    for (size_t known = 1; known <= order.size(); ++known) {
      asked.pod_assigned(*scene_.pod(spec(order[known - 1], 2)), "n1", ++now_);
      if (known % 2 == 0) continue;  // so that some follow at once
      Ledger simple(scene_.index());
      simple.node_added("n1", kSlot);
      simple.report(scene_.nrt(cpu_report(1, cpus, fingerprint_of({}), "single-numa-node")), now_);
      const auto bound_end = order.begin() + static_cast<std::ptrdiff_t>(known);
      for (auto name = order.begin(); name != bound_end; ++name) {
        ASSERT_TRUE(simple.reserve(*scene_.pod(spec(*name, 2)), kSlot, ++now_).complete);
        simple.pod_assigned(*scene_.pod(spec(*name, 2)), "n1", ++now_);
      }
      for (const std::string& name : reserved) {
        if (std::find(order.begin(), bound_end, name) != bound_end) continue;
        ASSERT_TRUE(simple.reserve(*scene_.pod(spec(name, 2)), kSlot, ++now_).complete);
      }
      const auto is = asked.ask().likely_state(kSlot);
      const auto should = simple.ask().likely_state(kSlot);
      EXPECT_EQ(is.unplaced, should.unplaced);
      EXPECT_EQ(is.under_way, should.under_way);
      EXPECT_TRUE(*is.state == *should.state);
      for (const std::string& name : reserved) {
        const std::string uid = "uid-" + name;
        const auto& charged = *asked.ask().charges_of(uid);
        const auto& expected = *simple.ask().charges_of(uid);
        ASSERT_EQ(charged.size(), expected.size());
        for (size_t i = 0; i < charged.size(); ++i) {
          EXPECT_EQ(charged[i].zone_id, expected[i].zone_id) << name << ", bound " << known;
          EXPECT_EQ(charged[i].amount, expected[i].amount);
        }
      }
      const PodRef other = scene_.pod(guaranteed("other", 1));
      Inquiry one(*other);
      Inquiry same(*other);
      EXPECT_EQ(asked.ask().judge(kSlot, one).verdict, simple.ask().judge(kSlot, same).verdict);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

// The kubelet may have admitted b before it let go of a, or after.
TEST_F(LedgerJudge, APodThatIsGoneMayHaveBeenThereForTheNext) {
  report({"8", "8"}, {});
  ASSERT_TRUE(reserve("a", 6));
  bound("a", 6);
  report({"2", "8"}, {"a"});
  ASSERT_TRUE(reserve("b", 4));  // zone 1, since a is in zone 0
  bound("b", 4);
  EXPECT_EQ(unplaced(), 0u);
  gone("a", 6);
  EXPECT_EQ(unplaced(), 1u);
  EXPECT_EQ(verdict(4), Verdict::kFits);
  EXPECT_NE(verdict(8), Verdict::kFits);
  EXPECT_TRUE(soon(8)) << "what a had is free with the next report";
  report({"8", "4"}, {"b"});
  EXPECT_EQ(unplaced(), 0u);
  EXPECT_EQ(verdict(8), Verdict::kFits);
}

// No report ever counted a. Most likely its kubelet took b before it heard that a is gone.
TEST_F(LedgerJudge, APodThatCameAndWentWasLikelyThereForTheNext) {
  report({"8", "8"}, {});
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(reserve(name, 6));
    bound(name, 6);
  }
  gone("a", 6);
  EXPECT_EQ(ledger_.ask().charges_of("uid-b")->front().zone_id, 1);
  ASSERT_TRUE(reserve("c", 6));
  EXPECT_EQ(ledger_.ask().charges_of("uid-c")->front().zone_id, 0);
  bound("c", 6);
  EXPECT_EQ(ledger_.ask().charges_of("uid-b")->front().zone_id, 1);
  EXPECT_EQ(ledger_.ask().charges_of("uid-c")->front().zone_id, 0);
}

TEST_F(LedgerJudge, ARefusedPodStopsItsNodeUntilItReports) {
  report({"8", "8"}, {});
  ASSERT_TRUE(reserve("a", 6));
  bound("a", 6);
  PodSpec failed = spec("a", 6);
  failed.failed = "TopologyAffinityError";
  ledger_.pod_removed(*scene_.pod(failed), ++now_);
  EXPECT_EQ(ledger_.stats().refused_affinity, 1u);
  EXPECT_EQ(ledger_.stats().uncertain_refused, 1u);
  EXPECT_EQ(verdict(1), Verdict::kUncertain);
  EXPECT_TRUE(soon(1));
  EXPECT_FALSE(reserve("b", 1));
  const PodRef plain = [&] {
    PodSpec burstable = guaranteed("plain", 1);
    burstable.burstable = true;
    return scene_.pod(burstable);
  }();
  Inquiry inquiry(*plain);
  EXPECT_TRUE(ledger_.ask().judge(kSlot, inquiry).fits()) << "no kubelet ties it to zones";
  report({"8", "8"}, {});
  EXPECT_EQ(verdict(1), Verdict::kFits);
  EXPECT_EQ(ledger_.stats().uncertain_refused, 0u);
  // A pod that failed for another reason is none of this.
  bound("c", 2);
  failed = spec("c", 2);
  failed.failed = "OutOfcpu";
  ledger_.pod_removed(*scene_.pod(failed), ++now_);
  EXPECT_EQ(verdict(8), Verdict::kFits);
}

// A pod that ended meanwhile still holds its CPUs when the next kubelet admits its first pods.
// Whoever said it may be gone. A Node whose kubelet is gone is not ready, so others keep pods away.
TEST_F(LedgerJudge, NobodySaysForEverThatAKubeletIsAway) {
  away({"8", "8"}, {});
  (void)ledger_.take_changes();
  const int64_t end = now_ + kAwayMs;
  EXPECT_EQ(ledger_.due_ms(), end);
  now_ = end - 1;
  away({"8", "7"}, {});
  ledger_.pass_time(now_);
  EXPECT_EQ(verdict(1), Verdict::kUncertain) << "the same absence";
  EXPECT_TRUE(ledger_.take_warnings().empty());
  now_ = end;
  ledger_.pass_time(now_);
  EXPECT_EQ(ledger_.stats().uncertain_away, 0u);
  EXPECT_EQ(verdict(8), Verdict::kFits);
  EXPECT_TRUE(ledger_.eased(kSlot));
  EXPECT_EQ(ledger_.take_changes().freed, std::vector<uint32_t>{kSlot});
  EXPECT_EQ(ledger_.take_warnings().size(), 1U);
  away({"7", "7"}, {});
  EXPECT_EQ(verdict(1), Verdict::kUncertain) << "whoever says it again is there";
  EXPECT_EQ(ledger_.due_ms(), now_ + kAwayMs);
}

TEST_F(LedgerJudge, ANodeWhoseKubeletIsAwayTakesNobody) {
  report({"8", "8"}, {});
  bound("a", 8);
  report({"0", "8"}, {"a"});
  away({"0", "8"}, {"a"});
  EXPECT_EQ(ledger_.stats().uncertain_away, 1u);
  gone("a", 8);
  EXPECT_EQ(verdict(8), Verdict::kUncertain);
  EXPECT_EQ(verdict(1), Verdict::kUncertain) << "it might come before another that is bound";
  EXPECT_TRUE(soon(8));
  EXPECT_FALSE(reserve("b", 8));
  now_ += kDoubtMs;
  ledger_.pass_time(now_);
  EXPECT_EQ(verdict(8), Verdict::kUncertain) << "it is no doubt that the next report would end";
  report({"8", "8"}, {});
  EXPECT_TRUE(ledger_.eased(kSlot));
  EXPECT_EQ(verdict(8), Verdict::kFits);
  EXPECT_EQ(ledger_.stats().uncertain_away, 0u);
  away({"8", "8"}, {});
  ledger_.report_deleted("n1");
  EXPECT_EQ(ledger_.stats().uncertain_away, 0u);
  EXPECT_EQ(verdict(8), Verdict::kFits) << "nobody says anything of the node";
}

TEST_F(LedgerJudge, PoliciesDecideAsTheirKubeletsDo) {
  report({"4", "4"}, {}, "single-numa-node");
  EXPECT_EQ(verdict(6), Verdict::kCannotAlignContainer);
  report({"4", "4"}, {}, "restricted");
  EXPECT_EQ(verdict(6), Verdict::kCannotAlignContainer) << "6 of zones of 16 is one zone's worth";
  report({"4", "4"}, {}, "best-effort");
  EXPECT_EQ(verdict(6), Verdict::kFits);
  EXPECT_EQ(verdict(9), Verdict::kTooFewCpus);
  report({"4", "4"}, {}, "none");
  EXPECT_EQ(verdict(6), Verdict::kFits);
  EXPECT_EQ(verdict(9), Verdict::kTooFewCpus);
  report({"16", "16"}, {}, "restricted");
  EXPECT_EQ(verdict(20), Verdict::kFits);
}

TEST_F(LedgerJudge, SeveralZonesAreChargedAndNamed) {
  report({"4", "4"}, {}, "best-effort");
  const PodRef pod = scene_.pod(guaranteed("wide", 6));
  const Placement placement = ledger_.reserve(*pod, kSlot, now_);
  ASSERT_TRUE(placement.complete);
  EXPECT_EQ(zones_annotation(PodRequest(*pod), placement.where), R"({"c0":{"cpu":[0,1]}})");
  const plimsoll_numa_node* node = ledger_.ask().node(kSlot);
  EXPECT_EQ(node->free[0] + node->free[1], 2000);
  // After a restart the annotation says the same.
  Ledger again(scene_.index());
  again.node_added("n1", kSlot);
  PodSpec told = spec("wide", 6);
  told.annotation = zones_annotation(PodRequest(*pod), placement.where);
  ReportSpec empty;
  empty.policy = "best-effort";
  empty.allocatable = "16";
  empty.fingerprint = fingerprint_of({});
  empty.zones = {{0, {{"cpu", "4"}}}, {1, {{"cpu", "4"}}}};
  again.report(scene_.nrt(empty), now_);
  again.pod_assigned(*scene_.pod(told), "n1", now_);
  EXPECT_EQ(again.ask().node(kSlot)->free[0], node->free[0]);
  EXPECT_EQ(again.ask().node(kSlot)->free[1], node->free[1]);
}

// Of what a report counts nobody may know the place; what is free at least is known all the same.
TEST_F(LedgerJudge, WhatIsFreeAtLeastDecidesWhereTheRestIsUnknown) {
  bound("a", 6);
  report({"2", "8"}, {"a"});
  gone("a", 6);
  EXPECT_TRUE(ledger_.ask().likely_state(kSlot).grows);
  EXPECT_EQ(verdict(8), Verdict::kFits);
  ASSERT_TRUE(reserve("b", 4));
  EXPECT_EQ(verdict(4), Verdict::kFits) << "beside b in zone 1";
  EXPECT_EQ(verdict(2), Verdict::kFits);
  EXPECT_NE(verdict(5), Verdict::kFits) << "if a was in zone 1, b is there";
  report({"8", "8"}, {});
  EXPECT_FALSE(ledger_.ask().likely_state(kSlot).grows);
}

}  // namespace
}  // namespace plimsoll::topology
