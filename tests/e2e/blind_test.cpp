// What is not known is not promised: while NodeResourceTopologies or Devices are not followed, pods
// that need them wait, whoever leads; and a scheduler whose loop hangs does not keep the lease.

#include <gmock/gmock.h>

#include <cstdio>
#include <optional>

#include "tests/e2e/e2e_test.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/web_client.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

constexpr const char* kAllocated = "scheduling.koordinator.sh/device-allocated";
constexpr const char* kZones = "topology.plimsoll.io/zones";
constexpr const char* kDeviceKind = "devices.v1alpha1.scheduling.koordinator.sh";
constexpr int kGpus = 4;  // of a node, and in twos

class BlindTest : public E2eTest {
 protected:
  // A node of two zones and four GPUs, described before it is there.
  void add_node(const std::string& name) {
    const Resources zone{{"cpu", "8"}, {"memory", "32Gi"}};
    create(kNrts, nrt_object({.node = name, .zones = {zone, zone}}));
    std::vector<json> devices;
    for (int i = 0; i < kGpus; ++i) devices.push_back(gpu_device(i, i % 2));
    create(kDevices, device_object(name, devices));
    json node = node_object(name, {{"cpu", "16"},
                                   {"memory", "64Gi"},
                                   {"pods", "50"},
                                   {"nvidia.com/gpu", std::to_string(kGpus)}});
    node["metadata"]["labels"]["test"] = name;
    create(kNodes, node);
  }
  void add_pod(const std::string& name, const std::string& node, const Resources& requests,
               bool guaranteed = true) {
    json pod = pod_object(
        {.name = name, .scheduler = kScheduler, .requests = requests, .guaranteed = guaranteed});
    pod["spec"]["nodeSelector"]["test"] = node;
    create(pods_path(), pod);
  }
  // Three that want two GPUs each, of which two fit; one tied to zones; one that needs neither.
  void add_pods(const std::string& node) {
    for (const char* each : {"-0", "-1", "-2"}) {
      add_pod("gpu-" + node + each, node, {{"nvidia.com/gpu", "2"}});
    }
    add_pod("zones-" + node, node, {{"cpu", "4"}, {"memory", "1Gi"}});
    add_pod("plain-" + node, node, {{"cpu", "100m"}}, false);
  }

  json pod(const std::string& name) { return client().get(pods_path(name)).json(); }

  // Two pods with two GPUs each, the third waits; the zones are known.
  void check(const std::string& node) {
    const auto bound_gpus = [&] {
      int bound = 0;
      for (const char* each : {"-0", "-1", "-2"}) bound += node_of("gpu-" + node + each) == node;
      return bound;
    };
    EXPECT_TRUE(eventually(60s, [&] { return bound_gpus() == 2; })) << bound_gpus();
    EXPECT_EQ(wait_bound("zones-" + node), node);
    EXPECT_EQ(wait_bound("plain-" + node), node);
    EXPECT_TRUE(pod("zones-" + node)["metadata"]["annotations"].contains(kZones));
    int given = 0;
    for (const char* each : {"-0", "-1", "-2"}) {
      const json one = pod("gpu-" + node + each);
      if (!one["spec"].contains("nodeName")) continue;
      const json annotations = one["metadata"].value("annotations", json::object());
      ASSERT_TRUE(annotations.contains(kAllocated)) << one["metadata"]["name"] << " is bound blind";
      given +=
          static_cast<int>(json::parse(annotations[kAllocated].get<std::string>())["gpu"].size());
    }
    EXPECT_EQ(given, kGpus);
  }

  // Waits until a pod's condition says that it waits for this kind.
  void expect_waits_for(const std::string& name, const std::string& kind) {
    std::string message;
    EXPECT_TRUE(eventually(60s, [&] {
      message = wait_refused(name);
      return message.find("waiting for " + kind + ", which is not followed") != message.npos;
    })) << message;
    EXPECT_EQ(node_of(name), "");
  }

  TempDir folder_{"plimsoll-blind"};
};

