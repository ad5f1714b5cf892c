// The ledger on a node that reports all facts: who holds which CPUs and devices.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "plugins/topology/ask/explain_text.hpp"
#include "plugins/topology/ledger/ledger.hpp"
#include "plugins/topology/possible/arrival.hpp"
#include "plugins/topology/record/zones_annotation.hpp"
#include "plugins/topology/report/facts.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

constexpr uint32_t kSlot = 0;
constexpr const char* kGpu = "example.com/gpu";
constexpr int64_t kGi = int64_t{1} << 30;

// Two zones of eight CPUs and two GPUs; a third GPU is near no zone.
class LedgerFacts : public ::testing::Test {
 protected:
  LedgerFacts() {
    ledger_.node_added("n1", kSlot);
    model_.zone_ids = {0, 1};
    std::vector<kubelet::CpuPlace> places;
    for (uint32_t cpu = 0; cpu < 16; ++cpu) places.push_back({cpu, cpu / 8, cpu / 8, cpu, cpu / 8});
    model_.layout = std::make_shared<const kubelet::CpuLayout>(places);
    model_.reserved.emplace();
    model_.managers.policy = Policy::kSingleNumaNode;
    model_.managers.cpu = kubelet::ManagerPolicy::kStatic;
    model_.managers.memory = kubelet::ManagerPolicy::kNone;
    kubelet::DeviceType gpus;
    gpus.resource = scene_.resource(kGpu);
    for (uint32_t i = 0; i < 5; ++i) {
      gpus.devices.push_back({"g" + std::to_string(i), i < 4 ? kubelet::ZoneMask{1} << i / 2 : 0});
    }
    model_.devices.push_back(std::move(gpus));
    model_.prepare();
    empty_node();
  }
  void empty_node() {
    state_ = kubelet::NodeState(model_);
    state_.set_cpu_ids(model_, model_.layout->all());
    state_.set_device_ids(model_, 0, model_.device_facts[0].healthy);
  }
  // Each zone has 16 GiB; those after the second have nothing else.
  void manage_memory(uint32_t zones = 2) {
    for (uint32_t zone = 2; zone < zones; ++zone) model_.zone_ids.push_back(zone);
    model_.managers.memory = kubelet::ManagerPolicy::kStatic;
    model_.memory.push_back({kubelet::kMemoryResource, std::vector<int64_t>(zones, 16 * kGi)});
    model_.prepare();
    empty_node();
    for (uint32_t zone = 0; zone < zones; ++zone) {
      state_.memory(model_, 0)[zone] = 16 * kGi;
      state_.set_group(model_, zone, 0, kubelet::ZoneMask{1} << zone);
    }
  }

  void report(const std::vector<std::string>& pods) {
    NrtObject nrt;
    nrt.name = "n1";
    nrt.resource_version = std::to_string(++versions_);
    nrt.manager.policy = model_.managers.policy;
    nrt.manager.scope = model_.managers.scope;
    nrt.fingerprint = fingerprint_of(pods);
    for (uint32_t zone = 0; zone < model_.zones(); ++zone) {
      NrtZone made;
      made.id = zone;
      if (zone < 2) {
        const int64_t hidden = zone == 0 ? hidden_cpus_ : 0;
        made.resources.push_back({"cpu", 8000, 8000, 1000 * (state_.cpu(model_)[zone] + hidden)});
        made.resources.push_back({kGpu, 2, 2, state_.devices(model_, 0)[zone]});
      }
      if (model_.memory_static) {
        made.resources.push_back({"memory", 16 * kGi, 16 * kGi, state_.memory(model_, 0)[zone]});
      }
      nrt.zones.push_back(std::move(made));
    }
    const auto name_of = [&](uint32_t index) -> std::string_view {
      return index == kubelet::kCpuResource      ? "cpu"
             : index == kubelet::kMemoryResource ? "memory"
                                                 : kGpu;
    };
    nrt.attributes = kubelet::encode_settings(model_);
    nrt.machine_facts = kubelet::encode_machine(model_, name_of);
    std::vector<kubelet::PodHolding> holdings;
    for (const std::string& pod : pods) {
      if (held_.contains(pod)) holdings.push_back({"uid-" + pod, held_[pod]});
    }
    nrt.free_facts = kubelet::encode_free(model_, state_, name_of, nrt.machine_facts, nrt.zones,
                                          names_pods_ ? &holdings : nullptr);
    ledger_.report(nrt, ++now_);
    EXPECT_TRUE(ledger_.take_notes().empty() || !quiet_);
  }
  // Three zones under best-effort, and a pod that has all memory of the first and some of the
  // second, which are a group then.
  void report_group() {
    manage_memory(3);
    model_.managers.policy = Policy::kBestEffort;
    model_.managers.scope = Scope::kPod;
    PodSpec group = spec("group", 0);
    group.apps = {R"({"cpu":"500m","memory":"17Gi"})"};
    admit(group);
    assigned(group);
    report({"group"});
  }
  static PodSpec spec(const std::string& name, int cpus, int gpus = 0) {
    PodSpec made;
    made.name = name;
    made.node = "n1";
    made.start_seconds = 7;
    std::string requests = R"({"cpu":")" + std::to_string(cpus) + R"(","memory":"1Gi")";
    if (gpus > 0) requests += R"(,"example.com/gpu":")" + std::to_string(gpus) + "\"";
    made.apps = {requests + "}"};
    return made;
  }
  void assigned(const PodSpec& pod) { ledger_.pod_assigned(*scene_.pod(pod), "n1", ++now_); }
  void gone(const PodSpec& pod) { ledger_.pod_removed(*scene_.pod(pod), ++now_); }
  // Its binding is under way, whatever is known.
  void insist(const PodSpec& pod) {
    ASSERT_TRUE(ledger_.reserve(*scene_.pod(pod), kSlot, ++now_, Ledger::Insist::kYes).complete);
  }
  // By the kubelet.
  kubelet::Allocation admit(const PodSpec& pod) {
    const kubelet::PodDemand demand(*scene_.pod(pod));
    kubelet::Admission given = kubelet::admit(model_, state_, demand, scratch_);
    EXPECT_TRUE(given.admitted());
    held_[pod.name] = given.allocation;
    return given.allocation;
  }
  Verdict verdict(int cpus, int gpus = 0) {
    const PodRef pod = scene_.pod(spec("asked", cpus, gpus));
    Inquiry inquiry(*pod);
    return ledger_.ask().judge(kSlot, inquiry).verdict;
  }
  int64_t free(uint32_t zone) { return ledger_.ask().node(kSlot)->free[zone] / 1000; }

  TopologyScene scene_;
  Ledger ledger_{scene_.index()};
  kubelet::NodeModel model_;
  kubelet::NodeState state_;
  kubelet::Scratch scratch_;
  int versions_ = 0;
  int64_t now_ = kYear2026Ms;
  bool quiet_ = true;
  std::map<std::string, kubelet::Allocation> held_;
  bool names_pods_ = true;   // reports say what each pod holds
  int64_t hidden_cpus_ = 0;  // of zone 0: allocated, but not shown in counts
};

