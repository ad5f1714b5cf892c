// Which pods that NodeResourceTopologyMatch rejected are woken, by what, and which are left alone.

#include <gtest/gtest.h>

#include <plimsoll/services/zone_forecast.h>
#include <plimsoll/fake_host.hpp>

#include "plugins/noderesourcetopologymatch/noderesourcetopologymatch.hpp"
#include "plugins/topology/ledger/ledger.hpp"
#include "plugins/topologyscore/topologyscore.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

using sdk::FakeCycle;
using sdk::FakeHost;
using sdk::FakeNode;
using sdk::FakePlugin;
using sdk::Hint;
using sdk::ObjectEvent;
using sdk::Pod;

class Waking : public ::testing::Test {
 protected:
  explicit Waking(const std::string& args = "{}") : plugin_(host_, args) {
    host_.now = kYear2026Ms + 1'000'000;
    for (FakeNode* node : {&n1_, &n2_}) {
      node->allocatable("cpu", 32'000).allocatable("memory", int64_t{128} << 30);
      host_.add(*node);
      plugin_.plugin().node_event(sdk::NodeEvent::kAdded, sdk::Node(&node->get()), 0);
    }
  }
  ~Waking() override { host_.drop_deferred(); }

  // As the scheduler does: plugins hear of the change, then the queue asks for a hint.
  Hint report(const PodRef& pod, const std::vector<int>& cpus, const std::vector<std::string>& pods,
              const std::string& node = "n1") {
    ReportSpec spec;
    spec.node = node;
    spec.version = std::to_string(++versions_);
    spec.allocatable = "16";
    spec.fingerprint = fingerprint_of(pods);
    for (size_t i = 0; i < cpus.size(); ++i) {
      spec.zones.push_back({static_cast<int>(i), {{"cpu", std::to_string(cpus[i])}}});
      if (with_memory_) spec.zones.back().available.emplace_back("memory", "8Gi");
    }
    plugin_.plugin().object_event(
        ObjectEvent{ObjectEvent::kUpsert, kNrtResource, node, "", nrt_json(spec)});
    return report_hint(pod, node);
  }
  Hint report_hint(const PodRef& pod, const std::string& node = "n1") {
    plimsoll_event event{};
    event.size = sizeof event;
    event.actions = PLIMSOLL_ACTION_UPDATE;
    event.resource = sdk::str(kNrtResource);
    event.name = sdk::str(node);
    return plugin_.plugin().hint(Pod(pod.get()), event);
  }
  Hint pod_hint(const PodRef& pod, const PodRef& other, bool gone) {
    plimsoll_event event{};
    event.size = sizeof event;
    event.actions = gone ? PLIMSOLL_ACTION_DELETE : PLIMSOLL_ACTION_ADD;
    event.resource = sdk::str("AssignedPod");
    (gone ? event.old_pod : event.new_pod) = other.get();
    return plugin_.plugin().hint(Pod(pod.get()), event);
  }
  Hint seen(const PodRef& pod, const PodRef& other) {
    plugin_.plugin().pod_event(sdk::PodEvent::kAssigned, Pod(other.get()), "n1");
    return pod_hint(pod, other, false);
  }
  Hint gone(const PodRef& pod, const PodRef& other) {
    plugin_.plugin().pod_event(sdk::PodEvent::kRemoved, Pod(other.get()), "n1");
    return pod_hint(pod, other, true);
  }
  PodRef on_n1(const std::string& name, int cpus, const std::string& failed = "") {
    PodSpec spec = guaranteed(name, cpus);
    spec.node = "n1";
    spec.failed = failed;
    return scene_.pod(spec);
  }
  // Without anything that a kubelet ties to zones.
  PodRef ordinary(const std::string& name) {
    PodSpec spec = guaranteed(name, 1);
    spec.node = "n1";
    spec.burstable = true;
    return scene_.pod(spec);
  }
  PodRef waiting(int cpus) { return scene_.pod(guaranteed("w" + std::to_string(cpus), cpus)); }
  // An attempt, which ends at Filter.
  int32_t attempt(const PodRef& pod, FakeNode& node) {
    FakeCycle cycle;
    EXPECT_EQ(plugin_.pre_filter(cycle, Pod(pod.get())).code, PLIMSOLL_SUCCESS);
    return plugin_.filter(cycle, Pod(pod.get()), sdk::Node(&node.get())).code;
  }
  bool reserve(const PodRef& pod) {
    FakeCycle cycle;
    return plugin_.reserve(cycle, Pod(pod.get()), sdk::Node(&n1_.get())).code == PLIMSOLL_SUCCESS;
  }
  bool registered(std::string_view resource, uint32_t action) {
    for (const plimsoll_event_interest& interest : plugin_.plugin().events()) {
      if (sdk::view(interest.resource) == resource) return (interest.actions & action) != 0;
    }
    return false;
  }
  // A claim has so many of n1's CPUs; `pod_uid` asks for them again.
  void hold(std::string_view claim, int64_t cpus, std::string_view pod_uid = {}) {
    const std::vector<plimsoll_zone_amount> amounts{{sdk::str("cpu"), 0, 0, cpus * 1000}};
    const std::vector<plimsoll_zone_holding> all{{sdk::str(claim), sdk::str("n1"),
                                                  sdk::str(pod_uid),
                                                  sdk::list_of<plimsoll_zone_amount>(amounts)}};
    const auto* forecast = static_cast<const plimsoll_zone_forecast*>(
        host_.services.at(PLIMSOLL_ZONE_FORECAST_SERVICE).second);
    forecast->hold(forecast->self, sdk::list_of<plimsoll_zone_holding>(all));
  }
  void run_timers() {
    for (FakeHost::Deferred& timer : std::exchange(host_.deferred, {})) timer.run();
  }

  TopologyScene scene_;
  FakeHost host_;
  FakeNode n1_{"n1", 0};
  FakeNode n2_{"n2", 70};
  FakePlugin<NodeResourceTopologyMatch> plugin_;
  bool with_memory_ = false;
  int versions_ = 0;
};

TEST_F(Waking, OnlyPodsThatFitAreWokenByReports) {
  const PodRef big = waiting(10);
  const PodRef small = waiting(6);
  report(big, {4, 4}, {});
  EXPECT_EQ(attempt(big, n1_), PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(attempt(small, n1_), PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(report(big, {8, 4}, {}), Hint::kSkip);
  EXPECT_EQ(report_hint(small), Hint::kQueue);
  // Without its object nothing is known of the node.
  plugin_.plugin().object_event(ObjectEvent{ObjectEvent::kDelete, kNrtResource, "n1", "", ""});
  EXPECT_EQ(report_hint(big), Hint::kSkip);
  EXPECT_EQ(attempt(big, n1_), PLIMSOLL_PENDING);
  EXPECT_EQ(report(big, {8, 8}, {}), Hint::kSkip);
  EXPECT_EQ(report(big, {16, 8}, {}), Hint::kQueue);
  for (const std::string_view kind : {kNrtResource, kOldNrtResource}) {
    EXPECT_TRUE(registered(kind, PLIMSOLL_ACTION_DELETE));
  }
}

// What a pod's own claims have counts for it alone, and not for the others that ask for as much.
TEST_F(Waking, WhoHasClaimsOfItsOwnIsWokenByWhatHelpsItAlone) {
  std::string named = pod_json(guaranteed("own", 14));
  const std::string_view spec = R"("spec":{)";
  named.insert(named.find(spec) + spec.size(),
               R"("resourceClaims":[{"name":"c","resourceClaimName":"c"}],)");
  const PodRef own = scene_.read_pod(named);
  const PodRef other = waiting(14);
  report(own, {16, 8}, {});
  hold("ns/c", 12, "uid-own");
  hold("ns/more", 3);
  EXPECT_EQ(attempt(own, n1_), PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(attempt(other, n1_), PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(host_.requeued, 0);
  hold("ns/more", 0);
  EXPECT_EQ(host_.requeued, 1);
  EXPECT_EQ(attempt(own, n1_), PLIMSOLL_SUCCESS);
  hold("ns/c", 0);
  EXPECT_EQ(host_.requeued, 2) << "for the other, which nobody has told that it fits";
  EXPECT_EQ(attempt(other, n1_), PLIMSOLL_SUCCESS);
}

// Four pods once were tried with every report of any node, hundreds of times a second.
TEST_F(Waking, ReportsOfNodesThatRefusedNothingWakeNobody) {
  const PodRef pod = waiting(10);
  report(pod, {4, 4}, {});
  report(pod, {16, 16}, {}, "n2");
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(attempt(pod, n2_), PLIMSOLL_SUCCESS) << "another plugin refuses it there";
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(report(pod, {16 - i, 16}, {}, "n2"), Hint::kSkip);
    EXPECT_EQ(report(pod, {4, 4}, {}), Hint::kSkip);
  }
  EXPECT_EQ(host_.requeued, 0);
  EXPECT_EQ(report(pod, {4, 12}, {}), Hint::kQueue);
  // Tried again, it passes here: what is left is not this plugin's to say.
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_SUCCESS);
  EXPECT_EQ(report(pod, {4, 13}, {}), Hint::kSkip);
}

TEST_F(Waking, PodsOfOneKindAreWokenAlike) {
  PodSpec spec = guaranteed("a", 10);
  const PodRef first = scene_.pod(spec);
  spec.name = "b";
  const PodRef second = scene_.pod(spec);
  report(first, {4, 4}, {});
  EXPECT_EQ(attempt(first, n1_), PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(report(first, {4, 12}, {}), Hint::kQueue);
  EXPECT_EQ(report_hint(second), Hint::kQueue);
}

// Of pods that nothing is known of, as after many others, what fits is all there is to go by.
TEST_F(Waking, UnknownPodsAreWokenWhereTheyFit) {
  const PodRef pod = waiting(6);
  report(pod, {4, 4}, {});
  EXPECT_EQ(report(pod, {4, 5}, {}), Hint::kSkip);
  EXPECT_EQ(report(pod, {4, 8}, {}), Hint::kQueue);
}

TEST_F(Waking, PodsOfAKindThatWasForgottenAreWokenAllTheSame) {
  const PodRef pod = waiting(6);
  report(pod, {4, 4}, {});
  report(pod, {1, 1}, {}, "n2");
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_UNSCHEDULABLE);
  for (int others = 0; others < 2'100; ++others) attempt(waiting(20 + others), n1_);
  EXPECT_EQ(attempt(pod, n2_), PLIMSOLL_UNSCHEDULABLE) << "another pod of the kind, for n2 only";
  EXPECT_EQ(report(pod, {4, 5}, {}), Hint::kSkip);
  EXPECT_EQ(report(pod, {4, 8}, {}), Hint::kQueue);
}

TEST_F(Waking, DeletionsThatGiveRoomWakePods) {
  const PodRef pod = waiting(6);
  const PodRef holder = on_n1("holder", 6);
  report(pod, {8, 4}, {});
  ASSERT_TRUE(reserve(holder));
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(gone(pod, ordinary("o")), Hint::kSkip);
  EXPECT_EQ(gone(pod, on_n1("stranger", 1)), Hint::kSkip) << "gives nothing";
  // A binding that failed: unreserve, and then an event as of a deleted pod.
  FakeCycle cycle;
  plugin_.unreserve(cycle, Pod(holder.get()), "n1");
  EXPECT_EQ(pod_hint(pod, holder, true), Hint::kQueue);
  EXPECT_TRUE(registered("Pod", PLIMSOLL_ACTION_DELETE));
  // What a report counts is not free before a report says so.
  ASSERT_TRUE(reserve(holder));
  seen(pod, holder);
  report(pod, {2, 4}, {"holder"});
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_UNSCHEDULABLE);
  host_.requeued = 0;
  const Hint at_once = gone(pod, holder);
  EXPECT_EQ(at_once == Hint::kQueue, attempt(pod, n1_) == PLIMSOLL_SUCCESS);
  EXPECT_EQ(host_.requeued, 0);
}

// A pod that held no zone may make a report understandable, by its end or by being heard of.
TEST_F(Waking, WhatExplainsAReportWakesPods) {
  const PodRef pod = waiting(3);
  seen(pod, ordinary("plain"));
  seen(pod, ordinary("other"));
  for (const char* name : {"a", "b", "c", "d", "e"}) seen(pod, on_n1(name, 1));
  report(pod, {3, 0}, {"other", "a", "b", "c", "d", "e"});
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_PENDING);
  EXPECT_EQ(gone(pod, ordinary("another")), Hint::kSkip);
  EXPECT_EQ(gone(pod, ordinary("plain")), Hint::kQueue);
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_SUCCESS);

  report(pod, {2, 0}, {"late", "other", "a", "b", "c", "d", "e"});
  report(pod, {1, 3}, {"late", "later", "other", "a", "b", "c", "d", "e", "f"});
  seen(pod, on_n1("f", 1));
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_PENDING);
  EXPECT_EQ(seen(pod, ordinary("late")), Hint::kSkip);
  EXPECT_EQ(seen(pod, ordinary("later")), Hint::kQueue);
}

