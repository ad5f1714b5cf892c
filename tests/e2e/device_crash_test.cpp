// kill -9 at every step between Reserve and the end of binding: the accounts of the next scheduler
// are those that a recount of the API objects gives, and no device is given twice.

#include <map>

#include "tests/e2e/api_proxy.hpp"
#include "tests/e2e/e2e_test.hpp"
#include "tests/plugins/nodedevice/device_recount.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using devices::test::counted_quantity;
using devices::test::CountedPod;
using devices::test::dumped_use;
using devices::test::Recount;
using nlohmann::json;

constexpr const char* kAllocated = "scheduling.koordinator.sh/device-allocated";
constexpr const char* kObserver = "somebody-else";

// Where the scheduler is killed.
struct Step {
  const char* name;
  const char* halt;  // the step at which plugin Halt stops it; empty: the proxy does
  std::optional<ApiProxy::What> hold = std::nullopt;
  bool late = false;  // the held request reaches the API server after the next one started
  bool watch_is_held =
      false;                  // the held request goes on and is answered, but no news of pods comes
  bool bound_before = false;  // the pod has its node when the scheduler dies
};
void PrintTo(const Step& step, std::ostream* out) {
  *out << step.name;
}

class DeviceAccountsTest : public E2eTest {
 protected:
  [[nodiscard]] std::string socket() const { return (folder_.path() / "own" / "s.sock").string(); }

