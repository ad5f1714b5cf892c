// move_all visits only pods whose rejectors registered the event. The outcome is that of the plain
// loop over all unschedulable pods (moveAllToActiveOrBackoffQueue).

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <stdexcept>

#include "tests/queue/queue_fixture.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll {
namespace {

class MoveTest : public QueueTest {
 protected:
  // What the plain loop would do with one unschedulable pod, as the place where it is afterwards.
  std::string after(const QueuedPod& pod, const ClusterEvent& event) {
    const std::vector<PluginKey> interested = policy_.interested(event);
    const auto registered = [&](PluginIndex plugin) {
      return std::count(interested.begin(), interested.end(), plugin_key(0, plugin)) != 0;
    };
    const auto queue = [&](PluginIndex plugin) {
      const auto said = policy_.says.find(plugin);
      if (policy_.named_only(plugin_key(0, plugin), event) && !FakePolicy::names(*pod.pod, event))
        return false;
      return registered(plugin) &&
             (said == policy_.says.end() || said->second == QueueHint::kQueue);
    };
    const std::string name(view(pod.pod->meta.name));
    const std::string here = pod.gated_by ? "gated" : "unschedulable";
    if (pod.gated_by && !registered(*pod.gated_by)) return here;
    bool worth = false;
    for (const PluginIndex plugin : pod.rejectors) worth = worth || queue(plugin);
    bool at_once = false;
    for (const PluginIndex plugin : pod.pending) at_once = at_once || queue(plugin);
    if (!worth && !at_once) return here;
    if (pod.pod->scheduling_gates.count != 0 || policy_.closed_for.contains(name)) return "gated";
    QueuedPod copy = pod;
    const int64_t expiry = queue_.backoff_expiry(copy);
    const bool backing_off = expiry != 0 && expiry >= now_ - now_ % 1000;
    return !at_once && backing_off ? "backoff" : "active";
  }

