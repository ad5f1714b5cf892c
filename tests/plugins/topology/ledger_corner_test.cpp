// The ledger where little is known of a node: what may come free, what reports do not show, what
// was promised twice. On counts per zone.

#include <gtest/gtest.h>

#include <plimsoll/views.hpp>

#include "plugins/topology/ledger/ledger.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

constexpr uint32_t kSlot = 0;

std::string cpus_of(int cpus) {
  return R"({"cpu":")" + std::to_string(cpus) + R"(","memory":"1Gi"})";
}

class LedgerCorner : public ::testing::Test {
 protected:
  LedgerCorner() { ledger_.node_added("n1", kSlot); }

  // Whole CPUs available by zone; with `gpu` the first zone has the only one.
  void report(const std::vector<std::string>& cpus, const std::vector<std::string>& pods,
              const std::string& policy = "single-numa-node", bool gpu = false) {
    ReportSpec spec = cpu_report(++versions_, cpus, fingerprint_of(pods), policy);
    spec.allocatable = allocatable_;
    for (ZoneSpec& zone : spec.zones) {
      if (gpu) zone.available.emplace_back("example.com/gpu", zone.id == 0 ? "1" : "0");
    }
    ledger_.report(scene_.nrt(spec), now_);
  }
  static PodSpec spec(const std::string& name, const std::vector<std::string>& apps) {
    PodSpec made;
    made.name = name;
    made.node = "n1";
    made.apps = apps;
    return made;
  }
  static PodSpec spec(const std::string& name, int cpus) { return spec(name, {cpus_of(cpus)}); }
  // Keeps the difference for its life, and reports do not show it.
  static PodSpec with_init(const std::string& name, int init, int app) {
    PodSpec made = spec(name, app);
    made.init = {cpus_of(init)};
    return made;
  }
  Verdict verdict(const PodSpec& asked) {
    const PodRef pod = scene_.pod(asked);
    Inquiry inquiry(*pod);
    return ledger_.ask().judge(kSlot, inquiry).verdict;
  }
  Verdict verdict(int cpus) { return verdict(spec("asked", cpus)); }
  bool reserve(const PodSpec& pod) {
    return ledger_.reserve(*scene_.pod(pod), kSlot, ++now_).complete;
  }
  // Its binding is under way, whatever is known.
  void insist(const PodSpec& pod) {
    ASSERT_TRUE(ledger_.reserve(*scene_.pod(pod), kSlot, ++now_, Ledger::Insist::kYes).complete);
  }
  void assigned(const PodSpec& pod) { ledger_.pod_assigned(*scene_.pod(pod), "n1", ++now_); }
  void gone(const PodSpec& pod) { ledger_.pod_removed(*scene_.pod(pod), ++now_); }
  bool grows() { return ledger_.ask().likely_state(kSlot).grows; }
  int64_t free(uint32_t zone) { return ledger_.ask().node(kSlot)->free[zone] / 1000; }

  TopologyScene scene_;
  Ledger ledger_{scene_.index()};
  std::string allocatable_ = "16";
  int versions_ = 0;
  int64_t now_ = kYear2026Ms;
};

// If the pod that is to end has ended, the first container goes to zone 0, and the second finds no
// room beside the GPU: a kubelet does not go back.
TEST_F(LedgerCorner, MoreRoomMayBeWorseForPodsOfSeveralContainers) {
  const PodSpec two =
      spec("asked", {cpus_of(4), R"({"cpu":"2","memory":"1Gi","example.com/gpu":"1"})"});
  report({"5", "8"}, {}, "single-numa-node", true);
  PodSpec leaving = spec("leaving", 2);
  ASSERT_TRUE(reserve(leaving));
  assigned(leaving);
  report({"3", "8"}, {"leaving"}, "single-numa-node", true);
  EXPECT_EQ(verdict(two), Verdict::kFits);
  leaving.terminating = true;
  assigned(leaving);
  EXPECT_EQ(verdict(two), Verdict::kUncertain);
  EXPECT_EQ(verdict(4), Verdict::kFits) << "which zone it takes is all the same to one container";
  EXPECT_EQ(verdict(spec("asked", {cpus_of(3), cpus_of(3)})), Verdict::kFits) << "in both states";
  EXPECT_FALSE(reserve(two));
  gone(leaving);
  EXPECT_EQ(verdict(two), Verdict::kUncertain);
  report({"5", "8"}, {}, "single-numa-node", true);
  EXPECT_EQ(verdict(two), Verdict::kCannotAlignContainer);
}

