// Which changes of a node may help pods that it could not take, and doubts that end by time.

#include <gtest/gtest.h>

#include "plugins/topology/ledger/ledger.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

constexpr uint32_t kSlot = 2;

class LedgerEasing : public ::testing::Test {
 protected:
  LedgerEasing() { ledger_.node_added("n1", kSlot); }

  void report_with(const std::vector<std::string>& cpus, const std::string& fingerprint,
                   const std::string& policy = "single-numa-node") {
    ledger_.report(scene_.nrt(cpu_report(++versions_, cpus, fingerprint, policy)), now_);
  }
  void report(const std::vector<std::string>& cpus, const std::vector<std::string>& pods) {
    report_with(cpus, fingerprint_of(pods));
  }
  PodSpec spec(const std::string& name, int cpus) {
    PodSpec made = guaranteed(name, cpus);
    made.node = "n1";
    if (started_) made.start_seconds = (now_ - kYear2026Ms) / 1000;
    return made;
  }
  bool reserve(const std::string& name, int cpus) {
    return ledger_.reserve(*scene_.pod(guaranteed(name, cpus)), kSlot, now_).complete;
  }
  void bound(const PodSpec& pod) { ledger_.pod_assigned(*scene_.pod(pod), "n1", now_); }
  void gone(const PodSpec& pod) { ledger_.pod_removed(*scene_.pod(pod), now_); }
  Verdict verdict(int cpus) {
    const PodRef pod = scene_.pod(guaranteed("asked", cpus));
    Inquiry inquiry(*pod);
    return ledger_.ask().judge(kSlot, inquiry).verdict;
  }
  bool eased() const { return ledger_.eased(kSlot); }
  std::vector<uint32_t> freed() { return ledger_.take_changes().freed; }
  void pass_seconds(int64_t seconds) {
    now_ += seconds * 1000;
    ledger_.pass_time(now_);
  }

  TopologyScene scene_;
  Ledger ledger_{scene_.index()};
  bool started_ = false;  // pods are told of with their status.startTime
  int versions_ = 0;
  int64_t now_ = kYear2026Ms + 1'000'000;
};

using Slots = std::vector<uint32_t>;

TEST_F(LedgerEasing, APodThatAsksForLessThanItLastDidHelpsOthers) {
  report({"8", "0"}, {});
  bound(spec("pod", 2));
  report({"6", "0"}, {"pod"});
  bound(spec("pod", 7));
  EXPECT_FALSE(eased());
  EXPECT_NE(verdict(2), Verdict::kFits);
  bound(spec("pod", 4));
  EXPECT_EQ(verdict(2), Verdict::kFits);
  EXPECT_TRUE(eased());
}

TEST_F(LedgerEasing, AReportThatSaysWhatWasKnownHelpsNobody) {
  report({"8", "8"}, {});
  EXPECT_TRUE(eased()) << "pods may have waited for a first report";
  report({"8", "8"}, {});
  EXPECT_FALSE(eased());
  ASSERT_TRUE(reserve("a", 6));
  EXPECT_FALSE(eased());
  bound(spec("a", 6));
  EXPECT_FALSE(eased()) << "nobody was told to wait for it";
  report({"2", "8"}, {"a"});
  EXPECT_FALSE(eased()) << "as predicted";
  --versions_;
  report({"2", "8"}, {"a"});
  EXPECT_FALSE(eased()) << "a relist";
  report({"4", "8"}, {"a"});
  EXPECT_TRUE(eased());
  report_with({"4", "8"}, fingerprint_of({"a"}), "best-effort");
  EXPECT_TRUE(eased());
  ledger_.report_deleted("n1");
  EXPECT_TRUE(eased());
}

