#pragma once
// The base of the suites in which two schedulers of different names, both at work, place pods on
// the same nodes. The simulator's kubelets say who was in the way of whom.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/kubelets.hpp"
#include "tests/e2e/load_fixture.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {

inline constexpr const char* kOther = "other-topo-aware-scheduler";
// A scheduler that is part of the test: it says nothing about zones.
inline constexpr const char* kSilent = "silent-scheduler";
// `plimsoll run` under one of the names.
class Peer {
 public:
  Peer(std::string name, RunSpec spec) : name_(std::move(name)), spec_(std::move(spec)) {}

  // Returns when it has read the cluster.
  void start() {
    Result<ChildProcess> started = start_scheduler(spec_);
    ASSERT_TRUE(started) << started.error().message;
    process_.emplace(std::move(*started));
    ASSERT_TRUE(process_->wait_for_output("the first lists are complete", 30s))
        << process_->output();
  }
  // kill -9.
  void kill() { process_->kill(); }
  void stop() {
    const ExitStatus status = process_->stop(20s);
    EXPECT_EQ(status, ExitStatus::exited(0)) << name_ << ": " << to_string(status);
  }
  void pause() { process_->signal(SIGSTOP); }
  void go_on() { process_->signal(SIGCONT); }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string end_of_log() const {
    return process_ ? tail(process_->output(), 40) : "";
  }

 private:
  std::string name_;
  RunSpec spec_;
  std::optional<ChildProcess> process_;
};

// Half of a load's pods are for each of two schedulers.
class TwoSchedulersTest : public LoadTest {
 protected:
  [[nodiscard]] LoadShape shape() const override { return {.nodes = 70, .pods = 400}; }

  void SetUp() override {
    LoadTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const auto shipped = read_file("examples/profiles/topology.yaml");
    ASSERT_TRUE(shipped) << shipped.error().message;
    const std::string theirs = std::string("- schedulerName: ") + kScheduler;
    const std::size_t at = shipped->find(theirs);
    ASSERT_NE(at, std::string::npos);
    std::string profile = *shipped;
    profile.replace(at, theirs.size(), std::string("- schedulerName: ") + kOther);
    ASSERT_TRUE(write_file(folder_ / "other.yaml", profile));
    const RunSpec spec{.kubeconfig = cluster().kubeconfig_token()};
    RunSpec other = spec;
    other.config = folder_ / "other.yaml";
    peers_.emplace_back(kScheduler, spec);
    peers_.emplace_back(kOther, other);
    for (std::size_t i = 0; i < load_.pods.size(); ++i) {
      nlohmann::json pod = nlohmann::json::parse(load_.pods[i].body);
      pod["spec"]["schedulerName"] = peers_[i % 2].name();
      load_.pods[i].body = pod.dump();
    }
    ASSERT_NO_FATAL_FAILURE(start_kubelets());
  }

  void TearDown() override {
    if (HasFailure()) {
      for (const Peer& peer : peers_) {
        std::fprintf(stderr, "--- the end of the log of %s:\n%s", peer.name().c_str(),
                     peer.end_of_log().c_str());
      }
    }
    peers_.clear();
    LoadTest::TearDown();
  }

  void start_both() {
    for (Peer& peer : peers_) ASSERT_NO_FATAL_FAILURE(peer.start());
  }

  void create_pods_of(const Peer& peer, std::size_t from, std::size_t to) {
    std::vector<KubeObject> chosen;
    for (std::size_t i = from; i < std::min(to, load_.pods.size()); ++i) {
      const nlohmann::json pod = nlohmann::json::parse(load_.pods[i].body);
      if (pod["spec"]["schedulerName"] == peer.name()) chosen.push_back(load_.pods[i]);
    }
    const auto created = create_all(cluster().admin(), chosen);
    ASSERT_TRUE(created) << created.error().message;
  }

  std::vector<std::string> waiting_for_nothing() {
    std::vector<std::string> waiting;
    for (const Peer& peer : peers_) {
      for (std::string& pod : held_back(result_, peer.name())) waiting.push_back(std::move(pod));
    }
    return waiting;
  }