TEST_F(LedgerCorner, MoreRoomMayBeWorseWhereNobodyKnowsHowMuchThereIs) {
  const PodSpec two =
      spec("asked", {cpus_of(4), R"({"cpu":"2","memory":"1Gi","example.com/gpu":"1"})"});
  const PodSpec somewhere = spec("somewhere", 2);
  assigned(somewhere);
  report({"3", "8"}, {"somewhere"}, "single-numa-node", true);
  EXPECT_EQ(verdict(two), Verdict::kFits);
  gone(somewhere);
  EXPECT_TRUE(grows());
  EXPECT_EQ(verdict(two), Verdict::kUncertain);
  const PodSpec apart =
      spec("asked", {cpus_of(4), R"({"cpu":"500m","memory":"1Gi","example.com/gpu":"1"})"});
  EXPECT_EQ(verdict(apart), Verdict::kFits) << "they ask for different things";
  const PodSpec narrow = spec("asked", {cpus_of(2), cpus_of(2)});
  EXPECT_EQ(verdict(narrow), Verdict::kFits) << "each beside the other, wherever that is";
  const PodSpec init = [&] {
    PodSpec made = narrow;
    made.init = {cpus_of(1)};
    return made;
  }();
  EXPECT_EQ(verdict(init), Verdict::kUncertain) << "the others are tied to the zone of the init";
  // One that is on its way and cannot be laid out leaves no room that is sure.
  ASSERT_TRUE(reserve(apart));
  EXPECT_EQ(verdict(2), Verdict::kFits);
}

TEST_F(LedgerCorner, TheEndOfAPodThatHoldsNothingLeavesNoDoubt) {
  const PodSpec fraction = spec("fraction", {R"({"cpu":"500m","memory":"1Gi"})"});
  assigned(fraction);
  report({"8"}, {"fraction"});
  PodSpec leaving = fraction;
  leaving.terminating = true;
  assigned(leaving);
  EXPECT_FALSE(grows());
  gone(fraction);
  EXPECT_FALSE(grows());
  const PodSpec device =
      spec("device", {R"({"cpu":"500m","memory":"1Gi","example.com/other":"1"})"});
  assigned(device);
  report({"8"}, {"device"});
  gone(device);
  EXPECT_FALSE(grows()) << "the node does not have such devices";
}

TEST_F(LedgerCorner, LeftoversOfInitContainersCountWhereAReportIsNotUnderstood) {
  report({"8"}, {});
  const PodSpec a = with_init("a", 6, 2);
  ASSERT_TRUE(reserve(a));
  assigned(a);
  report({"6"}, {"a"});
  EXPECT_EQ(verdict(2), Verdict::kFits);
  EXPECT_EQ(verdict(3), Verdict::kCannotAlignContainer);
  assigned(spec("b", 1));
  report({"6"}, {"a", "nobody", "knows"});
  EXPECT_TRUE(grows());
  EXPECT_EQ(verdict(3), Verdict::kCannotAlignContainer);
  EXPECT_EQ(verdict(1), Verdict::kFits);
}

