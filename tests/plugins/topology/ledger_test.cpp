#include "plugins/topology/ledger/ledger.hpp"

#include <gtest/gtest.h>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/verdict/fit.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

constexpr uint32_t kSlot = 3;

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() : ledger_(scene_.index()) { ledger_.node_added("n1", kSlot); }

  // Whole CPUs available per zone, as a report that counts `pods`.
  void report(const std::vector<std::string>& cpus, const std::vector<std::string>& pods) {
    ReportSpec spec;
    spec.fingerprint = fingerprint_of(pods);
    send(spec, cpus);
  }
  void report_without_fingerprint(const std::vector<std::string>& cpus, std::string written = "") {
    ReportSpec spec;
    spec.written = std::move(written);
    send(spec, cpus);
  }
  void send(ReportSpec spec, const std::vector<std::string>& cpus) {
    spec.version = std::to_string(++version_);
    for (size_t i = 0; i < cpus.size(); ++i) {
      spec.zones.push_back({static_cast<int>(i), {{"cpu", cpus[i]}}});
    }
    ledger_.report(scene_.nrt(spec), now_);
  }
  // Of zones with 32 CPUs, by an exporter that says nothing of pods.
  void report_of_32(const std::vector<std::string>& cpus, const std::string& written,
                    const std::vector<std::string>& pods = {}) {
    ReportSpec spec;
    spec.allocatable = "32";
    spec.written = written;
    if (!pods.empty()) spec.fingerprint = fingerprint_of(pods);
    send(spec, cpus);
  }
  bool fits(int cpus) {
    const bool fits = reserve("probe", cpus);
    if (fits) ledger_.unreserve(*scene_.pod(guaranteed("probe", cpus)));
    return fits;
  }
  // Free whole CPUs of each zone.
  std::vector<int64_t> free() const {
    const plimsoll_numa_node* node = ledger_.ask().node(kSlot);
    std::vector<int64_t> cpus;
    for (uint32_t i = 0; node != nullptr && i < node->zone_count; ++i) {
      cpus.push_back(node->free[i] / 1000);
    }
    return cpus;
  }
  bool reserve(const std::string& name, int cpus) {
    return ledger_.reserve(*scene_.pod(guaranteed(name, cpus)), kSlot, ++now_).complete;
  }
  void bound(const std::string& name, int cpus, int64_t start_seconds = 0) {
    PodSpec spec = guaranteed(name, cpus);
    spec.start_seconds = start_seconds;
    ledger_.pod_assigned(*scene_.pod(spec), "n1", ++now_);
  }
  void gone(const std::string& name, int cpus) {
    ledger_.pod_removed(*scene_.pod(guaranteed(name, cpus)), ++now_);
  }

  // Without exclusive resources: nothing to charge, but in the fingerprint.
  PodRef unpinned(const std::string& name) {
    PodSpec spec = guaranteed(name, 1);
    spec.burstable = true;
    return scene_.pod(spec);
  }
  void assign_unpinned(const std::string& name) {
    ledger_.pod_assigned(*unpinned(name), "n1", ++now_);
  }

  using Cpus = std::vector<int64_t>;
  TopologyScene scene_;
  Ledger ledger_;
  int version_ = 0;
  int64_t now_ = kYear2026Ms;
};

// A report that contradicts itself does not turn alignment off, and is not passed over in silence.
TEST_F(LedgerTest, CapacityCountsWhereAllocatableIsNotSaid) {
  ReportSpec spec;
  spec.zones = {{0, {{"cpu", "4"}}}, {1, {{"cpu", "4"}}}};
  std::string json = nrt_json(spec);
  for (size_t at = 0; (at = json.find(R"("allocatable":"1Ti")", at)) != std::string::npos;)
    json.replace(at, 19, R"("allocatable":"0")");
  ledger_.report(*parse_nrt(json), now_);
  EXPECT_EQ(ledger_.take_warnings(),
            std::vector<std::string>{"NodeResourceTopology n1: zones have cpu available, but "
                                     "allocatable is 0 or missing; their capacity counts instead"});
  EXPECT_NE(ledger_.ask().node(kSlot)->allocatable[0], 0);
  json.replace(json.find(R"("resourceVersion":"1")"), 21, R"("resourceVersion":"2")");
  ledger_.report(*parse_nrt(json), now_);
  EXPECT_TRUE(ledger_.take_warnings().empty()) << "said once";
}