// A kubelet may list a finished pod while another has its CPUs already.
TEST_F(LedgerFacts, WhatAPodThatIsGoneHeldMayBeAnothersByNow) {
  report({});
  const PodSpec a = spec("a", 4);
  const PodSpec b = spec("b", 4);
  const kubelet::Allocation held = admit(a);
  assigned(a);
  report({"a"});
  assigned(b);
  kubelet::release(model_, state_, held);
  gone(a);
  admit(b);
  quiet_ = false;
  report({"a", "b"});
  EXPECT_EQ(verdict(8), Verdict::kFits) << "zone 1 is empty";
  ASSERT_TRUE(ledger_.reserve(*scene_.pod(spec("c", 8)), kSlot, ++now_).complete);
  EXPECT_EQ(free(0), 4);
  EXPECT_NE(verdict(5), Verdict::kFits) << "b has what a had";
}

TEST_F(LedgerFacts, DevicesThatAreFreeAreNotGivenBackAgain) {
  report({});
  const PodSpec a = spec("a", 1, 2);
  const kubelet::Allocation held = admit(a);
  assigned(a);
  report({"a"});
  gone(a);
  EXPECT_EQ(verdict(1, 2), Verdict::kFits);
  kubelet::release(model_, state_, held);
  // Its CPU is somebody's, of whom the ledger does not hear; its GPUs are free.
  admit(spec("foreign", 1));
  quiet_ = false;
  report({"a"});
  EXPECT_EQ(free(0), 7);
  EXPECT_EQ(verdict(7, 2), Verdict::kFits);
  ASSERT_TRUE(ledger_.reserve(*scene_.pod(spec("b", 8)), kSlot, ++now_).complete);
  EXPECT_NE(verdict(8), Verdict::kFits);
}

// The same report, from an exporter that names the pods.
TEST_F(LedgerFacts, AReportThatNamesUnknownPodsMayHaveTooLittle) {
  const PodSpec gpus = spec("gpus", 1, 2);
  admit(gpus);
  assigned(gpus);
  const PodSpec unknown = spec("unknown", 7);
  const kubelet::Allocation held = admit(unknown);
  report({"gpus", "unknown"});
  PodSpec pod = spec("asked", 8, 2);
  pod.init = {R"({"cpu":"4","memory":"1Gi"})"};
  const PodRef object = scene_.pod(pod);
  Inquiry inquiry(*object);
  EXPECT_EQ(ledger_.ask().judge(kSlot, inquiry).verdict, Verdict::kUncertain);
  EXPECT_EQ(verdict(8, 2), Verdict::kFits) << "one container fits what is there at least";
  assigned(unknown);
  EXPECT_EQ(ledger_.ask().judge(kSlot, inquiry).verdict, Verdict::kFits);
  gone(unknown);
  EXPECT_EQ(verdict(7), Verdict::kFits);
  kubelet::release(model_, state_, held);
  const bool admitted = kubelet::admits(model_, state_, kubelet::PodDemand(*object), scratch_);
  EXPECT_EQ(ledger_.ask().judge(kSlot, inquiry).fits(), admitted);
}

// What may come free is known, so that the pod is tried with it and without.
TEST_F(LedgerFacts, MemoryOfInitContainersIsNoMatterWhereAPodFitsInEitherCase) {
  model_.managers.policy = Policy::kRestricted;
  manage_memory();
  PodSpec init = spec("init", 1);
  init.init = {R"({"cpu":"1","memory":"8Gi"})"};
  admit(init);
  assigned(init);
  report({"init"});
  PodSpec two = spec("asked", 0);
  two.apps = {R"({"cpu":"2","memory":"3Gi"})", R"({"cpu":"2","memory":"3Gi"})"};
  const PodRef object = scene_.pod(two);
  Inquiry inquiry(*object);
  EXPECT_TRUE(ledger_.ask().likely_state(kSlot).grows);
  EXPECT_EQ(ledger_.ask().judge(kSlot, inquiry).verdict, Verdict::kFits);
}