// A pod that waits for bindings under way is woken when they are seen, and by nothing before.
TEST_F(Waking, APodThatWaitsForABindingIsWokenByIt) {
  const PodRef four = waiting(4);
  report(four, {5, 4}, {});
  const PodRef five = on_n1("five", 5);
  ASSERT_TRUE(reserve(five));
  EXPECT_EQ(attempt(four, n1_), PLIMSOLL_PENDING);
  EXPECT_EQ(report(four, {16, 16}, {}, "n2"), Hint::kSkip);
  EXPECT_EQ(seen(four, ordinary("o")), Hint::kSkip);
  EXPECT_EQ(host_.requeued, 0) << "promises and doubts wake nobody";
  EXPECT_EQ(seen(four, five), Hint::kQueue);
  EXPECT_TRUE(registered("Pod", PLIMSOLL_ACTION_ADD));
  EXPECT_EQ(attempt(four, n1_), PLIMSOLL_SUCCESS);
  EXPECT_EQ(host_.requeued, 0);
}

TEST_F(Waking, APodThatReserveTurnsAwayIsWokenToo) {
  const PodRef four = waiting(4);
  report(four, {5, 4}, {});
  EXPECT_EQ(attempt(four, n1_), PLIMSOLL_SUCCESS);
  const PodRef five = on_n1("five", 5);
  ASSERT_TRUE(reserve(five));
  FakeCycle cycle;
  const auto verdict = plugin_.reserve(cycle, Pod(four.get()), sdk::Node(&n1_.get()));
  EXPECT_EQ(verdict.code, PLIMSOLL_PENDING) << "preemption is no use";
  EXPECT_EQ(verdict.reasons, "cannot align pod for sure before the node's next report");
  EXPECT_EQ(seen(four, five), Hint::kQueue);
}

