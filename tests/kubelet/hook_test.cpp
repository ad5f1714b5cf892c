// The whole way of a device: plimsoll-node reports it, the scheduler gives it to a pod, the kubelet
// admits the pod, the runtime asks the hook, and the container has it; whatever is killed
// meanwhile.
//
// PLIMSOLL_LONG=1 only: pods are believed when the admission policy is a minute old.

#include <iostream>
#include <map>
#include <thread>

#include "tests/e2e/scheduler_process.hpp"
#include "tests/kubelet/exporter_fixture.hpp"
#include "tests/node/fake_machine.hpp"
#include "tests/node/real_runtime.hpp"
#include "tests/support/environment.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

constexpr const char* kAllocated = "scheduling.koordinator.sh/device-allocated";
constexpr const char* kSystemAccounts = "/api/v1/namespaces/kube-system/serviceaccounts/";
constexpr int kPods = 500;
constexpr auto kLong = std::chrono::seconds(300);

std::string text_of(const json& pod, const char* annotation) {
  return pod["metadata"].value("annotations", json::object()).value(annotation, "");
}

// What each container of a pod with this annotation is to have.
json expected_of(const std::string& annotation) {
  json devices = json::array();
  std::string uuids;
  const auto add = [&](const std::string& device) {
    if (std::ranges::find(devices, json(device)) == devices.end()) devices.push_back(device);
  };
  const json allocated = json::parse(annotation);
  for (const json& card : allocated.value("gpu", json::array())) {
    const std::string minor = card["minor"].dump();
    add("/dev/nvidia" + minor + " c 195:" + minor);
    add("/dev/nvidiactl c 195:255");
    add("/dev/nvidia-uvm c 511:0");
    add("/dev/nvidia-uvm-tools c 511:1");
    uuids += (uuids.empty() ? "" : ",") + card["id"].get<std::string>();
  }
  for (const json& nic : allocated.value("rdma", json::array())) {
    int number = nic["id"].get<std::string>().at(5) - '1';  // 0000:15:00.0 is the first
    if (nic.contains("extension")) number += 4;
    add("/dev/infiniband/uverbs" + std::to_string(number) +
        " c 231:" + std::to_string(192 + number));
    add("/dev/infiniband/rdma_cm c 10:58");
  }
  json rules = json::array();
  for (const json& device : devices) {
    const std::string text = device;
    rules.push_back("allow" + text.substr(text.find(' ')) + " rw");
  }
  json variables = json::array();
  if (!uuids.empty()) variables.push_back("NVIDIA_VISIBLE_DEVICES=" + uuids);
  return {{"devices", devices}, {"rules", rules}, {"variables", variables}};
}

class HookTest : public ExporterTest {
 protected:
  void SetUp() override {
    if (!in_full_length()) GTEST_SKIP() << "in full length only";
    ExporterTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    runtime_.start();
    if (IsSkipped() || HasFatalFailure()) return;
    for (const char* file : {"node-devices.yaml", "node-hook.yaml", "base/rbac.yaml"}) {
      ASSERT_NO_FATAL_FAILURE(install(file));
    }
    machine_.make_dgx();
    machine_.make_dgx_nodes();
    exporter_flags_ = {"--devices=report", "--hook",
                       "--nri-socket",     runtime_.socket(),
                       "--host-root",      machine_.sys().parent_path(),
                       "--nvml",           machine_.options().nvml};
    RealKubeletSettings node = small_node("node-0", "none", "container");
    node.nri = runtime_.control();
    // The exporter looks for devices on another machine than for CPUs: its report of zones is none.
    ASSERT_NO_FATAL_FAILURE(start_kubelets({std::move(node)}));
    ASSERT_NO_FATAL_FAILURE(start_exporter("node-0"));
    ASSERT_NO_FATAL_FAILURE(start_scheduling());
  }