  void check(const ClusterEvent& event) {
    std::map<std::string, std::string> expected;
    for (const QueuedPod* pod : queue_.list(QueuePlace::kUnschedulable)) {
      expected[std::string(view(pod->pod->meta.name))] = after(*pod, event);
    }
    queue_.move_all(event, now_);
    for (const auto& [name, where] : expected) EXPECT_EQ(place(name), where) << name;
  }
};

TEST_F(MoveTest, AsksNobodyWhoseEventItIsNot) {
  rejected("fit", {kFit});
  rejected("ports", {kPorts});
  rejected("both", {kFit, kPorts});
  policy_.says = {{kFit, QueueHint::kSkip}, {kPorts, QueueHint::kSkip}};
  add_node();
  using Asked = std::vector<std::pair<std::string, PluginIndex>>;
  EXPECT_EQ(policy_.asked, (Asked{{"fit", kFit}, {"both", kFit}}));
  policy_.asked.clear();
  delete_pod();
  EXPECT_EQ(policy_.asked, (Asked{{"ports", kPorts}, {"both", kPorts}}));
}

constexpr std::string_view kClaims = "resourceclaims.v1.resource.k8s.io";

ClusterEvent claim_event(std::string_view resource, const std::string& name) {
  auto object = std::make_shared<RawObject>();
  object->resource = resource;
  object->ns = "ns";
  object->name = name;
  return object_event(nullptr, object);
}

std::string with_claim(const std::string& name) {
  return R"(,"resourceClaims":[{"name":"a","resourceClaimName":")" + name + R"("},)" +
         R"({"name":"b","resourceClaimName":")" + name + R"("}])";
}

TEST_F(MoveTest, AnEventOfAClaimAsksOnlyThePodsThatNameIt) {
  policy_.registered.push_back(
      {plugin_key(0, kPorts), {symbols_.intern(kClaims), PLIMSOLL_ACTION_ADD, 0}});
  policy_.registered.push_back(
      {plugin_key(0, kFit), {symbols_.intern("persistentvolumeclaims"), PLIMSOLL_ACTION_ADD, 0}});
  policy_.says = {{kPorts, QueueHint::kSkip}, {kFit, QueueHint::kSkip}};
  const auto waits = [&](const std::string& name, const std::string& extra) {
    queue_.add(pod(name, 0, extra), now_);
    ASSERT_EQ(pop(), name);
    reject(name, {kPorts, kFit});
  };
  for (int i = 0; i < 2000; ++i)
    waits("p" + std::to_string(i), with_claim("c" + std::to_string(i)));
  waits("v", R"(,"volumes":[{"name":"scratch","ephemeral":{}},)"
             R"({"name":"d","persistentVolumeClaim":{"claimName":"data"}}])");
  queue_.move_all(claim_event(kClaims, "c7"), now_);
  EXPECT_EQ(policy_.asked.size(), 2000U + 1) << "all, unless the plugin says whom it may help";

  using Asked = std::vector<std::pair<std::string, PluginIndex>>;
  policy_.by_name = {kPorts, kFit};
  const auto asked = [&](std::string_view resource, const std::string& name) {
    policy_.asked.clear();
    queue_.move_all(claim_event(resource, name), now_);
    return policy_.asked;
  };
  EXPECT_EQ(asked(kClaims, "c7"), (Asked{{"p7", kPorts}}));
  EXPECT_EQ(asked(kClaims, "nobodys"), Asked());
  EXPECT_EQ(asked("persistentvolumeclaims", "data"), (Asked{{"v", kFit}}));
  EXPECT_EQ(asked("persistentvolumeclaims", "v-scratch"), (Asked{{"v", kFit}}));
  // What a pod names may change while it waits: a claim was made from its template.
  queue_.update(pod("p7", 0, with_claim("other")), now_);
  EXPECT_EQ(asked(kClaims, "c7"), Asked());
  EXPECT_EQ(asked(kClaims, "other"), (Asked{{"p7", kPorts}}));
  queue_.remove("uid-p7");
  EXPECT_EQ(asked(kClaims, "other"), Asked());
}

TEST_F(MoveTest, RandomEventsMoveWhatThePlainLoopMoves) {
  std::mt19937 random(test::test_seed());
  const auto some = [&](int of) { return static_cast<int>(random() % static_cast<unsigned>(of)); };
  constexpr PluginIndex kPlugins[] = {kFit, kPorts, kGates, kClosed};
  // Each event has several plugins, and each plugin several events.
  policy_.registered.push_back(
      {plugin_key(0, kPorts), {symbols_.intern(kResourceNode), PLIMSOLL_ACTION_ADD, 0}});
  policy_.registered.push_back(
      {plugin_key(0, kClosed), {symbols_.intern(kResourcePod), PLIMSOLL_ACTION_DELETE, 0}});
  for (const PluginIndex plugin : kPlugins) {
    policy_.registered.push_back(
        {plugin_key(0, plugin), {symbols_.intern(kClaims), PLIMSOLL_ACTION_ADD, 0}});
  }
  const ClusterEvent events[] = {node_added(node()), node_deleted(node()),
                                 assigned_pod_deleted(pod("placed")),
                                 assigned_pod_added(pod("placed")), claim_event(kClaims, "c0")};
  for (int step = 0; step < 5000 && !HasFailure(); ++step) {
    now_ += some(900);
    const std::string name = "p" + std::to_string(some(30));
    switch (some(8)) {
      case 0:
      case 1:
        queue_.update(pod(name, some(3),
                          (some(4) == 0 ? kGated : "") + with_claim("c" + std::to_string(some(2)))),
                      now_);
        break;
      case 2:
      case 3:
      case 4:
        if (const std::string popped = pop(); !popped.empty()) {
          std::set<PluginIndex> rejectors;
          std::set<PluginIndex> pending;
          for (const PluginIndex plugin : kPlugins) {
            if (some(3) == 0) rejectors.insert(plugin);
            if (some(9) == 0) pending.insert(plugin);
          }
          if (rejectors.empty() && pending.empty()) rejectors.insert(kFit);
          reject(popped, rejectors, pending);
        }
        break;
      case 5:
        if (some(2) == 0) {
          policy_.closed_for.insert(name);
        } else {
          policy_.closed_for.erase(name);
        }
        if (const PluginIndex plugin = kPlugins[some(4)]; !policy_.by_name.erase(plugin))
          policy_.by_name.insert(plugin);
        policy_.says[kPlugins[some(4)]] = some(2) == 0 ? QueueHint::kSkip : QueueHint::kQueue;
        break;
      case 6:
        if (some(3) == 0) queue_.remove("uid-" + name);
        if (some(3) == 0) queue_.activate("uid-" + name, now_);
        if (some(5) == 0) queue_.flush(now_);
        break;
      case 7:
        check(events[some(5)]);
        break;
    }
  }
}

// ---- groups: one entry for all their pods

class GroupQueueTest : public QueueTest {
 protected:
  PodRef member(const std::string& name, const std::string& group = "g",
                const std::string& extra = "", int priority = 0) {
    return pod(name, priority, R"(,"schedulingGroup":{"podGroupName":")" + group + "\"}" + extra);
  }
  void known(const std::string& name, size_t needed, int priority = 0, size_t placed = 0) {
    policy_.groups[name] = {
        .known = true, .priority = priority, .needed = needed, .placed = placed};
    queue_.group_changed(named(name), now_);
  }
  static GroupName named(std::string_view name) { return {GroupKind::kPodGroup, "ns", name}; }
  QueuedGroup& popped_group() {
    QueuedPod* popped = queue_.pop();
    if (popped == nullptr || popped->group == nullptr) throw std::runtime_error("no group");
    return *popped->group;
  }
  std::string gate(const std::string& group = "g") {
    return SchedulingQueue::gate_message(*queue_.group(named(group)));
  }
  std::array<size_t, 4> sizes() {
    const SchedulingQueue::Sizes all = queue_.sizes();
    return {all.active, all.backoff, all.unschedulable, all.gated};
  }
};