TEST_F(Waking, HowLongPodsWaitedForWhichNodeAndWhyIsTold) {
  const PodRef two = waiting(2);
  report(two, {8, 8}, {});
  seen(two, on_n1("a", 6));
  gone(two, on_n1("a", 6, "TopologyAffinityError"));
  EXPECT_EQ(attempt(two, n1_), PLIMSOLL_PENDING);
  host_.now += 12'000;
  EXPECT_EQ(attempt(two, n1_), PLIMSOLL_PENDING);
  report(two, {8, 8}, {});
  EXPECT_EQ(host_.metrics.at("numa_uncertain_seconds{refusal}"), std::vector<double>{12});
  EXPECT_EQ(attempt(two, n1_), PLIMSOLL_SUCCESS);
  ASSERT_TRUE(reserve(two));
  EXPECT_EQ(host_.metrics.at("numa_pod_wait_seconds"), std::vector<double>{12});
  EXPECT_EQ(host_.events,
            std::vector<std::string>{"Normal WaitedForZones: waited 12 s for a report of node n1: "
                                     "its kubelet had refused a pod"});
  ASSERT_TRUE(reserve(waiting(1)));
  EXPECT_EQ(host_.events.size(), 1u) << "it did not wait";
}

// Nobody is evicted for a doubt, also beside pods that are nominated to the node.
TEST_F(Waking, DoubtIsPendingInWhatIfsToo) {
  const PodRef seven = waiting(7);
  const PodRef a = on_n1("a", 6);
  report(seven, {8, 6}, {});
  seen(seven, a);
  report(seven, {2, 6}, {"a"});
  seen(seven, on_n1("b", 4));
  gone(seven, a);  // b is in zone 1, or in zone 0 if it came after that
  PodSpec first = guaranteed("first", 1);
  first.priority = 10;
  const PodRef nominated = scene_.pod(first);
  FakeCycle cycle;
  const auto& slots = plugin_.slots();
  ASSERT_EQ(slots.add_pod(slots.self, cycle.get(), seven.get(), nominated.get(), &n1_.get()),
            PLIMSOLL_SUCCESS);
  const auto verdict = plugin_.filter(cycle, Pod(seven.get()), sdk::Node(&n1_.get()));
  EXPECT_EQ(verdict.code, PLIMSOLL_PENDING);
  EXPECT_EQ(verdict.reasons, "cannot align pod for sure before the node's next report");
  host_.nominated["n1"] = {nominated.get()};
  EXPECT_EQ(report(seven, {7, 2}, {"b"}), Hint::kSkip) << "it fits, but not beside the other";
  EXPECT_EQ(report(seven, {8, 2}, {"b"}), Hint::kQueue);
}