// By counts of zones the promise of a is free again, by the kubelet's algorithm nothing changes.
TEST_F(LedgerEasing, WhatComesFreeByEitherModelCounts) {
  report({"8", "8"}, {});
  bound(spec("a", 6));
  report({"2", "8"}, {"a"});
  gone(spec("a", 6));
  EXPECT_TRUE(eased());
  report({"8", "8"}, {});
  EXPECT_EQ(verdict(8), Verdict::kFits);
  ASSERT_TRUE(reserve("b", 6));
  ledger_.unreserve(*scene_.pod(guaranteed("b", 6)));
  EXPECT_TRUE(eased());
  ledger_.unreserve(*scene_.pod(guaranteed("b", 6)));
  EXPECT_FALSE(eased());
}

TEST_F(LedgerEasing, ABindingThatIsSeenHelpsOnlyThoseWhoWaitForIt) {
  report({"5", "4"}, {});
  ASSERT_TRUE(reserve("five", 5));
  EXPECT_EQ(verdict(4), Verdict::kUncertain);
  EXPECT_FALSE(reserve("four", 4)) << "is told the same";
  EXPECT_FALSE(eased());
  bound(spec("five", 5));
  EXPECT_TRUE(eased());
  EXPECT_EQ(verdict(4), Verdict::kFits);
  ASSERT_TRUE(reserve("four", 4));
  bound(spec("four", 4));
  EXPECT_FALSE(eased()) << "nobody waits any more";
}

// A doubt beside pods that are nominated is one as well.
TEST_F(LedgerEasing, WhatIfsAreToldToWaitToo) {
  report({"8", "6"}, {});
  const PodSpec a = spec("a", 6);
  bound(a);
  report({"2", "6"}, {"a"});
  ASSERT_TRUE(reserve("b", 4));
  bound(spec("b", 4));
  gone(a);  // if b came after that, it is in zone 0
  ASSERT_TRUE(reserve("c", 1));
  const PodRef pod = scene_.pod(guaranteed("asked", 7));
  const PodRef nominated = scene_.pod(guaranteed("nominated", 1));
  Inquiry inquiry(*pod);
  const std::vector<std::shared_ptr<Inquiry>> with{std::make_shared<Inquiry>(*nominated)};
  ASSERT_EQ(ledger_.ask().judge_changed(kSlot, inquiry, {}, {}, 0).verdict, Verdict::kUncertain);
  EXPECT_NE(ledger_.ask().judge_changed(kSlot, inquiry, {}, with, 0).verdict, Verdict::kFits);
  bound(spec("c", 1));
  EXPECT_TRUE(eased());
}

TEST_F(LedgerEasing, ANodeThatRefusedAPodIsTriedAgainAfterAWhile) {
  report({"8", "8"}, {});
  PodSpec failed = spec("a", 6);
  bound(failed);
  EXPECT_EQ(ledger_.due_ms(), INT64_MAX);
  failed.failed = "TopologyAffinityError";
  gone(failed);
  EXPECT_EQ(verdict(1), Verdict::kUncertain);
  EXPECT_EQ(ledger_.due_ms(), now_ + kDoubtMs);
  static_cast<void>(freed());
  pass_seconds(59);
  EXPECT_EQ(verdict(1), Verdict::kUncertain);
  EXPECT_TRUE(freed().empty());
  pass_seconds(1);
  EXPECT_EQ(verdict(8), Verdict::kFits);
  EXPECT_TRUE(eased());
  EXPECT_EQ(freed(), Slots{kSlot});
  EXPECT_GT(ledger_.due_ms(), now_ + kDoubtMs) << "what it refused is remembered longer";
  EXPECT_EQ(ledger_.stats().uncertain_refused, 0u);
}

TEST_F(LedgerEasing, AReportComesBeforeTheTime) {
  report({"8", "8"}, {});
  PodSpec failed = spec("a", 6);
  bound(failed);
  failed.failed = "TopologyAffinityError";
  gone(failed);
  report({"8", "8"}, {});
  EXPECT_TRUE(eased()) << "the doubt is over, though the counts are the same";
  const int64_t due = ledger_.due_ms();
  EXPECT_GT(due, now_ + kDoubtMs) << "what it refused is remembered longer";
  gone(failed);  // known no more
  EXPECT_EQ(ledger_.due_ms(), due);
}