  // A scheduler for the pods of this name, stopped at a step (empty: at none).
  RunSpec spec(const std::string& scheduler_name, const std::string& halt_at) {
    const std::string config = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: )" + scheduler_name +
                               R"(
  plugins:
    multiPoint: {enabled: [{name: NodeDevice}]}
    reserve: {enabled: [{name: Halt}]}
    permit: {enabled: [{name: Halt}]}
    preBind: {enabled: [{name: Halt}]}
    bind: {disabled: [{name: "*"}], enabled: [{name: Halt}, {name: DefaultBinder}]}
    postBind: {enabled: [{name: Halt}]}
  pluginConfig:
  - name: Halt
    args: {at: ")" + halt_at + R"("}
)";
    EXPECT_TRUE(write_file(folder_ / "config.yaml", config));
    return {.kubeconfig = cluster().kubeconfig_token(),
            .config = folder_ / "config.yaml",
            .flags = {"--plugin-dir", PLIMSOLL_HALT_MODULES, "--socket", socket()}};
  }

  // ---- the cluster

  static json nic(int minor, const std::string& bus) {
    json functions = json::array();
    for (int i = 2; i < 6; ++i)
      functions.push_back({{"minor", i}, {"busID", bus + "." + std::to_string(i)}});
    return {{"type", "rdma"},
            {"id", bus + ".0"},
            {"minor", minor},
            {"health", true},
            {"resources", {{"koordinator.sh/rdma", "100"}}},
            {"vfGroups", {{{"vfs", functions}}}}};
  }
  static json card(int minor) {
    json device = gpu_device(minor, 0);
    device["id"] = "GPU-" + std::to_string(minor);
    return device;
  }

  void add_node(const std::string& name, int gpus) {
    const std::string hundreds = std::to_string(gpus * 100);
    create(kNodes, node_object(name, {{"cpu", "64"},
                                      {"memory", "256Gi"},
                                      {"pods", "50"},
                                      {"nvidia.com/gpu", std::to_string(gpus)},
                                      {"koordinator.sh/gpu-core", hundreds},
                                      {"koordinator.sh/gpu-memory-ratio", hundreds},
                                      {"koordinator.sh/rdma", "200"}}));
    std::vector<json> devices;
    for (int i = 0; i < gpus; ++i) devices.push_back(card(i));
    for (int i = 0; i < 2; ++i) devices.push_back(nic(i, "0000:" + std::to_string(i + 1) + "f:00"));
    create(kDevices, device_object(name, devices));
  }

  // Placed by somebody else.
  std::string stranger(const std::string& name, const std::string& node, const char* annotation) {
    json pod = pod_object({.name = name, .requests = {{"nvidia.com/gpu", "1"}}});
    pod["spec"]["nodeName"] = node;
    if (annotation != nullptr) pod["metadata"]["annotations"][kAllocated] = annotation;
    return create(pods_path(), pod)["metadata"]["uid"];
  }

  json asking(const std::string& name, const Resources& requests) {
    json pod = pod_object({.name = name, .scheduler = kScheduler, .requests = requests});
    for (const auto& [resource, amount] : requests)
      if (resource == "koordinator.sh/rdma")
        pod["metadata"]["annotations"]["scheduling.koordinator.sh/device-allocate-hint"] =
            R"({"rdma":{"vfSelector":{}}})";
    return pod;
  }

  void add_cluster() {
    add_node("a", 4);
    add_node("b", 2);
    add_node("c", 2);
    const std::string uid = stranger("vendor", "b", nullptr);
    change(std::string(kDevices) + "/b",
           {{"metadata",
             {{"annotations",
               {{"node.koordinator.sh/gpu-checkpoints",
                 json::array({{{"podUID", uid}, {"deviceIDs", {"GPU-0"}}}}).dump()}}}}}});
    stranger("broken", "c", "{");
    stranger("unnamed", "a", nullptr);
  }
  // Pods that are bound before anything happens.
  void add_pods() {
    create(pods_path(), asking("half", {{"koordinator.sh/gpu-core", "50"},
                                        {"koordinator.sh/gpu-memory-ratio", "50"}}));
    ASSERT_NE(wait_bound("half"), "") << tail(log(), 30);
    create(pods_path(), asking("both", {{"nvidia.com/gpu", "1"}, {"koordinator.sh/rdma", "30"}}));
    ASSERT_NE(wait_bound("both"), "") << tail(log(), 30);
  }

  // ---- what is known

  // The nodes of the accounts of the scheduler that runs.
  json accounts() {
    const auto program = plimsoll_program();
    auto child =
        ChildProcess::start({.argv = {program->string(), "debug", "dump", "--socket", socket()}});
    if (!child) return {};
    (void)child->wait(30s);
    const json dump = json::parse(child->output(), nullptr, false);
    return dump.is_object() ? dump["plugins"]["NodeDevice"]["nodes"] : json();
  }

  json recounted() {
    std::map<std::string, json> devices;
    const auto listed = client().list(kDevices);
    EXPECT_TRUE(listed) << listed.error().message;
    for (const json& device : *listed) devices[device["metadata"]["name"]] = device;
    std::vector<CountedPod> pods;
    const auto all = client().list("/api/v1/pods");
    EXPECT_TRUE(all) << all.error().message;
    for (const json& pod : *all) {
      const std::string node = pod["spec"].value("nodeName", "");
      if (node.empty()) continue;
      CountedPod& counted = pods.emplace_back();
      counted.uid = pod["metadata"]["uid"];
      counted.node = node;
      for (const auto& [resource, amount] :
           pod["spec"]["containers"][0]["resources"]["requests"].items())
        if (resource.find('/') != resource.npos)
          counted.requests[resource] = counted_quantity(amount);
      const json annotations = pod["metadata"].value("annotations", json::object());
      if (annotations.contains(kAllocated)) counted.allocated = annotations[kAllocated];
    }
    const Recount count(devices, pods);
    check_capacity(devices, count.use());
    return count.use();
  }

  // No device above 100 %, none that two hold of which one has all, no virtual function twice.
  static void check_capacity(const std::map<std::string, json>& devices, const json& use) {
    for (const auto& [node, object] : devices) {
      for (const json& device : object["spec"]["devices"]) {
        const json::json_pointer at("/" + node + "/" + device["type"].get<std::string>() +
                                    "/minors/" + std::to_string(device["minor"].get<int>()));
        if (!use.contains(at)) continue;
        const json& used = use[at];
        const json amounts = used.value("used", json::object());
        for (const auto& [resource, amount] : amounts.items())
          EXPECT_LE(amount.get<int64_t>(), counted_quantity(device["resources"][resource]))
              << node << " " << device["type"] << " " << device["minor"] << " " << resource;
        EXPECT_TRUE(!used.contains("heldAsAWhole") || amounts.empty()) << node << " " << used;
        const json functions = used.value("virtualFunctions", json::array());
        for (size_t i = 1; i < functions.size(); ++i) EXPECT_NE(functions[i - 1], functions[i]);
      }
    }
  }

  // One that has the whole cluster in its accounts, but no pod of ours to decide about.
  void look_at_rest(const std::string& when) {
    ASSERT_NO_FATAL_FAILURE(start(spec(kObserver, "")));
    EXPECT_EQ(dumped_use(accounts()), recounted()) << when;
  }

  // The events about a Device object, waited for.
  std::vector<json> device_events(const std::string& node, size_t at_least) {
    std::vector<json> found;
    (void)eventually(10s, [&] {
      found.clear();
      const auto listed = client().list("/apis/events.k8s.io/v1/namespaces/default/events");
      EXPECT_TRUE(listed) << listed.error().message;
      for (const json& event : *listed)
        if (event["regarding"].value("kind", "") == "Device" &&
            event["regarding"].value("name", "") == node)
          found.push_back(event);
      return found.size() >= at_least;
    });
    return found;
  }

  TempDir folder_{"plimsoll-crash"};
};