TEST_F(LedgerTest, APromiseIsSubtractedWhereItWillLand) {
  report({"8", "8"}, {});
  EXPECT_TRUE(reserve("a", 6));
  EXPECT_EQ(free(), (Cpus{2, 8}));
  EXPECT_TRUE(reserve("b", 6));
  EXPECT_EQ(free(), (Cpus{2, 2}));
  EXPECT_FALSE(reserve("c", 6));
  EXPECT_EQ(free(), (Cpus{2, 2}));
  EXPECT_EQ(ledger_.stats().promises, 2u);
  EXPECT_TRUE(ledger_.unreserve(*scene_.pod(guaranteed("a", 6))));
  EXPECT_FALSE(ledger_.unreserve(*scene_.pod(guaranteed("a", 6))));
  EXPECT_EQ(free(), (Cpus{2, 8}));  // the kubelet will find the lower zone empty when b comes
}

TEST_F(LedgerTest, AReportThatCountsThePodEndsItsPromise) {
  report({"8", "8"}, {});
  EXPECT_TRUE(reserve("a", 6));
  bound("a", 6);
  report({"2", "8"}, {"a"});
  EXPECT_EQ(free(), (Cpus{2, 8}));
  EXPECT_EQ(ledger_.stats().promises, 0u);
  EXPECT_EQ(ledger_.stats().settled_by_fingerprint, 1u);
}

// The flaw of caches that compare the fingerprint of running pods only: B is promised and no report
// knows it, yet {A} equals {A}.
TEST_F(LedgerTest, AReportOfOthersLeavesThePromise) {
  report({"8", "8"}, {});
  bound("a", 4);
  report({"4", "8"}, {"a"});
  EXPECT_TRUE(reserve("b", 8));
  EXPECT_EQ(free(), (Cpus{4, 0}));
  report({"4", "8"}, {"a"});
  EXPECT_EQ(free(), (Cpus{4, 0}));
  bound("b", 8);
  report({"4", "8"}, {"a"});
  EXPECT_EQ(free(), (Cpus{4, 0}));
  report({"4", "0"}, {"a", "b"});
  EXPECT_EQ(free(), (Cpus{4, 0}));
  EXPECT_EQ(ledger_.stats().promises, 0u);
}

TEST_F(LedgerTest, TheKubeletMayTakePodsInAnotherOrder) {
  report({"8", "8"}, {});
  EXPECT_TRUE(reserve("a", 5));
  EXPECT_TRUE(reserve("b", 5));
  bound("a", 5);
  bound("b", 5);
  report({"3", "8"}, {"b"});  // b was first and is where a was predicted
  EXPECT_EQ(ledger_.stats().promises, 1u);
  report({"3", "3"}, {"a", "b"});
  EXPECT_EQ(free(), (Cpus{3, 3}));
}

// Whose the drop is, such a report does not say.
TEST_F(LedgerTest, WithoutAFingerprintADropEndsNoPromise) {
  report_without_fingerprint({"8", "8"});
  EXPECT_TRUE(reserve("a", 3));
  bound("a", 3);
  report_without_fingerprint({"5", "8"});
  EXPECT_EQ(free(), (Cpus{2, 8}));
  EXPECT_EQ(ledger_.stats().promises, 1u);
}

TEST_F(LedgerTest, AReportWrittenLongAfterTheStartEndsThePromise) {
  report_without_fingerprint({"8"}, "2026-01-01T00:00:10Z");
  bound("a", 4, 20);
  EXPECT_EQ(free(), (Cpus{4}));
  report_without_fingerprint({"8"}, "2026-01-01T00:01:19Z");
  EXPECT_EQ(free(), (Cpus{4}));
  report_without_fingerprint({"8"}, "2026-01-01T00:01:20Z");
  EXPECT_EQ(free(), (Cpus{8}));
  EXPECT_EQ(ledger_.stats().settled_by_age, 1u);
}