// After a restart pods may be heard of before the report.
TEST_F(LedgerCorner, LeftoversOfInitContainersAreReadFromAnnotationsInAnyOrder) {
  PodSpec a = with_init("a", 6, 2);
  a.annotation = R"({"c0":{"cpu":[1]},"i0":{"cpu":[1]}})";
  for (const bool report_first : {false, true}) {
    SCOPED_TRACE(report_first);
    ledger_.report_deleted("n1");
    gone(a);
    if (!report_first) assigned(a);
    report({"1", "6"}, {"a"});
    if (report_first) assigned(a);
    EXPECT_EQ(verdict(2), Verdict::kFits);
    EXPECT_EQ(verdict(3), Verdict::kCannotAlignContainer);
    EXPECT_EQ(free(1), 2);
    EXPECT_EQ(ledger_.stats().promises, 0u);
  }
  // And promises that no report counts yet are where their annotations say.
  ledger_.report_deleted("n1");
  gone(a);
  PodSpec b = spec("b", 4);
  b.annotation = R"({"c0":{"cpu":[1]}})";
  assigned(b);
  report({"8", "8"}, {});
  EXPECT_EQ(free(1), 4);
  EXPECT_EQ(ledger_.stats().promises, 1u);
}

TEST_F(LedgerCorner, APromiseCountsUntilANewOneIsMade) {
  report({"8"}, {});
  ASSERT_TRUE(reserve(spec("a", 6)));
  EXPECT_FALSE(reserve(spec("a", 9))) << "it does not fit anywhere";
  EXPECT_EQ(free(0), 2);
  EXPECT_EQ(ledger_.stats().promises, 1u);
  EXPECT_TRUE(reserve(spec("a", 3)));
  EXPECT_EQ(free(0), 5);
  EXPECT_EQ(ledger_.stats().promises, 1u);
  assigned(spec("a", 3));
  EXPECT_FALSE(reserve(spec("a", 1))) << "it is bound: it has its zones";
  EXPECT_EQ(free(0), 5);
  // On a node that is gone by now.
  ledger_.node_added("n2", kSlot + 1);
  ASSERT_TRUE(ledger_.reserve(*scene_.pod(spec("c", 2)), kSlot + 1, ++now_).complete);
  ledger_.node_removed("n2");
  ASSERT_TRUE(reserve(spec("c", 2)));
  EXPECT_EQ(free(0), 3);
}

// A Node and its report come on two watches.
TEST_F(LedgerCorner, ANewNodeIsUncertainUntilItsReportMayBeOnItsWayNoMore) {
  const auto add_again = [&] {
    ledger_.node_removed("n1");
    ledger_.node_added("n1", kSlot, now_ + kReportOnItsWayMs);
    (void)ledger_.take_changes();
  };
  EXPECT_EQ(verdict(1), Verdict::kFits) << "it was there before";
  add_again();
  EXPECT_EQ(verdict(1), Verdict::kUncertain);
  EXPECT_FALSE(reserve(spec("a", 1)));
  EXPECT_EQ(ledger_.stats().uncertain_unknown, 1u);
  report({"2", "2"}, {});
  EXPECT_TRUE(ledger_.eased(kSlot));
  EXPECT_EQ(verdict(2), Verdict::kFits);
  EXPECT_EQ(verdict(3), Verdict::kCannotAlignContainer);
  EXPECT_EQ(ledger_.stats().uncertain_unknown, 0u);

  ledger_.report_deleted("n1");
  EXPECT_EQ(verdict(3), Verdict::kFits) << "it is known that there is none";
  add_again();
  EXPECT_TRUE(ledger_.report_malformed("n1"));
  EXPECT_EQ(verdict(1), Verdict::kInvalidTopology);
  ledger_.report_deleted("n1");

  add_again();
  EXPECT_EQ(verdict(3), Verdict::kUncertain);
  EXPECT_EQ(ledger_.due_ms(), now_ + kReportOnItsWayMs);
  now_ += kReportOnItsWayMs;
  ledger_.pass_time(now_);
  EXPECT_EQ(verdict(3), Verdict::kFits) << "none came";
  EXPECT_EQ(ledger_.take_changes().freed, std::vector<uint32_t>{kSlot});
  EXPECT_EQ(ledger_.due_ms(), INT64_MAX);

  add_again();
  ledger_.node_removed("n1");
  EXPECT_EQ(ledger_.due_ms(), INT64_MAX);
  EXPECT_EQ(ledger_.stats().uncertain_unknown, 0u);
}