class DeviceCrashTest : public DeviceAccountsTest, public ::testing::WithParamInterface<Step> {};

TEST_P(DeviceCrashTest, TheAccountsAreThoseOfTheApiObjects) {
  const Step& step = GetParam();
  add_cluster();
  auto proxy = start_proxy();
  ASSERT_TRUE(proxy) << proxy.error().message;
  ASSERT_NO_FATAL_FAILURE(start(through(**proxy, spec(kScheduler, step.halt), folder_)));
  ASSERT_NO_FATAL_FAILURE(add_pods());
  EXPECT_TRUE(eventually(60s, [&] { return dumped_use(accounts()) == recounted(); }))
      << dumped_use(accounts()).dump(1) << "\n"
      << recounted().dump(1);

  if (step.hold) (*proxy)->hold(*step.hold, "POST", pods_path("victim") + "/binding");
  json victim = asking("victim", {{"nvidia.com/gpu", "1"}, {"koordinator.sh/rdma", "20"}});
  victim["metadata"]["labels"]["halt"] = "1";
  create(pods_path(), victim);
  const bool stopped =
      step.hold ? (*proxy)->wait_held(15s)
                : scheduler().wait_for_output("halted at " + std::string(step.halt), 15s);
  ASSERT_TRUE(stopped) << tail(log(), 30);
  if (step.watch_is_held) {
    (*proxy)->hold_watches("/api/v1/pods");
    ASSERT_TRUE((*proxy)->pass_on(15s));
    ASSERT_TRUE(eventually(60s, [&] {
      return !lines_with(log(), {"pod bound", "/victim"}).empty();
    })) << tail(log(), 30);
  }
  EXPECT_EQ(!node_of("victim").empty(), step.bound_before);
  scheduler().kill();

  ASSERT_NO_FATAL_FAILURE(look_at_rest("right after the crash"));
  if (step.late) {
    // The dead scheduler's request arrives while the next one decides.
    ASSERT_NO_FATAL_FAILURE(start(spec(kScheduler, "")));
    ASSERT_TRUE((*proxy)->pass_on(15s));
  } else {
    ASSERT_NO_FATAL_FAILURE(start(spec(kScheduler, "")));
  }
  ASSERT_NE(wait_bound("victim", 20s), "") << tail(log(), 30);
  create(pods_path(), asking("next", {{"nvidia.com/gpu", "1"}}));
  ASSERT_NE(wait_bound("next", 20s), "") << tail(log(), 30);
  EXPECT_TRUE(eventually(60s, [&] { return dumped_use(accounts()) == recounted(); }))
      << dumped_use(accounts()).dump(1) << "\n"
      << recounted().dump(1);
  EXPECT_TRUE(eventually(60s, [&] {
    return accounts().dump().find("assumed") == std::string::npos;
  })) << accounts().dump(1);
  const json living = accounts();
  ASSERT_NO_FATAL_FAILURE(look_at_rest("at the end"));
  EXPECT_EQ(accounts(), living) << "a restart forgets nothing and adds nothing";
}