using Counts = std::array<size_t, 4>;  // active, backoff, unschedulable, gated

TEST_F(GroupQueueTest, WaitsForTheGroupThenForItsQuorumThenForEachOfItsPods) {
  queue_.add(member("a"), now_);
  EXPECT_EQ(place("a"), "gated");
  EXPECT_EQ(gate(), "waiting for pods's pod group \"g\" to appear in scheduling queue");
  known("g", 3);
  EXPECT_EQ(gate(), "waiting for minCount pods from a gang to appear in scheduling queue: 1 of 3");
  queue_.add(member("b"), now_);
  queue_.add(member("c", "g", kGated), now_);
  EXPECT_EQ(sizes(), (Counts{0, 0, 0, 3}));
  EXPECT_EQ(gate(), "") << "the plugin that holds c says why";
  EXPECT_EQ(view(queue_.group(named("g"))->held->pod->meta.name), "c");
  queue_.add(member("d"), now_);
  EXPECT_EQ(place("d"), "gated");
  queue_.update(member("c"), now_);
  EXPECT_EQ(sizes(), (Counts{4, 0, 0, 0}));
  queue_.add(member("e", "g", kGated), now_);
  EXPECT_EQ(sizes(), (Counts{0, 0, 0, 5})) << "one that comes late holds all as well";
  queue_.remove("uid-e");
  EXPECT_EQ(popped_group().members.size(), 4U);
}

// In the order in which they came, the first half by losing their gates, the others by leaving.
TEST_F(GroupQueueTest, LettingAllGoOneByOneAsksPluginsAFewTimesForEach) {
  constexpr int kMembers = 200;
  const auto name = [](int i) { return "p" + std::to_string(i); };
  known("g", 1);
  for (int i = 0; i < kMembers; ++i) queue_.add(member(name(i), "g", kGated), now_);
  policy_.gates_run = 0;
  for (int i = 0; i < kMembers / 2; ++i) queue_.update(member(name(i)), now_);
  EXPECT_LE(policy_.gates_run, 4 * kMembers / 2);
  EXPECT_EQ(place("p0"), "gated");
  policy_.gates_run = 0;
  for (int i = kMembers / 2; i < kMembers; ++i) queue_.remove("uid-" + name(i));
  EXPECT_LE(policy_.gates_run, 4 * kMembers);
  EXPECT_EQ(popped_group().members.size(), size_t{kMembers / 2});
}

TEST_F(GroupQueueTest, PodsThatHaveANodeCountForTheQuorum) {
  queue_.add(member("late"), now_);
  known("g", 3, 0, 1);
  EXPECT_EQ(place("late"), "gated");
  known("g", 3, 0, 2);
  EXPECT_EQ(place("late"), "active");
  // One of them is being deleted: known at the latest when the group is taken out.
  policy_.groups["g"].placed = 1;
  EXPECT_EQ(queue_.pop(), nullptr);
  EXPECT_EQ(place("late"), "gated");
  known("g", 2, 0, 1);  // it needs fewer now
  EXPECT_EQ(place("late"), "active");
  policy_.groups.erase("g");
  EXPECT_EQ(queue_.pop(), nullptr) << "the group is gone";
  EXPECT_EQ(queue_.sizes().gated, 1U);
}

TEST_F(GroupQueueTest, IsOrderedByItsOwnPriorityAndTime) {
  known("high", 1, 10);
  known("low", 1, 0);
  queue_.add(member("l", "low", "", 100), now_);
  queue_.add(member("h", "high", "", 0), now_ + 5);
  queue_.add(pod("single", 5), now_ + 9);
  EXPECT_EQ(popped_group().name, "high");
  EXPECT_EQ(pop(), "single");
  EXPECT_EQ(popped_group().name, "low");
}

