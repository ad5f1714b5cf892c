// What two schedulers that share nodes have seen of one another they count, so nothing is given
// twice; what both do at the same moment no client can exclude (docs/operations.md, "Two schedulers
// on one set of nodes").

#include "tests/e2e/two_schedulers_fixture.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

// A pod is created when the other scheduler's pods are bound. Watches keep their order, so its
// scheduler has seen all of them when it sees the pod.
TEST_F(TwoSchedulersTest, WhatIsSeenIsNeverGivenAgain) {
  ASSERT_NO_FATAL_FAILURE(start_both());
  constexpr std::size_t kWaves = 4;
  const std::size_t size = load_.pods.size() / (kWaves / 2) + 1;
  for (std::size_t wave = 0; wave < kWaves; ++wave) {
    Peer& peer = peers_[wave % 2];
    const std::size_t from = wave / 2 * size;
    const int before = bound();
    const auto places = places_of(peer);
    ASSERT_NO_FATAL_FAILURE(create_pods_of(peer, from, from + size));
    if (wave == 2 || wave == 3) {
      ASSERT_TRUE(eventually(60s, [&] { return bound() >= before + 10; }));
      kill_in_the_middle(peer, places);
      ASSERT_NO_FATAL_FAILURE(peer.start());
    }
    ASSERT_NO_FATAL_FAILURE(settle());
    if (wave != 1) continue;
    // A third one, whose pods say nothing about zones.
    ASSERT_NO_FATAL_FAILURE(admit());
    EXPECT_EQ(admissions_.refused.size(), 0U) << describe(admissions_.refused);
    for (int i = 0; i < 20; ++i) {
      const json pod = create_pod({.name = "silent-" + std::to_string(i),
                                   .scheduler = kSilent,
                                   .requests = {{"cpu", "2"}, {"memory", "2Gi"}}});
      const auto placed = kubelets_->bind_somewhere(pod);
      ASSERT_TRUE(placed) << placed.error().message;
      EXPECT_TRUE(*placed) << "pod " << i;
    }
  }
  ASSERT_NO_FATAL_FAILURE(settle_one_by_one());
  ASSERT_NO_FATAL_FAILURE(check_promises());
  std::erase_if(result_.pods, [](const PodFacts& pod) { return pod.scheduler == kSilent; });
  check_writes(false);
  std::cout << result_.bound() << " pods bound, " << result_.pending() << " do not fit; "
            << shared_nodes() << " nodes have pods of both\n";
  EXPECT_GE(shared_nodes(), result_.nodes.size() / 2);
  EXPECT_GE(result_.pending(), 10U) << "no node was ever full";
}

// Who can have known what: watches keep their order, so a scheduler that has bound a pod has seen
// every binding that was done before that pod was created. A binding that is sent later may have
// been decided before; bindings are sent by several threads, and tried again.
class Knowledge {
 public:
  // So long a decision takes to the API server at most, on a busy machine.
  static constexpr auto kOnItsWay = 1s;

  Knowledge(const Recount& cluster, std::map<std::string, PodTimes> times)
      : cluster_(cluster), times_(std::move(times)) {}

  // Whether the scheduler of `pod` had certainly seen `other` bound when it chose the pod's node.
  [[nodiscard]] bool certain(const PodFacts& pod, const PodFacts& other) const {
    const PodTimes& mine = times_.at(pod.name);
    const PodTimes& theirs = times_.at(other.name);
    return std::ranges::any_of(cluster_.pods, [&](const PodFacts& witness) {
      if (witness.scheduler != pod.scheduler || witness.node.empty()) return false;
      const PodTimes& when = times_.at(witness.name);
      return *when.create > *theirs.bound && *when.bound + kOnItsWay < *mine.binding;
    });
  }

  // What happened on the node, one line for each pod in the order of the bindings; times in
  // milliseconds since the first pod was created.
  [[nodiscard]] std::string history(const std::string& node) const {
    std::vector<const PodFacts*> pods;
    for (const PodFacts& pod : cluster_.pods) {
      if (pod.node == node) pods.push_back(&pod);
    }
    std::ranges::sort(pods, {}, [&](const PodFacts* pod) { return times_.at(pod->name).bound; });
    PodTimes::Time begin = PodTimes::Time::max();
    for (const PodFacts& pod : cluster_.pods) {
      begin = std::min(begin, *times_.at(pod.name).create);
    }
    const auto since = [&](PodTimes::Time time) {
      return std::to_string(
          std::chrono::duration_cast<std::chrono::milliseconds>(time - begin).count());
    };
    const NodeFacts& facts = cluster_.nodes.at(node);
    std::string text = "  " + node + " (" + facts.policy + ", scope " + facts.scope + "):\n";
    for (const PodFacts* pod : pods) {
      const PodTimes& times = times_.at(pod->name);
      text += "    " + pod->name + " of " + pod->scheduler + " created " + since(*times.create) +
              " binding " + since(*times.binding) + " to " + since(*times.bound) + " " +
              pod->zones.dump();
      for (const ContainerFacts& container : pod->containers) {
        text += " " + container.name + "(" + to_string(container.requests) + ")";
      }
      text += "\n";
    }
    return text;
  }