// What a report says of pods counts only if it is not at odds with itself.
TEST_F(LedgerFacts, PodsThatHoldWhatIsFreeOrOneAnothersAreNotBelieved) {
  report({});
  const PodSpec a = spec("a", 4);
  assigned(a);
  const kubelet::Allocation held = admit(a);
  held_["b"] = held;
  quiet_ = false;
  report({"a", "b"});
  gone(a);
  EXPECT_EQ(free(0), 4) << "nobody knows what is a's";
  held_.erase("b");
  report({"a"});
  EXPECT_EQ(free(0), 8);
  kubelet::release(model_, state_, held);
  report({"a"});
  EXPECT_EQ(free(0), 8);
  ASSERT_TRUE(ledger_.reserve(*scene_.pod(spec("c", 8)), kSlot, ++now_).complete);
  EXPECT_EQ(free(0), 0);
}

// In which order a and b came is not known until the report says it.
TEST_F(LedgerFacts, PodsAreChargedAndRefundedWhereReportsShowThem) {
  report({});
  const PodSpec a = spec("a", 5);
  const PodSpec b = spec("b", 4);
  insist(a);
  insist(b);
  EXPECT_EQ(free(0), 3);
  admit(b);
  admit(a);
  report({"a", "b"});
  EXPECT_EQ(free(0), 4);
  EXPECT_EQ(free(1), 3);
  ASSERT_EQ(ledger_.ask().charges_of("uid-a")->size(), 1u);
  EXPECT_EQ(ledger_.ask().charges_of("uid-a")->front().zone_id, 1u);
  gone(a);
  EXPECT_EQ(free(0), 4);
  EXPECT_EQ(free(1), 8);
}

// A pod that came and went before the scheduler began had zone 0 when `a` came.
TEST_F(LedgerFacts, WhereAPodIsThatWasFoundAfterARestartOnlyTheNextReportSays) {
  const PodSpec first = spec("first", 1, 2);
  admit(first);
  assigned(first);
  report({"first"});
  const kubelet::Allocation unseen = admit(spec("unseen", 7));
  const PodSpec a = spec("a", 4);
  admit(a);  // in zone 1
  kubelet::release(model_, state_, unseen);
  assigned(a);
  EXPECT_EQ(verdict(8, 2), Verdict::kUncertain) << "as if a were in zone 0, zone 1 is empty";
  EXPECT_EQ(verdict(3, 2), Verdict::kFits) << "in zone 1 in any case";
  quiet_ = false;
  report({"first", "a"});
  EXPECT_EQ(verdict(8, 2), Verdict::kCannotAlignContainer);
  EXPECT_EQ(verdict(4, 2), Verdict::kFits);
  EXPECT_EQ(verdict(7), Verdict::kFits);
}

// The report counts a pod that nobody knows, which is gone: its CPUs may be free by now, so that an
// init container takes them, and its pod then finds no zone that has the rest.
TEST_F(LedgerFacts, AReportThatCountsUnknownPodsMayHaveTooLittle) {
  names_pods_ = false;
  const PodSpec gpus = spec("gpus", 1, 2);
  admit(gpus);
  assigned(gpus);
  report({"gpus"});
  const kubelet::Allocation unknown = admit(spec("unknown", 7));
  quiet_ = false;
  report({"gpus", "unknown"});
  kubelet::release(model_, state_, unknown);
  PodSpec pod = spec("asked", 8, 2);
  pod.init = {R"({"cpu":"4","memory":"1Gi"})"};
  const PodRef object = scene_.pod(pod);
  const kubelet::PodDemand demand(*object);
  ASSERT_FALSE(kubelet::admits(model_, state_, demand, scratch_));
  Inquiry inquiry(*object);
  EXPECT_EQ(ledger_.ask().judge(kSlot, inquiry).verdict, Verdict::kUncertain);
  EXPECT_EQ(verdict(8, 2), Verdict::kFits) << "one container fits what is there at least";
  // No report came although the exporter has looked since: there was nothing to tell.
  now_ += kDoubtMs;
  ASSERT_LE(ledger_.due_ms(), now_);
  ledger_.pass_time(now_);
  EXPECT_EQ(ledger_.ask().judge(kSlot, inquiry).verdict, Verdict::kFits);
  EXPECT_EQ(ledger_.due_ms(), INT64_MAX);
}

// It makes no difference what comes free where each zone has more memory than the pod requests in
// all.
TEST_F(LedgerFacts, MemoryOfInitContainersIsNoMatterWhereEachZoneHasEnough) {
  manage_memory();
  PodSpec init = spec("init", 1);
  init.init = {R"({"cpu":"6","memory":"8Gi"})"};
  admit(init);
  hidden_cpus_ = 5;  // of the init container: no report shows them
  assigned(init);
  report({"init"});
  ASSERT_EQ(state_.cpu(model_)[0], 2);
  const auto two = [](const std::string& memory) {
    PodSpec pod = spec("asked", 0);
    pod.start_seconds = 0;
    pod.apps = {R"({"cpu":"2","memory":")" + memory + "\"}",
                R"({"cpu":"7","memory":")" + memory + "\"}"};
    return pod;
  };
  const auto judge = [&](const std::string& memory) {
    const PodRef object = scene_.pod(two(memory));
    Inquiry inquiry(*object);
    return ledger_.ask().judge(kSlot, inquiry).verdict;
  };
  EXPECT_EQ(judge("4Gi"), Verdict::kFits);
  EXPECT_EQ(judge("5Gi"), Verdict::kFits) << "in either case";
  // By the report's counts both containers would go to zone 0. The facts know better.
  PodSpec placed = two("4Gi");
  placed.apps = {R"({"cpu":"4","memory":"4Gi"})", R"({"cpu":"2","memory":"4Gi"})"};
  const Placement placement =
      ledger_.reserve(*scene_.pod(placed), kSlot, ++now_, Ledger::Insist::kNo);
  ASSERT_TRUE(placement.complete);
  std::map<uint32_t, int64_t> cpus;
  for (const Charge& charge : placement.charges) {
    if (charge.resource == kubelet::kCpuResource) cpus[charge.zone_id] += charge.amount;
  }
  EXPECT_EQ(cpus, (std::map<uint32_t, int64_t>{{0, 2000}, {1, 4000}}));
}