// As it is, the node is full, and no report shows room: what eviction would give is known again.
TEST_F(Waking, APreemptorHearsThatANodeIsCertainAgain) {
  const PodRef high = waiting(8);
  report(high, {8, 8}, {});
  const PodRef low = on_n1("low", 8);
  seen(high, low);
  report(high, {0, 6}, {"low"});
  seen(high, on_n1("refused", 6));
  gone(high, on_n1("refused", 6, "TopologyAffinityError"));
  const auto without_low = [&] {
    FakeCycle cycle;
    const auto& slots = plugin_.slots();
    slots.remove_pod(slots.self, cycle.get(), high.get(), low.get(), &n1_.get());
    return plugin_.filter(cycle, Pod(high.get()), sdk::Node(&n1_.get())).code;
  };
  EXPECT_EQ(without_low(), PLIMSOLL_PENDING);
  EXPECT_EQ(report(high, {0, 6}, {"low"}), Hint::kQueue);
  EXPECT_EQ(without_low(), PLIMSOLL_SUCCESS);
  EXPECT_EQ(report(high, {0, 6}, {"low"}), Hint::kSkip) << "that is known";
}

TEST_F(Waking, RoomBesideNominatedPodsIsWhatCounts) {
  PodSpec first = guaranteed("first", 10);
  first.priority = 10;
  const PodRef nominated = scene_.pod(first);
  const PodRef pod = waiting(8);
  report(pod, {12, 4}, {});
  FakeCycle cycle;
  const auto& slots = plugin_.slots();
  slots.add_pod(slots.self, cycle.get(), pod.get(), nominated.get(), &n1_.get());
  EXPECT_EQ(plugin_.filter(cycle, Pod(pod.get()), sdk::Node(&n1_.get())).code,
            PLIMSOLL_UNSCHEDULABLE);
  host_.nominated["n1"] = {nominated.get()};
  EXPECT_EQ(report(pod, {12, 5}, {}), Hint::kSkip);
  EXPECT_EQ(report(pod, {12, 9}, {}), Hint::kQueue);
  EXPECT_EQ(report(pod, {12, 6}, {}), Hint::kSkip);
  // The nomination ends: the ledger hears nothing of that.
  host_.nominated.clear();
  first.node = "n1";
  EXPECT_EQ(pod_hint(pod, scene_.pod(first), true), Hint::kQueue);
}