  void TearDown() override {
    if (HasFailure() && scheduler_) std::cerr << scheduler_->output();
    scheduler_.reset();
    if (kubelets() != 0) {  // other tests have other nodes of this name, and no account
      const std::string guards = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
      client().del(guards + "ies/plimsoll-device-allocated");
      client().del(guards + "ybindings/plimsoll-device-allocated");
      client().del(std::string(kDevices) + "/node-0");
    }
    ExporterTest::TearDown();
  }

  // With the account that the policy names.
  void start_scheduling() {
    const KubeReply reply = client().post(std::string(kSystemAccounts) + "plimsoll/token",
                                          {{"apiVersion", "authentication.k8s.io/v1"},
                                           {"kind", "TokenRequest"},
                                           {"spec", {{"expirationSeconds", 7200}}}});
    ASSERT_TRUE(reply.ok()) << reply.body;
    KubeAccess access{.server = cluster().server(), .ca_file = cluster().admin().ca_file};
    access.token = reply.json()["status"]["token"];
    ASSERT_TRUE(cluster().write_kubeconfig(folder_ / "scheduler", access));
    auto started = start_scheduler({.kubeconfig = folder_ / "scheduler"});
    ASSERT_TRUE(started) << started.error().message;
    scheduler_.emplace(std::move(*started));
  }

  void make(const std::string& name, Resources devices) {
    devices.insert(devices.end(), {{"cpu", "10m"}, {"memory", "16Mi"}});
    json pod = bound_pod(name, "", {container_object("main", devices)});
    pod["spec"].erase("nodeName");
    pod["spec"]["schedulerName"] = kScheduler;
    create_pod(pod);
  }

  // Whole cards, shares, several cards, NICs, and cards with NICs.
  static Resources devices_of(int number) {
    switch (number % 8) {
      case 0:
        return {{"koordinator.sh/gpu", "100"}};
      case 1:
        return {{"koordinator.sh/gpu", "200"}, {"koordinator.sh/rdma", "100"}};
      case 2:
        return {{"koordinator.sh/rdma", "100"}};
      case 3:
        return {{"koordinator.sh/gpu", "50"}, {"koordinator.sh/rdma", "25"}};
      case 4:
        return {};
      default:
        return {{"koordinator.sh/gpu", "25"}};
    }
  }

  // Compares the containers of pods that run with their annotations, and deletes these pods.
  void look() {
    const auto records = kubelet(0).containers();
    if (!records) return;
    std::map<std::string, int> cores;  // of each card, percent
    for (const auto& [name, pod] : pods()) {
      const std::string annotation = text_of(pod, kAllocated);
      const std::string phase = pod["status"].value("phase", "");
      if (pod["metadata"].contains("deletionTimestamp")) continue;  // its containers end
      if (phase == "Failed") {
        // It was bound before the scheduler knew that the node has less.
        ASSERT_TRUE(pod["status"].value("reason", "").starts_with("OutOf")) << pod["status"];
        delete_pod(name, 0);
        make(name + "x", devices_of(std::stoi(name.substr(1))));
        ++refused_;
        continue;
      }
      if (phase != "Running") continue;
      for (const ContainerRecord& each : *records) {
        if (each.uid != pod["metadata"]["uid"] || each.state != "running") continue;
        expect_given(name, annotation, each.given);
        done_.insert(name);
      }
      if (annotation.empty()) continue;
      for (const json& card : json::parse(annotation).value("gpu", json::array())) {
        cores[card["id"]] +=
            std::stoi(card["resources"]["koordinator.sh/gpu-core"].get<std::string>());
      }
    }
    for (const auto& [card, percent] : cores) EXPECT_LE(percent, 100) << card;
    for (const std::string& name : done_) {
      if (deleted_.insert(name).second) delete_pod(name, 1);
    }
  }

  void expect_given(const std::string& name, const std::string& annotation, const json& given) {
    if (annotation.empty()) {
      EXPECT_TRUE(given["devices"].is_null()) << name << given;
      return;
    }
    const json expected = expected_of(annotation);
    for (const char* what : {"devices", "rules", "variables"}) {
      EXPECT_EQ(given[what], expected[what]) << name << annotation;
    }
    ++compared_;
  }