// koordlet's reports show everything as free, whatever runs.
TEST_F(LedgerTest, AReportThatShowsNothingInUseCountsNoPod) {
  bound("a", 20, 10);
  bound("b", 20, 20);
  now_ += 7'200'000;
  report_of_32({"32", "32"}, "2026-01-01T02:00:00Z");
  EXPECT_EQ(free(), (Cpus{12, 12}));
  EXPECT_FALSE(fits(20));
  EXPECT_TRUE(fits(12));
  ledger_.pass_time(now_);
  EXPECT_GT(ledger_.due_ms(), now_) << "or the clock would be asked for ever";
  EXPECT_EQ(free(), (Cpus{12, 12}));
  report_of_32({"32", "32"}, "2026-01-01T02:00:01Z");
  EXPECT_EQ(free(), (Cpus{12, 12}));
  EXPECT_EQ(ledger_.stats().settled_by_age, 0u);
  gone("a", 20);
  now_ += 2 * kStalenessMs;
  report_of_32({"32", "32"}, "2026-01-01T02:02:00Z");
  EXPECT_TRUE(fits(32));
  report_of_32({"12", "32"}, "2026-01-01T02:02:01Z");  // another exporter
  EXPECT_EQ(free(), (Cpus{12, 32}));
  EXPECT_EQ(ledger_.stats().settled_by_age, 1u);
}