  // The nodes of a scheduler's pods, by pod.
  std::map<std::string, std::string> places_of(const Peer& peer) {
    read();
    std::map<std::string, std::string> places;
    for (const PodFacts& pod : result_.pods) {
      if (pod.scheduler == peer.name() && !pod.node.empty()) places[pod.name] = pod.node;
    }
    return places;
  }

  // Kills a scheduler that has bound pods since `before`. Of two pods that it had decided to put on
  // a node, the later one may be bound and the earlier one not: then the later one's annotation
  // names a zone beside a pod that never comes, and its kubelet has better ones. Nobody can know
  // that before the kubelet reports.
  void kill_in_the_middle(Peer& peer, const std::map<std::string, std::string>& before) {
    peer.kill();
    for (const auto& [pod, node] : places_of(peer)) {
      if (!before.contains(pod)) half_bound_.insert(node);
    }
  }

  // As expect_admitted, and where it was promised.
  void expect_admitted_as_promised() {
    ASSERT_NO_FATAL_FAILURE(expect_admitted());
    std::map<std::string, std::string> nodes;
    read();
    for (const PodFacts& pod : result_.pods) nodes[pod.name] = pod.node;
    std::vector<std::string> wrong = admissions_.elsewhere;
    std::erase_if(wrong, [&](const std::string& pod) { return half_bound_.contains(nodes[pod]); });
    if (wrong.size() < admissions_.elsewhere.size()) {
      std::cout << admissions_.elsewhere.size() - wrong.size()
                << " pods are in other zones than promised on nodes of a killed scheduler\n";
    }
    EXPECT_EQ(wrong.size(), 0U) << lines(wrong);
  }

  // What the kubelets have reported makes both certain of every node. One after the other acts on
  // it, so that each sees what the other does. `conflicts`: before, both may have acted at the same
  // moment, and kubelets may refuse what they did.
  void settle_one_by_one(bool conflicts = false) {
    ASSERT_NO_FATAL_FAILURE(settle());
    peers_[1].stop();
    ASSERT_NO_FATAL_FAILURE(conflicts ? admit() : expect_admitted_as_promised());
    ASSERT_NO_FATAL_FAILURE(report());
    ASSERT_NO_FATAL_FAILURE(settle());
    ASSERT_NO_FATAL_FAILURE(peers_[1].start());
    ASSERT_NO_FATAL_FAILURE(settle());
  }

  // Nothing is given twice by the API objects, no kubelet has anything against it, and no pod
  // waits that fits.
  void check_promises() {
    ASSERT_NO_FATAL_FAILURE(expect_admitted_as_promised());
    // A pod may have to wait for the report that covers what the other scheduler bound last.
    read();
    for (int round = 0; round < 3 && !waiting_for_nothing().empty(); ++round) {
      ASSERT_NO_FATAL_FAILURE(settle_one_by_one());
      read();
    }
    // Those that were refused before try again after a backoff.
    (void)eventually(20s, [&] {
      read();
      return waiting_for_nothing().empty();
    });
    ASSERT_NO_FATAL_FAILURE(expect_admitted_as_promised());
    EXPECT_EQ(result_.faults.size(), 0U) << lines(result_.faults);
    const std::vector<std::string> waiting = waiting_for_nothing();
    EXPECT_EQ(waiting.size(), 0U) << lines(waiting);
  }

  // Nodes on which both have pods.
  std::size_t shared_nodes() const {
    std::map<std::string, std::set<std::string>> who;
    for (const PodFacts& pod : result_.pods) {
      if (!pod.node.empty()) who[pod.node].insert(pod.scheduler);
    }
    return static_cast<std::size_t>(std::ranges::count_if(who, [](const auto& node) {
      return node.second.contains(kScheduler) && node.second.contains(kOther);
    }));
  }

  TempDir folder_{"plimsoll-two"};
  std::set<std::string> half_bound_;  // nodes: see kill_in_the_middle
  std::vector<Peer> peers_;
};

}  // namespace plimsoll::test