  void until_done(std::size_t count) {
    ASSERT_TRUE(eventually(
        [&] {
          look();
          return done_.size() >= count || HasFailure();
        },
        kLong))
        << done_.size() << " of " << count << exporter_log("node-0");
    ASSERT_FALSE(HasFailure());
  }

  node::test::FakeMachine machine_;
  node::test::RealRuntime runtime_;
  TempDir folder_{"plimsoll-hook"};
  std::optional<ChildProcess> scheduler_;
  std::set<std::string> done_, deleted_;
  int compared_ = 0;
  int refused_ = 0;
};

TEST_F(HookTest, ContainersHaveTheDevicesOfTheirPodsWhateverIsKilled) {
  // A pod is refused until the policy is old enough.
  int probes = 0;
  ASSERT_TRUE(eventually(
      [&] {
        const std::string name = "probe-" + std::to_string(probes++);
        make(name, devices_of(0));
        std::string state;
        EXPECT_TRUE(eventually([&] {
          const json pod = pods()[name];
          const std::string phase = pod["status"].value("phase", "");
          if (phase == "Running") state = text_of(pod, kAllocated).empty() ? "too early" : phase;
          for (const json& each : pod["status"].value("containerStatuses", json::array())) {
            if (!each["state"].contains("waiting")) continue;
            const std::string said = each["state"]["waiting"].value("message", "");
            if (said.find("older than the admission policy") != std::string::npos) state = said;
          }
          return !state.empty();
        })) << pods()[name];
        delete_pod(name, 0);
        return state == "Running";
      },
      kLong))
      << exporter_log("node-0");
  for (int i = 0; i < kPods; ++i) make("p" + std::to_string(i), devices_of(i));
  ASSERT_NO_FATAL_FAILURE(until_done(60));
  ASSERT_NO_FATAL_FAILURE(start_exporter("node-0"));  // kills the one that runs
  ASSERT_NO_FATAL_FAILURE(until_done(120));
  ASSERT_TRUE(kubelet(0).kill());
  ASSERT_TRUE(kubelet(0).start_again());
  ASSERT_NO_FATAL_FAILURE(until_done(180));
  runtime_.kill();
  ASSERT_NO_FATAL_FAILURE(runtime_.start());
  ASSERT_NO_FATAL_FAILURE(until_done(240));
  machine_.set("0000:15:00.0", "infiniband/mlx5_1/ports/1/state", "1: DOWN");
  ASSERT_NO_FATAL_FAILURE(until_done(300));
  machine_.set("0000:15:00.0", "infiniband/mlx5_1/ports/1/state", "4: ACTIVE");
  runtime_.kill();
  ASSERT_NO_FATAL_FAILURE(start_exporter("node-0"));
  ASSERT_NO_FATAL_FAILURE(runtime_.start());
  ASSERT_NO_FATAL_FAILURE(until_done(kPods));
  EXPECT_GE(compared_, kPods * 7 / 8);
  std::cout << compared_ << " containers have what their pods were given, " << refused_
            << " pods were too late for a device; the hook: " << runtime_.calls()["CreateContainer"]
            << "\n";

  // Nothing stays taken.
  ASSERT_TRUE(eventually([&] { return pods().empty(); }, kLong));
  for (int i = 0; i < 8; ++i) make("card-" + std::to_string(i), {{"koordinator.sh/gpu", "100"}});
  for (int i = 0; i < 4; ++i) make("nic-" + std::to_string(i), {{"koordinator.sh/rdma", "100"}});
  EXPECT_TRUE(eventually(
      [&] {
        const auto all = pods();
        return std::ranges::all_of(all, [](const auto& each) {
          return each.second["status"].value("phase", "") == "Running";
        });
      },
      kLong));
}

}  // namespace
}  // namespace plimsoll::test