TEST_F(LedgerTest, AReportCountsNoMorePodsThanItShowsInUse) {
  report_of_32({"32", "32"}, "2026-01-01T00:00:00Z");
  bound("a", 20, 10);
  bound("b", 20, 20);
  bound("late", 4, 7'190);
  now_ += 7'200'000;
  report_of_32({"12", "32"}, "2026-01-01T02:00:00Z");
  EXPECT_EQ(ledger_.stats().settled_by_age, 1u);
  EXPECT_EQ(ledger_.stats().promises, 2u);
  EXPECT_FALSE(fits(20));
  report_of_32({"12", "12"}, "2026-01-01T02:00:01Z");
  EXPECT_EQ(ledger_.stats().settled_by_age, 2u);
  EXPECT_FALSE(fits(20));
  EXPECT_TRUE(fits(12)) << "the late one is in one zone at most";
}

// Another exporter wrote the reports before.
TEST_F(LedgerTest, WhatEarlierReportsCountedStaysInUse) {
  bound("a", 20, 10);
  bound("b", 20, 20);
  now_ += 7'200'000;
  report_of_32({"12", "12"}, "2026-01-01T01:00:00Z", {"a", "b"});
  EXPECT_EQ(ledger_.stats().promises, 0u);
  report_of_32({"32", "32"}, "2026-01-01T02:00:00Z");
  EXPECT_EQ(free(), (Cpus{12, 12}));
  EXPECT_FALSE(fits(20));
  report_of_32({"12", "12"}, "2026-01-01T02:00:01Z", {"a", "b"});
  EXPECT_EQ(ledger_.stats().promises, 0u);
  EXPECT_EQ(free(), (Cpus{12, 12}));
}

// What came after a pod that is gone lies where it would not without that one.
TEST_F(LedgerTest, APodThatIsForgottenLeavesTheOthersWhereTheyMayBe) {
  report_of_32({"32", "32"}, "2026-01-01T00:00:00Z");
  for (const auto& [name, cpus] : {std::pair("a", 20), std::pair("b", 20), std::pair("c", 12)}) {
    EXPECT_TRUE(reserve(name, cpus));
    bound(name, cpus);
    bound(name, cpus, 1);
  }
  EXPECT_EQ(free(), (Cpus{0, 12}));
  now_ += 2 * kStalenessMs;
  report_of_32({"32", "32"}, "2026-01-01T00:02:00Z");
  EXPECT_EQ(free(), (Cpus{0, 12}));
  EXPECT_TRUE(fits(12)) << "their order is known";
  gone("a", 20);
  now_ += 2 * kStalenessMs;
  report_of_32({"32", "32"}, "2026-01-01T00:04:00Z");
  EXPECT_FALSE(fits(32));
  EXPECT_TRUE(fits(12));
}

TEST_F(LedgerTest, AgeDoesNotOverruleAnExplainedFingerprint) {
  report({"8"}, {});
  bound("a", 4);
  now_ += 10 * kUnstartedMs;
  report({"8"}, {});
  EXPECT_EQ(free(), (Cpus{4}));
}

TEST_F(LedgerTest, ADeletedPodGivesItsPromiseBackAtOnce) {
  report({"8"}, {});
  EXPECT_TRUE(reserve("a", 6));
  bound("a", 6);
  gone("a", 6);
  EXPECT_EQ(free(), (Cpus{8}));
  EXPECT_EQ(ledger_.stats().promises, 0u);
}

// Where it was, counts do not say.
TEST_F(LedgerTest, WhatADeletedPodHadIsFreeWithTheNextReport) {
  report({"8", "8"}, {});
  EXPECT_TRUE(reserve("a", 6));
  bound("a", 6);
  report({"2", "8"}, {"a"});
  gone("a", 6);
  EXPECT_EQ(free(), (Cpus{2, 8}));
  report({"2", "8"}, {"a"});  // written before the pod went
  EXPECT_EQ(free(), (Cpus{2, 8}));
  report({"8", "8"}, {});
  EXPECT_EQ(free(), (Cpus{8, 8}));
}

// A kubelet may list a finished pod whose CPUs are free again, and reports come before the events.
TEST_F(LedgerTest, WhatTheReportShowsAsFreeIsNotGivenBackAgain) {
  report({"8"}, {});
  EXPECT_TRUE(reserve("a", 6));
  bound("a", 6);
  report({"2"}, {"a"});
  gone("a", 6);
  report({"8"}, {"a"});
  EXPECT_EQ(free(), (Cpus{8}));
  EXPECT_TRUE(reserve("b", 6));
  bound("b", 6);
  report({"2"}, {"b"});
  report({"8"}, {});
  EXPECT_EQ(free(), (Cpus{8})) << "the end of b is not known yet";
  gone("b", 6);
  EXPECT_EQ(free(), (Cpus{8}));
}

// An exporter that stopped: pods come and go, no report says so.
TEST_F(LedgerTest, DeletedPodsAreNotRememberedWithoutLimit) {
  report({"4096"}, {});
  size_t most = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "p" + std::to_string(i);
    bound(name, 1);
    gone(name, 1);
    most = std::max(most, ledger_.ask().remembered_gone("n1"));
  }
  EXPECT_EQ(most, kMaxGone);
  now_ += 2 * kStalenessMs;
  bound("last", 1);
  gone("last", 1);
  EXPECT_EQ(ledger_.ask().remembered_gone("n1"), 1u);
  EXPECT_EQ(free(), (Cpus{4096}));
}

TEST_F(LedgerTest, ANamesakeIsNotTakenForThePodBeforeIt) {
  report({"8"}, {});
  bound("web-0", 2);
  report({"6"}, {"web-0"});
  gone("web-0", 2);
  PodSpec again = guaranteed("web-0", 6);
  again.uid = "another";
  ledger_.pod_assigned(*scene_.pod(again), "n1", ++now_);
  const Cpus before = free();
  report({"6"}, {"web-0"});  // the old one, the new one? the larger charge counts
  EXPECT_LE(free()[0], 2);
  EXPECT_LE(free()[0], before[0]);
  EXPECT_EQ(ledger_.stats().promises, 1u);
}

