// move_all visits only pods whose rejectors registered the event. The outcome is that of the plain
// loop over all unschedulable pods (moveAllToActiveOrBackoffQueue).

#include <gtest/gtest.h>

#include <map>
#include <random>

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

TEST_F(MoveTest, RandomEventsMoveWhatThePlainLoopMoves) {
  std::mt19937 random(test::test_seed());
  const auto some = [&](int of) { return static_cast<int>(random() % static_cast<unsigned>(of)); };
  constexpr PluginIndex kPlugins[] = {kFit, kPorts, kGates, kClosed};
  // Each event has several plugins, and each plugin several events.
  policy_.registered.push_back(
      {plugin_key(0, kPorts), {symbols_.intern(kResourceNode), PLIMSOLL_ACTION_ADD, 0}});
  policy_.registered.push_back(
      {plugin_key(0, kClosed), {symbols_.intern(kResourcePod), PLIMSOLL_ACTION_DELETE, 0}});
  const ClusterEvent events[] = {node_added(node()), node_deleted(node()),
                                 assigned_pod_deleted(pod("placed")),
                                 assigned_pod_added(pod("placed"))};
  for (int step = 0; step < 5000 && !HasFailure(); ++step) {
    now_ += some(900);
    const std::string name = "p" + std::to_string(some(30));
    switch (some(8)) {
      case 0:
      case 1:
        queue_.update(pod(name, some(3), some(4) == 0 ? kGated : ""), now_);
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
        policy_.says[kPlugins[some(4)]] = some(2) == 0 ? QueueHint::kSkip : QueueHint::kQueue;
        break;
      case 6:
        if (some(3) == 0) queue_.remove("uid-" + name);
        if (some(3) == 0) queue_.activate("uid-" + name, now_);
        if (some(5) == 0) queue_.flush(now_);
        break;
      case 7:
        check(events[some(4)]);
        break;
    }
  }
}

}  // namespace
}  // namespace plimsoll