// The nominated pod does not count itself: that its own node takes it says nothing of the others of
// its kind.
TEST_F(Waking, ANominatedPodThatPassesItsNodeDoesNotForgetTheOthers) {
  PodSpec spec = guaranteed("first", 8);
  spec.priority = 10;
  spec.nominated = "n1";
  const PodRef nominated = scene_.pod(spec);
  spec.name = "pod";
  spec.nominated.clear();
  const PodRef pod = scene_.pod(spec);
  report(pod, {8, 4}, {});
  FakeCycle cycle;
  const auto& slots = plugin_.slots();
  slots.add_pod(slots.self, cycle.get(), pod.get(), nominated.get(), &n1_.get());
  EXPECT_EQ(plugin_.filter(cycle, Pod(pod.get()), sdk::Node(&n1_.get())).code,
            PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(attempt(nominated, n1_), PLIMSOLL_SUCCESS);
  ASSERT_TRUE(reserve(nominated));
  spec.name = "first";
  spec.node = "n1";
  const PodRef bound = scene_.pod(spec);
  seen(pod, bound);
  EXPECT_EQ(gone(pod, bound), Hint::kQueue);
}

// The scheduler remembers verdicts for pods that differ in their priority only, and then asks about
// few nodes.
TEST_F(Waking, WhatPodsOfAnotherPriorityWereToldCounts) {
  const PodRef pod = waiting(8);
  PodSpec spec = guaranteed("higher", 8);
  spec.priority = 10;
  const PodRef higher = scene_.pod(spec);
  report(pod, {4, 4}, {});
  report(pod, {1, 1}, {}, "n2");
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(attempt(pod, n2_), PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(attempt(higher, n2_), PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(report(higher, {4, 8}, {}), Hint::kQueue);
}

// Preemption asks what would be without some pods: that is not what the node is like.
TEST_F(Waking, WhatPreemptionAsksIsNotWhatFilterFound) {
  const PodRef victim = on_n1("victim", 2);
  const PodRef pod = waiting(14);
  report(pod, {16, 4}, {});
  report(pod, {1, 1}, {}, "n2");
  EXPECT_EQ(attempt(pod, n2_), PLIMSOLL_UNSCHEDULABLE);
  ASSERT_TRUE(reserve(victim));
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_SUCCESS) << "another plugin refuses it";
  const PodRef wide = waiting(16);
  EXPECT_EQ(attempt(wide, n1_), PLIMSOLL_UNSCHEDULABLE);
  FakeCycle cycle;
  const auto& slots = plugin_.slots();
  slots.remove_pod(slots.self, cycle.get(), wide.get(), victim.get(), &n1_.get());
  EXPECT_EQ(plugin_.filter(cycle, Pod(wide.get()), sdk::Node(&n1_.get())).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(gone(wide, victim), Hint::kQueue) << "the node refused it all the same";
  EXPECT_EQ(pod_hint(pod, victim, true), Hint::kSkip);
}

TEST_F(Waking, NewNodesWakeWhatFitsThere) {
  const PodRef pod = waiting(10);
  report(pod, {4, 4}, {});
  report(pod, {8, 8}, {}, "n2");
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_UNSCHEDULABLE);
  plimsoll_event event{};
  event.size = sizeof event;
  event.actions = PLIMSOLL_ACTION_ADD;
  event.resource = sdk::str("Node");
  event.new_node = n2_.get().node;
  EXPECT_EQ(plugin_.plugin().hint(Pod(pod.get()), event), Hint::kSkip);
  EXPECT_EQ(report(pod, {8, 10}, {}, "n2"), Hint::kQueue) << "no attempt has seen the node yet";
  EXPECT_TRUE(registered("Node", PLIMSOLL_ACTION_ADD));
  EXPECT_FALSE(registered("Node", PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE));
}

// What happened while a pod was tried is asked about when the attempt is over.
TEST_F(Waking, EventsDuringAnAttemptCountWhenItIsOver) {
  const PodRef pod = waiting(6);
  report(pod, {4, 4}, {});
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_UNSCHEDULABLE);
  report(pod, {8, 4}, {});
  report(pod, {4, 4}, {}, "n2");
  const PodRef other = waiting(7);
  FakeCycle cycle;
  ASSERT_EQ(plugin_.pre_filter(cycle, Pod(other.get())).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(report_hint(pod), Hint::kQueue);
}

TEST_F(Waking, ADoubtThatEndsByTimeWakesThoseItHeldBack) {
  const PodRef pod = waiting(4);
  report(pod, {8, 8}, {});
  seen(pod, on_n1("refused", 6));
  EXPECT_TRUE(host_.deferred.empty());
  gone(pod, on_n1("refused", 6, "TopologyAffinityError"));
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_PENDING);
  ASSERT_EQ(host_.deferred.size(), 1u);
  EXPECT_EQ(host_.deferred[0].delay_ms, kDoubtMs);
  host_.now += kDoubtMs;
  run_timers();
  EXPECT_EQ(host_.requeued, 1);
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_SUCCESS);
  ASSERT_EQ(host_.deferred.size(), 1u);
  EXPECT_GT(host_.deferred[0].delay_ms, kDoubtMs) << "only what it refused is remembered longer";
}