TEST_F(LedgerTest, RebuildsItselfFromPodsAndReport) {
  report({"2", "8"}, {"a", "b"});
  bound("a", 4, 10);
  bound("b", 2, 20);
  EXPECT_EQ(free(), (Cpus{2, 8}));  // both are in the report
  PodSpec late = guaranteed("c", 4);
  late.annotation = R"({"c0":{"cpu":[1],"memory":[1]}})";
  ledger_.pod_assigned(*scene_.pod(late), "n1", ++now_);
  EXPECT_EQ(free(), (Cpus{2, 4}));  // bound before the crash, not in the report
}

TEST_F(LedgerTest, RebuildWithAPodThatTheReportDoesNotKnowAmongThem) {
  report({"4", "8"}, {"a"});
  bound("c", 4);
  bound("a", 4, 10);
  EXPECT_EQ(ledger_.stats().promises, 1u);
  EXPECT_EQ(free()[0] + free()[1], 8);
}

TEST_F(LedgerTest, PodsBoundBeforeTheFirstReportAreCharged) {
  bound("a", 6);
  EXPECT_TRUE(free().empty());
  report({"8"}, {});
  EXPECT_EQ(free(), (Cpus{2}));
  report({"2"}, {"a"});
  EXPECT_EQ(free(), (Cpus{2}));
}

// The first report comes while the binding is under way, before the watch shows the pod.
TEST_F(LedgerTest, PodsReservedBeforeTheFirstReportAreCharged) {
  EXPECT_TRUE(reserve("a", 6));
  EXPECT_TRUE(reserve("b", 6));
  EXPECT_FALSE(ledger_.unreserve(*scene_.pod(guaranteed("b", 6))));  // no zone came free
  EXPECT_EQ(ledger_.stats().promises, 0u);
  report({"8", "8"}, {});
  EXPECT_EQ(free(), (Cpus{2, 8}));
  EXPECT_TRUE(reserve("c", 6));
  EXPECT_EQ(free(), (Cpus{2, 2}));
  bound("a", 6);
  EXPECT_EQ(ledger_.stats().promises, 2u);
  report({"2", "8"}, {"a"});
  EXPECT_EQ(free(), (Cpus{2, 2}));
  EXPECT_EQ(ledger_.stats().promises, 1u);
}

TEST_F(LedgerTest, NodesAndReportsComeAndGoInAnyOrder) {
  report({"8"}, {});
  EXPECT_TRUE(reserve("a", 6));
  bound("a", 6);
  ledger_.node_removed("n1");
  EXPECT_EQ(ledger_.ask().node(kSlot), nullptr);
  ledger_.node_added("n2", kSlot);
  EXPECT_EQ(ledger_.ask().node(kSlot), nullptr);
  ledger_.node_added("n1", kSlot + 1);
  ASSERT_NE(ledger_.ask().node(kSlot + 1), nullptr);
  EXPECT_EQ(ledger_.ask().node(kSlot + 1)->free[0], 2000);
  ledger_.report_deleted("n1");
  EXPECT_EQ(ledger_.ask().node(kSlot + 1), nullptr);
  report({"8"}, {});
  EXPECT_EQ(ledger_.ask().node(kSlot + 1)->free[0], 2000);
  gone("a", 6);
  EXPECT_EQ(ledger_.ask().node(kSlot + 1)->free[0], 8000);
  EXPECT_EQ(ledger_.stats().promises, 0u);
}

