// plimsoll-node reports devices to a real API server with the rights that deploy/ gives it.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "plugins/nodedevice/devices/device_object.hpp"
#include "tests/kube/kube_objects.hpp"
#include "tests/kube/kube_test.hpp"
#include "tests/kube/yaml_json.hpp"
#include "tests/node/fake_kubelet.hpp"
#include "tests/node/fake_machine.hpp"
#include "tests/node/real_runtime.hpp"
#include "tests/support/child_process.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kSystem = "/api/v1/namespaces/kube-system/";

class NodeDevicesTest : public KubeTest {
 protected:
  void SetUp() override {
    KubeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_ = std::make_unique<KubeClient>(cluster().admin());
    for (const char* file : {"deploy/node.yaml", "deploy/node-devices.yaml",
                             "deploy/node-hook.yaml", "deploy/base/rbac.yaml"}) {
      const auto documents = read_yaml(file);
      ASSERT_TRUE(documents) << documents.error().message;
      for (const json& document : *documents) {
        KubeReply reply;
        ASSERT_TRUE(eventually([&] {  // the namespace comes a moment after the server
          reply = client_->post(collection_of(document), document);
          return reply.ok() || reply.status == 409;
        })) << document["kind"]
            << reply.body;
      }
    }
    for (const char* name : {"a", "b"}) {
      ASSERT_TRUE(client_->post(kNodes, node_object(name, {{"cpu", "8"}, {"pods", "110"}})).ok());
    }
    ASSERT_NO_FATAL_FAILURE(get_token());
  }
  void TearDown() override {
    program_.reset();
    if (client_) client_->del(std::string(kSystem) + "pods/agent?gracePeriodSeconds=0");
    KubeTest::TearDown();
  }

  template <typename Condition>
  static bool eventually(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }

  // That of the scheduler, of the service account that deploy/ gives it.
  KubeAccess scheduler() {
    const KubeReply reply = client_->post(std::string(kSystem) + "serviceaccounts/plimsoll/token",
                                          {{"apiVersion", "authentication.k8s.io/v1"},
                                           {"kind", "TokenRequest"},
                                           {"spec", {{"expirationSeconds", 3600}}}});
    EXPECT_TRUE(reply.ok()) << reply.body;
    KubeAccess access{.server = cluster().server(), .ca_file = cluster().admin().ca_file};
    access.token = reply.json()["status"]["token"];
    return access;
  }

  // That of the program's pod on node a.
  void get_token() {
    json pod = pod_object({.name = "agent"});
    pod["spec"]["nodeName"] = "a";
    pod["spec"]["serviceAccountName"] = "plimsoll-node";
    const KubeReply made = client_->post(std::string(kSystem) + "pods", pod);
    ASSERT_TRUE(made.ok()) << made.body;
    const KubeReply reply = client_->post(
        std::string(kSystem) + "serviceaccounts/plimsoll-node/token",
        {{"apiVersion", "authentication.k8s.io/v1"},
         {"kind", "TokenRequest"},
         {"spec",
          {{"expirationSeconds", 3600},
           {"boundObjectRef", {{"kind", "Pod"}, {"apiVersion", "v1"}, {"name", "agent"}}}}}});
    ASSERT_TRUE(reply.ok()) << reply.body;
    access_ = {.server = cluster().server(), .ca_file = cluster().admin().ca_file};
    access_.token = reply.json()["status"]["token"];
  }

  void start(const std::string& devices, std::vector<std::string> more = {}) {
    program_.reset();
    const auto kubeconfig = folder_ / "kubeconfig";
    ASSERT_TRUE(cluster().write_kubeconfig(kubeconfig, access_));
    const auto paths = kubelet_.paths();
    const char* bin = std::getenv("PLIMSOLL_BIN_DIR");
    ASSERT_NE(bin, nullptr) << "PLIMSOLL_BIN_DIR is not set: run this test with ctest";
    std::vector<std::string> line = {std::string(bin) + "/plimsoll-node",
                                     "--node-name=a",
                                     "--devices",
                                     devices,
                                     "--kubelet-root",
                                     paths.root.string(),
                                     "--device-plugin-dir",
                                     paths.device_plugins.string(),
                                     "--host-root",
                                     machine_.sys().parent_path(),
                                     "--nvml",
                                     machine_.options().nvml,
                                     "--kubeconfig",
                                     kubeconfig.string(),
                                     "--port=0"};
    line.insert(line.end(), more.begin(), more.end());
    auto started = ChildProcess::start(
        {.argv = line,
         .env = {{"HWLOC_SYNTHETIC", "pack:2 [numa(memory=17179869184)] core:4 pu:1"},
                 {"HWLOC_THISSYSTEM", "0"}}});
    ASSERT_TRUE(started) << started.error().message;
    program_.emplace(std::move(*started));
  }

