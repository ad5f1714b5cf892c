// Pods that wait on Permit: what the API server is told of them meanwhile and afterwards.

#include <gmock/gmock.h>

#include "tests/e2e/e2e_test.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::SizeIs;

class WaitingTest : public E2eTest {
 protected:
  // The default profile and the plugin "Patient", which lets every pod wait for 1.5 s once.
  void start_patient() {
    const std::string config = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
profiles:
  - schedulerName: topo-aware-scheduler
    plugins:
      permit:
        enabled:
          - name: Patient
)";
    ASSERT_TRUE(write_file(folder_ / "config.yaml", config));
    start({.kubeconfig = cluster().kubeconfig_token(),
           .config = folder_ / "config.yaml",
           .flags = {"--plugin-dir", PLIMSOLL_PATIENT_MODULES}});
  }
  std::string nominated(const std::string& pod) {
    return client().get(pods_path(pod)).json()["status"].value("nominatedNodeName", "");
  }

  TempDir folder_{"plimsoll-waiting"};
};

TEST_F(WaitingTest, OthersSeeWhereAWaitingPodIsGoingToBe) {
  create(kNodes, node_object("n", {{"cpu", "4"}, {"memory", "4Gi"}, {"pods", "10"}}));
  ASSERT_NO_FATAL_FAILURE(start_patient());
  create_pod({.name = "a", .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
  EXPECT_TRUE(eventually(60s, [&] { return nominated("a") == "n"; })) << tail(log(), 20);
  EXPECT_EQ(node_of("a"), "");

  const std::string expected =
      "0/1 nodes are available: 1 rejected due to timeout after waiting 1.5s at plugin Patient.";
  EXPECT_EQ(wait_refused("a"), expected);
  EXPECT_EQ(wait_event("a", "FailedScheduling"), expected);
  EXPECT_EQ(nominated("a"), "") << "it is going nowhere now";
  EXPECT_EQ(audit().pod_writes(kSchedulerUser)[ns() + "/a"].status_patches, 2)
      << "the nomination; the condition, which takes it back";

  create(kNodes, node_object("m", {{"cpu", "4"}, {"memory", "4Gi"}, {"pods", "10"}}));
  EXPECT_NE(wait_bound("a"), "") << "a new node wakes it, and it does not wait a second time";
  EXPECT_EQ(nominated("a"), "");
  EXPECT_NE(wait_event("a", "Scheduled"), "");
  EXPECT_THAT(events("a", "Scheduled"), SizeIs(1));
  EXPECT_EQ(audit().pod_writes(kSchedulerUser)[ns() + "/a"].status_patches, 2)
      << "a bind that takes no time is one write";
}

TEST_F(WaitingTest, APodThatIsDeletedWhileItWaitsGivesItsPlaceBack) {
  create(kNodes, node_object("n", {{"cpu", "1"}, {"memory", "4Gi"}, {"pods", "10"}}));
  ASSERT_NO_FATAL_FAILURE(start_patient());
  create_pod({.name = "a", .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
  ASSERT_TRUE(eventually(60s, [&] { return nominated("a") == "n"; })) << tail(log(), 20);
  remove(pods_path("a"));
  create_pod({.name = "b", .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
  EXPECT_TRUE(eventually(60s, [&] { return nominated("b") == "n"; })) << "it waits in a's place";
}

}  // namespace
}  // namespace plimsoll::test