// Each container finds room in a zone, but the first would go to another once memory comes free,
// and take the second one's CPUs there. Together they are more than a zone has.
// Memory of an init container in zone 0 may come free any time. Where a pod is that needs zone 1
// does not depend on that, so nobody has to be held back from what it leaves.
TEST_F(LedgerFacts, APodThatLandsAlikeWhateverComesFreeHoldsNobodyBack) {
  manage_memory();
  model_.managers.policy = Policy::kRestricted;
  PodSpec init = spec("init", 1);
  init.init = {R"({"cpu":"1","memory":"8Gi"})"};
  admit(init);
  assigned(init);
  report({"init"});
  const PodSpec large = spec("large", 8);
  ASSERT_TRUE(ledger_.reserve(*scene_.pod(large), kSlot, ++now_).complete);
  assigned(large);
  EXPECT_EQ(verdict(7), Verdict::kFits);
  EXPECT_NE(verdict(8), Verdict::kFits);
}

TEST_F(LedgerFacts, MemoryOfInitContainersMattersWhereAZoneHasRoomForSomeContainers) {
  manage_memory();
  kubelet::CpuSet foreign;
  foreign.add(14);
  foreign.add(15);
  state_.set_cpu_ids(model_, model_.layout->all() - foreign);
  PodSpec init = spec("init", 1);
  init.init = {R"({"cpu":"1","memory":"8Gi"})"};
  kubelet::Allocation held = admit(init);
  assigned(init);
  report({"init"});
  PodSpec pod = spec("asked", 0);
  pod.start_seconds = 0;
  pod.apps = {R"({"cpu":"4","memory":"10Gi"})", R"({"cpu":"7","memory":"7Gi"})"};
  const PodRef object = scene_.pod(pod);
  const kubelet::PodDemand demand(*object);
  Inquiry inquiry(*object);
  EXPECT_TRUE(kubelet::admits(model_, state_, demand, scratch_));
  EXPECT_EQ(ledger_.ask().judge(kSlot, inquiry).verdict, Verdict::kUncertain);
  kubelet::started(model_, state_, held);
  EXPECT_FALSE(kubelet::admits(model_, state_, demand, scratch_));
}

// The same of a pod that this scheduler has just placed, alone: no report has counted it yet, and
// its containers may start before the next pod comes, or after.
TEST_F(LedgerFacts, MemoryOfInitContainersMayComeFreeOfAPodJustBound) {
  manage_memory();
  kubelet::CpuSet foreign;
  foreign.add(14);
  foreign.add(15);
  state_.set_cpu_ids(model_, model_.layout->all() - foreign);
  report({});
  PodSpec init = spec("init", 1);
  init.start_seconds = 0;
  init.init = {R"({"cpu":"1","memory":"12Gi"})"};
  PodSpec pod = spec("asked", 0);
  pod.apps = {R"({"cpu":"2","memory":"12Gi"})", R"({"cpu":"7","memory":"1Gi"})"};
  const PodRef object = scene_.pod(pod);
  const auto judge = [&] {
    Inquiry inquiry(*object);
    return ledger_.ask().judge(kSlot, inquiry).verdict;
  };
  ASSERT_TRUE(ledger_.reserve(*scene_.pod(init), kSlot, ++now_).complete);
  assigned(init);
  // Its first container goes to zone 1, so that the second finds 7 CPUs in zone 0; but to zone 0
  // once there is room.
  EXPECT_EQ(judge(), Verdict::kUncertain);
  const kubelet::PodDemand demand(*object);
  kubelet::Allocation held = admit(init);
  EXPECT_TRUE(kubelet::admits(model_, state_, demand, scratch_));
  report({"init"});
  EXPECT_EQ(judge(), Verdict::kUncertain);
  kubelet::started(model_, state_, held);
  EXPECT_FALSE(kubelet::admits(model_, state_, demand, scratch_));
  report({"init"});
  EXPECT_EQ(judge(), Verdict::kCannotAlignContainer);
}