TEST_F(Waking, ADoubtThatHeldNobodyBackEndsInSilence) {
  const PodRef pod = waiting(12);
  report(pod, {8, 8}, {});
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_UNSCHEDULABLE);
  seen(pod, on_n1("refused", 6));
  gone(pod, on_n1("refused", 6, "TopologyAffinityError"));
  host_.now += kDoubtMs;
  run_timers();
  EXPECT_EQ(host_.requeued, 0) << "it does not fit after that either";
}

// A Node that is made while the scheduler runs, and its report, come on two watches.
TEST_F(Waking, ANewNodeIsWaitedForUntilItsReportCame) {
  const auto add = [&](FakeNode& node, int64_t made_ms) {
    plimsoll_node object = *node.get().node;
    object.meta.creation_ms = made_ms;
    plimsoll_node_info info = node.get();
    info.node = &object;
    plugin_.plugin().node_event(sdk::NodeEvent::kRemoved, sdk::Node(&info), 0);
    plugin_.plugin().node_event(sdk::NodeEvent::kAdded, sdk::Node(&info), 0);
  };
  const PodRef pod = waiting(6);
  add(n1_, host_.now - 1'000);
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_PENDING) << "the list of reports is not complete";
  plugin_.plugin().object_event(ObjectEvent{ObjectEvent::kSynced, kNrtResource, "", "", ""});
  add(n1_, host_.now - 1'000);
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_SUCCESS) << "nobody reports: older nodes have none";
  report(pod, {16, 16}, {}, "elsewhere");
  add(n2_, host_.now - kReportOnItsWayMs);
  EXPECT_EQ(attempt(pod, n2_), PLIMSOLL_SUCCESS) << "it has no report";

  add(n1_, host_.now - 1'000);
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_PENDING);
  EXPECT_EQ(report(pod, {4, 4}, {}), Hint::kSkip);
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(attempt(waiting(4), n1_), PLIMSOLL_SUCCESS);

  add(n2_, host_.now + 3'600'000);  // by a clock that is ahead
  EXPECT_EQ(attempt(pod, n2_), PLIMSOLL_PENDING);
  for (int64_t waited = 0; waited < kReportOnItsWayMs; waited += 1'000) {
    EXPECT_EQ(attempt(pod, n2_), PLIMSOLL_PENDING) << waited;
    EXPECT_FALSE(host_.deferred.empty());
    host_.now += 1'000;
    run_timers();
  }
  EXPECT_EQ(host_.requeued, 1);
  EXPECT_EQ(attempt(pod, n2_), PLIMSOLL_SUCCESS) << "none came";
}

