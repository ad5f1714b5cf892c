// 1,000 pods on 200 nodes, undisturbed and with everything around the scheduler dying: all that fit
// are bound, each by one write, and an independent recount finds nothing promised twice.

#include <gmock/gmock.h>

#include "tests/e2e/e2e_test.hpp"
#include "tests/e2e/load.hpp"
#include "tests/e2e/recount.hpp"

namespace plimsoll::test {
namespace {

using ::testing::IsEmpty;

class LoadTest : public E2eTest {
 protected:
  void SetUp() override {
    E2eTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    load_ = make_load(test_seed(), {.scheduler = kScheduler, .ns = ns()});
    before_ = audit().bindings();
    const auto created = create_all(cluster().admin(), load_.nodes);
    ASSERT_TRUE(created) << created.error().message;
  }

  void create_pods() {
    const auto created = create_all(cluster().admin(), load_.pods);
    ASSERT_TRUE(created) << created.error().message;
  }

  int bound() { return audit().bindings() - before_; }

  void wait_until_bound(int count) {
    ASSERT_TRUE(eventually(60s, [&] { return bound() >= count; }))
        << bound() << " of " << count << " pods are bound after 60 s";
  }

  // Waits until every pod is bound or was refused, and nothing has been bound for two seconds.
  void settle() {
    const auto quiet = [&] {
      const int last = bound();
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

  void read() {
    const auto objects = read_cluster(client());
    ASSERT_TRUE(objects) << objects.error().message;
    result_ = recount(*objects);
  }

  void check_recount() {
    EXPECT_EQ(result_.pods.size(), load_.pods.size());
    EXPECT_THAT(result_.faults, IsEmpty()) << lines(result_.faults);
    const std::vector<std::string> waiting = held_back(result_, kScheduler);
    EXPECT_THAT(waiting, IsEmpty()) << lines(waiting);
    for (const PodFacts& pod : result_.pods) {
      if (pod.node.empty()) EXPECT_EQ(pod.unschedulable_reason, "Unschedulable") << pod.name;
    }
    // A load that fits as a whole, or hardly at all, would show little.
    EXPECT_GE(result_.bound(), load_.pods.size() * 80 / 100);
    EXPECT_GE(result_.pending(), load_.pods.size() * 3 / 100);
    std::cout << result_.bound() << " pods bound, " << result_.pending() << " do not fit\n";
  }

  // Each bound pod was bound once, and nothing else was written to a pod by mistake.
  void check_writes(bool undisturbed) {
    std::map<std::string, PodWrites> writes = audit().pod_writes(kSchedulerUser);
    std::vector<std::string> wrong;
    for (const PodFacts& pod : result_.pods) {
      const PodWrites& of = writes[pod.name];
      const bool is_bound = !pod.node.empty();
      bool right = of.bound == (is_bound ? 1 : 0) && of.others == 0;
      // Nothing makes room in this cluster, so a pod that could be bound was never refused.
      if (undisturbed)
        right = right && of.refused_binds == 0 && (!is_bound || of.status_patches == 0);
      if (right) continue;
      wrong.push_back(pod.name + (is_bound ? " (bound): " : " (pending): ") +
                      std::to_string(of.bound) + " bindings, " + std::to_string(of.refused_binds) +
                      " refused ones, " + std::to_string(of.status_patches) + " conditions, " +
                      std::to_string(of.others) + " others");
    }
    EXPECT_THAT(wrong, IsEmpty()) << lines(wrong);
  }

  Load load_;
  int before_ = 0;
  Recount result_;
  std::vector<std::string> undecided_;
};

TEST_F(LoadTest, AllThatFitIsBoundByOneWriteEach) {
  start();
  create_pods();
  settle();
  check_recount();
  check_writes(true);
}

TEST_F(LoadTest, KillingTheSchedulerChangesNothing) {
  create_pods();
  start();
  for (const int count : {150, 400, 600}) {
    wait_until_bound(count);
    scheduler().kill();
    start();
  }
  settle();
  check_recount();
  check_writes(false);
}

TEST_F(LoadTest, RestartingTheApiServerChangesNothing) {
  create_pods();
  start();
  wait_until_bound(200);
  const auto restarted = cluster().restart_apiserver();
  ASSERT_TRUE(restarted) << restarted.error().message;
  const int at_restart = bound();
  settle();
  EXPECT_GT(bound(), at_restart) << "the restart came too late to be in the middle";
  check_recount();
  check_writes(false);
}

}  // namespace
}  // namespace plimsoll::test