// A binding under way may be seen by the kubelet after a pod that comes later, and after that one's
// init container is over: its memory is given back to the lowest zone of its group, and there the
// first container then leaves the group, into which the second one would have gone.
TEST_F(LedgerFacts, MemoryOfInitContainersMayComeFreeBeforeABindingUnderWayIsSeen) {
  report_group();
  PodSpec two = spec("two", 0);
  two.start_seconds = 0;
  two.apps = {R"({"cpu":"1","memory":"3Gi"})", R"({"cpu":"500m","memory":"5Gi"})"};
  ASSERT_TRUE(ledger_.reserve(*scene_.pod(two), kSlot, ++now_).complete);
  const auto judge = [&](const PodSpec& pod) {
    const PodRef object = scene_.pod(pod);
    Inquiry inquiry(*object);
    return ledger_.ask().judge(kSlot, inquiry).verdict;
  };
  PodSpec init = spec("init", 0);
  init.start_seconds = 0;
  init.apps = {R"({"cpu":"1","memory":"1Gi"})"};
  init.init = {R"({"cpu":"1","memory":"5Gi"})"};
  EXPECT_EQ(judge(init), Verdict::kUncertain);
  kubelet::Allocation held = admit(init);
  const kubelet::PodDemand demand(*scene_.pod(two));
  EXPECT_TRUE(kubelet::admits(model_, state_, demand, scratch_));
  kubelet::started(model_, state_, held);
  EXPECT_FALSE(kubelet::admits(model_, state_, demand, scratch_));
}

// What a pod held that came and went since the report is given back to the lowest zone of its
// group, not where it was taken.
TEST_F(LedgerFacts, APodThatCameAndWentUnreportedMayHaveMovedMemoryOfItsGroup) {
  report_group();
  PodSpec two = spec("two", 0);
  two.apps = {R"({"cpu":"1","memory":"3Gi"})", R"({"cpu":"500m","memory":"5Gi"})"};
  const PodRef object = scene_.pod(two);
  const kubelet::PodDemand demand(*object);
  const auto judge = [&] {
    Inquiry inquiry(*object);
    return ledger_.ask().judge(kSlot, inquiry).verdict;
  };
  EXPECT_EQ(judge(), Verdict::kFits);
  EXPECT_TRUE(kubelet::admits(model_, state_, demand, scratch_));
  PodSpec visitor = spec("visitor", 0);
  visitor.start_seconds = 0;
  visitor.apps = {R"({"cpu":"1","memory":"4Gi"})"};
  assigned(visitor);
  kubelet::release(model_, state_, admit(visitor));
  gone(visitor);
  EXPECT_FALSE(kubelet::admits(model_, state_, demand, scratch_));
  EXPECT_EQ(judge(), Verdict::kUncertain);
  report({"group"});
  EXPECT_NE(judge(), Verdict::kFits);
}

// Ten CPUs on five cores, one of them reserved: its sibling is taken before whole cores are broken,
// though the init container's CPUs could have been had again.
TEST(TakeEverywhere, CountsCpusThatInitContainersLeaveToNobody) {
  kubelet::NodeModel model;
  model.zone_ids = {0};
  std::vector<kubelet::CpuPlace> places;
  for (uint32_t cpu = 0; cpu < 10; ++cpu) places.push_back({cpu, 0, 0, cpu % 5, 0});
  model.layout = std::make_shared<const kubelet::CpuLayout>(places);
  model.reserved.emplace();
  model.reserved->add(0);
  model.managers.policy = Policy::kNone;
  model.managers.cpu = kubelet::ManagerPolicy::kStatic;
  model.managers.memory = kubelet::ManagerPolicy::kNone;
  model.prepare();
  kubelet::NodeState state(model);
  state.set_cpu_ids(model, model.layout->all() - *model.reserved);
  TopologyScene scene;
  PodSpec spec = guaranteed("p", 1);
  spec.init = {R"({"cpu":"6","memory":"1Gi"})"};
  const kubelet::PodDemand pod(*scene.pod(spec));
  kubelet::NodeState least = state;
  take_everywhere(model, least, pod);
  kubelet::Scratch scratch;
  ASSERT_TRUE(kubelet::admit(model, state, pod, scratch).admitted());
  EXPECT_EQ(state.cpu(model)[0], 2);
  EXPECT_LE(least.cpu(model)[0], state.cpu(model)[0]);
}

// A report from when it ran shows memory of its init container free: it is not taken for a pod that
// holds nothing any more.
TEST_F(LedgerFacts, APodThatIsGoneStillHeldWhatItsInitContainerDidNot) {
  names_pods_ = false;
  manage_memory();
  PodSpec init = spec("init", 1);
  init.start_seconds = 0;
  init.init = {R"({"cpu":"1","memory":"12Gi"})"};
  init.apps = {R"({"cpu":"1","memory":"3Gi"})"};
  report({});
  assigned(init);
  kubelet::Allocation held = admit(init);
  report({"init"});
  gone(init);
  kubelet::started(model_, state_, held);
  quiet_ = false;
  report({"init"});
  kubelet::release(model_, state_, held);
  // In zone 0, where there is room for it without the pod that is gone.
  PodSpec next = spec("next", 0);
  next.start_seconds = 0;
  next.apps = {R"({"cpu":"500m","memory":"14Gi"})"};
  assigned(next);
  admit(next);
  PodSpec pod = spec("asked", 4, 2);
  pod.apps = {R"({"cpu":"4","memory":"8Gi","example.com/gpu":"2"})"};
  const PodRef object = scene_.pod(pod);
  Inquiry inquiry(*object);
  EXPECT_EQ(ledger_.ask().judge(kSlot, inquiry).verdict, Verdict::kFits)
      << "in the zone without next";
  report({"next"});
  EXPECT_EQ(ledger_.ask().judge(kSlot, inquiry).verdict, Verdict::kFits);
  EXPECT_TRUE(kubelet::admits(model_, state_, kubelet::PodDemand(*object), scratch_));
}