// Where all nodes are new, nothing follows from there being no report yet.
TEST(NobodyReports, IsNotSaidBeforeANodeHadTheTime) {
  for (const bool served : {true, false}) {
    TopologyScene scene;
    FakeHost host;
    host.now = kYear2026Ms + 1'000'000;
    FakeNode first("n1", 0), second("n2", 1);
    for (FakeNode* node : {&first, &second}) host.add(*node);
    FakePlugin<NodeResourceTopologyMatch> plugin(host);
    const auto add = [&](FakeNode& node) {
      plimsoll_node object = *node.get().node;
      object.meta.creation_ms = host.now;
      plimsoll_node_info info = node.get();
      info.node = &object;
      plugin.plugin().node_event(sdk::NodeEvent::kAdded, sdk::Node(&info), 0);
    };
    const PodRef pod = scene.pod(guaranteed("p", 6));
    const auto attempt = [&](FakeNode& node) {
      FakeCycle cycle;
      (void)plugin.pre_filter(cycle, Pod(pod.get()));
      return plugin.filter(cycle, Pod(pod.get()), sdk::Node(&node.get())).code;
    };
    for (const std::string_view kind : {kNrtResource, kOldNrtResource}) {
      plugin.plugin().object_event(
          ObjectEvent{ObjectEvent::kSynced, kind, "", "", served ? "" : R"({"served":false})"});
      if (served) break;
    }
    add(first);
    EXPECT_EQ(attempt(first), served ? PLIMSOLL_PENDING : PLIMSOLL_SUCCESS);
    host.now += kReportOnItsWayMs;
    for (FakeHost::Deferred& timer : std::exchange(host.deferred, {})) timer.run();
    EXPECT_EQ(attempt(first), PLIMSOLL_SUCCESS) << "none came";
    add(second);
    EXPECT_EQ(attempt(second), PLIMSOLL_SUCCESS) << "the first has none either";
    host.drop_deferred();
  }
}

// By a watch that broke and missed its end, too.
TEST_F(Waking, ANodeThatIsMadeAgainWaitsForItsOwnReport) {
  const auto tell = [&](sdk::NodeEvent type, std::string_view uid) {
    plimsoll_node object = *n1_.get().node;
    object.meta.uid = sdk::str(uid);
    object.meta.creation_ms = host_.now - kReportOnItsWayMs;
    plimsoll_node_info info = n1_.get();
    info.node = &object;
    plugin_.plugin().node_event(type, sdk::Node(&info), 0);
  };
  const auto report_of = [&](const std::string& uid, const std::string& cpus) {
    ReportSpec spec;
    spec.version = std::to_string(++versions_);
    spec.node_uid = uid;
    spec.zones = {{0, {{"cpu", cpus}}}};
    plugin_.plugin().object_event(
        ObjectEvent{ObjectEvent::kUpsert, kNrtResource, "n1", "", nrt_json(spec)});
  };
  const PodRef pod = waiting(6);
  tell(sdk::NodeEvent::kChanged, "first");
  report_of("first", "8");
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_SUCCESS);
  tell(sdk::NodeEvent::kChanged, "first");
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_SUCCESS);
  tell(sdk::NodeEvent::kChanged, "second");
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_PENDING);
  report_of("second", "4");
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_UNSCHEDULABLE);
  tell(sdk::NodeEvent::kRemoved, "second");
  tell(sdk::NodeEvent::kAdded, "third");
  EXPECT_EQ(attempt(waiting(4), n1_), PLIMSOLL_PENDING);
  report_of("third", "4");
  EXPECT_EQ(report_hint(waiting(4)), Hint::kQueue);
  EXPECT_EQ(attempt(waiting(4), n1_), PLIMSOLL_SUCCESS);
}

TEST_F(Waking, TimersOfAPluginThatIsGoneDoNothing) {
  auto ending = std::make_unique<FakeHost>();
  ending->add(n1_);
  {
    FakePlugin<NodeResourceTopologyMatch> short_lived(*ending);
    short_lived.plugin().node_event(sdk::NodeEvent::kAdded, sdk::Node(&n1_.get()), 0);
    ReportSpec spec;
    spec.zones = {{0, {{"cpu", "8"}}}};
    short_lived.plugin().object_event(
        ObjectEvent{ObjectEvent::kUpsert, kNrtResource, "n1", "", nrt_json(spec)});
    const PodRef pod = on_n1("refused", 6);
    const PodRef failed = on_n1("refused", 6, "TopologyAffinityError");
    short_lived.plugin().pod_event(sdk::PodEvent::kAssigned, Pod(pod.get()), "n1");
    short_lived.plugin().pod_event(sdk::PodEvent::kRemoved, Pod(failed.get()), "n1");
  }
  ASSERT_EQ(ending->deferred.size(), 1u);
  ending->deferred[0].run();
  EXPECT_EQ(ending->requeued, 0);
}

