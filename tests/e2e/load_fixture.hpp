#pragma once
// The base of the suites that put a large load on a cluster and look at the outcome: an independent
// recount, and the audit log.

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/e2e/e2e_test.hpp"
#include "tests/e2e/kubelets.hpp"
#include "tests/e2e/load.hpp"
#include "tests/e2e/recount.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::test {

class LoadTest : public E2eTest {
 protected:
  void SetUp() override {
    E2eTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    seed_ = test_seed();
    LoadShape shaped = shape();
    shaped.scheduler = kScheduler;
    shaped.ns = ns();
    load_ = make_load(seed_, shaped);
    before_ = audit().bindings();
    const auto created = create_all(cluster().admin(), load_.nodes);
    ASSERT_TRUE(created) << created.error().message;
  }

  void TearDown() override {
    if (HasFailure() && !load_.nodes.empty()) {
      std::map<std::string, std::string> texts = logs();
      texts["faults.txt"] = lines(result_.faults, result_.faults.size());
      texts["scheduler.log"] = all_logs();
      keep_evidence(texts);
    }
    E2eTest::TearDown();
  }
  // By file name: what is kept besides, should the test fail.
  [[nodiscard]] virtual std::map<std::string, std::string> logs() const { return {}; }

  [[nodiscard]] virtual LoadShape shape() const {
    return in_full_length() ? LoadShape{} : LoadShape{.nodes = 80, .pods = 400};
  }

  void create_pods() {
    const auto created = create_all(cluster().admin(), load_.pods);
    ASSERT_TRUE(created) << created.error().message;
  }

  int bound() { return audit().bindings() - before_; }
  [[nodiscard]] int percent(int part) const {
    return static_cast<int>(load_.pods.size()) * part / 100;
  }

  void wait_until_bound(int count) {
    ASSERT_TRUE(eventually(60s, [&] { return bound() >= count; }))
        << bound() << " of " << count << " pods are bound after 60 s";
  }

  // What has to be kept alive while a test waits.
  virtual void tend() {}

  // Waits until every pod is bound or was refused, and nothing has been bound for two seconds.
  void settle() {
    const auto quiet = [&] {
      const int last = bound();
      tend();
      return !eventually(2s, [&] { return bound() != last; });
    };
    const auto decided = [&] {
      if (!quiet()) return false;
      undecided_.clear();
      read();
      for (const PodFacts& pod : result_.pods) {
        if (pod.node.empty() && pod.unschedulable_reason.empty()) undecided_.push_back(pod.name);
      }
      return undecided_.empty();
    };
    ASSERT_TRUE(eventually(90s, decided)) << undecided_.size() << " pods are neither bound nor "
                                          << "refused after 90 s:\n"
                                          << lines(undecided_);
  }

  // The kubelets say where pods are from now on, and the reports have all facts: by counts alone a
  // kubelet may refuse a pod (docs/topology.md).
  void start_kubelets() {
    kubelets_.emplace(KubeClient(cluster().admin()));
    ASSERT_NO_FATAL_FAILURE(admit());
    ASSERT_NO_FATAL_FAILURE(report());
  }

  void admit() {
    auto admitted = kubelets_->admit();
    ASSERT_TRUE(admitted) << admitted.error().message;
    admissions_ = std::move(*admitted);
  }
  void report() {
    const auto reported = kubelets_->report();
    ASSERT_TRUE(reported) << reported.error().message;
  }

  // In which order a node's pods were bound before a restart nobody knows, and so not for sure
  // which zones they have. Such a node takes only some pods until it reports.
  void settle_with_reports() {
    ASSERT_NO_FATAL_FAILURE(settle());
    for (int round = 0; round < 3 && (round == 0 || !held_back(result_, kScheduler).empty());
         ++round) {
      ASSERT_NO_FATAL_FAILURE(expect_admitted());
      ASSERT_NO_FATAL_FAILURE(report());
      ASSERT_NO_FATAL_FAILURE(settle());
    }
    ASSERT_NO_FATAL_FAILURE(expect_admitted());
    read();
  }

  // The kubelets take every pod that was bound since they were last asked.
  void expect_admitted() {
    ASSERT_NO_FATAL_FAILURE(admit());
    EXPECT_EQ(admissions_.refused.size(), 0U) << describe(admissions_.refused);
  }