TEST_F(BlindTest, PodsWaitForAKindThatIsNotServedForAWhile) {
  auto proxy = start_proxy();
  ASSERT_TRUE(proxy) << proxy.error().message;
  const std::string socket = (folder_.path() / "own" / "s.sock").string();
  ASSERT_NO_FATAL_FAILURE(start(through(**proxy, {.flags = {"--socket", socket}}, folder_)));
  (*proxy)->refuse("/devices");
  // Lost once a further try has failed.
  ASSERT_TRUE(scheduler().wait_for_output("a kind is not followed", 30s)) << tail(log(), 30);
  add_node("one");
  add_pods("one");
  EXPECT_EQ(wait_bound("plain-one"), "one") << "it needs no devices";
  EXPECT_EQ(wait_bound("zones-one"), "one") << "nor does this one";
  for (const char* name : {"gpu-one-0", "gpu-one-1", "gpu-one-2"}) {
    ASSERT_NO_FATAL_FAILURE(expect_waits_for(name, kDeviceKind));
  }
  auto explained = ChildProcess::start(
      {.argv = {plimsoll_program()->string(), "explain", ns() + "/gpu-one-0", "--socket", socket}});
  ASSERT_TRUE(explained) << explained.error().message;
  (void)explained->wait(30s);
  EXPECT_NE(explained->output().find(std::string("Waits for ") + kDeviceKind +
                                     " (plugin NodeDevice), which was not followed for "),
            std::string::npos)
      << explained->output();
  (*proxy)->refuse("");
  check("one");
}

