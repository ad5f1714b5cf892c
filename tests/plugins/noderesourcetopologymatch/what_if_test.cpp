// AddPod and RemovePod of NodeResourceTopologyMatch: what they make of Filter, and that they leave
// no trace.

#include <gtest/gtest.h>

#include <algorithm>
#include <plimsoll/fake_host.hpp>
#include <random>

#include "plugins/noderesourcetopologymatch/noderesourcetopologymatch.hpp"
#include "plugins/topology/record/zones_annotation.hpp"
#include "tests/plugins/topology/topology_scene.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology {
namespace {

using sdk::FakeCycle;
using sdk::FakeHost;
using sdk::FakeNode;
using sdk::FakePlugin;
using sdk::Pod;

constexpr int kCpus = 16;

class MatchWhatIf : public ::testing::Test {
 protected:
  explicit MatchWhatIf(size_t nodes = 2) {
    host_.now = kYear2026Ms;
    for (size_t i = 0; i < nodes; ++i) {
      auto node = std::make_unique<FakeNode>("n" + std::to_string(i), static_cast<uint32_t>(i));
      node->allocatable("cpu", 64'000).allocatable("memory", int64_t{256} << 30);
      host_.add(*node);
      plugin_.plugin().node_event(sdk::NodeEvent::kAdded, sdk::Node(&node->get()), 0);
      nodes_.push_back(std::move(node));
    }
  }

  void report(size_t node, const std::vector<int>& cpus_free,
              const std::vector<std::string>& names) {
    ReportSpec spec;
    spec.node = "n" + std::to_string(node);
    spec.version = std::to_string(++versions_);
    spec.fingerprint = fingerprint_of(names);
    spec.allocatable = std::to_string(kCpus);
    for (size_t i = 0; i < cpus_free.size(); ++i) {
      spec.zones.push_back(
          {static_cast<int>(i), {{"cpu", std::to_string(cpus_free[i])}, {"memory", "16"}}});
    }
    plugin_.plugin().object_event(
        sdk::ObjectEvent{sdk::ObjectEvent::kUpsert, kNrtResource, spec.node, "", nrt_json(spec)});
  }
  PodRef pod(const std::string& name, int cpus, int priority = 0) {
    PodSpec spec = guaranteed(name, cpus, "1");
    spec.priority = priority;
    return scene_.pod(spec);
  }
  PodRef bound(size_t node, const std::string& name, int cpus) {
    PodSpec spec = guaranteed(name, cpus, "1");
    spec.node = "n" + std::to_string(node);
    const PodRef made = scene_.pod(spec);
    plugin_.plugin().pod_event(sdk::PodEvent::kAssigned, Pod(made.get()), spec.node);
    return made;
  }
  sdk::Node node(size_t index) { return sdk::Node(&nodes_[index]->get()); }

  void remove(FakeCycle& cycle, const PodRef& pod, const PodRef& victim, size_t on) {
    const auto& slots = plugin_.slots();
    ASSERT_EQ(slots.remove_pod(slots.self, cycle.get(), pod.get(), victim.get(), &*node(on)),
              PLIMSOLL_SUCCESS);
  }
  void add(FakeCycle& cycle, const PodRef& pod, const PodRef& other, size_t on) {
    const auto& slots = plugin_.slots();
    ASSERT_EQ(slots.add_pod(slots.self, cycle.get(), pod.get(), other.get(), &*node(on)),
              PLIMSOLL_SUCCESS);
  }
  std::string filter(FakeCycle& cycle, const PodRef& pod, size_t on) {
    const auto verdict = plugin_.filter(cycle, Pod(pod.get()), node(on));
    return verdict.code == PLIMSOLL_SUCCESS ? "ok" : verdict.reasons;
  }

  TopologyScene scene_;
  FakeHost host_;
  std::vector<std::unique_ptr<FakeNode>> nodes_;
  FakePlugin<NodeResourceTopologyMatch> plugin_{host_};
  int versions_ = 0;
};

constexpr const char* kRefused = "cannot align container (cpu)";

// a, b, c and the pod fit in this order; were the kubelet to see the pod and c first, b would not.
TEST_F(MatchWhatIf, MembersOfItsGroupAreBoundTogetherWithThePod) {
  static uint64_t decision = 0;
  plimsoll_pod_groups groups{};
  groups.size = sizeof groups;
  groups.decision = [](void*, const plimsoll_pod*, void*, auto) { return decision; };
  ASSERT_TRUE(
      host_.handle().publish(PLIMSOLL_POD_GROUPS_SERVICE, PLIMSOLL_POD_GROUPS_VERSION, &groups));
  plugin_.plugin().start();
  report(0, {16, 16}, {});
  const PodRef pod = this->pod("p", 6);
  const std::vector<PodRef> others{this->pod("a", 12), this->pod("b", 10), this->pod("c", 4)};
  for (const uint64_t number : {0, 1}) {
    decision = number;
    FakeCycle cycle;
    ASSERT_EQ(plugin_.pre_filter(cycle, Pod(pod.get())).code, PLIMSOLL_SUCCESS);
    for (const PodRef& other : others) add(cycle, pod, other, 0);
    EXPECT_EQ(filter(cycle, pod, 0),
              decision == 0 ? "ok" : "cannot align pod for sure before the node's next report");
    for (const PodRef& other : others) remove(cycle, pod, other, 0);
    EXPECT_EQ(filter(cycle, pod, 0), "ok");
  }
}

TEST_F(MatchWhatIf, AVictimsZoneIsFreeInTheCopyOnly) {
  report(0, {16, 16}, {});
  const PodRef victim = bound(0, "victim", 12);
  report(0, {4, 16}, {"victim"});
  const PodRef other = bound(0, "other", 16);
  const PodRef pod = this->pod("p", 14, 100);
  FakeCycle cycle;
  ASSERT_EQ(plugin_.pre_filter(cycle, Pod(pod.get())).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(filter(cycle, pod, 0), kRefused);
  const auto copy = cycle.clone();
  remove(*copy, pod, victim, 0);
  EXPECT_EQ(filter(*copy, pod, 0), "ok");
  EXPECT_EQ(filter(cycle, pod, 0), kRefused);
  const auto second = copy->clone();
  add(*second, pod, victim, 0);  // reprieved
  EXPECT_EQ(filter(*second, pod, 0), kRefused);
  EXPECT_EQ(filter(*copy, pod, 0), "ok") << "copies of a copy have changes of their own";
  // Reserve looks at what is there.
  EXPECT_EQ(plugin_.reserve(*copy, Pod(pod.get()), node(0)).code, PLIMSOLL_UNSCHEDULABLE);
}

TEST_F(MatchWhatIf, ANominatedPodTakesTheZoneThatItWillGet) {
  report(0, {8, 12}, {});
  const PodRef nominated = pod("nominated", 10, 100);
  const PodRef small = pod("small", 8);
  const PodRef large = pod("large", 9);
  FakeCycle cycle;
  EXPECT_EQ(filter(cycle, large, 0), "ok");
  add(cycle, large, nominated, 0);
  EXPECT_EQ(filter(cycle, large, 0), kRefused) << "zone 1 is spoken for";
  EXPECT_EQ(filter(cycle, small, 0), "ok");
  EXPECT_EQ(filter(cycle, large, 1), "ok") << "another node";
  // Its victim is still there: it keeps the zone with most.
  const PodRef waiting = pod("waiting", 16, 100);
  FakeCycle next;
  add(next, small, waiting, 0);
  EXPECT_EQ(filter(next, small, 0), "ok") << "zone 0";
  EXPECT_EQ(filter(next, large, 0), kRefused);
  // One that is bound by now is counted once.
  bound(0, "nominated", 10);
  FakeCycle later;
  add(later, small, nominated, 0);
  EXPECT_EQ(filter(later, small, 0), "ok");
}

// Where a gone pod was is not known: the zones stay as they are until a report comes. Until then
// nobody else is to be evicted for it.
TEST_F(MatchWhatIf, RoomThatIsOnItsWayIsNotMadeTwice) {
  report(0, {0, 0}, {"a", "b"});
  const PodRef gone = bound(0, "a", 16);
  bound(0, "b", 16);
  const PodRef pod = this->pod("p", 16, 100);
  const auto code = [&] {
    FakeCycle cycle;
    return plugin_.filter(cycle, Pod(pod.get()), node(0)).code;
  };
  EXPECT_EQ(code(), PLIMSOLL_UNSCHEDULABLE);
  plugin_.plugin().pod_event(sdk::PodEvent::kRemoved, Pod(gone.get()), "n0");
  EXPECT_EQ(code(), PLIMSOLL_PENDING);
  plimsoll_event deleted{};
  deleted.size = sizeof deleted;
  deleted.actions = PLIMSOLL_ACTION_DELETE;
  deleted.resource = sdk::str("AssignedPod");
  deleted.old_pod = gone.get();
  EXPECT_EQ(plugin_.plugin().hint(Pod(pod.get()), deleted), sdk::Hint::kSkip);
  report(0, {0, 16}, {"b"});
  plimsoll_event reported{};
  reported.size = sizeof reported;
  reported.resource = sdk::str(kNrtResource);
  reported.name = sdk::str("n0");
  EXPECT_EQ(plugin_.plugin().hint(Pod(pod.get()), reported), sdk::Hint::kQueue);
  EXPECT_EQ(code(), PLIMSOLL_SUCCESS);
  // Another pod came in its place: now somebody has to go again.
  bound(0, "c", 16);
  EXPECT_EQ(code(), PLIMSOLL_UNSCHEDULABLE);
}

TEST_F(MatchWhatIf, ScoresAreThoseOfTheChangedNode) {
  report(0, {8, 8}, {});
  report(1, {8, 8}, {});
  const PodRef pod = this->pod("p", 4);
  FakeCycle cycle;
  const auto before = plugin_.score(cycle, Pod(pod.get()), {nodes_[0].get(), nodes_[1].get()});
  EXPECT_EQ(before[0], before[1]);
  add(cycle, pod, this->pod("nominated", 4), 0);
  const auto after = plugin_.score(cycle, Pod(pod.get()), {nodes_[0].get(), nodes_[1].get()});
  EXPECT_LT(after[0], after[1]);
}

TEST_F(MatchWhatIf, PodsThatNeedNoZoneAreSkipped) {
  PodSpec best_effort;
  best_effort.apps = {"{}"};
  const PodRef pod = scene_.pod(best_effort);
  FakeCycle cycle;
  EXPECT_EQ(plugin_.pre_filter(cycle, Pod(pod.get())).code, PLIMSOLL_SKIP);
  // And pods that pin nothing change nothing.
  add(cycle, pod, pod, 0);
  remove(cycle, pod, pod, 1);
  EXPECT_TRUE(cycle.states.empty());
}

TEST_F(MatchWhatIf, ANodeOfWhichNothingIsKnownIsJudgedAsEver) {
  const PodRef pod = this->pod("p", 10);
  const PodRef victim = bound(0, "victim", 16);
  FakeCycle cycle;
  remove(cycle, pod, victim, 0);
  EXPECT_EQ(filter(cycle, pod, 0), "ok");
  plugin_.plugin().object_event(sdk::ObjectEvent{sdk::ObjectEvent::kUpsert, kNrtResource, "n0", "",
                                                 R"({"metadata":{"name":"n0"},"zones":3})"});
  EXPECT_EQ(filter(cycle, pod, 0), "invalid node topology data");
}

// Ten nodes in every state: reported and explained, not explained, promises in flight, pods that
// went away, none of it.
class MatchWhatIfProperty : public MatchWhatIf {
 protected:
  MatchWhatIfProperty() : MatchWhatIf(10) {}

  void fill(std::mt19937& random) {
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (random() % 6 == 0) continue;
      std::vector<int> free(1 + random() % 3, kCpus);
      std::vector<std::pair<std::string, int>> there;
      for (int i = 0; i < 6; ++i) {
        const int cpus = 1 + static_cast<int>(random() % 8);
        const size_t zone = random() % free.size();
        if (free[zone] < cpus) continue;
        free[zone] -= cpus;
        there.emplace_back("p" + std::to_string(n) + "-" + std::to_string(i), cpus);
      }
      std::vector<std::string> names;
      for (const auto& [name, cpus] : there) names.push_back(name);
      if (random() % 5 == 0) names.emplace_back("stranger");
      if (random() % 3 != 0) report(n, free, names);
      for (const auto& [name, cpus] : there) pods_.emplace_back(n, bound(n, name, cpus));
      if (random() % 3 == 0) report(n, free, names);
      const PodRef promised = pod("r" + std::to_string(n), 2);
      FakeCycle cycle;
      if (random() % 2 == 0 &&
          plugin_.reserve(cycle, Pod(promised.get()), node(n)).code == PLIMSOLL_SUCCESS) {
        pods_.emplace_back(n, promised);
      }
      if (random() % 3 == 0 && !there.empty()) {
        plugin_.plugin().pod_event(sdk::PodEvent::kRemoved, Pod(pods_.back().second.get()), "");
      }
    }
    for (int i = 0; i < 20; ++i) {
      pods_.emplace_back(random() % nodes_.size(),
                         pod("new" + std::to_string(i), 1 + static_cast<int>(random() % 16),
                             static_cast<int>(random() % 3)));
    }
  }

  std::vector<std::string> verdicts(FakeCycle& cycle) {
    std::vector<std::string> all;
    for (int cpus : {1, 3, 6, 10, 16}) {
      const PodRef asking = pod("asking" + std::to_string(cpus), cpus);
      for (size_t n = 0; n < nodes_.size(); ++n) all.push_back(filter(cycle, asking, n));
      for (int64_t score : plugin_.score(cycle, Pod(asking.get()), candidates())) {
        all.push_back(std::to_string(score));
      }
    }
    return all;
  }
  std::vector<FakeNode*> candidates() {
    std::vector<FakeNode*> all;
    for (const auto& node : nodes_) all.push_back(node.get());
    return all;
  }

  // Everything the ledger says.
  std::string dump() {
    const LedgerAnswers& ledger = LedgerService::find(host_.handle())->ask();
    std::string text;
    for (const auto& node : nodes_) {
      const plimsoll_numa_node* zones = ledger.node(node->slot());
      text += std::string(node->name()) + ", change " +
              std::to_string(ledger.change_of(node->slot())) + ":";
      for (size_t i = 0; zones != nullptr && i < size_t{zones->zone_count} * zones->resource_count;
           ++i) {
        text += " " + std::to_string(zones->free[i]);
      }
      text += "\n";
    }
    for (const auto& [n, pod] : pods_) {
      text += std::string(sdk::view(pod->meta.uid));
      const std::vector<Charge>* charges = ledger.charges_of(sdk::view(pod->meta.uid));
      if (charges != nullptr) text += " known";
      for (size_t i = 0; charges != nullptr && i < charges->size(); ++i) {
        const Charge& charge = (*charges)[i];
        text += " " + std::to_string(charge.zone_id) + "/" + std::to_string(charge.resource) + "=" +
                std::to_string(charge.amount);
      }
      text += "\n";
    }
    return text;
  }

  std::vector<std::pair<size_t, PodRef>> pods_;
};

TEST_F(MatchWhatIfProperty, UndoneInAnyOrderNothingIsLeft) {
  const uint32_t first = test::test_seed();
  bool changed_anything = false;
  for (uint32_t seed = first; seed < first + 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (const auto& [n, known] : pods_) {
      plugin_.plugin().pod_event(sdk::PodEvent::kRemoved, Pod(known.get()), "");
    }
    pods_.clear();
    fill(random);
    const PodRef pod = this->pod("p", 4, 100);
    FakeCycle cycle;
    const std::vector<std::string> before = verdicts(cycle);
    const std::string ledger = dump();
    auto copy = cycle.clone();
    struct Step {
      size_t node;
      PodRef pod;
      bool added;
    };
    std::vector<Step> to_undo;
    for (int i = 0; i < 80; ++i) {
      if (random() % 8 == 0) copy = copy->clone();
      if (to_undo.empty() || random() % 3 != 0) {
        auto [on, other] = pods_[random() % pods_.size()];
        if (random() % 4 == 0) on = random() % nodes_.size();  // not where it is
        const bool added = random() % 2 == 0;
        added ? add(*copy, pod, other, on) : remove(*copy, pod, other, on);
        to_undo.push_back({on, other, added});
      } else {
        std::swap(to_undo[random() % to_undo.size()], to_undo.back());
        const Step step = to_undo.back();
        to_undo.pop_back();
        step.added ? remove(*copy, pod, step.pod, step.node) : add(*copy, pod, step.pod, step.node);
      }
      if (i % 20 == 19) changed_anything |= verdicts(*copy) != before;
    }
    EXPECT_EQ(verdicts(cycle), before) << "the copy's changes are its own";
    std::shuffle(to_undo.begin(), to_undo.end(), random);
    for (const Step& step : to_undo) {
      step.added ? remove(*copy, pod, step.pod, step.node) : add(*copy, pod, step.pod, step.node);
    }
    EXPECT_EQ(verdicts(*copy), before);
    EXPECT_EQ(dump(), ledger);
  }
  EXPECT_TRUE(changed_anything);
}

// The same changes in another order are the same what-if.
TEST_F(MatchWhatIfProperty, TheOrderDoesNotMatter) {
  std::mt19937 random(test::test_seed());
  fill(random);
  const PodRef pod = this->pod("p", 4, 100);
  std::vector<std::pair<size_t, PodRef>> changes = pods_;
  std::vector<std::string> first;
  for (int round = 0; round < 6; ++round) {
    std::shuffle(changes.begin(), changes.end(), random);
    FakeCycle cycle;
    for (const auto& [on, other] : changes) {
      const bool is_new = sdk::view(other->meta.name).starts_with("new");
      is_new ? add(cycle, pod, other, on) : remove(cycle, pod, other, on);
    }
    const std::vector<std::string> now = verdicts(cycle);
    if (round == 0) first = now;
    EXPECT_EQ(now, first);
  }
}

}  // namespace
}  // namespace plimsoll::topology