// It was thought to fit: if it does not any more, something has come free that nobody knows of, or
// its kubelet will refuse it in a moment.
TEST_F(LedgerFacts, APodThatIsThoughtToBeRefusedMayBeAnywhere) {
  report({});
  const kubelet::Allocation before = admit(spec("unknown", 8));
  PodSpec a = spec("a", 8);
  PodSpec b = spec("b", 4);
  a.start_seconds = b.start_seconds = 0;
  ASSERT_TRUE(ledger_.reserve(*scene_.pod(a), kSlot, ++now_).complete);
  assigned(a);
  ASSERT_TRUE(ledger_.reserve(*scene_.pod(b), kSlot, ++now_).complete);
  assigned(b);
  quiet_ = false;
  report({});  // zone 0 is full, so b would be refused after a
  EXPECT_EQ(verdict(1), Verdict::kUncertain);
  kubelet::release(model_, state_, before);
  admit(a);
  admit(b);
  report({"a", "b"});
  EXPECT_EQ(verdict(4), Verdict::kFits);
  EXPECT_NE(verdict(5), Verdict::kFits);
}

// Others were faster: that its place is taken is known, and why, so all else is as clear as before.
TEST_F(LedgerFacts, APodWhosePlaceOthersTookIsRefusedAndInNobodysWay) {
  report({});
  PodSpec a = spec("a", 8);
  PodSpec b = spec("b", 6);
  PodSpec c = spec("c", 4);
  a.start_seconds = b.start_seconds = c.start_seconds = 0;
  ASSERT_TRUE(ledger_.reserve(*scene_.pod(c), kSlot, ++now_).complete);
  assigned(a);
  assigned(b);
  assigned(c);
  EXPECT_EQ(verdict(2), Verdict::kFits);
  EXPECT_NE(verdict(3), Verdict::kFits);
  EXPECT_NE(verdict(3), Verdict::kUncertain);
}

// Both orders of what came before led to the same, and that is not asked about again.
TEST_F(LedgerFacts, WhatIsSettledDoesNotHoldBackThoseWhoComeAfterABindingUnderWay) {
  PodSpec gpu = spec("gpu", 1, 1);
  gpu.apps = {R"({"cpu":"500m","memory":"1Gi","example.com/gpu":"1"})"};
  report({});
  assigned(gpu);
  const kubelet::Allocation held = admit(gpu);
  report({"gpu"});
  PodSpec a = spec("a", 4);
  a.start_seconds = 0;
  assigned(a);
  kubelet::release(model_, state_, held);
  gone(gpu);

  ASSERT_TRUE(ledger_.reserve(*scene_.pod(spec("b", 8)), kSlot, ++now_).complete);
  EXPECT_EQ(verdict(2), Verdict::kFits) << "a is in zone 0, so b in zone 1 whoever comes next";
}

// Nobody is charged for it in a zone, but somebody has it.
TEST_F(LedgerFacts, DevicesWithoutAZoneAreFollowedToo) {
  model_.managers.policy = Policy::kBestEffort;
  report({});
  const PodSpec four = spec("four", 1, 4);
  assigned(four);
  admit(four);
  report({"four"});
  PodSpec last = spec("last", 1, 1);
  last.apps = {R"({"cpu":"500m","memory":"1Gi","example.com/gpu":"1"})"};
  assigned(last);
  EXPECT_NE(verdict(1, 1), Verdict::kFits);
  admit(last);
  report({"four", "last"});
  EXPECT_NE(verdict(1, 1), Verdict::kFits);
  gone(last);
  EXPECT_FALSE(ledger_.ask().likely_state(kSlot).grows);
  EXPECT_EQ(verdict(1, 1), Verdict::kFits);
}

TEST_F(LedgerFacts, PodsWithPodLevelManagersGetTheirDevicesWhenTheyStart) {
  model_.managers.scope = Scope::kPod;
  model_.managers.pod_level_resource_managers = true;
  kubelet::PodDemand pod(*scene_.pod(spec("p", 2, 1)));
  pod.pod_level = true;
  pod.pod_cpu_milli = 2000;
  pod.prepare();
  const kubelet::NodeState before = state_;
  const kubelet::Admission given = admit_and_start(model_, state_, pod, scratch_);
  ASSERT_TRUE(given.admitted());
  EXPECT_EQ(state_.devices(model_, 0)[0], 1);
  EXPECT_EQ(state_.devices(model_, 0)[1], 2);
  kubelet::release(model_, state_, given.allocation);
  EXPECT_TRUE(state_ == before);
  // Other pods get them at once.
  pod.pod_level = false;
  pod.prepare();
  ASSERT_TRUE(admit_and_start(model_, state_, pod, scratch_).admitted());
  EXPECT_EQ(state_.devices(model_, 0)[0], 1);
}

// ---- what kubelets do

// Its kubelet admits a static pod before the API server hears of it.
TEST_F(LedgerFacts, WhenAStaticPodCameIsNotKnown) {
  const PodSpec gpus = spec("gpus", 1, 2);  // those of zone 0
  admit(gpus);
  assigned(gpus);
  report({"gpus"});
  PodSpec a = spec("a", 6);
  a.start_seconds = 0;
  assigned(a);
  PodSpec fixed = spec("static", 4);
  fixed.start_seconds = 0;
  fixed.mirror = true;
  assigned(fixed);
  EXPECT_EQ(ledger_.ask().likely_state(kSlot).unplaced, 2u);
  EXPECT_EQ(verdict(4, 2), Verdict::kUncertain) << "if the static pod was first, a is in zone 1";
  admit(fixed);
  admit(a);
  quiet_ = false;
  report({"gpus", "a", "static"});
  EXPECT_EQ(verdict(4, 2), Verdict::kCannotAlignContainer);
}