// A Node that is made again may be another machine: the report that its name has says nothing of
// it.
// Somebody else binds pods there meanwhile: that their order is looked at ends no wait.
TEST_F(LedgerCorner, TheWaitForTheReportOfANodeMadeAgainOutlivesItsFirstPods) {
  const int64_t made = kYear2026Ms + 120'000;
  now_ = made;
  ledger_.node_removed("n1");
  ledger_.node_added("n1", kSlot, now_ + kReportOnItsWayMs, {"second", made});
  ReportSpec earlier = cpu_report(++versions_, {"8"}, "", "single-numa-node");
  earlier.node_uid = "first";
  earlier.written = "2026-01-01T00:01:00Z";
  ledger_.report(scene_.nrt(earlier), now_);
  ASSERT_EQ(verdict(1), Verdict::kUncertain);
  assigned(spec("a", 1));
  assigned(spec("b", 2));
  now_ += 3'000;
  ledger_.pass_time(now_);
  EXPECT_EQ(verdict(1), Verdict::kUncertain);
}

TEST_F(LedgerCorner, ANodeIsNotJudgedByTheReportOfAnEarlierOne) {
  const auto report_of = [&](const std::string& node_uid, const char* written, int cpus) {
    ReportSpec spec = cpu_report(++versions_, {std::to_string(cpus)}, "", "single-numa-node");
    spec.node_uid = node_uid;
    spec.written = written;
    ledger_.report(scene_.nrt(spec), now_);
  };
  const char* const early = "2026-01-01T00:01:00Z";
  const char* const late = "2026-01-01T00:03:00Z";
  const int64_t made = kYear2026Ms + 120'000;
  now_ = made;
  const auto add_again = [&](const char* uid) {
    ledger_.node_removed("n1");
    ledger_.node_added("n1", kSlot, now_ + kReportOnItsWayMs, {uid, made});
  };
  add_again("first");
  report_of("first", early, 8);
  EXPECT_EQ(verdict(8), Verdict::kFits) << "its owner says whose it is";
  insist(spec("a", 2));

  add_again("second");
  EXPECT_EQ(verdict(1), Verdict::kUncertain);
  EXPECT_FALSE(reserve(spec("b", 1)));
  EXPECT_EQ(ledger_.stats().uncertain_unknown, 1U);
  EXPECT_EQ(ledger_.due_ms(), INT64_MAX) << "time does not make it its own";
  report_of("first", late, 8);
  EXPECT_EQ(verdict(1), Verdict::kUncertain) << "whoever wrote it";
  report_of("second", late, 4);
  EXPECT_TRUE(ledger_.eased(kSlot));
  EXPECT_EQ(verdict(4 - 2), Verdict::kFits);
  EXPECT_EQ(verdict(5), Verdict::kCannotAlignContainer);
  EXPECT_EQ(ledger_.stats().uncertain_unknown, 0U);

  // What owns nothing is deleted by the API server. Then its own may be on its way.
  add_again("third");
  EXPECT_EQ(verdict(1), Verdict::kUncertain);
  ledger_.report_deleted("n1", now_ + kReportOnItsWayMs);
  EXPECT_EQ(verdict(1), Verdict::kUncertain);
  EXPECT_EQ(ledger_.due_ms(), now_ + kReportOnItsWayMs);

  // Of a report without an owner the time decides.
  report_of("", late, 8);
  EXPECT_EQ(verdict(6), Verdict::kFits);
  report_of("", early, 8);
  EXPECT_EQ(verdict(6), Verdict::kUncertain);
  EXPECT_EQ(ledger_.due_ms(), made + kDoubtMs);
  now_ = made + kDoubtMs;
  ledger_.pass_time(now_);
  EXPECT_EQ(verdict(6), Verdict::kFits) << "whoever writes only changes has seen none";
  add_again("fourth");
  report_of("", early, 8);
  EXPECT_EQ(verdict(6), Verdict::kFits) << "the same, after a restart";

  // Nobody has seen an earlier Node: what was written a moment before may have been made with it.
  now_ = made;
  for (const auto& [written, seen] :
       {std::pair("2026-01-01T00:01:58Z", true), std::pair("2026-01-01T00:01:58Z", false),
        std::pair("2026-01-01T00:01:50Z", false)}) {
    Ledger ledger(scene_.index());
    ReportSpec spec = cpu_report(1, {"8"}, "", "single-numa-node");
    spec.written = written;
    ledger.report(scene_.nrt(spec), now_);
    if (seen) ledger.node_added("n1", kSlot, 0, {"earlier", made - 3'600'000});
    ledger.node_added("n1", kSlot, 0, {"now", made});
    const PodRef pod = scene_.pod(guaranteed("asked", 1));
    Inquiry inquiry(*pod);
    const bool with_it = spec.written.ends_with("58Z") && !seen;
    EXPECT_EQ(ledger.ask().judge(kSlot, inquiry).verdict,
              with_it ? Verdict::kFits : Verdict::kUncertain)
        << written << " " << seen;
  }
}

