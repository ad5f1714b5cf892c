// What a real kubelet does with pods that are bound to it, as the library of node/ reads it.

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/kubelet/kubelet_test.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr const char* kGpu = "example.com/gpu";

// Two zones of 8 CPUs with 16 GiB and two GPUs each; CPU 0 and 1 GiB of zone 0 are reserved.
json small_machine(const std::string& policy) {
  json devices = json::array();
  for (int i = 0; i < 4; ++i) {
    devices.push_back({{"resource", kGpu}, {"id", "gpu-" + std::to_string(i)}, {"zones", {i / 2}}});
  }
  return {
      {"hwlocSynthetic", "pack:2 [numa(memory=17179869184)] l3:1 core:8 pu:1"},
      {"devices", devices},
      {"kubelet",
       {{"topologyManagerPolicy", policy},
        {"cpuManagerPolicy", "static"},
        {"memoryManagerPolicy", "Static"},
        {"reservedSystemCPUs", "0"},
        {"reservedMemory", json::array({{{"numaNode", 0}, {"limits", {{"memory", "1Gi"}}}}})}}}};
}

class RealKubeletTest : public KubeletTest {
 protected:
  void start(const std::string& policy) {
    start_kubelets({{.name = "node-0", .machine = machine_from(small_machine(policy))}});
    client_.emplace(cluster().admin());
  }
  void TearDown() override {
    client_.reset();
    KubeletTest::TearDown();
  }

  void create(const json& pod) {
    const KubeReply reply = client_->post(pods_path(), pod);
    ASSERT_EQ(reply.status, 201) << reply.body;
  }
  [[nodiscard]] std::string phase(const std::string& pod) {
    return client_->get(pods_path(pod)).json().value("/status/phase"_json_pointer, "");
  }
  [[nodiscard]] bool reaches(const std::string& pod, const std::string& wanted) {
    return eventually([&] { return phase(pod) == wanted; });
  }

  // What the pod-resources API says of the pods, by name.
  [[nodiscard]] std::map<std::string, node::PodUse> listed() {
    std::map<std::string, node::PodUse> pods;
    const auto view = kubelet().view();
    if (!view) return pods;
    for (const node::PodUse& pod : view->pods) pods[pod.name] = pod;
    return pods;
  }
  [[nodiscard]] ContainerRecord record(const std::string& pod, const std::string& container) {
    const auto all = kubelet().containers();
    EXPECT_TRUE(all) << all.error().message;
    for (const ContainerRecord& one : *all) {
      if (one.pod == ns() + "/" + pod && one.name == container) return one;
    }
    ADD_FAILURE() << "no container " << container << " of " << pod;
    return {};
  }

  std::optional<KubeClient> client_;
};

TEST_F(RealKubeletTest, SaysWhatAPodWasGiven) {
  ASSERT_NO_FATAL_FAILURE(start("single-numa-node"));
  create(bound_pod("web", "node-0",
                   {container_object("main", {{"cpu", "3"}, {"memory", "2Gi"}, {kGpu, "1"}})}));
  ASSERT_TRUE(reaches("web", "Running"));
  const ContainerRecord given = record("web", "main");
  EXPECT_EQ(given.cpus, "1-3");
  EXPECT_EQ(given.mems, "0");
  EXPECT_THAT(given.devices(kGpu), ElementsAre("gpu-0"));

  const auto view = kubelet().view();
  ASSERT_TRUE(view) << view.error().message;
  ASSERT_THAT(view->pods, SizeIs(1));
  EXPECT_EQ(view->pods[0].ns, ns());
  const node::ContainerUse& use = view->pods[0].containers.at(0);
  EXPECT_THAT(use.cpus, ElementsAre(1, 2, 3));
  EXPECT_THAT(use.devices.at(kGpu), ElementsAre("gpu-0"));
  EXPECT_EQ(view->cpus.held.at(given.uid).at("main").text(), "1-3");
  EXPECT_THAT(view->memory.held.at(given.uid).at("main"),
              ElementsAre(node::MemoryBlock{{0}, "memory", std::int64_t{2} << 30}));
  EXPECT_EQ(view->devices.entries.at(0).pod_uid, given.uid);
}

TEST_F(RealKubeletTest, RefusesWhatNoZoneHolds) {
  ASSERT_NO_FATAL_FAILURE(start("single-numa-node"));
  // One after the other: a kubelet that has just begun to watch sees several at once.
  const auto decided = [&](const std::string& name, const Resources& limits) {
    create(bound_pod(name, "node-0", {container_object("main", limits)}));
    EXPECT_TRUE(eventually([&] { return phase(name) != "Pending"; })) << name;
    return phase(name);
  };
  EXPECT_EQ(decided("cpus", {{"cpu", "9"}, {"memory", "1Gi"}}), "Failed");
  EXPECT_EQ(decided("gpus", {{"cpu", "1"}, {"memory", "1Gi"}, {kGpu, "3"}}), "Failed");
  EXPECT_EQ(decided("fits", {{"cpu", "8"}, {"memory", "1Gi"}}), "Running");
  // With CPUs in one zone only, memory of two zones is no reason to the topology manager: the
  // memory manager refuses it, when the CPUs were given.
  EXPECT_EQ(decided("memory", {{"cpu", "1"}, {"memory", "20Gi"}}), "Failed");
  const auto refused = refusals(*client_, pods_path());
  ASSERT_TRUE(refused) << refused.error().message;
  std::map<std::string, std::string> reasons;
  for (const Refusal& one : *refused) reasons[one.pod.substr(ns().size() + 1)] = one.reason;
  EXPECT_THAT(reasons, ElementsAre(Pair("cpus", "TopologyAffinityError"),
                                   Pair("gpus", "TopologyAffinityError"),
                                   Pair("memory", "UnexpectedAdmissionError")));
  EXPECT_EQ(record("fits", "main").cpus, "8-15");
  EXPECT_TRUE(eventually([&] { return listed().size() == 1; })) << "a refused pod is not listed";
}