  json published(const std::string& node = "a") {
    const KubeReply reply = client_->get(std::string(kDevices) + "/" + node);
    return reply.ok() ? reply.json() : json();
  }
  std::string on_node(const char* list, const char* resource) {
    const json node = client_->get(std::string(kNodes) + "/a").json();
    return node["status"][list].value(resource, "");
  }

  TempDir folder_{"plimsoll-node-devices"};
  node::test::FakeKubelet kubelet_;
  node::test::FakeMachine machine_;
  std::unique_ptr<KubeClient> client_;
  KubeAccess access_;
  std::optional<ChildProcess> program_;
};

TEST_F(NodeDevicesTest, TheReportIsTheNodesAndIsTakenBack) {
  machine_.make_dgx();
  start("report");
  const auto read = [&]() -> devices::Result<devices::NodeDevices> {
    return devices::parse_device_object(devices::DeviceTypes::standard(), published().dump());
  };
  ASSERT_TRUE(eventually([&] { return !published().is_null(); })) << program_->output();
  ASSERT_TRUE(read()) << read().error();
  EXPECT_EQ(read()->devices(0).size(), 8U);
  EXPECT_EQ(read()->devices(1).size(), 4U);
  EXPECT_THAT(read()->unreadable, IsEmpty());
  EXPECT_THAT(read()->warnings, IsEmpty());
  EXPECT_TRUE(read()->links.has_value());
  for (const char* list : {"capacity", "allocatable"}) {
    EXPECT_TRUE(eventually([&] { return on_node(list, "koordinator.sh/gpu-core") == "800"; }))
        << program_->output();
    EXPECT_EQ(on_node(list, "koordinator.sh/rdma"), "400");
    EXPECT_EQ(on_node(list, "cpu"), "8") << "what the kubelet says stays";
  }
  machine_.fault("0000:13:00.0", 79);  // the API server takes the condition
  EXPECT_TRUE(eventually([&] { return on_node("capacity", "koordinator.sh/gpu-core") == "700"; }))
      << program_->output();
  EXPECT_TRUE(eventually([&] { return read() && !read()->devices(0)[7].is_healthy; }));
  start("remove");
  ASSERT_TRUE(eventually([&] { return published().is_null(); })) << program_->output();
  EXPECT_EQ(on_node("capacity", "koordinator.sh/gpu-core"), "");
  EXPECT_EQ(on_node("allocatable", "koordinator.sh/rdma"), "");
}

TEST_F(NodeDevicesTest, ItsRightsEndAtItsNodeAndAtAmounts) {
  KubeClient agent(access_);
  const json amounts = {{"status", {{"capacity", {{"koordinator.sh/rdma", "100"}}}}}};
  ASSERT_TRUE(eventually([&] {  // a policy takes a moment to count
    return agent.patch(std::string(kNodes) + "/b/status", amounts).status == 422;
  }));
  EXPECT_TRUE(agent.patch(std::string(kNodes) + "/a/status", amounts).ok());
  for (const json& patch :
       {json{{"metadata", {{"labels", {{"x", "y"}}}}}},
        json{{"metadata", {{"annotations", {{"x", "y"}}}}}},
        json{{"status", {{"conditions", {{{"type", "Ready"}, {"status", "False"}}}}}}}}) {
    const KubeReply reply = agent.patch(std::string(kNodes) + "/a/status", patch);
    EXPECT_EQ(reply.status, 422) << patch << reply.body;
  }
  EXPECT_TRUE(agent.post(kDevices, device_object("a", {gpu_device(0, 0)})).ok());
  EXPECT_EQ(agent.post(kDevices, device_object("b", {gpu_device(0, 0)})).status, 422);
  ASSERT_TRUE(client_->post(kDevices, device_object("b", {gpu_device(0, 0)})).ok());
  EXPECT_EQ(agent.del(std::string(kDevices) + "/b").status, 422);
  EXPECT_TRUE(agent.del(std::string(kDevices) + "/a").ok());
  EXPECT_EQ(agent.patch(std::string(kNodes) + "/a", {{"spec", {{"unschedulable", true}}}}).status,
            403);
}