// Two pods that no kubelet has taken yet, bound in another order than created.
class LedgerFactsOfTwo : public LedgerFacts {
 protected:
  std::pair<PodSpec, PodSpec> bind_young_before_old() {
    PodSpec young = spec("young", 5);
    PodSpec old = spec("old", 4);
    young.start_seconds = old.start_seconds = 0;
    young.created_seconds = 20;
    old.created_seconds = 10;
    assigned(young);
    assigned(old);
    return {young, old};
  }
};

TEST_F(LedgerFactsOfTwo, AKubeletThatWasAwayTakesTheOldestFirst) {
  const PodSpec gpus = spec("gpus", 1, 2);  // those of zone 0
  admit(gpus);
  assigned(gpus);
  report({"gpus"});
  const auto [young, old] = bind_young_before_old();
  EXPECT_EQ(verdict(4, 2), Verdict::kFits) << "a kubelet takes pods as they are bound";
  const int64_t due = ledger_.due_ms();
  ASSERT_LE(due, now_ + kQuickKubeletMs + 1);
  ledger_.pass_time(now_ = due);
  EXPECT_EQ(verdict(4, 2), Verdict::kUncertain) << "if old is first, young is in zone 1";
  admit(old);
  admit(young);
  quiet_ = false;
  report({"gpus", "old", "young"});
  EXPECT_EQ(verdict(4, 2), Verdict::kCannotAlignContainer);
}

// Some kubelets set no start times (simulated ones): their silence says nothing.
TEST_F(LedgerFactsOfTwo, AKubeletThatNeverSaysWhenAPodStartedIsNotAway) {
  PodSpec gpus = spec("gpus", 1, 2);
  gpus.start_seconds = 0;
  admit(gpus);
  assigned(gpus);
  report({"gpus"});
  bind_young_before_old();
  ledger_.pass_time(now_ += 10 * kQuickKubeletMs);
  EXPECT_EQ(verdict(4, 2), Verdict::kFits);
}

TEST_F(LedgerFacts, OrdersThatAgreeHoldNobodyBackWhereAKubeletIsAway) {
  const PodSpec gpus = spec("gpus", 0, 2);
  admit(gpus);
  assigned(gpus);
  report({"gpus"});
  for (int i = 1; i <= 3; ++i) {
    PodSpec pod = spec("pod" + std::to_string(i), i);
    pod.start_seconds = 0;
    pod.created_seconds = i;
    assigned(pod);
  }
  ledger_.pass_time(now_ += 10 * kQuickKubeletMs);
  EXPECT_TRUE(ledger_.ask().likely_state(kSlot).unplaced == 0);
  EXPECT_EQ(verdict(8), Verdict::kFits);
}

// The kubelet may refuse the resize, or not.
TEST_F(LedgerFacts, WhatAPodIsResizedToIsKeptUntilAReportShowsWhatItHolds) {
  report({});
  PodSpec pod = spec("pod", 2);
  admit(pod);
  assigned(pod);
  report({"pod"});
  EXPECT_EQ(verdict(6), Verdict::kFits);
  PodSpec more = spec("pod", 8);
  assigned(more);
  EXPECT_EQ(verdict(8), Verdict::kUncertain) << "nobody knows where it grows";
  EXPECT_EQ(ledger_.ask().charges_of("uid-pod")->front().amount, 2000);
  report({"pod"});
  EXPECT_EQ(verdict(8), Verdict::kFits);
  EXPECT_EQ(verdict(6), Verdict::kFits);
  // And back again, before any report.
  assigned(pod);
  EXPECT_EQ(verdict(6), Verdict::kFits);
  gone(pod);
  EXPECT_EQ(free(0), 8);
}

// It asks for whole CPUs since it was resized, and has none: it is not charged for them for ever.
TEST_F(LedgerFacts, APodThatWasResizedInVainHoldsNothing) {
  PodSpec pod = spec("pod", 0);
  pod.apps = {R"({"cpu":"3","memory":"1Gi"})"};
  assigned(pod);
  report({});
  EXPECT_EQ(free(0), 5) << "the report may be from before the pod";
  now_ += 10 * kStalenessMs;
  report({});
  EXPECT_EQ(free(0), 8);
  EXPECT_EQ(ledger_.stats().promises, 0u);
}

TEST_F(LedgerFacts, AnInitContainerHasItsZoneAlsoIfLaterOnesReuseAllOfIt) {
  manage_memory();
  report({});
  PodSpec pod = spec("p", 2);
  pod.init = {R"({"cpu":"2","memory":"1Gi"})"};
  const PodRef object = scene_.pod(pod);
  const Placement placement = ledger_.reserve(*object, kSlot, ++now_);
  ASSERT_TRUE(placement.complete);
  EXPECT_EQ(zones_annotation(PodRequest(*object), placement.where),
            R"({"c0":{"cpu":[0],"memory":[0]},"i0":{"cpu":[0],"memory":[0]}})");
}