// Under policies that do not align, a pod that goes may have been spread over all zones.
TEST_F(LedgerCorner, WhatGoesFromUnknownPlacesDependsOnThePolicy) {
  const PodSpec goes = spec("goes", 6);
  const PodSpec stays = spec("stays", 6);
  assigned(goes);
  assigned(stays);
  const std::string uid = "uid-goes";
  const plimsoll_str uids[] = {sdk::str(uid)};
  const auto some_zone_has = [](int64_t cpus) {
    return [cpus](const plimsoll_numa_node& node) {
      return node.free[0] >= 1000 * cpus || node.free[1] >= 1000 * cpus;
    };
  };
  const auto asked_fits = [&](int cpus) {
    const PodRef pod = scene_.pod(spec("asked", cpus));
    Inquiry inquiry(*pod);
    return ledger_.ask().judge_changed(kSlot, inquiry, uids, {}, 0).fits();
  };
  report({"10", "10"}, {"goes", "stays"}, "single-numa-node");
  EXPECT_TRUE(ledger_.ask().fits_without(kSlot, uids, some_zone_has(16)));
  EXPECT_TRUE(asked_fits(16));
  for (const char* policy : {"best-effort", "none"}) {
    SCOPED_TRACE(policy);
    report({"10", "10"}, {"goes", "stays"}, policy);
    EXPECT_FALSE(ledger_.ask().fits_without(kSlot, uids, some_zone_has(16)));
    EXPECT_TRUE(asked_fits(26)) << "wherever they come free";
    EXPECT_FALSE(asked_fits(27));
  }
}

