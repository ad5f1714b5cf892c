// Spreading, neighbours, volumes and plain pods at once against a real API server: 2,000 pods on
// 150 nodes in three zones, by kube-scheduler's default profile, and a scheduler that dies again
// and again. An independent recount finds every rule held, and nobody waiting who has a place. In
// the end pods of higher priority want claims that only one pod may use, and get them.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <thread>

#include "tests/e2e/e2e_test.hpp"
#include "tests/e2e/mixed_load.hpp"
#include "tests/e2e/recount.hpp"
#include "tests/e2e/recount_placement.hpp"
#include "tests/e2e/recount_replay.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

constexpr std::size_t kWaves = 6;
constexpr std::size_t kBindsInFlight = 64;  // of a scheduler, at most

// Claims, volumes and CSINodes stay behind: this suite has one test.
class MixedTest : public E2eTest {
 protected:
  void SetUp() override {
    E2eTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const std::uint64_t seed = test_seed();
    random_.seed(seed);
    load_ = make_mixed_load(seed, kWaves, kScheduler, ns());
    for (const auto& objects : {load_.cluster, load_.volumes}) {
      const auto created = create_all(cluster().admin(), objects);
      ASSERT_TRUE(created) << created.error().message;
    }
    // A pod that was refused is not to wait ten seconds after what it waited for.
    ASSERT_TRUE(write_file(folder_ / "config.yaml",
                           "apiVersion: kubescheduler.config.k8s.io/v1\n"
                           "kind: KubeSchedulerConfiguration\n"
                           "leaderElection: {leaderElect: false}\n"
                           "podMaxBackoffSeconds: 2\n"
                           "profiles:\n"
                           "- schedulerName: " +
                               std::string(kScheduler) + "\n"));
  }

  void TearDown() override {
    if (HasFailure() && load_.pods > 0) {
      std::map<std::string, std::string> texts{{"scheduler.log", all_logs()}};
      for (const auto& [name, path] : {std::pair("claims.json", claims_path_of(ns())),
                                       std::pair("volumes.json", std::string(kVolumesPath))}) {
        const auto listed = client().list(path);
        if (listed) texts[name] = json(*listed).dump(1);
      }
      keep_evidence(texts);
    }
    E2eTest::TearDown();
  }

  void start_again() {
    if (!lives_.empty()) scheduler().kill();
    ASSERT_NO_FATAL_FAILURE(
        start({.kubeconfig = cluster().kubeconfig_token(), .config = folder_ / "config.yaml"}));
    const auto begun = lines_with(log(), {"the first lists are complete"});
    ASSERT_EQ(begun.size(), 1U);
    lives_.push_back(utc_time(begun.front()));
  }

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  // Creates the pods of one wave, and kills the scheduler when some of them are bound.
  void play(const MixedLoad::Wave& wave) {
    const int before = audit().bindings();
    const int size = static_cast<int>(wave.pods.size());
    // Up to two deaths, before most of the wave is bound: some may wait for the next wave.
    std::vector<int> deaths{before + pick(1, size * 3 / 4)};
    if (pick(0, 1) == 1) deaths.push_back(before + pick(1, size * 3 / 4));
    std::ranges::sort(deaths);
    std::optional<Error> problem;
    std::thread creator([&] {
      for (const auto& objects : {wave.claims, wave.pods}) {
        const auto created = create_all(cluster().admin(), objects, 4);
        if (!created) problem = created.error();
      }
    });
    for (const int count : deaths) {
      EXPECT_TRUE(eventually(60s, [&] { return audit().bindings() >= count; }))
          << audit().bindings() << " of " << count << " pods are bound after 60 s";
      start_again();
      if (HasFatalFailure()) break;
    }
    creator.join();
    ASSERT_FALSE(problem) << problem->message;
  }

  void read() {
    auto objects = read_cluster(client());
    ASSERT_TRUE(objects) << objects.error().message;
    // A deletion that was cut off, because its sender died, is carried out by the pod's kubelet.
    for (const json& pod : objects->pods) {
      if (text_at(pod, "/metadata/deletionTimestamp").empty()) continue;
      (void)client().del(pods_path(text_at(pod, "/metadata/name")), {{"gracePeriodSeconds", 0}});
    }
    auto storage = read_storage(client());
    ASSERT_TRUE(storage) << storage.error().message;
    placement_ = placement_of(std::move(*objects), *storage);
  }

  // Waits until no pod waits that has a place, and none is unheard.
  void settle() {
    std::vector<std::string> waiting;
    const auto settled = [&] {
      const int last = audit().bindings();
      if (eventually(1s, [&] { return audit().bindings() != last; })) return false;
      read();
      if (HasFatalFailure()) return true;
      waiting.clear();
      for (const PlacedPod& pod : placement_.pods) {
        if (!pod.facts.node.empty() || !pod.facts.unschedulable_reason.empty()) continue;
        waiting.push_back(pod.facts.name + " is neither bound nor refused");
      }
      if (waiting.empty()) waiting = kept_waiting(placement_, kScheduler);
      return waiting.empty();
    };
    EXPECT_TRUE(eventually(180s, settled)) << lines(waiting);
  }