// All is free, and all that the pod wants is there. But its CPUs need two zones at least, and its
// memory one: no zones are the fewest for both. With more memory they are.
TEST_F(LedgerFacts, AnExplanationNamesTheNumbersOfZonesThatDiffer) {
  manage_memory(2);
  model_.managers.policy = Policy::kRestricted;
  report({});
  PodSpec asks = spec("asks", 10);
  asks.apps = {R"({"cpu":"10","memory":"8Gi"})"};
  const PodRef pod = scene_.pod(asks);
  const Inquiry inquiry(*pod);
  Inquiry asked(*pod);
  const Judgement judgement = ledger_.ask().judge(kSlot, asked);
  EXPECT_NE(judgement.verdict, Verdict::kFits);
  const std::string text =
      explain_judgement(*pod, *inquiry.demand, ledger_.ask().likely_state(kSlot),
                        ledger_.ask().node(kSlot), judgement.verdict, now_);
  EXPECT_NE(text.find("cpu needs 2 zones, memory needs 1 zone: the policy wants zones that are the "
                      "fewest for each; what would fit: memory from 17Gi; report"),
            std::string::npos)
      << text;
}

// No zone has 8 CPUs free, and 4 GPUs are in two zones: CPUs for two zones are there.
TEST_F(LedgerFacts, AnExplanationSaysWhatWouldFit) {
  model_.managers.policy = Policy::kRestricted;
  for (const char* name : {"a", "b"}) {
    admit(spec(name, 1));
    assigned(spec(name, 1));
  }
  report({"a", "b"});
  const auto told = [&](int cpus) {
    const PodRef pod = scene_.pod(spec("asks", cpus, 4));
    Inquiry inquiry(*pod);
    const Verdict verdict = ledger_.ask().judge(kSlot, inquiry).verdict;
    return explain_judgement(*pod, *inquiry.demand, ledger_.ask().likely_state(kSlot),
                             ledger_.ask().node(kSlot), verdict, now_);
  };
  EXPECT_THAT(
      told(8),
      testing::HasSubstr("cpu needs 1 zone, example.com/gpu needs 2 zones: the policy wants zones "
                         "that are the fewest for each; what would fit: cpu from 9; report"));
  EXPECT_THAT(told(9), testing::StartsWith("fits"));
}

TEST_F(LedgerFacts, PodsWhoseAnnotationIsWrongAreTold) {
  report({});
  PodSpec a = spec("a", 5);
  PodSpec b = spec("b", 4);
  PodSpec foreign = spec("foreign", 1);
  insist(a);
  insist(b);
  admit(b);
  admit(a);
  admit(foreign);
  assigned(foreign);
  (void)ledger_.take_changes();
  report({"a", "b", "foreign"});
  EXPECT_EQ(ledger_.take_changes().misplaced, (std::vector<std::string>{"uid-a", "uid-b"}));
  report({"a", "b", "foreign"});
  EXPECT_TRUE(ledger_.take_changes().misplaced.empty());
}

// ---- nobody waits without need

// The ledger follows the order in which pods are bound; what was promised, and stands in their
// annotations, does not change with it.
TEST_F(LedgerFacts, APredictionIsWhatWasPromisedAtTheTime) {
  report({});
  const auto fresh = [](const std::string& name, int cpus) {
    PodSpec made = spec(name, cpus);
    made.start_seconds = 0;
    return made;
  };
  const PodSpec first = fresh("first", 5);
  const PodSpec second = fresh("second", 4);
  insist(first);   // is promised zone 0
  insist(second);  // and this one zone 1
  assigned(second);
  assigned(first);
  admit(second);  // the kubelet hears of it first
  admit(first);
  report({"first", "second"});
  EXPECT_EQ(ledger_.stats().predictions_confirmed, 0U);
  EXPECT_EQ(ledger_.stats().predictions_refuted, 2U);
  const PodSpec third = fresh("third", 2);
  insist(third);
  assigned(third);
  admit(third);
  report({"first", "second", "third"});
  report({"first", "second", "third"});
  EXPECT_EQ(ledger_.stats().predictions_confirmed, 1U);
  EXPECT_EQ(ledger_.stats().predictions_refuted, 2U) << "each pod is judged once";
}

TEST_F(LedgerFacts, APodThatMustBeRefusedHoldsNobodyBack) {
  report({});
  PodSpec foreign = spec("foreign", 9);
  foreign.start_seconds = 0;
  assigned(foreign);
  EXPECT_EQ(verdict(8), Verdict::kFits);
  ASSERT_TRUE(ledger_.reserve(*scene_.pod(spec("ours", 3)), kSlot, ++now_).complete);
  EXPECT_EQ(verdict(4), Verdict::kFits);
  foreign.failed = "TopologyAffinityError";
  gone(foreign);
  EXPECT_EQ(verdict(4), Verdict::kFits);
  // But one that should have fit shows that something is unknown.
  PodSpec surprise = spec("surprise", 2);
  surprise.start_seconds = 0;
  assigned(surprise);
  surprise.failed = "TopologyAffinityError";
  gone(surprise);
  EXPECT_EQ(verdict(4), Verdict::kUncertain);
}

TEST_F(LedgerFacts, PodsWithInitContainersAreBoundOneAfterTheOther) {
  manage_memory();
  report({});
  std::vector<PodSpec> pods;
  for (int i = 0; i < 7; ++i) {
    pods.push_back(spec("with-init" + std::to_string(i), 1));
    pods.back().init = {R"({"cpu":"500m","memory":"1Gi"})"};
    pods.back().start_seconds = 0;
    EXPECT_TRUE(ledger_.reserve(*scene_.pod(pods.back()), kSlot, ++now_).complete) << i;
  }
  for (const PodSpec& pod : pods) assigned(pod);
  EXPECT_EQ(verdict(1), Verdict::kFits);
}

}  // namespace
}  // namespace plimsoll::topology