// The API server takes the events, and whoever asks is told.
TEST_F(DeviceAccountsTest, WhatCannotBeReadIsSaid) {
  add_node("a", 2);
  add_node("b", 2);
  json twice = client().get(std::string(kDevices) + "/a").json();
  const std::string uid = twice["metadata"]["uid"];
  twice["spec"]["devices"][1]["minor"] = 0;
  change(std::string(kDevices) + "/a", {{"spec", {{"devices", twice["spec"]["devices"]}}}});
  change(std::string(kDevices) + "/b",
         {{"metadata",
           {{"annotations", {{"scheduling.koordinator.sh/gpu-partitions", R"({"1":3})"}}}}}});
  stranger("broken", "b", "{");
  ASSERT_NO_FATAL_FAILURE(start(spec(kScheduler, "")));
  const std::vector<json> of_a = device_events("a", 1);
  ASSERT_EQ(of_a.size(), 1U) << tail(log(), 30);
  EXPECT_EQ(of_a[0]["reason"], "DeviceObjectUnreadable");
  EXPECT_EQ(of_a[0]["regarding"]["uid"], uid);
  EXPECT_EQ(of_a[0]["note"],
            "Device a: spec.devices[1].minor: 0 is already the minor of another gpu; gpu 0 is not "
            "given until it is right");
  const std::vector<json> of_b = device_events("b", 1);
  ASSERT_EQ(of_b.size(), 1U) << tail(log(), 30);
  EXPECT_EQ(of_b[0]["reason"], "DeviceObjectPartlyIgnored");
  EXPECT_NE(wait_event("broken", "DeviceAllocationUnreadable"), "");

  // In words that the node's totals do not know the other pod by.
  create(pods_path(), asking("waits", {{"koordinator.sh/gpu-core", "200"},
                                       {"koordinator.sh/gpu-memory-ratio", "200"}}));
  EXPECT_NE(wait_refused("waits").find("Insufficient gpu devices"), std::string::npos);
  auto explained = ChildProcess::start(
      {.argv = {plimsoll_program()->string(), "explain", ns() + "/waits", "--socket", socket()}});
  ASSERT_TRUE(explained) << explained.error().message;
  (void)explained->wait(30s);
  const std::string text = explained->output();
  EXPECT_NE(text.find("spec.devices[1].minor: 0 is already the minor of another gpu"), text.npos)
      << text;
  EXPECT_NE(text.find("pod " + ns() + "/broken: its device-allocated annotation cannot be right"),
            text.npos)
      << text;
  EXPECT_EQ(accounts()["a"]["unreadable"].size(), 1U) << accounts().dump(1);

  twice["spec"]["devices"][1]["minor"] = 1;
  change(std::string(kDevices) + "/a", {{"spec", {{"devices", twice["spec"]["devices"]}}}});
  EXPECT_EQ(wait_bound("waits"), "a") << "it is right now, and that wakes the pod";
  EXPECT_EQ(device_events("a", 1).size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Steps, DeviceCrashTest,
    ::testing::Values(
        Step{.name = "AfterReserve", .halt = "Reserve"}, Step{.name = "InPermit", .halt = "Permit"},
        Step{.name = "WaitingOnPermit", .halt = "Wait"},
        Step{.name = "BeforeUnreserve", .halt = "Unreserve"},
        Step{.name = "InPreBind", .halt = "PreBind"}, Step{.name = "InBind", .halt = "Bind"},
        Step{.name = "TheRequestIsSentAndLost", .halt = "", .hold = ApiProxy::What::kRequest},
        Step{.name = "TheRequestIsSentAndLate",
             .halt = "",
             .hold = ApiProxy::What::kRequest,
             .late = true},
        Step{.name = "CarriedOutButUnanswered",
             .halt = "",
             .hold = ApiProxy::What::kAnswer,
             .bound_before = true},
        Step{.name = "AnsweredButNotWatched",
             .halt = "",
             .hold = ApiProxy::What::kRequest,
             .watch_is_held = true,
             .bound_before = true},
        Step{.name = "InPostBind", .halt = "PostBind", .bound_before = true}),
    [](const auto& step) { return std::string(step.param.name); });

}  // namespace
}  // namespace plimsoll::test