// Pods that anybody may write with a node's name in them, and reports that show anything.
TEST_F(LedgerTest, HugeAmountsNeitherWrapNorAreOffered) {
  for (const char* available : {"9223372036854775807", "-9223372036854775807", "8E"}) {
    ReportSpec spec;
    spec.fingerprint = fingerprint_of({});
    spec.version = std::to_string(++version_);
    for (int zone : {0, 1}) {
      spec.zones.push_back({zone, {{"cpu", available}, {"example.com/x", available}}});
    }
    ledger_.report(scene_.nrt(spec), now_);
    PodSpec huge;
    const std::string all = R"({"cpu":"9223372036854775","memory":"1",
        "example.com/x":"9223372036854775807"})";
    huge.init.assign(3, all);
    huge.sidecars.assign(20, all);
    huge.apps.assign(50, all);
    for (int i = 0; i < 50; ++i) {
      huge.name = "huge" + std::to_string(i);
      ledger_.pod_assigned(*scene_.pod(huge), "n1", ++now_);
    }
    const plimsoll_numa_node* node = ledger_.ask().node(kSlot);
    for (uint32_t cell = 0; cell < node->zone_count * node->resource_count; ++cell) {
      EXPECT_LE(node->free[cell], 0);
      EXPECT_GE(node->free[cell], -kMaxAmount);
    }
    const PodRequest request(*scene_.pod(huge));
    Scratch scratch;
    EXPECT_NE(reference_fit(request, node, NodeAllocatable{}, scratch), Verdict::kFits);
    EXPECT_FALSE(reserve("a", 1));
    for (int i = 0; i < 50; ++i) {
      huge.name = "huge" + std::to_string(i);
      ledger_.pod_removed(*scene_.pod(huge), ++now_);
    }
    EXPECT_EQ(ledger_.stats().promises, 0u);
  }
}

TEST_F(LedgerTest, TheSameReportTwiceChangesNothing) {
  report({"8"}, {});
  EXPECT_TRUE(reserve("a", 6));
  static_cast<void>(ledger_.take_changes());
  --version_;
  report({"8"}, {});
  EXPECT_TRUE(ledger_.take_changes().slots.empty());
  EXPECT_EQ(free(), (Cpus{2}));
}

// Written after x had ended, of which the ledger hears later.
TEST_F(LedgerTest, AnExplanationFoundWithADeletionFreesAndTells) {
  report({"8"}, {});
  assign_unpinned("x");
  assign_unpinned("y");
  for (const char* name : {"a", "b", "c", "d", "e"}) bound(name, 1);
  report({"3"}, {"y", "a", "b", "c", "d", "e"});
  EXPECT_EQ(free(), (Cpus{0}));
  static_cast<void>(ledger_.take_changes());
  ledger_.pod_removed(*unpinned("x"), ++now_);
  EXPECT_EQ(free(), (Cpus{3}));
  EXPECT_TRUE(ledger_.eased(kSlot));
  EXPECT_EQ(ledger_.take_changes().slots, std::vector<uint32_t>{kSlot});
}

// At start, or when pod events are late: x holds nothing, but with it the report is understood.
TEST_F(LedgerTest, AnExplanationFoundWithALatePodFreesAndTells) {
  bound("a", 2);
  report({"6"}, {"a", "x"});
  EXPECT_EQ(free(), (Cpus{4}));
  static_cast<void>(ledger_.take_changes());
  assign_unpinned("x");
  EXPECT_EQ(free(), (Cpus{6}));
  EXPECT_TRUE(ledger_.eased(kSlot));
  EXPECT_EQ(ledger_.take_changes().slots, std::vector<uint32_t>{kSlot});
  assign_unpinned("y");  // settles nothing
  EXPECT_FALSE(ledger_.eased(kSlot));
  EXPECT_TRUE(ledger_.take_changes().slots.empty());
}

TEST_F(LedgerTest, TellsWhichNodesChanged) {
  static_cast<void>(ledger_.take_changes());
  report({"8"}, {});
  EXPECT_EQ(ledger_.take_changes().slots, std::vector<uint32_t>{kSlot});
  EXPECT_TRUE(reserve("a", 6));
  Ledger::Changes changes = ledger_.take_changes();
  EXPECT_EQ(changes.slots, std::vector<uint32_t>{kSlot});
  EXPECT_FALSE(ledger_.eased(kSlot));
  const uint64_t before = ledger_.ask().change_of(kSlot);
  EXPECT_TRUE(ledger_.unreserve(*scene_.pod(guaranteed("a", 6))));
  EXPECT_TRUE(ledger_.eased(kSlot));
  EXPECT_NE(ledger_.ask().change_of(kSlot), before);
  changes = ledger_.take_changes();
  EXPECT_TRUE(changes.freed.empty()) << "the scheduler tells of it";
}

}  // namespace
}  // namespace plimsoll::topology