  // The pods that the other scheduler bound to the same node, and not long after.
  [[nodiscard]] std::vector<const PodFacts*> rivals(const PodFacts& pod) const {
    std::vector<const PodFacts*> found;
    for (const PodFacts& other : cluster_.pods) {
      if (other.node != pod.node || other.scheduler == pod.scheduler) continue;
      if (*times_.at(other.name).binding < *times_.at(pod.name).bound) found.push_back(&other);
    }
    return found;
  }

 private:
  const Recount& cluster_;
  std::map<std::string, PodTimes> times_;
};

// Both at full speed. What they do at the same moment may conflict: the kubelets refuse a pod, or
// put it elsewhere. But never because of what a scheduler had seen; and then it goes on.
TEST_F(TwoSchedulersTest, OnlyWhatHappensAtTheSameMomentConflicts) {
  ASSERT_NO_FATAL_FAILURE(start_both());
  // Devices that a scheduler gives out by minor are nothing that a kubelet could put right.
  std::erase_if(load_.pods, [](const KubeObject& pod) {
    return json::parse(pod.body)["metadata"]["name"].get<std::string>().starts_with("gpu-");
  });
  constexpr std::size_t kStep = 10;
  for (std::size_t from = 0; from < load_.pods.size(); from += kStep) {
    for (const Peer& peer : peers_) {
      ASSERT_NO_FATAL_FAILURE(create_pods_of(peer, from, from + kStep));
    }
    // No faster than they are bound, so that who is created when says something.
    (void)eventually(300ms, [&] { return bound() >= static_cast<int>(from); });
  }
  ASSERT_NO_FATAL_FAILURE(settle());
  const Recount by_annotations = result_;
  ASSERT_NO_FATAL_FAILURE(admit());

  const Knowledge knowledge(by_annotations, audit().pod_times());
  std::set<std::string> in_conflict(admissions_.elsewhere.begin(), admissions_.elsewhere.end());
  for (const Refusal& one : admissions_.refused) in_conflict.insert(one.pod);
  std::set<std::string> nodes_in_conflict;
  std::vector<std::string> wrong;
  std::size_t known = 0;
  for (const PodFacts& pod : by_annotations.pods) {
    if (pod.node.empty()) continue;
    const std::vector<const PodFacts*> rivals = knowledge.rivals(pod);
    const auto seen = static_cast<std::size_t>(std::ranges::count_if(
        rivals, [&](const PodFacts* other) { return knowledge.certain(pod, *other); }));
    known += seen;
    if (!in_conflict.contains(pod.name)) continue;
    nodes_in_conflict.insert(pod.node);
    if (seen == rivals.size()) {
      wrong.push_back(pod.name + ", after:\n" + knowledge.history(pod.node));
    }
  }
  EXPECT_EQ(wrong.size(), 0U) << "in conflict with what their scheduler had seen:\n"
                              << lines(wrong);
  EXPECT_GT(known, 0U) << "nobody ever knew of a pod of the other";
  for (const std::string& fault : by_annotations.faults) {
    EXPECT_TRUE(std::ranges::any_of(nodes_in_conflict, [&](const std::string& node) {
      return fault.starts_with(node + " ");
    })) << fault;
  }
  if (!wrong.empty()) {
    std::cout << describe(admissions_.refused) << "in other zones:\n"
              << lines(admissions_.elsewhere);
  }
  std::cout << by_annotations.bound() << " pods bound; " << admissions_.refused.size()
            << " refused by their kubelets, " << admissions_.elsewhere.size()
            << " in other zones than promised; " << known
            << " times a pod was put beside one of the other's that was known\n";

  // What controllers do: new pods for those that failed.
  std::map<std::string, std::vector<json>> again;
  for (const Refusal& one : admissions_.refused) {
    for (const KubeObject& object : load_.pods) {
      json pod = json::parse(object.body);
      const std::string name = pod["metadata"]["name"];
      if (ns() + "/" + name != one.pod) continue;
      pod["metadata"]["name"] = name + "-again";
      again[pod["spec"]["schedulerName"]].push_back(std::move(pod));
    }
  }
  for (const json& pod : again[kScheduler]) create(pods_path(), pod);
  ASSERT_NO_FATAL_FAILURE(settle_one_by_one(true));
  for (const json& pod : again[kOther]) create(pods_path(), pod);
  ASSERT_NO_FATAL_FAILURE(settle());
  ASSERT_NO_FATAL_FAILURE(check_promises());
}

}  // namespace
}  // namespace plimsoll::test
