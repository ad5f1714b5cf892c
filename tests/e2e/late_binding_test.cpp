// A Binding of a scheduler that was killed reaches the API server when its successor has read the
// pods and has given the place to another one; and what it costs to be safe from it.

#include "tests/e2e/api_proxy.hpp"
#include "tests/e2e/e2e_test.hpp"
#include "tests/e2e/recount.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

class LateBindingTest : public E2eTest {
 protected:
  void SetUp() override {
    E2eTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const Resources zone{{"cpu", "4"}, {"memory", "8Gi"}};
    create(kNodes, node_object("n", {{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "20"}}));
    create(kNrts, nrt_object({.node = "n", .zones = {zone}}));
    auto proxy = start_proxy();
    ASSERT_TRUE(proxy) << proxy.error().message;
    proxy_ = std::move(*proxy);
  }

  void TearDown() override {
    E2eTest::TearDown();
    for (const char* lease : {"plimsoll", "plimsoll-topo-aware-scheduler"}) {
      client().del(std::string(kLeases) + "/" + lease);
    }
  }

  // Three CPUs of four: there is room for one of them.
  static json three_cpus(const std::string& name) {
    return pod_object(
        {.name = name, .scheduler = kScheduler, .requests = {{"cpu", "3"}, {"memory", "1Gi"}}});
  }

  [[nodiscard]] RunSpec direct(std::vector<std::string> flags = {}) {
    return {.kubeconfig = cluster().kubeconfig_token(), .flags = std::move(flags)};
  }

  // The scheduler sends a Binding of the pod, which gets no further than the proxy.
  void start_and_hold_a_binding(const std::string& pod, std::vector<std::string> flags = {}) {
    ASSERT_NO_FATAL_FAILURE(start(through(*proxy_, direct(std::move(flags)), folder_)));
    proxy_->hold(ApiProxy::What::kRequest, "POST", pods_path(pod) + "/binding");
    create(pods_path(), three_cpus(pod));
    ASSERT_TRUE(proxy_->wait_held(15s)) << tail(log(), 30);
  }

  std::vector<std::string> faults() {
    const auto objects = read_cluster(client());
    EXPECT_TRUE(objects) << objects.error().message;
    return recount(*objects).faults;
  }

  int status_patches(const std::string& pod) {
    return audit().pod_writes(kSchedulerUser)[ns() + "/" + pod].status_patches;
  }

  TempDir folder_{"plimsoll-late"};
  std::unique_ptr<ApiProxy> proxy_;
};

class KilledSchedulerTest : public LateBindingTest,
                            public ::testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(KilledSchedulerTest, ItsLateBindingIsVoid) {
  ASSERT_NO_FATAL_FAILURE(start_and_hold_a_binding("early", GetParam()));
  scheduler().kill();
  // It goes first, and is given the place that the other one was to have.
  json urgent = three_cpus("urgent");
  urgent["spec"]["priorityClassName"] = "system-cluster-critical";
  create(pods_path(), urgent);
  ASSERT_NO_FATAL_FAILURE(start(direct(GetParam())));
  ASSERT_EQ(wait_bound("urgent"), "n") << tail(log(), 30);
  ASSERT_TRUE(proxy_->pass_on(15s));
  EXPECT_EQ(node_of("early"), "");
  EXPECT_EQ(faults().size(), 0U) << lines(faults());
  remove(pods_path("urgent"));
  EXPECT_EQ(wait_bound("early"), "n") << tail(log(), 30);
  EXPECT_EQ(faults().size(), 0U) << lines(faults());
}

INSTANTIATE_TEST_SUITE_P(
    Ways, KilledSchedulerTest,
    ::testing::Values(std::vector<std::string>{"--leader-elect=false"},
                      std::vector<std::string>{"--leader-elect", "--leader-elect-lease-duration=3s",
                                               "--leader-elect-renew-deadline=2s",
                                               "--leader-elect-retry-period=300ms"}),
    [](const auto& way) { return way.param.size() == 1 ? "WithoutALease" : "WithALease"; });

// Whoever changes a pod while its Binding is under way costs it requests, and no attempt.
TEST_F(LateBindingTest, AChangeOfThePodMeanwhileFailsNothing) {
  ASSERT_NO_FATAL_FAILURE(start_and_hold_a_binding("a"));
  change(pods_path("a"), {{"metadata", {{"labels", {{"changed", "meanwhile"}}}}}});
  ASSERT_TRUE(proxy_->pass_on(15s));
  EXPECT_EQ(wait_bound("a"), "n") << tail(log(), 30);
  EXPECT_NE(wait_event("a", "Scheduled"), "");
  EXPECT_TRUE(events("a", "FailedScheduling").empty());
  const PodWrites writes = audit().pod_writes(kSchedulerUser)[ns() + "/a"];
  EXPECT_EQ(writes.refused_binds, 1);
  EXPECT_EQ(writes.bound, 1);
  EXPECT_EQ(writes.status_patches, 0);
}

TEST_F(LateBindingTest, OnlyAStartAfterAKillTouchesThePodsThatWait) {
  ASSERT_NO_FATAL_FAILURE(start());
  const std::string foreign = "of-somebody-else";
  create_pod({.name = foreign, .requests = {{"cpu", "1"}}});
  json gated = three_cpus("gated");
  gated["spec"]["schedulingGates"] = {{{"name", "example.com/wait"}}};
  create(pods_path(), gated);
  create(pods_path(), three_cpus("a"));
  ASSERT_EQ(wait_bound("a"), "n") << tail(log(), 30);
  create(pods_path(), three_cpus("waits"));
  const std::string why = wait_refused("waits");
  ASSERT_NE(why, "");
  const auto restarted = [&](const std::string& witness) {
    start();
    create_pod({.name = witness, .scheduler = kScheduler, .guaranteed = false});
    return wait_bound(witness) == "n";
  };

  const int first = status_patches("waits");
  ASSERT_EQ(scheduler().stop(20s), ExitStatus::exited(0)) << tail(log(), 30);
  ASSERT_TRUE(restarted("after-a-stop")) << tail(log(), 30);
  EXPECT_EQ(status_patches("waits"), first) << tail(log(), 30);

  scheduler().kill();
  ASSERT_TRUE(restarted("after-a-kill")) << tail(log(), 30);
  EXPECT_EQ(status_patches("waits"), first + 1) << tail(log(), 30);
  for (const std::string& other : {foreign, std::string("gated"), std::string("a")}) {
    EXPECT_EQ(status_patches(other), 0) << other;
  }
  EXPECT_EQ(wait_refused("waits"), why) << "what it waits for still stands there";

  ASSERT_EQ(scheduler().stop(20s), ExitStatus::exited(0)) << tail(log(), 30);
  ASSERT_TRUE(restarted("at-the-end")) << tail(log(), 30);
  EXPECT_EQ(status_patches("waits"), first + 1) << tail(log(), 30);
}

}  // namespace
}  // namespace plimsoll::test