// Counts do not say that a kubelet gives whole cores only, until it does.
TEST_F(LedgerCorner, AKubeletThatGivesWholeCoresIsFoundOut) {
  report({"8"}, {});
  PodSpec odd = spec("odd", 3);
  assigned(odd);
  odd.failed = "SMTAlignmentError";
  gone(odd);
  report({"8"}, {});
  EXPECT_EQ(verdict(1), Verdict::kNotWholeCores);
  EXPECT_EQ(verdict(spec("asked", {cpus_of(2), cpus_of(1)})), Verdict::kNotWholeCores);
  EXPECT_EQ(verdict(2), Verdict::kFits);
  EXPECT_FALSE(reserve(spec("again", 3)));
  now_ += 3'600'000;  // it may have been reconfigured
  EXPECT_LE(ledger_.due_ms(), now_);
  ledger_.pass_time(now_);
  EXPECT_EQ(ledger_.take_changes().freed, std::vector<uint32_t>{kSlot});
  EXPECT_EQ(verdict(1), Verdict::kFits);
  EXPECT_EQ(ledger_.due_ms(), INT64_MAX);
  // Even numbers are refused if cores are short: nothing is learned of odd ones.
  PodSpec even = spec("even", 2);
  assigned(even);
  even.failed = "SMTAlignmentError";
  gone(even);
  report({"8"}, {});
  EXPECT_EQ(verdict(1), Verdict::kFits);
  EXPECT_EQ(verdict(2), Verdict::kUncertain);
}

TEST_F(LedgerCorner, WhatWasRefusedIsNotTriedAgainUntilSomethingComesFree) {
  report({"8", "8"}, {});
  PodSpec pod = spec("pod", 4);
  assigned(pod);
  pod.failed = "UnexpectedAdmissionError";
  gone(pod);
  EXPECT_EQ(verdict(1), Verdict::kUncertain);
  report({"6", "8"}, {});
  EXPECT_EQ(verdict(4), Verdict::kUncertain);
  EXPECT_EQ(verdict(3), Verdict::kFits);
  report({"5", "8"}, {});
  EXPECT_EQ(verdict(4), Verdict::kUncertain);
  report({"7", "8"}, {});
  EXPECT_TRUE(ledger_.eased(kSlot)) << "who was told to wait may ask again";
  EXPECT_EQ(verdict(4), Verdict::kFits);
  pod.failed.clear();
  pod.name = "again";
  assigned(pod);
  pod.failed = "UnexpectedAdmissionError";
  gone(pod);
  report({"7", "8"}, {});
  EXPECT_EQ(verdict(4), Verdict::kUncertain);
  now_ += 600'000;
  ledger_.pass_time(now_);
  EXPECT_EQ(verdict(4), Verdict::kFits);
}

// ---- nobody waits without need

// A critical pod that finds nobody to evict is refused with the reason that devices have too.
TEST_F(LedgerCorner, ARefusalThatHasNothingToDoWithZonesStopsNoNode) {
  report({"8", "8"}, {});
  PodSpec pod = spec("critical", {"{}"});
  assigned(pod);
  pod.failed = "UnexpectedAdmissionError";
  gone(pod);
  EXPECT_EQ(verdict(8), Verdict::kFits);
  EXPECT_FALSE(ledger_.ask().likely_state(kSlot).stopped);
  EXPECT_EQ(ledger_.stats().refused_unexpected, 0u);
  pod.failed = "TopologyAffinityError";
  assigned(spec("critical", {"{}"}));
  gone(pod);
  EXPECT_EQ(verdict(8), Verdict::kUncertain) << "why is not known";
  now_ += 60'001;
  ledger_.pass_time(now_);
  EXPECT_EQ(verdict(8), Verdict::kFits) << "not for ever";
}

TEST_F(LedgerCorner, DeletionsNotYetReportedHoldNobodyBackOnAnEmptyNode) {
  allocatable_ = "256";
  std::vector<PodSpec> ending;
  std::vector<std::string> names;
  report({"256", "256"}, {});
  for (int i = 0; i < 8; ++i) {
    names.push_back("ending" + std::to_string(i));
    ending.push_back(with_init(names.back(), 3, 1 + i));
    ASSERT_TRUE(reserve(ending.back())) << i;
    assigned(ending.back());
  }
  report({"212", "256"}, names);
  const PodSpec asked = with_init("asked", 2, 4);
  for (PodSpec& pod : ending) {
    pod.terminating = true;
    assigned(pod);
    EXPECT_EQ(verdict(asked), Verdict::kFits);
  }
  assigned(with_init("foreign", 1, 3));
  EXPECT_EQ(verdict(asked), Verdict::kFits);
  ASSERT_TRUE(reserve(with_init("ours", 2, 5)));
  for (const PodSpec& pod : ending) {
    gone(pod);
    EXPECT_EQ(verdict(asked), Verdict::kFits);
  }
  // A finished pod may stay in the report for long.
  report({"207", "256"}, {"ending0", "ending1", "ending2", "ending3", "ending4", "ending5"});
  EXPECT_EQ(verdict(asked), Verdict::kFits);
  EXPECT_EQ(verdict(with_init("asked", 2, 300)), Verdict::kCannotAlignContainer);
}