TEST_F(GroupQueueTest, WhatIsMissingOfOneThatRunsInPartGoesFirstAndWaitsASecondAtMost) {
  known("part", 2);
  queue_.add(pod("single"), now_);
  for (const char* name : {"a", "b"}) queue_.add(member(name, "part"), now_ + 5);
  known("part", 3, 0, 1);  // while it is active
  QueuedGroup& group = popped_group();
  EXPECT_EQ(group.name, "part");
  EXPECT_EQ(pop(), "single");
  for (uint32_t i = 1; i <= QueuedGroup::kMostRefusalsInFront; ++i) {
    queue_.reject_group(group, {{member("a", "part"), {kFit}, {}}}, now_);
    add_node();
    EXPECT_EQ(place("a"), "backoff");
    EXPECT_LE(queue_.backoff_expiry(group.entry) - now_, 1000);
    queue_.remove("uid-single");
    queue_.add(pod("single"), now_ - 1);
    queue_.flush(now_ += 2000);
    if (i == QueuedGroup::kMostRefusalsInFront) break;
    EXPECT_EQ(popped_group().name, "part");
  }
  EXPECT_EQ(pop(), "single") << "it has had its chances";
  EXPECT_EQ(popped_group().name, "part");
  for (int i = 0; i < 4; ++i) {
    queue_.reject_group(group, {{member("a", "part"), {kFit}, {}}}, now_);
    add_node();
    if (i == 3) break;
    queue_.flush(now_ += 20'000);
    EXPECT_EQ(popped_group().name, "part");
  }
  EXPECT_GT(queue_.backoff_expiry(group.entry) - now_, 5000);
}

// A pod of another profile comes back from Permit.
TEST_F(GroupQueueTest, WhatPluginsOfAnotherProfileSaidOfOneThatComesBackIsForgotten) {
  const std::string in_g = R"(,"schedulingGroup":{"podGroupName":"g"})";
  known("g", 1);
  queue_.add(pod("b", 0, in_g, "", "other"), now_);
  QueuedGroup& group = popped_group();
  queue_.take_member("uid-b");
  queue_.reject_group(group, {}, now_);
  queue_.add(member("a"), now_);
  queue_.reject_group(popped_group(), {{member("a"), {kFit}, {}}}, now_);
  queue_.reject("uid-b", {kGates}, {}, now_);
  const QueuedPod& entry = queue_.group(named("g"))->entry;
  EXPECT_EQ(entry.rejectors, std::set<PluginIndex>{});
  EXPECT_EQ(sizes(), (Counts{0, 2, 0, 0})) << "as after an error";
}

TEST_F(GroupQueueTest, ARefusalIsKeptByKindAndHasOneBackoff) {
  known("g", 4);
  for (const char* name : {"a1", "a2", "b1", "b2"}) queue_.add(member(name), now_);
  for (int i = 1; i <= 3; ++i) {
    QueuedGroup& group = popped_group();
    EXPECT_EQ(group.entry.attempts, static_cast<uint32_t>(i));
    queue_.reject_group(group, {{member("a1"), {kFit}, {}}, {member("b1"), {kPorts}, {}}}, now_);
    EXPECT_EQ(sizes(), (Counts{0, 0, 4, 0}));
    policy_.asked.clear();
    policy_.says[kFit] = QueueHint::kSkip;
    add_node();
    EXPECT_EQ(place("b2"), "unschedulable");
    EXPECT_EQ(policy_.asked, (std::vector<std::pair<std::string, PluginIndex>>{{"a1", kFit}}))
        << "one of each kind, and only by who refused that kind";
    policy_.says.clear();
    delete_pod();
    EXPECT_EQ(sizes(), (Counts{0, 4, 0, 0})) << "attempt " << i;
    // As for one pod, however many there are: 1 s, 2 s, 4 s.
    EXPECT_EQ(queue_.backoff_expiry(group.entry) - now_, 500 << i);
  }
}

// An attempt on a group pauses, for events to be heard.
TEST_F(GroupQueueTest, WhatHappensDuringItsAttemptIsNotMissed) {
  known("g", 1);
  for (const char* name : {"a", "b"}) queue_.add(member(name), now_);
  queue_.add(member("c", "other"), now_);
  const auto refuse_after = [this](const std::function<void()>& what) {
    QueuedGroup& group = popped_group();
    what();
    queue_.reject_group(group, {{member("a"), {kFit}, {}}}, now_);
    const std::string place = this->place("b");
    queue_.flush(now_ += 20'000);
    return place;
  };
  EXPECT_EQ(refuse_after([&] { add_node(); }), "backoff");
  EXPECT_EQ(refuse_after([&] { queue_.activate("uid-b", now_); }), "backoff");
  EXPECT_EQ(refuse_after([&] {
              delete_pod();
              queue_.activate("uid-c", now_);
            }),
            "unschedulable")
      << "of others";
  EXPECT_EQ(queue_.sizes().in_flight, 0U);
  EXPECT_EQ(queue_.sizes().in_flight_events, 0U);
}

TEST_F(GroupQueueTest, WhoComesDuringItsAttemptIsTriedAtOnceAndWhoFailedLater) {
  known("g", 1);
  queue_.add(member("a"), now_);
  queue_.add(member("b"), now_);
  QueuedGroup& first = popped_group();
  queue_.take_member("uid-b");
  queue_.reject_group(first, {{member("a"), {kFit}, {}}}, now_, true);
  queue_.done("uid-b");
  QueuedGroup& second = popped_group();
  queue_.add(member("c"), now_);
  EXPECT_EQ(sizes(), (Counts{0, 0, 0, 0})) << "it is being tried";
  queue_.reject_group(second, {{member("a"), {kFit}, {}}}, now_);
  EXPECT_EQ(sizes(), (Counts{2, 0, 0, 0}));
  QueuedGroup& third = popped_group();
  queue_.restore(member("b"), {}, now_);
  queue_.add(member("d"), now_);
  queue_.reject_group(third, {{member("a"), {kFit}, {}}}, now_);
  EXPECT_EQ(place("b"), "error-backoff");
  EXPECT_EQ(sizes(), (Counts{0, 4, 0, 0}));
}

TEST_F(GroupQueueTest, WhoHasAPlaceLeavesAndMayComeBack) {
  known("g", 2);
  for (const char* name : {"a", "b", "c"}) queue_.add(member(name), now_);
  QueuedGroup& group = popped_group();
  queue_.take_member("uid-a");
  queue_.take_member("uid-b");
  queue_.reject_group(group, {{member("c"), {kFit}, {}}}, now_);
  EXPECT_EQ(sizes(), (Counts{0, 0, 1, 0}));
  EXPECT_EQ(queue_.sizes().in_flight, 2U);
  queue_.done("uid-a");
  queue_.done("uid-b");
  queue_.forget("uid-a");
  known("g", 2, 0, 1);
  queue_.restore(member("b"), {}, now_);  // its Binding failed
  EXPECT_EQ(place("b"), "error-backoff");
  EXPECT_EQ(place("c"), "error-backoff");
  queue_.flush(now_ + 3000);
  EXPECT_EQ(popped_group().members.size(), 2U);
}

// Else a group with one that finds no place and others whose Binding fails would be tried without
// end: each failure gives room back, which wakes those that have none.
TEST_F(GroupQueueTest, AfterAnErrorOthersThatAreDueWaitToo) {
  const auto fails_again_and_again = [this](size_t needed, bool again,
                                            const std::string& meanwhile) {
    SCOPED_TRACE(meanwhile);
    known("g", needed);
    for (const char* name : {"a", "b", "c"}) queue_.add(member(name), now_);
    for (int i = 0; i < 3; ++i) {
      QueuedGroup& group = popped_group();
      for (const char* name : {"uid-a", "uid-b"}) queue_.take_member(name);
      queue_.reject_group(group, {{member("c"), {kPorts}, {}}}, now_, again);
      for (const std::string name : {"a", "b"}) {
        queue_.done("uid-" + name);
        delete_pod();  // what it held is free
        EXPECT_EQ(place("c"), name == "a" ? meanwhile : "error-backoff");
        queue_.restore(member(name), {}, now_);
        EXPECT_EQ(place("c"), "error-backoff");
      }
      EXPECT_EQ(queue_.pop(), nullptr);
      EXPECT_EQ(queue_.backoff_expiry(group.entry) - now_, 1000 << i);
      queue_.flush(now_ += 20'000);
    }
    for (const char* name : {"uid-a", "uid-b", "uid-c"}) queue_.remove(name);
  };
  fails_again_and_again(1, false, "backoff");
  fails_again_and_again(1, true, "active");
  fails_again_and_again(2, false, "gated");
}

// Plugins are numbered by profile.
TEST_F(GroupQueueTest, WhatPluginsOfAnotherProfileSaidIsForgotten) {
  const std::string in_g = R"(,"schedulingGroup":{"podGroupName":"g"})";
  known("g", 1);
  queue_.add(member("a"), now_);
  queue_.reject_group(popped_group(), {{member("a"), {kFit}, {}}}, now_);
  queue_.add(pod("b", 0, in_g + kGated, "", "other"), now_);
  EXPECT_EQ(place("b"), "gated");
  EXPECT_EQ(queue_.group(named("g"))->entry.rejectors, std::set<PluginIndex>{kGates});
  queue_.remove("uid-b");
  queue_.reject_group(popped_group(), {{member("a"), {kFit}, {}}}, now_);
  queue_.add(pod("c", 0, in_g, "", "other"), now_);
  queue_.remove("uid-a");
  EXPECT_EQ(queue_.group(named("g"))->entry.rejectors, std::set<PluginIndex>{});
  EXPECT_EQ(place("c"), "active");
}

TEST_F(GroupQueueTest, WhoComesBackMakesItCompleteAgain) {
  known("g", 3);
  for (const char* name : {"a", "b", "c"}) queue_.add(member(name), now_);
  QueuedGroup& group = popped_group();
  for (const char* name : {"a", "b", "c"}) queue_.take_member(std::string("uid-") + name);
  queue_.reject_group(group, {}, now_);
  for (const char* name : {"a", "b", "c"}) {
    queue_.done(std::string("uid-") + name);
    queue_.restore(member(name), {}, now_);  // all were cancelled before the first of them is here
    EXPECT_EQ(place(name), std::string(name) == "c" ? "error-backoff" : "gated");
  }
}

TEST_F(GroupQueueTest, IsWokenByAnyPodsOwnChangeAndByAnotherWish) {
  policy_.registered.push_back(
      {plugin_key(0, kFit),
       {symbols_.intern(kResourcePod), PLIMSOLL_ACTION_UPDATE_POD_TOLERATION, 0}});
  known("g", 1);
  for (const char* name : {"a", "b"}) queue_.add(member(name), now_);
  queue_.reject_group(popped_group(), {{member("a"), {kFit}, {}}}, now_);
  policy_.asked.clear();
  queue_.update(member("b", "g", R"(,"tolerations":[{"key":"k","operator":"Exists"}])"), now_);
  EXPECT_EQ(policy_.asked, (std::vector<std::pair<std::string, PluginIndex>>{{"b", kFit}}));
  EXPECT_EQ(place("a"), "backoff");
  queue_.flush(now_ += 2000);
  queue_.reject_group(popped_group(), {{member("a"), {kFit}, {}}}, now_);
  EXPECT_EQ(place("a"), "unschedulable");
  policy_.groups["g"].wish = "any rack";
  queue_.group_changed(named("g"), now_);
  EXPECT_EQ(place("a"), "active");
}

TEST_F(GroupQueueTest, AStrangersGroupCostsAsMuchAsItHasPods) {
  constexpr int kPods = 500;
  known("g", kPods);
  for (int i = 0; i < kPods; ++i) queue_.add(member("p" + std::to_string(i)), now_);
  EXPECT_EQ(policy_.gates_run, kPods) << "each once, when all are there";
  for (int i = 0; i < kPods; ++i) queue_.add(member("q" + std::to_string(i)), now_);
  EXPECT_EQ(policy_.gates_run, 2 * kPods) << "and each that comes late";
  QueuedGroup& group = popped_group();
  queue_.reject_group(group, {{member("p0"), {kFit}, {}}}, now_);
  policy_.says[kFit] = QueueHint::kSkip;
  for (int i = 0; i < kPods; ++i) add_node();
  EXPECT_EQ(policy_.asked.size(), size_t{kPods}) << "one pod of a kind for each event";
  EXPECT_EQ(policy_.gates_run, 2 * kPods);
  for (int i = 0; i < kPods; ++i) {
    queue_.remove("uid-p" + std::to_string(i));
    queue_.remove("uid-q" + std::to_string(i));
  }
  EXPECT_EQ(queue_.group(named("g")), nullptr);
}

// ---- groups that a label names

class LabelledGroupTest : public GroupQueueTest {
 protected:
  PodRef labelled(const std::string& name, const std::string& group = "g", int priority = 0,
                  const std::string& extra = "") {
    const std::string labels =
        group.empty() ? "" : R"("scheduling.x-k8s.io/pod-group":")" + group + '"';
    auto decoded =
        decode_pod(R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"uid-)" + name +
                       R"(","labels":{)" + labels + R"(}},"spec":{"priority":)" +
                       std::to_string(priority) + extra + "}}",
                   symbols_);
    EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
    return *decoded;
  }
  static GroupName by_label(std::string_view name) {
    return {GroupKind::kCoscheduling, "ns", name};
  }
  void known(const std::string& name, size_t needed, int64_t since_ms) {
    GroupFacts& facts = policy_.groups[name] = {};
    facts.known = true;
    facts.needed = needed;
    facts.since_ms = since_ms;
    queue_.group_changed(by_label(name), now_);
  }
};

TEST_F(LabelledGroupTest, IsAnotherOneThanThePodGroupOfItsName) {
  queue_.add(labelled("a"), now_);
  queue_.add(member("b"), now_);
  EXPECT_EQ(queue_.group(by_label("g"))->members.size(), 1U);
  EXPECT_EQ(queue_.group(named("g"))->members.size(), 1U);
  EXPECT_EQ(SchedulingQueue::gate_message(*queue_.group(by_label("g"))),
            "PodGroup not found: ns/g");
  known("g", 2, kStart);
  EXPECT_EQ(SchedulingQueue::gate_message(*queue_.group(by_label("g"))),
            "pre-filter pod a cannot find enough sibling pods, current pods number: 1, minMember "
            "of group: 2");
  policy_.groups["g"] = {.problem = "minMember is no number"};
  queue_.group_changed(by_label("g"), now_);
  EXPECT_EQ(SchedulingQueue::gate_message(*queue_.group(by_label("g"))),
            "pod group ns/g: minMember is no number");
}

TEST_F(LabelledGroupTest, IsOrderedByItsHighestPodThenByItsTimeOrLastFailure) {
  known("old", 1, kStart - 2000);
  known("new", 1, kStart - 1000);
  queue_.add(labelled("n", "new"), now_);
  queue_.add(labelled("o", "old"), now_ + 5);
  QueuedGroup& old = popped_group();
  EXPECT_EQ(old.name, "old");
  queue_.reject_group(old, {{labelled("o"), {kFit}, {}}}, now_);
  queue_.activate("uid-o", now_);
  EXPECT_EQ(popped_group().name, "new") << "who failed lets others pass";
  queue_.reject_group(*queue_.entry("uid-n")->group, {}, now_ + 1);
  queue_.activate("uid-n", now_ + 1);
  // A pod of higher priority takes its group along, as long as it is there.
  queue_.add(labelled("n2", "new", 7), now_);
  queue_.add(pod("single", 5), now_);
  queue_.add(labelled("n3", "new", 9), now_);
  queue_.remove("uid-n3");
  EXPECT_EQ(popped_group().name, "new");
  queue_.reject_group(*queue_.entry("uid-n")->group, {}, now_ + 1);
  queue_.activate("uid-n", now_ + 1);
  queue_.remove("uid-n2");
  EXPECT_EQ(pop(), "single");
  EXPECT_EQ(popped_group().name, "old");
}

TEST_F(LabelledGroupTest, PodsComeIntoItAndOutOfItByTheirLabel) {
  known("g", 2, kStart);
  queue_.add(labelled("a"), now_);
  queue_.add(labelled("b", ""), now_);
  EXPECT_EQ(place("a"), "gated");
  EXPECT_EQ(place("b"), "active");
  queue_.update(labelled("b"), now_);
  EXPECT_EQ(place("a"), "active");
  EXPECT_EQ(popped_group().members.size(), 2U);
  queue_.reject_group(*queue_.entry("uid-a")->group, {{labelled("a"), {kFit}, {}}}, now_);
  queue_.update(labelled("a", "other"), now_);
  EXPECT_EQ(place("a"), "gated");
  EXPECT_EQ(queue_.group(by_label("other"))->members.size(), 1U);
  queue_.update(labelled("b", ""), now_ += 20'000);
  EXPECT_EQ(queue_.group(by_label("g")), nullptr);
  EXPECT_EQ(pop(), "b");
  // In flight: it counts when the attempt is over.
  queue_.update(labelled("b", "other"), now_);
  EXPECT_EQ(queue_.group(by_label("other"))->members.size(), 1U);
  reject("b", {kFit});
  EXPECT_EQ(queue_.group(by_label("other"))->members.size(), 2U);
  now_ += 20'000;
  queue_.update(labelled("a", ""), now_);
  queue_.update(labelled("b", ""), now_);
  EXPECT_EQ(queue_.group(by_label("other")), nullptr);
  EXPECT_EQ(sizes(), (Counts{2, 0, 0, 0}));
}

TEST_F(LabelledGroupTest, AChangeOfTheLabelSkipsNoBackoff) {
  known("g", 1, kStart);
  known("h", 1, kStart);
  queue_.add(labelled("a"), now_);
  queue_.reject_group(popped_group(), {{labelled("a"), {kFit}, {}}}, now_);
  for (const char* group : {"h", "", "g", ""}) {
    queue_.update(labelled("a", group), now_);
    EXPECT_EQ(place("a"), "error-backoff") << group;
    EXPECT_EQ(queue_.pop(), nullptr) << "not even if nothing else waits";
  }
  queue_.flush(now_ += 3000);
  EXPECT_EQ(pop(), "a");
  reject("a", {kFit});
  queue_.update(labelled("a", "h"), now_ += 1500);
  EXPECT_EQ(place("a"), "error-backoff") << "the second one is longer";
  queue_.flush(now_ += 3000);
  EXPECT_EQ(place("a"), "active");
}

TEST_F(LabelledGroupTest, WhoIsGatedHoldsNoOthersIfTheyAreEnough) {
  known("g", 2, kStart);
  queue_.add(labelled("c", "g", 0, kGated), now_);
  queue_.add(labelled("a"), now_);
  EXPECT_EQ(place("a"), "gated") << "who is gated does not count";
  queue_.add(labelled("b"), now_);
  EXPECT_EQ(place("a"), "active");
  EXPECT_EQ(place("c"), "gated");
  EXPECT_EQ(sizes(), (Counts{2, 0, 0, 1}));
  queue_.update(labelled("c"), now_);
  EXPECT_EQ(place("c"), "active");
  EXPECT_EQ(popped_group().members.size(), 3U);
}

// 10,000 pods of as many priorities, gated and not, that come, move and go.
TEST_F(LabelledGroupTest, CostsAsMuchAsItHasPods) {
  constexpr int kPods = 10'000;
  known("g", kPods / 2, kStart);
  known("h", kPods, kStart);
  const auto name = [](int i) { return "p" + std::to_string(i); };
  for (int i = 0; i < kPods; ++i)
    queue_.add(labelled(name(i), "g", i, i % 2 == 0 ? "" : kGated), now_);
  EXPECT_EQ(queue_.group(by_label("g"))->members.size(), size_t{kPods} / 2);
  EXPECT_LE(policy_.gates_run, 4 * kPods);
  policy_.gates_run = 0;
  for (int i = 0; i < kPods; ++i) queue_.update(labelled(name(i), "h", i), now_);
  EXPECT_EQ(queue_.group(by_label("g")), nullptr);
  EXPECT_EQ(queue_.group(by_label("h"))->priorities.size(), size_t{kPods});
  EXPECT_LE(policy_.gates_run, 4 * kPods);
  EXPECT_EQ(sizes(), (Counts{kPods, 0, 0, 0}));
  for (int i = 0; i < kPods; ++i) queue_.remove("uid-" + name(i));
  EXPECT_EQ(queue_.group(by_label("h")), nullptr);
  EXPECT_EQ(sizes(), (Counts{0, 0, 0, 0}));
}

TEST_F(LabelledGroupTest, IsLeftAloneForAsLongAsItIsToBe) {
  known("g", 1, kStart);
  policy_.groups["g"].least_backoff_ms = 30'000;
  queue_.add(labelled("a"), now_);
  QueuedGroup& group = popped_group();
  queue_.reject_group(group, {{labelled("a"), {kFit}, {}}}, now_);
  add_node();
  EXPECT_EQ(place("a"), "error-backoff") << "an idle loop does not take it";
  EXPECT_EQ(queue_.backoff_expiry(group.entry) - now_, 30'000);
  queue_.flush(now_ + 29'000);
  EXPECT_EQ(queue_.pop(), nullptr);
  queue_.flush(now_ + 31'000);
  EXPECT_EQ(place("a"), "active");
}

TEST_F(LabelledGroupTest, CountsEveryPodOnceWhateverHappens) {
  std::map<std::string, bool> waiting;
  std::mt19937 random(test::test_seed(5));
  for (int i = 0; i < 4000; ++i) {
    const auto some = [&](size_t n) { return static_cast<size_t>(random() % n); };
    const std::string group = "g" + std::to_string(some(3));
    const std::string name = "p" + std::to_string(some(18));
    const bool by_spec = some(2) == 0;
    switch (some(9)) {
      case 0:
      case 1:
        // One that is there comes into this group, whatever was its.
        queue_.add(
            by_spec ? member(name, group, some(4) == 0 ? kGated : "")
                    : labelled(name, group, static_cast<int>(some(4)), some(4) == 0 ? kGated : ""),
            now_);
        waiting[name] = true;
        break;
      case 2:
        queue_.remove("uid-" + name);
        waiting.erase(name);
        break;
      case 3:
        policy_.groups[group] = {.known = true,
                                 .needed = 1 + some(4),
                                 .placed = some(3),
                                 .since_ms = some(2) == 0 ? 0 : kStart + static_cast<int>(some(9)),
                                 .least_backoff_ms = some(3) == 0 ? 2000 : 0};
        queue_.group_changed(named(group), now_);
        queue_.group_changed(by_label(group), now_);
        break;
      case 4:
        policy_.groups.erase(group);
        queue_.group_changed(named(group), now_);
        queue_.group_changed(by_label(group), now_);
        break;
      case 5:
        add_node();
        break;
      case 6:
        queue_.activate("uid-" + name, now_);
        break;
      case 7:
        queue_.flush(now_ += 700);
        break;
      default:
        QueuedPod* popped = queue_.pop();
        if (popped == nullptr) break;
        QueuedGroup& taken = *popped->group;
        std::vector<std::string> placed;
        for (const QueuedPod* each : taken.members) {
          if (some(3) == 0) placed.emplace_back(view(each->pod->meta.name));
        }
        for (const std::string& each : placed) queue_.take_member("uid-" + each);
        std::vector<GroupRefusal> refusals;
        if (some(3) != 0 && !taken.members.empty())
          refusals.push_back({taken.members.front()->pod, {kFit}, {}});
        queue_.reject_group(taken, std::move(refusals), now_);
        for (const std::string& each : placed) {
          const std::string uid = "uid-" + each;
          const PodRef known_as = queue_.find(uid);
          if (some(3) == 0) {
            queue_.reject(uid, {kFit}, {}, now_);
          } else {
            queue_.done(uid);
            if (some(2) == 0) {
              queue_.restore(known_as, {}, now_);
            } else {
              queue_.forget(uid);
              waiting.erase(each);
            }
          }
        }
    }
    const SchedulingQueue::Sizes now = queue_.sizes();
    ASSERT_EQ(now.active + now.backoff + now.unschedulable + now.gated, waiting.size()) << i;
    size_t seen = 0;
    queue_.for_each([&](const QueuedPod& each) {
      ++seen;
      if (each.group == nullptr) {
        ASSERT_TRUE(each.gated_by) << "whoever is gated waits beside its group";
        return;
      }
      ASSERT_EQ(each.place, QueuePlace::kInGroup);
      ASSERT_EQ(each.group->members.at(each.heap_index), &each);
      ASSERT_TRUE(each.group->priorities.contains(each.pod->priority));
      ASSERT_LE(each.group->priorities.size(), each.group->members.size());
    });
    ASSERT_EQ(seen, waiting.size()) << i;
  }
  for (const auto& [name, there] : std::exchange(waiting, {})) queue_.remove("uid-" + name);
  EXPECT_EQ(queue_.group(named("g0")), nullptr) << "nothing is left of a group without pods";
  EXPECT_EQ(queue_.group(by_label("g0")), nullptr);
  EXPECT_EQ(sizes(), (Counts{0, 0, 0, 0}));
}

}  // namespace
}  // namespace plimsoll