TEST_F(RealKubeletTest, KeepsAllocationsWhenItIsKilledAndComesBack) {
  ASSERT_NO_FATAL_FAILURE(start("restricted"));
  for (const char* name : {"a", "b"}) {
    create(bound_pod(name, "node-0",
                     {container_object("main", {{"cpu", "3"}, {"memory", "3Gi"}, {kGpu, "1"}})},
                     {container_object("init", {{"cpu", "4"}, {"memory", "1Gi"}})}));
    ASSERT_TRUE(reaches(name, "Running"));
  }
  const auto before = kubelet().view();
  ASSERT_TRUE(before) << before.error().message;
  const ContainerRecord a = record("a", "main");

  ASSERT_TRUE(kubelet().kill());
  EXPECT_FALSE(kubelet().view()) << "nobody serves the pod-resources API";
  // Without a device: a kubelet that comes back refuses those until their plugin has registered.
  create(
      bound_pod("late", "node-0", {container_object("main", {{"cpu", "2"}, {"memory", "1Gi"}})}));
  ASSERT_EQ(client_->del(pods_path("b") + "?gracePeriodSeconds=0").status, 200);
  ASSERT_TRUE(kubelet().start_again());
  const Result<void> ready = kubelet().wait_ready();
  ASSERT_TRUE(ready) << ready.error().message;

  ASSERT_TRUE(reaches("late", "Running")) << client_->get(pods_path("late")).body;
  ASSERT_TRUE(eventually([&] { return listed().size() == 2 && !listed().contains("b"); }));
  const auto after = kubelet().view();
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->cpus.held.at(a.uid), before->cpus.held.at(a.uid));
  // The memory of the init container is held again: it is given back only when "main" starts.
  EXPECT_EQ(after->memory.held.at(a.uid).at("main"), before->memory.held.at(a.uid).at("main"));
  EXPECT_FALSE(before->memory.held.at(a.uid).contains("init"));
  EXPECT_TRUE(after->memory.held.at(a.uid).contains("init"));
  EXPECT_EQ(listed().at("a").containers.at(0).devices,
            (*before).pods.at(0).containers.at(0).devices);
  EXPECT_EQ(record("a", "main").state, "running") << "containers outlive the kubelet";
  EXPECT_EQ(record("a", "main").cpus, a.cpus);
}

TEST_F(RealKubeletTest, HidesDevicesThatAreUnhealthy) {
  ASSERT_NO_FATAL_FAILURE(start("none"));
  const auto healthy = [&] {
    const auto view = kubelet().view();
    std::vector<std::string> ids;
    if (!view || !view->allocatable.devices.contains(kGpu)) return ids;
    for (const auto& [id, zones] : view->allocatable.devices.at(kGpu)) ids.push_back(id);
    return ids;
  };
  EXPECT_THAT(healthy(), SizeIs(4));
  ASSERT_TRUE(kubelet().set_health(kGpu, "gpu-2", false));
  EXPECT_TRUE(eventually([&] { return healthy().size() == 3; }));
  EXPECT_THAT(healthy(), UnorderedElementsAre("gpu-0", "gpu-1", "gpu-3"));
  EXPECT_TRUE(kubelet().wait_ready()) << "its Node has one less";
  ASSERT_TRUE(kubelet().set_health(kGpu, "gpu-2", true));
  EXPECT_TRUE(eventually([&] { return healthy().size() == 4; }));
  EXPECT_FALSE(kubelet().set_health(kGpu, "gpu-9", true)) << "there is none";
}

TEST_F(RealKubeletTest, SeesContainersEnd) {
  ASSERT_NO_FATAL_FAILURE(start("best-effort"));
  create(bound_pod("job", "node-0", {container_object("main", {{"cpu", "2"}, {"memory", "1Gi"}})}));
  ASSERT_TRUE(reaches("job", "Running"));
  ASSERT_TRUE(kubelet().end_container(ns() + "/job", "main", 0));
  ASSERT_TRUE(reaches("job", "Succeeded"));
  EXPECT_TRUE(eventually([&] { return listed().empty(); }));
  EXPECT_FALSE(kubelet().end_container(ns() + "/job", "main", 0)) << "it runs no more";
  const auto refused = refusals(*client_, pods_path());
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_THAT(*refused, IsEmpty());
}

TEST_F(RealKubeletTest, AKubeletThatEndsIsReportedWithItsLog) {
  node::Machine machine = machine_from(small_machine("none"));
  machine.kubelet.topology_manager_policy = "no-such-policy";
  const auto started = RealKubelet::start(cluster(), {.name = "node-0", .machine = machine});
  ASSERT_TRUE(started) << started.error().message;
  const Result<void> ready = (*started)->wait_ready();
  ASSERT_FALSE(ready);
  EXPECT_THAT(ready.error().message, HasSubstr("no-such-policy"));
}

}  // namespace
}  // namespace plimsoll::test