  void check_numbers() {
    std::map<std::string, std::size_t> bound;
    for (const PlacedPod& pod : placement_.pods) {
      if (!pod.facts.node.empty()) ++bound[pod.labels.at("app")];
    }
    std::size_t sum = 0;
    for (const auto& [app, expected] : load_.apps) {
      sum += bound[app];
      EXPECT_GE(bound[app], expected.least) << app << " has " << expected.pods << " pods";
      EXPECT_LE(bound[app], expected.most) << app << " has " << expected.pods << " pods";
      if (bound[app] != expected.most) {
        std::cout << app << ": " << bound[app] << " of " << expected.most << " are bound\n";
      }
    }
    std::cout << sum << " of " << placement_.pods.size() << " pods are bound\n";
  }

  // Some nodes attach no volume more: the limits were in somebody's way.
  void check_limits_bite() {
    std::map<std::string, std::int64_t> volumes;
    for (const PlacedPod& pod : placement_.pods) {
      for (const std::string& claim : pod.claims) {
        const auto volume = placement_.volumes.find(placement_.claims.at(claim).volume);
        if (volume != placement_.volumes.end() && volume->second.driver == kDriver) {
          ++volumes[pod.facts.node];
        }
      }
    }
    const auto full = std::ranges::count_if(placement_.nodes, [&](const auto& node) {
      return node.second.limits.at(kDriver) == volumes[node.first];
    });
    std::cout << full << " nodes attach no volume more\n";
    EXPECT_GE(full, 20);
  }

  void check_writes() {
    auto writes = audit().pod_writes(kSchedulerUser);
    std::vector<std::string> wrong;
    for (const PlacedPod& pod : placement_.pods) {
      const PodWrites& of = writes[pod.facts.name];
      const bool once =
          pod.facts.node.empty() ? of.bound == 0 : of.bound <= 1 && of.bound + of.lost_binds >= 1;
      if (once && of.others == 0) continue;
      wrong.push_back(pod.facts.name + ": " + std::to_string(of.bound) + " bindings, " +
                      std::to_string(of.lost_binds) + " lost, " + std::to_string(of.others) +
                      " others");
    }
    EXPECT_EQ(wrong.size(), 0U) << lines(wrong);
  }

  void check_replay() {
    const std::vector<Step> steps =
        steps_of(audit().pod_times(), audit().binding_records(), lives_);
    const Replayed replayed = replay(placement_, steps, kBindsInFlight);
    EXPECT_EQ(replayed.faults.size(), 0U) << lines(replayed.faults);
    std::cout << replayed.judged << " bindings judged, " << replayed.unsettled
              << " came before a death\n";
    EXPECT_GE(replayed.judged, 300U);
  }

  void check_rules() {
    const std::vector<std::string> promised = recount(placement_.objects).faults;
    EXPECT_EQ(promised.size(), 0U) << lines(promised);
    const std::vector<std::string> faults = placement_faults(placement_);
    EXPECT_EQ(faults.size(), 0U) << lines(faults);
  }

  // Each taker has a node, the holders alone are gone, and nobody else has moved.
  void check_taken(const Placement& before) {
    std::map<std::string, std::string> node_of;
    for (const PlacedPod& pod : placement_.pods) node_of[pod.facts.uid] = pod.facts.node;
    std::vector<std::string> wrong;
    for (const PlacedPod& pod : before.pods) {
      const auto now = node_of.find(pod.facts.uid);
      const bool holds = pod.labels.at("app") == kHolders;
      const bool moved =
          now != node_of.end() && !pod.facts.node.empty() && now->second != pod.facts.node;
      if (holds != (now == node_of.end()) || moved) wrong.push_back(pod.facts.name);
    }
    std::size_t takers = 0;
    for (const PlacedPod& pod : placement_.pods) {
      if (pod.labels.at("app") != kTakers) continue;
      ++takers;
      if (pod.facts.node.empty()) wrong.push_back(pod.facts.name);
    }
    EXPECT_EQ(wrong.size(), 0U) << lines(wrong);
    EXPECT_EQ(takers, load_.takers.pods.size());
    std::cout << takers << " pods took a claim from another\n";
  }

  std::mt19937_64 random_;
  MixedLoad load_;
  TempDir folder_;
  std::vector<PodTimes::Time> lives_;  // when each began
  Placement placement_;
};

TEST_F(MixedTest, EveryRuleHoldsWheneverTheSchedulerDies) {
  const Provisioner provisioner(cluster().admin(), ns(), mixed_classes());
  ASSERT_NO_FATAL_FAILURE(start_again());
  for (const MixedLoad::Wave& wave : load_.waves) ASSERT_NO_FATAL_FAILURE(play(wave));
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_EQ(placement_.pods.size(), load_.pods);
  check_rules();
  check_numbers();
  check_limits_bite();
  check_replay();

  const Placement before = std::move(placement_);
  ASSERT_NO_FATAL_FAILURE(play(load_.takers));
  ASSERT_NO_FATAL_FAILURE(settle());
  check_rules();
  check_taken(before);
  check_writes();
  std::cout << "the scheduler was killed " << lives_.size() - 1 << " times\n";
}

}  // namespace
}  // namespace plimsoll::test