// The fingerprint is the same for both, and so are the counts: the exporter has nothing to say.
TEST_F(LedgerEasing, ANamesakeIsTakenForThePodOnceItsTimeHasCome) {
  report({"8"}, {});
  PodSpec first = spec("web-0", 6);
  bound(first);
  report({"2"}, {"web-0"});
  gone(first);
  started_ = true;
  now_ += 5000;
  PodSpec second = spec("web-0", 6);
  second.uid = "another";
  bound(second);
  report({"2"}, {"web-0"});  // the old one, the new one?
  ASSERT_EQ(ledger_.stats().promises, 1u);
  EXPECT_NE(verdict(2), Verdict::kFits);
  EXPECT_EQ(ledger_.due_ms(), now_ + kDoubtMs);
  static_cast<void>(freed());
  pass_seconds(60);
  EXPECT_EQ(ledger_.stats().promises, 0u);
  EXPECT_EQ(verdict(2), Verdict::kFits);
  EXPECT_EQ(freed(), Slots{kSlot});
  EXPECT_EQ(ledger_.due_ms(), INT64_MAX);
}

TEST_F(LedgerEasing, ANamesakeThatNoKubeletHasTakenStaysPromised) {
  report({"8"}, {});
  const PodSpec first = spec("web-0", 6);
  bound(first);
  report({"2"}, {"web-0"});
  gone(first);
  PodSpec second = first;
  second.uid = "another";
  bound(second);
  report({"2"}, {"web-0"});
  EXPECT_EQ(ledger_.due_ms(), INT64_MAX);
  pass_seconds(600);
  EXPECT_EQ(ledger_.stats().promises, 1u);
  started_ = true;
  second.start_seconds = spec("", 1).start_seconds;
  bound(second);
  EXPECT_EQ(ledger_.due_ms(), now_ + kDoubtMs);
}

// A report whose fingerprint nobody understands, written after the kubelet took the pod: it counts
// the pod, or a living exporter would have written another.
TEST_F(LedgerEasing, TheLastWordOnAPodCountsItAfterAWhile) {
  const std::string riddle = fingerprint_of({"who", "knows"});
  report_with({"8"}, riddle);
  started_ = true;
  bound(spec("a", 6));
  EXPECT_EQ(ledger_.due_ms(), now_ + kDoubtMs) << "in the same second";
  now_ += 3000;
  report_with({"2"}, riddle);
  EXPECT_NE(verdict(2), Verdict::kFits);
  const int64_t due = ledger_.due_ms();
  EXPECT_EQ(due, now_ - 3000 + kDoubtMs);
  static_cast<void>(freed());
  pass_seconds(56);
  EXPECT_NE(verdict(2), Verdict::kFits);
  EXPECT_TRUE(freed().empty());
  pass_seconds(1);
  EXPECT_EQ(ledger_.stats().settled_by_age, 1u);
  EXPECT_EQ(verdict(2), Verdict::kFits);
  EXPECT_EQ(freed(), Slots{kSlot});
}

TEST_F(LedgerEasing, AReportFromBeforeThePodNeverCountsIt) {
  report_with({"8"}, fingerprint_of({"who", "knows"}));
  now_ += 3000;
  started_ = true;
  bound(spec("a", 6));
  pass_seconds(3600);
  EXPECT_EQ(ledger_.due_ms(), INT64_MAX);
  EXPECT_EQ(ledger_.stats().promises, 1u);
  EXPECT_NE(verdict(4), Verdict::kFits);
}

TEST_F(LedgerEasing, NodesThatGoTakeTheirTimesWithThem) {
  report({"8", "8"}, {});
  PodSpec failed = spec("a", 6);
  bound(failed);
  failed.failed = "TopologyAffinityError";
  gone(failed);
  ledger_.node_removed("n1");
  ledger_.report_deleted("n1");
  EXPECT_EQ(ledger_.due_ms(), INT64_MAX);
  pass_seconds(120);
  EXPECT_TRUE(freed().empty());
  EXPECT_EQ(ledger_.ask().change_of(kSlot), 0u);
}

}  // namespace
}  // namespace plimsoll::topology