  static std::string describe(const std::vector<Refusal>& refused) {
    std::vector<std::string> texts;
    for (const Refusal& one : refused) {
      texts.push_back(one.pod + " on " + one.node + ": " + one.reason);
    }
    return lines(texts);
  }

  // Pods are where the kubelets say, if there are any. The annotation of a pod may name a zone that
  // it does not have: the scheduler that wrote it was killed before it could bind another pod to
  // the zone before.
  void read() {
    auto objects = read_cluster(client());
    ASSERT_TRUE(objects) << objects.error().message;
    if (kubelets_) kubelets_->correct(*objects);
    result_ = recount(*objects);
  }

  void check_recount() {
    EXPECT_EQ(result_.pods.size(), load_.pods.size());
    EXPECT_EQ(result_.faults.size(), 0U) << lines(result_.faults);
    const std::vector<std::string> waiting = held_back(result_, kScheduler);
    EXPECT_EQ(waiting.size(), 0U) << lines(waiting);
    std::vector<std::string> wrong;
    for (const PodFacts& pod : result_.pods) {
      if (pod.unschedulable_reason == (pod.node.empty() ? "Unschedulable" : "")) continue;
      wrong.push_back(pod.name + (pod.node.empty() ? " is pending" : " is bound") +
                      ", its condition PodScheduled is False for \"" + pod.unschedulable_reason +
                      "\"");
    }
    EXPECT_EQ(wrong.size(), 0U) << lines(wrong);
    // A load that fits as a whole, or hardly at all, would show little.
    EXPECT_GE(result_.bound(), load_.pods.size() * 80 / 100);
    EXPECT_GE(result_.pending(), load_.pods.size() * 3 / 100);
    std::cout << result_.bound() << " pods bound, " << result_.pending() << " do not fit\n";
  }

  // Each bound pod was bound once, and nothing else was written to a pod by mistake.
  // `unrecorded`: of so many bindings an API server that crashed may have taken the record with it:
  // it writes one when it has answered.
  void check_writes(bool undisturbed, std::size_t unrecorded = 0) {
    std::map<std::string, PodWrites> writes = audit().pod_writes(kSchedulerUser);
    std::vector<std::string> wrong;
    for (const PodFacts& pod : result_.pods) {
      const PodWrites& of = writes[pod.name];
      // Where several bindings of a node are under way at once, their order is not known for a
      // moment: a pod may be refused for that, and is bound when it is.
      const bool at_once =
          undisturbed &&
          lines_with(log(), {"pod not scheduled", pod.name + " ", "for sure"}).empty();
      if (of.others == 0 && (at_once ? right_at_once(pod, of) : right_at_last(pod, of))) continue;
      const bool no_record = of.bound + of.lost_binds == 0 && of.others == 0;
      if (no_record && !pod.node.empty() && unrecorded > 0) {
        --unrecorded;
        continue;
      }
      wrong.push_back(pod.name + (pod.node.empty() ? " (pending): " : " (bound): ") +
                      std::to_string(of.bound) + " bindings, " + std::to_string(of.lost_binds) +
                      " lost ones, " + std::to_string(of.refused_binds) + " refused ones, " +
                      std::to_string(of.status_patches) + " conditions, " +
                      std::to_string(of.others) + " others");
    }
    EXPECT_EQ(wrong.size(), 0U) << lines(wrong);
  }

  // Nothing makes room in this cluster, so a pod that could be bound was never refused: the binding
  // is the only write.
  static bool right_at_once(const PodFacts& pod, const PodWrites& of) {
    if (of.lost_binds != 0 || of.refused_binds != 0) return false;
    return pod.node.empty() ? of.bound == 0 && of.status_patches > 0
                            : of.bound == 1 && of.status_patches == 0;
  }
  // A write that somebody died over may have been made, and is tried again: never with success
  // twice.
  static bool right_at_last(const PodFacts& pod, const PodWrites& of) {
    return pod.node.empty() ? of.bound == 0 : of.bound <= 1 && of.bound + of.lost_binds >= 1;
  }

  std::uint64_t seed_ = 0;
  Load load_;
  int before_ = 0;
  Recount result_;
  std::vector<std::string> undecided_;
  std::optional<Kubelets> kubelets_;
  Admissions admissions_;  // the last ones
};

}  // namespace plimsoll::test