// Every instance wakes what its own plugin rejected, whoever owns the ledger.
TEST_F(Waking, InstancesThatDoNotOwnTheLedgerHearOfIt) {
  FakeHost other_profile;
  other_profile.add(n1_);
  other_profile.now = host_.now;
  other_profile.services = host_.services;
  auto second = std::make_unique<FakePlugin<NodeResourceTopologyMatch>>(other_profile);
  auto score = std::make_unique<FakePlugin<TopologyScore>>(other_profile);
  EXPECT_TRUE(other_profile.watched.empty());
  const PodRef pod = waiting(4);
  report(pod, {8, 8}, {});
  seen(pod, on_n1("refused", 6));
  gone(pod, on_n1("refused", 6, "TopologyAffinityError"));
  FakeCycle cycle;
  EXPECT_EQ(second->filter(cycle, Pod(pod.get()), sdk::Node(&n1_.get())).code, PLIMSOLL_PENDING);
  host_.now += kDoubtMs;
  run_timers();
  EXPECT_EQ(host_.requeued, 0) << "it rejected nobody";
  EXPECT_EQ(other_profile.requeued, 1);
  score.reset();  // instances end in any order
  second.reset();
  gone(pod, on_n1("refused", 6));
}

class WakingReference : public Waking {
 protected:
  WakingReference() : Waking(R"({"admissionModel":"Reference"})") {}
};

TEST_F(WakingReference, GoesByCountsAndByAllocatable) {
  with_memory_ = true;
  const PodRef pod = waiting(6);
  report(pod, {4, 4}, {});
  EXPECT_EQ(attempt(pod, n1_), PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(report(pod, {4, 4}, {}), Hint::kSkip);
  EXPECT_EQ(report(pod, {4, 6}, {}), Hint::kQueue);
  plimsoll_event event{};
  event.size = sizeof event;
  event.actions = PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE;
  event.resource = sdk::str("Node");
  event.new_node = n1_.get().node;
  EXPECT_EQ(plugin_.plugin().hint(Pod(pod.get()), event), Hint::kQueue);
  EXPECT_TRUE(registered("Node", PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE));
}

TEST(RefusalsTest, RemembersTheKindsAskedAboutLately) {
  Refusals refusals(2);
  const auto requests = [](uint64_t number) { return RequestsHash{number, ~number}; };
  FilterRound refused;
  refused.asked.set(3);
  refused.asked.set(200);
  refused.refused.set(200);
  EXPECT_TRUE(refusals.empty());
  for (uint64_t kind = 1; kind <= 3; ++kind) refusals.note(requests(kind), nullptr, refused);
  EXPECT_FALSE(refusals.empty());
  ASSERT_NE(refusals.find(requests(1)), nullptr) << "from before, and recent again";
  EXPECT_TRUE(refusals.find(requests(1))->refused.test(200));
  EXPECT_TRUE(refusals.find(requests(1))->whole);
  EXPECT_FALSE(refusals.find(requests(1))->refused.test(3));
  EXPECT_FALSE(refusals.any_refused(3, [](const auto&) { return true; }));
  EXPECT_TRUE(refusals.any_refused(200, [](const auto&) { return true; }));
  EXPECT_FALSE(refusals.any_refused(200, [](const auto&) { return false; }));
  for (uint64_t kind = 4; kind <= 8; ++kind) refusals.note(requests(kind), nullptr, refused);
  EXPECT_EQ(refusals.find(requests(1)), nullptr);
  EXPECT_TRUE(refusals.any_refused(3, [](const auto&) { return false; })) << "nobody knows";

  FilterRound passed;
  passed.asked.set(200);
  refusals.note(requests(8), nullptr, passed);
  EXPECT_FALSE(refusals.find(requests(8))->refused.test(200));
  refusals.note(requests(9), nullptr, passed);
  EXPECT_EQ(refusals.find(requests(9)), nullptr) << "nothing to remember";
  refusals.note(requests(1), nullptr, refused);
  EXPECT_FALSE(refusals.find(requests(1))->whole) << "what it was refused before is not known";
}

}  // namespace
}  // namespace plimsoll::topology