// Whoever may write pods cannot say that a pod has a device, and a binding can: the scheduler's.
TEST_F(NodeDevicesTest, OnlyTheSchedulerSaysWhichDevicesAPodHas) {
  constexpr const char* kAllocated = "scheduling.koordinator.sh/device-allocated";
  const auto says = [&](const std::string& text) {
    return json{{"metadata", {{"annotations", {{kAllocated, text}}}}}};
  };
  ASSERT_TRUE(client_->post(pods_path(), pod_object({.name = "probe"})).ok());
  int tries = 0;
  ASSERT_TRUE(eventually([&] {  // a policy takes a moment to count; what does not change is allowed
    return client_->patch(pods_path("probe"), says(std::to_string(++tries))).status == 422;
  }));
  json pod = pod_object({.name = "honest"});
  ASSERT_TRUE(client_->post(pods_path(), pod).ok());
  EXPECT_EQ(client_->patch(pods_path("honest"), says("{}")).status, 422);
  EXPECT_EQ(client_->patch(pods_path("honest") + "/status", says("{}")).status, 422);
  EXPECT_TRUE(client_->patch(pods_path("honest"), {{"metadata", {{"labels", {{"a", "b"}}}}}}).ok());
  pod["metadata"]["name"] = "forged";
  pod["metadata"]["annotations"][kAllocated] = "{}";
  EXPECT_EQ(client_->post(pods_path(), pod).status, 422);

  const std::string given = R"({"gpu":[{"minor":7,"id":"GPU-7"}]})";
  json binding = binding_object("honest", "a");
  binding["metadata"]["annotations"][kAllocated] = given;
  EXPECT_EQ(client_->post(pods_path("honest") + "/binding", binding).status, 422)
      << "another scheduler";
  KubeClient scheduler_client(scheduler());
  const KubeReply bound = scheduler_client.post(pods_path("honest") + "/binding", binding);
  EXPECT_TRUE(bound.ok()) << bound.body;
  const json now = client_->get(pods_path("honest")).json();
  EXPECT_EQ(now["metadata"]["annotations"][kAllocated], given);
  EXPECT_EQ(client_->patch(pods_path("honest"), says(R"({"gpu":[{"minor":0}]})")).status, 422);
  const auto annotate = [this](const char* key, const json& value) {
    return client_->patch(pods_path("honest"), {{"metadata", {{"annotations", {{key, value}}}}}})
        .status;
  };
  EXPECT_EQ(annotate("example.com/note", "fine"), 200);
  EXPECT_EQ(annotate("required-plugins.noderesource.dev/container.c", "[]"), 422);
  EXPECT_EQ(annotate("required-plugins.noderesource.dev", "[]"), 422);

  machine_.make_dgx();
  node::test::RealRuntime runtime;
  runtime.start();
  if (IsSkipped() || HasFatalFailure()) return;
  runtime.create("missed", {{kAllocated, given}});
  start("report", {"--hook", "--nri-socket", runtime.socket()});
  runtime.wait_for(1);
  ASSERT_TRUE(eventually([&] { return !published().is_null(); })) << program_->output();
  EXPECT_TRUE(eventually([&] {
    const json answer = runtime.create(now["metadata"]["uid"], {{kAllocated, given}});
    return answer["error"].get<std::string>().find("older than the admission policy") !=
           std::string::npos;
  })) << "it sees the policy, and that the pod may have been there before it counted";
  EXPECT_TRUE(eventually([&] {
    const auto events = client_->list("/api/v1/namespaces/default/events");
    return events && std::ranges::any_of(*events, [](const json& event) {
             return event["reason"] == "DevicesMissed" &&
                    event["involvedObject"]["name"] == "name-missed";
           });
  })) << "it may tell of what was made without it: "
      << program_->output();
}

}  // namespace
}  // namespace plimsoll::test