TEST_F(LedgerCorner, ManyDifferentBindingsUnderWayHoldNobodyBackOnAnEmptyNode) {
  allocatable_ = "64";
  report({"64", "64"}, {});
  for (int i = 1; i <= 6; ++i) {
    const std::string name = "under-way" + std::to_string(i);
    ASSERT_TRUE(reserve(spec(name, {cpus_of(i), cpus_of(1)}))) << i;
    EXPECT_EQ(verdict(with_init("asked", 1, 2)), Verdict::kFits);
  }
  EXPECT_EQ(verdict(60), Verdict::kUncertain) << "nobody knows which zone it would leave to them";
}

// Each fits alone, all of them only if they are lucky.
TEST_F(LedgerCorner, ManyDifferentBindingsUnderWayKeepTheirRoom) {
  report({"8", "8"}, {});
  for (int i = 1; i <= 4; ++i) {
    const std::string name = "under-way" + std::to_string(i);
    insist(spec(name, i));
  }
  EXPECT_NE(verdict(7), Verdict::kFits);
  EXPECT_NE(verdict(9), Verdict::kFits);
}

// Whoever may make pods may put any number of them on a node, without a scheduler.
TEST_F(LedgerCorner, PodsThatNoKubeletTakesAreNotPlayedAgainAndAgain) {
  const auto add = [&](int from, int to) {
    for (int i = from; i < to; ++i) assigned(spec("p" + std::to_string(i), 1 + i % 3));
  };
  allocatable_ = "1k";
  report({"1k", "1k"}, {});
  const auto most = static_cast<int>(kMostInOrder);
  add(0, most);
  EXPECT_EQ(verdict(1), Verdict::kFits);
  const uint64_t played = ledger_.replayed();
  add(most, 8 * most);
  EXPECT_EQ(ledger_.replayed(), played) << "each event costs as much as the first";
  EXPECT_EQ(verdict(1), Verdict::kUncertain);
  EXPECT_FALSE(reserve(spec("a", 1)));
  EXPECT_EQ(ledger_.stats().uncertain_order, 1U);
  report({"1k", "999"}, {});
  EXPECT_EQ(verdict(1), Verdict::kUncertain);
  EXPECT_EQ(ledger_.replayed(), played);
  std::vector<std::string> taken;
  for (int i = 0; i < 8 * most; ++i) taken.push_back("p" + std::to_string(i));
  report({"500", "500"}, taken);
  EXPECT_TRUE(ledger_.eased(kSlot));
  EXPECT_EQ(verdict(1), Verdict::kFits);
  EXPECT_EQ(ledger_.stats().uncertain_order, 0U);
}

TEST_F(LedgerCorner, PodsWithInitContainersFoundAtStartHoldNobodyBack) {
  PodSpec found = with_init("found", 6, 2);
  found.start_seconds = 7;
  assigned(found);
  report({"32", "40"}, {"found"});
  EXPECT_EQ(verdict(with_init("asked", 2, 4)), Verdict::kFits);
  report({"32", "40"}, {});  // the report is late
  EXPECT_EQ(verdict(with_init("asked", 2, 4)), Verdict::kFits);
}

}  // namespace
}  // namespace plimsoll::topology