// An explanation says that it is old, and an unknown pod may be one that nobody told of.
TEST_F(BlindTest, AnExplanationSaysThatTheServerIsAway) {
  auto proxy = start_proxy();
  ASSERT_TRUE(proxy) << proxy.error().message;
  const std::string socket = (folder_.path() / "own" / "s.sock").string();
  ASSERT_NO_FATAL_FAILURE(start(through(**proxy, {.flags = {"--socket", socket}}, folder_)));
  add_node("seen");
  create_pod({.name = "seen", .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
  ASSERT_EQ(wait_bound("seen"), "seen");
  const auto explained = [&](const std::string& pod) {
    const auto done = run(
        {.argv = {plimsoll_program()->string(), "explain", ns() + "/" + pod, "--socket", socket}},
        30s);
    return done ? done->out + done->err : done.error().message;
  };
  // Not before it is told of its own binding: until then the pod is "on its way".
  ASSERT_TRUE(eventually(30s, [&] {
    return explained("seen").find("State: bound to seen") != std::string::npos;
  })) << explained("seen");
  (*proxy)->refuse("/pods");
  ASSERT_TRUE(scheduler().wait_for_output("a kind is not followed", 30s)) << tail(log(), 30);
  EXPECT_THAT(explained("seen"), testing::HasSubstr("State: bound to seen"));
  EXPECT_THAT(
      explained("seen"),
      testing::ContainsRegex("This is as of [0-9]+ s ago: pods have not been followed since"));
  EXPECT_THAT(explained("unseen"),
              testing::ContainsRegex("not known here.*; pods have not been followed for [0-9]+ s"));
  (*proxy)->refuse("");
}

// A replica that takes over may have lost sight of a kind long before.
TEST_F(BlindTest, AStandbyThatTakesOverBeginsWithEveryKindFresh) {
  auto proxy = start_proxy();
  ASSERT_TRUE(proxy) << proxy.error().message;
  const RunSpec spec =
      through(**proxy,
              {.flags = {"--leader-elect", "--leader-elect-resource-name=blind-test",
                         "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s",
                         "--leader-elect-retry-period=500ms", "--socket", "none"}},
              folder_);
  ASSERT_NO_FATAL_FAILURE(start(spec));
  ASSERT_TRUE(scheduler().wait_for_output("acquired the leader lease", 30s));
  auto standby = start_scheduler(spec);
  ASSERT_TRUE(standby) << standby.error().message;
  ASSERT_TRUE(standby->wait_for_output("the first lists are complete", 30s)) << standby->output();
  EXPECT_THAT(standby->output(), testing::Not(testing::HasSubstr("scheduling server=")));
  (*proxy)->refuse("/noderesourcetopologies");
  ASSERT_TRUE(standby->wait_for_output("a kind is not followed", 30s)) << standby->output();
  add_node("two");
  scheduler().kill();
  ASSERT_TRUE(standby->wait_for_output("acquired the leader lease", 60s)) << standby->output();
  add_pods("two");
  EXPECT_EQ(wait_bound("plain-two"), "two") << tail(standby->output(), 30);
  ASSERT_NO_FATAL_FAILURE(
      expect_waits_for("zones-two", "noderesourcetopologies.v1alpha2.topology.node.k8s.io"));
  (*proxy)->refuse("");
  check("two");
  EXPECT_EQ(standby->stop(20s), ExitStatus::exited(0)) << tail(standby->output(), 30);
  ASSERT_NO_FATAL_FAILURE(start());
}

TEST_F(BlindTest, NothingIsDecidedBlindAfterTheApiServerCrashes) {
  start();
  for (int round = 0; round < (in_full_length() ? 5 : 2); ++round) {
    cluster().kill_apiserver();
    const auto started = cluster().start_apiserver();
    ASSERT_TRUE(started) << started.error().message;
    const std::string node = "round-" + std::to_string(round);
    ASSERT_NO_FATAL_FAILURE(add_node(node));
    ASSERT_NO_FATAL_FAILURE(add_pods(node));
    ASSERT_NO_FATAL_FAILURE(check(node));
  }
  for (const std::string& line : lines_with(log(), {"a kind is followed again"})) {
    std::printf("%s\n", line.c_str());
  }
}

TEST_F(BlindTest, ALoopThatHangsLosesTheLeaseAndIsNotAlive) {
  const auto spec = [&](const std::string& name, std::vector<std::string> flags) {
    const std::filesystem::path config = folder_ / (name + ".yaml");
    EXPECT_TRUE(write_file(config, R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: )" + name + R"(
  plugins:
    reserve: {enabled: [{name: Halt}]}
  pluginConfig:
  - name: Halt
    args: {at: "Reserve"}
)"));
    flags.insert(flags.end(), {"--plugin-dir", PLIMSOLL_HALT_MODULES, "--socket", "none"});
    return RunSpec{
        .kubeconfig = cluster().kubeconfig_token(), .config = config, .flags = std::move(flags)};
  };
  create(kNodes, node_object("hung", {{"cpu", "16"}, {"memory", "64Gi"}, {"pods", "50"}}));
  RunSpec probed = spec("probed", {});
  const auto port = free_port();
  ASSERT_TRUE(port) << port.error().message;
  probed.port = *port;
  auto alone = start_scheduler(probed);
  ASSERT_TRUE(alone) << alone.error().message;
  auto leader =
      start_scheduler(spec("leads", {"--leader-elect", "--leader-elect-resource-name=hang-test",
                                     "--leader-elect-retry-period=500ms"}));
  ASSERT_TRUE(leader) << leader.error().message;
  ASSERT_TRUE(leader->wait_for_output("acquired the leader lease", 30s)) << leader->output();
  const std::string livez = "http://127.0.0.1:" + std::to_string(probed.port) + "/livez";
  ASSERT_TRUE(eventually(60s, [&] { return web_get(livez).status == 200; }));
  for (const char* name : {"probed", "leads"}) {
    json halting = pod_object(
        {.name = std::string("halts-") + name, .scheduler = name, .requests = {{"cpu", "1"}}});
    halting["metadata"]["labels"]["halt"] = "1";
    create(pods_path(), halting);
  }
  ASSERT_TRUE(alone->wait_for_output("halted at Reserve", 30s)) << alone->output();
  EXPECT_EQ(web_get(livez).status, 200) << "for a while nobody can tell";
  EXPECT_TRUE(eventually(120s, [&] { return web_get(livez).status == 500; }));
  EXPECT_NE(web_get(livez + "/scheduler-loop").body.find("the scheduler loop hangs"),
            std::string::npos);
  const auto ended = leader->wait(120s);
  ASSERT_TRUE(ended) << leader->output();
  EXPECT_EQ(*ended, ExitStatus::exited(1));
  EXPECT_EQ(
      lines_with(leader->output(), {"lost the leader lease", "the scheduler loop hangs"}).size(),
      1U)
      << leader->output();
  alone->kill();
}

}  // namespace
}  // namespace plimsoll::test
