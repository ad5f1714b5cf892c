// The program as a user calls it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/child_process.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kProfile = "examples/profiles/topology.yaml";
const std::string kSample = "examples/clusters/quickstart/";

struct Answer {
  int code;
  std::string out;
  std::string err;
};

Answer call(const std::string& program, const std::vector<std::string>& arguments,
            std::chrono::seconds timeout = 120s) {
  const TempDir dir;
  const auto stderr_file = dir.path() / "stderr";
  ChildOptions options;
  options.argv = {std::string(std::getenv("PLIMSOLL_BIN_DIR")) + "/" + program};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.stderr_file = stderr_file;
  auto process = ChildProcess::start(options);
  EXPECT_TRUE(process.has_value()) << process.error().message;
  const auto status = process->wait(timeout);
  EXPECT_TRUE(status.has_value()) << "still running after the timeout: " << process->output();
  return {status ? status->code : -1, process->output(), process->error_output()};
}

Answer plimsoll(const std::vector<std::string>& arguments, std::chrono::seconds timeout = 120s) {
  return call("plimsoll", arguments, timeout);
}

TEST(PlimsollSimulate, PlacesTheSampleAsExpected) {
  const Answer answer =
      plimsoll({"simulate", "--config", kProfile, "--cluster", kSample + "cluster.yaml", "--pods",
                kSample + "pods.yaml", "--expect", kSample + "expected.yaml"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("POD"));
  EXPECT_THAT(answer.out, HasSubstr("1.00 bindings"));
  EXPECT_THAT(answer.out, HasSubstr("(0 with TopologyAffinityError)"));
}

// Seconds of simulated life in a moment, by a scheduler that asks the kubelets themselves.
TEST(PlimsollSimulate, KnowsAllWithTheOracle) {
  const std::string sample = "examples/clusters/machines/";
  const Answer answer = plimsoll(
      {"simulate", "--config", kProfile, "--cluster", sample + "cluster.yaml", "--pods",
       sample + "pods.yaml", "--report", "-o", "json", "--oracle", "--report-delay-ms", "5000"});
  ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.err, Not(HasSubstr("refused")));  // the plugin that is replaced is no problem
  const auto result = nlohmann::json::parse(answer.out);
  EXPECT_TRUE(result["settled"]);
  EXPECT_EQ(result["kubelets"]["rejected"], 0);
  EXPECT_EQ(result["bound"], 4) << answer.out;
  EXPECT_EQ(result["report"]["heldBack"].size(), 0U);
}

// With evictions, groups, volumes, devices, and reports that come late or never.
TEST(PlimsollSimulate, SaysTheSameEachTime) {
  const auto run = [](const std::string& sample, const std::string& profile) {
    const std::string folder = "examples/clusters/" + sample + "/";
    Answer answer = plimsoll({"simulate", "--config", "examples/profiles/" + profile, "--cluster",
                              folder + "cluster.yaml", "--pods", folder + "pods.yaml", "--report",
                              "--report-jitter", "0.5", "--report-loss", "0.2", "--seed", "7"});
    EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
    return answer.out;
  };
  const std::vector<std::pair<const char*, const char*>> samples{
      {"quickstart", "topology.yaml"},       {"machines", "topology.yaml"},
      {"preemption", "topology.yaml"},       {"volumes", "topology.yaml"},
      {"groups", "topology.yaml"},           {"hami", "hami.yaml"},
      {"default", "default-scheduler.yaml"},
  };
  for (const auto& [sample, profile] : samples) {
    const std::string first = run(sample, profile);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(run(sample, profile), first) << sample;
  }
}

TEST(PlimsollSimulate, RefusesWhatItDoesNotUnderstand) {
  const TempDir dir;
  const std::string pods = dir.path() / "pods.yaml";
  const auto run = [&](const std::string& text, const std::vector<std::string>& more = {}) {
    EXPECT_TRUE(write_file(pods, text));
    std::vector<std::string> line{
        "simulate", "--config", kProfile, "--cluster", kSample + "cluster.yaml", "--pods", pods};
    line.insert(line.end(), more.begin(), more.end());
    return plimsoll(line);
  };
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
      "spec:\n  nodeSelectr: {disk: ssd}\n  containers: [{name: c, image: i, resource: {}}]\n";
  const Answer misspelt = run(pod);
  EXPECT_EQ(misspelt.code, 1);
  EXPECT_THAT(misspelt.err, HasSubstr(pods + ":1: unknown field \"spec.nodeSelectr\", did you mean "
                                             "\"nodeSelector\"?"));
  EXPECT_THAT(misspelt.err,
              HasSubstr("\"spec.containers[0].resource\", did you mean \"resources\""));
  const Answer lenient = run(pod, {"--lenient"});
  EXPECT_EQ(lenient.code, 0) << lenient.err;
  EXPECT_THAT(lenient.out, HasSubstr("note: " + pods + ":1: unknown field \"spec.nodeSelectr\""));
  const Answer maker = run("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n");
  EXPECT_EQ(maker.code, 1);
  EXPECT_THAT(maker.err, HasSubstr("a Deployment makes its pods in a cluster"));
  const Answer empty = run("\n");
  EXPECT_EQ(empty.code, 1);
  EXPECT_THAT(empty.err, HasSubstr("there is no object in it"));
}

TEST(PlimsollSimulate, ShowsNodesEvictionsAndWhy) {
  const std::string sample = "examples/clusters/preemption/";
  const std::vector<std::string> line{
      "simulate", "--config",          kProfile, "--cluster", sample + "cluster.yaml",
      "--pods",   sample + "pods.yaml"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), line.begin(), line.end());
    Answer answer = plimsoll(more);
    EXPECT_EQ(answer.code, 0) << answer.err;
    return answer.out;
  };
  const auto result = nlohmann::json::parse(with({"-o", "json"}));
  ASSERT_FALSE(result["evicted"].empty());
  const std::string victim = result["evicted"][0]["pod"];
  const std::string node = result["evicted"][0]["node"];
  ASSERT_FALSE(result["nodes"].empty());
  int64_t used = 0, pods = 0;
  for (const auto& each : result["nodes"]) {
    used += each["resources"]["cpu"]["used"].get<int64_t>();
    pods += each["resources"]["pods"]["used"].get<int64_t>();
  }
  EXPECT_GT(used, 0);
  EXPECT_GE(pods, result["bound"].get<int64_t>()) << "running pods count too";
  const std::string placed = result["pods"][0]["pod"];
  const std::string text = with({"--explain", placed, "--nodes", "1"});
  EXPECT_THAT(text, HasSubstr("Evicted:\n  " + victim + " from " + node));
  EXPECT_THAT(text, HasSubstr("Used of what there is:\nNODE"));
  EXPECT_THAT(text, HasSubstr("Pod " + placed)) << "explained";
}

TEST(PlimsollSimulate, BindsAndMakesVolumes) {
  const std::string sample = "examples/clusters/volumes/";
  const Answer answer =
      plimsoll({"simulate", "--config", kProfile, "--cluster", sample + "cluster.yaml", "--pods",
                sample + "pods.yaml", "--expect", sample + "expected.yaml"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
}

TEST(PlimsollSimulate, AllocatesResourceClaimsAndPlacesGroups) {
  for (const std::string name :
       {"claims", "pod-groups", "racks", "kueue", "jobset", "leaderworkerset"}) {
    const std::string sample = "examples/clusters/" + name + "/";
    const Answer answer =
        plimsoll({"simulate", "--config", "examples/profiles/default-scheduler.yaml", "--cluster",
                  sample + "cluster.yaml", "--pods", sample + "pods.yaml", "--expect",
                  sample + "expected.yaml"});
    EXPECT_EQ(answer.code, 0) << name << ": " << answer.out << answer.err;
  }
}

TEST(PlimsollSimulate, PlacesGroupsThatALabelNames) {
  const TempDir dir;
  const std::string cluster = dir.path() / "cluster.yaml";
  const std::string pods = dir.path() / "pods.yaml";
  ASSERT_TRUE(write_file(cluster, R"(apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 32Gi, pods: "20"}}
)"));
  std::string text;
  for (const auto& [group, cpu] : {std::pair("train", "1"), std::pair("wide", "2")}) {
    text += std::string("---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\n") +
            "metadata: {name: " + group + ", namespace: default}\nspec: {minMember: 2}\n";
    for (const char* name : {"-0", "-1"}) {
      text += std::string("---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: ") + group + name +
              "\n  namespace: default\n  labels: {scheduling.x-k8s.io/pod-group: " + group +
              "}\nspec:\n  schedulerName: gang-scheduler\n  containers:\n  - {name: c, image: i, " +
              "resources: {requests: {cpu: " + cpu + "}}}\n";
    }
  }
  ASSERT_TRUE(write_file(pods, text));
  const Answer answer = plimsoll({"simulate", "--config", "examples/profiles/coscheduling.yaml",
                                  "--cluster", cluster, "--pods", pods, "-o", "json"});
  ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
  std::map<std::string, std::string> nodes;
  const auto result = nlohmann::json::parse(answer.out);
  for (const auto& pod : result["pods"]) nodes[pod["pod"]] = pod.value("node", "");
  EXPECT_EQ(nodes["default/train-0"] + nodes["default/train-1"], "n1n1") << answer.out;
  EXPECT_EQ(nodes["default/wide-0"] + nodes["default/wide-1"], "") << answer.out;
  EXPECT_THAT(answer.out, HasSubstr("PodGroup default/wide gets rejected due to Pod wide-1"));
}

// The only scheduler of a cluster: every default plugin decides about some pod.
TEST(PlimsollSimulate, SchedulesAClusterWithoutKubeScheduler) {
  const std::string sample = "examples/clusters/default/";
  const Answer answer =
      plimsoll({"simulate", "--config", "examples/profiles/default-scheduler.yaml", "--cluster",
                sample + "cluster.yaml", "--pods", sample + "pods.yaml", "--expect",
                sample + "expected.yaml"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
}

TEST(PlimsollSimulate, PreemptsWhereNothingElseHelps) {
  const std::string sample = "examples/clusters/preemption/";
  const Answer answer =
      plimsoll({"simulate", "--config", kProfile, "--cluster", sample + "cluster.yaml", "--pods",
                sample + "pods.yaml", "--expect", sample + "expected.yaml"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("urgent"));
  EXPECT_THAT(answer.out, HasSubstr("preemptionPolicy=Never"));
}

// Two pods of one zone go, whether reports name pods and places or only count: one report after the
// other shows where each has come.
TEST(PlimsollSimulate, EvictsTheFewestAlsoWhereReportsOnlyCount) {
  const TempDir dir;
  const std::string cluster = dir.path() / "cluster.yaml";
  const std::string pods = dir.path() / "pods.yaml";
  ASSERT_TRUE(write_file(cluster, R"(apiVersion: v1
kind: Node
metadata:
  name: worker
  annotations:
    sandbox.plimsoll.io/machine: |
      {"hwlocSynthetic": "pack:2 [numa(memory=64GiB)] core:16 pu:1",
       "kubelet": {"topologyManagerPolicy": "single-numa-node", "cpuManagerPolicy": "static",
        "memoryManagerPolicy": "Static", "reservedSystemCPUs": "0,1,16,17",
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}]}}
status: {conditions: [{type: Ready, status: "True"}]}
)"));
  std::string text;
  const auto pod = [&](const std::string& name, int priority, int cpus, int seconds) {
    text +=
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
        ", namespace: default, annotations: {sandbox.plimsoll.io/arrive-seconds: \"" +
        std::to_string(seconds) +
        "\"}}\nspec: {schedulerName: topo-aware-scheduler, priority: " + std::to_string(priority) +
        ", containers: [{name: c, image: i, resources: {limits: {memory: 4Gi, cpu: " +
        std::to_string(cpus) + "}}}]}\n";
  };
  for (int i = 0; i < 4; ++i) pod("low-" + std::to_string(i), 0, 7, i);
  pod("high", 1000, 10, 6);
  ASSERT_TRUE(write_file(pods, text));
  for (const char* kind : {"facts", "counts"}) {
    const Answer answer =
        plimsoll({"simulate", "--config", kProfile, "--cluster", cluster, "--pods", pods, "-o",
                  "json", "--report-kind", kind, "--wait-for-scheduler"});
    ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
    const auto result = nlohmann::json::parse(answer.out);
    EXPECT_EQ(result["evicted"].size(), 2U) << kind << ": " << answer.out;
    EXPECT_EQ(result["kubelets"]["rejected"], 0) << kind;
  }
}

TEST(PlimsollSimulate, PlacesAGroupTogetherOrNotAtAll) {
  const std::string sample = "examples/clusters/groups/";
  const Answer answer =
      plimsoll({"simulate", "--config", kProfile, "--cluster", sample + "cluster.yaml", "--pods",
                sample + "pods.yaml", "--expect", sample + "expected.yaml"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
}

// Koordinator's plugin name and args: its pods and annotations as they are.
TEST(PlimsollSimulate, GivesDevicesByProfilesOfKoordinator) {
  const std::string sample = "examples/clusters/devices/";
  for (const char* profile : {"examples/profiles/koordinator-migrated.yaml",
                              "examples/profiles/koordinator-deviceshare.yaml"}) {
    const Answer answer =
        plimsoll({"simulate", "--config", profile, "--cluster", sample + "cluster.yaml", "--pods",
                  sample + "pods.yaml", "--expect", sample + "expected.yaml", "-o", "json"});
    ASSERT_EQ(answer.code, 0) << profile << answer.out << answer.err;
    const auto result = nlohmann::json::parse(answer.out);
    std::map<std::string, nlohmann::json> devices;
    for (const auto& pod : result["pods"])
      if (pod.contains("devices")) devices[pod["pod"]] = pod["devices"];
    EXPECT_EQ(devices.size(), 3U) << answer.out;
    // Half of card 0 is in use by the pod that Koordinator bound; both strategies leave the pair at
    // the NIC of the other zone whole.
    EXPECT_LT(devices["default/share"]["gpu"][0], 2) << answer.out;
    EXPECT_EQ(devices["default/with-nic"]["gpu"], nlohmann::json({2, 3}));
    EXPECT_EQ(devices["default/with-nic"]["rdma"], nlohmann::json({1}));
  }
}

// What HAMi's pods ask for, of each of their GPUs.
TEST(PlimsollSimulate, GivesDevicesToPodsWrittenForHami) {
  const std::string sample = "examples/clusters/hami/";
  const Answer answer = plimsoll(
      {"simulate", "--config", "examples/profiles/hami.yaml", "--cluster", sample + "cluster.yaml",
       "--pods", sample + "pods.yaml", "--expect", sample + "expected.yaml", "-o", "json"});
  ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
  const auto result = nlohmann::json::parse(answer.out);
  for (const auto& pod : result["pods"]) {
    if (pod["pod"] != "default/both") continue;
    EXPECT_EQ(pod["devices"]["gpu"], nlohmann::json({0, 1}));
  }
}

// Profiles for what other systems' pods ask for: on a node with their devices, each pod gets the
// devices that its requests mean, and of each so much that no more fit beside it.
TEST(PlimsollSimulate, GivesDevicesToPodsWrittenForOtherSystems) {
  struct Wanted {
    const char* containers;  // what each asks for, separated by "|"
    const char* devices;     // "": it finds no place
  };
  struct System {
    const char* profile;
    const char* has;      // the node
    const char* devices;  // of the Device object; each with its minor
    std::vector<Wanted> pods;
  };
  const std::string card =
      "{type: gpu, minor: N, id: C-N, health: true, resources: {koordinator.sh/gpu-core: 100, "
      "koordinator.sh/gpu-memory: 64Gi, koordinator.sh/gpu-memory-ratio: 100}}";
  const std::string npu =
      "{type: gpu, minor: N, id: C-N, health: true, resources: {huawei.com/npu-core: 32, "
      "koordinator.sh/gpu-memory: 64Gi, koordinator.sh/gpu-memory-ratio: 100}}";
  const auto instance = [](const std::string& profile) {
    return "{type: mig, minor: N, id: MIG-N, health: true, resources: {plimsoll.io/mig: 100, "
           "plimsoll.io/mig-memory: 10Gi, plimsoll.io/mig-" +
           profile + ": 100}}";
  };
  const std::string cards = card + "\n" + card;
  const std::string npus = npu + "\n" + npu;
  const std::string instances =
      instance("3g.40gb") + "\n" + instance("1g.10gb") + "\n" + instance("1g.10gb");
  const std::vector<System> systems{
      {"hami-amd",
       "amd.com/gpu: 20",
       cards.c_str(),
       {{"amd.com/gpu: 2, amd.com/gpumem: 16384, amd.com/gpucores: 25", R"({"gpu":[0,1]})"},
        {"amd.com/gpu: 1, amd.com/gpumem: 32768, amd.com/gpucores: 75", R"({"gpu":[0]})"},
        {"amd.com/gpu: 1, amd.com/gpumem: 1024, amd.com/gpucores: 1", R"({"gpu":[1]})"},
        {"amd.com/gpu: 1, amd.com/gpumem: 49152, amd.com/gpucores: 1", ""},
        {"amd.com/gpu: 1, amd.com/gpumem: 1024", ""},
        {"amd.com/gpu: 1", ""}}},
      {"hami-metax",
       "metax-tech.com/sgpu: 20, metax-tech.com/gpu: 2",
       cards.c_str(),
       {{"metax-tech.com/sgpu: 1, metax-tech.com/vcore: 60, metax-tech.com/vmemory: 4",
         R"({"gpu":[0]})"},
        {"metax-tech.com/sgpu: 1, metax-tech.com/vcore: 30, metax-tech.com/vmemory: 60",
         R"({"gpu":[0]})"},
        {"metax-tech.com/sgpu: 1, metax-tech.com/vcore: 10, metax-tech.com/vmemory: 1",
         R"({"gpu":[1]})"},
        {"metax-tech.com/sgpu: 1, metax-tech.com/vcore: 10, metax-tech.com/vmemory: 2048Mi", ""},
        {"metax-tech.com/gpu: 1", ""},
        {"metax-tech.com/sgpu: 1", ""}}},
      {"hami-cambricon",
       "cambricon.com/mlu.smlu.vcore: 200, cambricon.com/mlu.smlu.vmemory: 512",
       cards.c_str(),
       {{"cambricon.com/vmlu: 1, cambricon.com/mlu.smlu.vcore: 10, "
         "cambricon.com/mlu.smlu.vmemory: 255",
         R"({"gpu":[0]})"},
        {"cambricon.com/vmlu: 1, cambricon.com/mlu.smlu.vcore: 10, "
         "cambricon.com/mlu.smlu.vmemory: 1",
         R"({"gpu":[0]})"},
        {"cambricon.com/vmlu: 1, cambricon.com/mlu.smlu.vcore: 10, "
         "cambricon.com/mlu.smlu.vmemory: 1",
         R"({"gpu":[1]})"},
        {"cambricon.com/vmlu: 1, cambricon.com/mlu.smlu.vcore: 101, "
         "cambricon.com/mlu.smlu.vmemory: 1",
         ""},
        {"cambricon.com/vmlu: 1", ""}}},
      {"hami-ascend",
       "huawei.com/Ascend910B3: 20",
       npus.c_str(),
       {{"huawei.com/Ascend910B3: 1, huawei.com/Ascend910B3-memory: 32768", R"({"gpu":[0]})"},
        {"huawei.com/Ascend910B3: 1, huawei.com/Ascend910B3-memory: 16384", R"({"gpu":[0]})"},
        {"huawei.com/Ascend910B3: 1, huawei.com/Ascend910B3-memory: 32768", R"({"gpu":[1]})"},
        {"huawei.com/Ascend910B3: 1", ""},
        {"huawei.com/Ascend310P: 1", ""}}},
      {"nvidia-time-slicing",
       "nvidia.com/gpu.shared: 8, koordinator.sh/gpu: 200",
       cards.c_str(),
       {{"koordinator.sh/gpu: 100", R"({"gpu":[0]})"},
        {"nvidia.com/gpu.shared: 1|nvidia.com/gpu.shared: 1", R"({"gpu":[1]})"},
        {"nvidia.com/gpu.shared: 2", ""},
        {"nvidia.com/gpu.shared: 1", R"({"gpu":[1]})"},
        {"nvidia.com/gpu.shared: 1", R"({"gpu":[1]})"},
        {"nvidia.com/gpu.shared: 1", ""}}},
      {"nvidia-mig",
       "nvidia.com/mig-1g.10gb: 2, nvidia.com/mig-3g.40gb: 2",
       instances.c_str(),
       {{"nvidia.com/mig-1g.10gb: 1", R"({"mig":[1]})"},
        {"nvidia.com/mig-3g.40gb: 1", R"({"mig":[0]})"},
        {"nvidia.com/mig-1g.10gb: 1", R"({"mig":[2]})"},
        {"nvidia.com/mig-3g.40gb: 1", ""}}},
      {"koordinator-deviceshare",  // what Koordinator's webhook makes of pods
       "koordinator.sh/gpu-core: 200, koordinator.sh/gpu-memory: 128Gi, "
       "koordinator.sh/gpu-memory-ratio: 200, metax-tech.com/sgpu: 8",
       cards.c_str(),
       {{"koordinator.sh/gpu.shared: 1, koordinator.sh/gpu-core: 60, "
         "koordinator.sh/gpu-memory-ratio: 60",
         R"({"gpu":[0]})"},
        {"koordinator.sh/gpu.shared: 1, koordinator.sh/gpu-core: 10, koordinator.sh/gpu-memory: "
         "1Gi, metax-tech.com/sgpu: 1",
         R"({"gpu":[0]})"},
        {"koordinator.sh/gpu-core: 100, koordinator.sh/gpu-memory-ratio: 100", R"({"gpu":[1]})"},
        {"koordinator.sh/gpu.shared: 1, koordinator.sh/gpu-core: 10, "
         "koordinator.sh/gpu-memory-ratio: 50",
         ""}}}};
  for (const System& system : systems) {
    const TempDir dir;
    const std::string profile = std::string("examples/profiles/") + system.profile + ".yaml";
    std::string cluster =
        "apiVersion: v1\nkind: Node\nmetadata: {name: node-a}\nstatus:\n"
        "  capacity: &n {cpu: 64, memory: 256Gi, pods: 110, " +
        std::string(system.has) +
        "}\n  allocatable: *n\n---\n"
        "apiVersion: scheduling.koordinator.sh/v1alpha1\nkind: Device\n"
        "metadata: {name: node-a}\nspec:\n  devices:\n";
    std::istringstream lines(system.devices);
    int minor = 0;
    for (std::string line; std::getline(lines, line); ++minor) {
      line = std::regex_replace(line, std::regex("\\bN\\b"), std::to_string(minor));
      cluster += "  - " + line + "\n";
    }
    const auto config = read_file(profile).value_or("");
    std::smatch scheduler;
    ASSERT_TRUE(std::regex_search(config, scheduler, std::regex("schedulerName: ([a-z-]+)")));
    std::string pods;
    for (std::size_t i = 0; i < system.pods.size(); ++i) {
      pods += "apiVersion: v1\nkind: Pod\nmetadata: {name: p" + std::to_string(i) +
              "}\nspec:\n  schedulerName: " + scheduler[1].str() + "\n  containers:\n";
      std::istringstream containers(system.pods[i].containers);
      for (std::string asked; std::getline(containers, asked, '|');) {
        pods += "  - {name: c" + std::to_string(asked.size() + pods.size()) +
                ", image: i, resources: {limits: {" + asked + "}}}\n";
      }
      pods += "---\n";
    }
    ASSERT_TRUE(write_file(dir.path() / "cluster.yaml", cluster));
    ASSERT_TRUE(write_file(dir.path() / "pods.yaml", pods));
    const Answer answer =
        plimsoll({"simulate", "--config", profile, "--cluster", dir.path() / "cluster.yaml",
                  "--pods", dir.path() / "pods.yaml", "-o", "json"});
    ASSERT_EQ(answer.code, 0) << system.profile << answer.out << answer.err;
    std::map<std::string, std::string> given;
    const auto result = nlohmann::json::parse(answer.out);
    for (const auto& pod : result["pods"]) {
      given[pod["pod"]] = pod.contains("devices") ? pod["devices"].dump() : "";
    }
    for (std::size_t i = 0; i < system.pods.size(); ++i) {
      EXPECT_EQ(given["default/p" + std::to_string(i)], system.pods[i].devices)
          << system.profile << ": " << system.pods[i].containers << answer.out;
    }
  }
}

// Machines from an export and a description, pods that come and go, and the report about them.
TEST(PlimsollSimulate, SimulatesWholeMachines) {
  const std::string sample = "examples/clusters/machines/";
  const Answer answer = plimsoll({"simulate",
                                  "--config",
                                  kProfile,
                                  "--cluster",
                                  sample + "cluster.yaml",
                                  "--pods",
                                  sample + "pods.yaml",
                                  "--expect",
                                  sample + "expected.yaml",
                                  "--report",
                                  "-o",
                                  "json",
                                  "--report-delay-ms",
                                  "100",
                                  "--report-jitter",
                                  "0.5",
                                  "--report-loss",
                                  "0.2",
                                  "--report-period-ms",
                                  "200",
                                  "--seed",
                                  "7"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  const auto report = nlohmann::json::parse(answer.out)["report"];
  EXPECT_EQ(report["topologyAffinityErrors"], 0);
  EXPECT_EQ(report["heldBack"].size(), 0U) << report["heldBack"];
  EXPECT_EQ(report["exclusivePods"], 4);
  EXPECT_EQ(report["crossZonePods"], 1) << "two-zones";
  EXPECT_EQ(report["zones"]["cpu"]["allocatable"], 29000);
  EXPECT_EQ(report["zones"]["nvidia.com/gpu"]["used"], 1);
  EXPECT_EQ(report["rejections"], nlohmann::json::object());
}

TEST(PlimsollSimulate, ReportsInWords) {
  const std::string sample = "examples/clusters/machines/";
  const Answer answer = plimsoll({"simulate", "--config", kProfile, "--cluster",
                                  sample + "cluster.yaml", "--report", "--speed", "10"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("Topology report"));
  EXPECT_THAT(answer.out, HasSubstr("held back: 0 pods"));
  EXPECT_THAT(answer.out, HasSubstr("nvidia.com/gpu"));
}

TEST(PlimsollSimulate, SaysWhichMachineIsWrong) {
  const TempDir dir;
  const auto cluster = dir.path() / "cluster.yaml";
  ASSERT_TRUE(write_file(cluster,
                         "apiVersion: v1\nkind: Node\nmetadata:\n  name: node-a\n  annotations:\n"
                         "    sandbox.plimsoll.io/machine: '{\"hwlocXml\": \"gone.xml\"}'\n"));
  const Answer answer = plimsoll({"simulate", "--config", kProfile, "--cluster", cluster.string()});
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.err,
              HasSubstr("node node-a: annotation sandbox.plimsoll.io/machine: hwlocXml: " +
                        (dir.path() / "gone.xml").string() + ": cannot be read"));
}

// Nobody ever writes to the pipe.
TEST(PlimsollSimulate, ItsTimeLimitEndsTheReadingOfFilesToo) {
  const TempDir dir;
  const std::string pipe = (dir / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::vector<std::vector<std::string>> reads = {
      {"--config", pipe, "--cluster", "examples/clusters/machines/cluster.yaml"},
      {"--config", kProfile, "--cluster", pipe},
      {"--config", kProfile, "--cluster", "examples/clusters/machines/cluster.yaml", "--pods",
       pipe}};
  for (std::vector<std::string> arguments : reads) {
    arguments.insert(arguments.begin(), {"simulate", "--timeout", "1"});
    const Answer answer = plimsoll(arguments);
    EXPECT_EQ(answer.code, 1);
    EXPECT_THAT(answer.err, HasSubstr("gave up after 1 s while reading files; see --timeout"));
  }
}

TEST(PlimsollSimulate, FailsWhenAnExpectationDoesNotHold) {
  const TempDir dir;
  const auto expected = dir.path() / "expected.yaml";
  ASSERT_TRUE(write_file(expected, "unplaced:\n- pod: default/web-0\n"));
  const Answer answer =
      plimsoll({"simulate", "--config", kProfile, "--cluster", kSample + "cluster.yaml", "--pods",
                kSample + "pods.yaml", "--expect", expected.string(), "-o", "json"});
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.err, HasSubstr("default/web-0 should have no place, but is on"));
  const auto report = nlohmann::json::parse(answer.out);
  EXPECT_EQ(report["pods"].size(), 50U);
  EXPECT_EQ(report["kubelets"]["topologyAffinityErrors"], 0);
  EXPECT_TRUE(report["settled"]);
}

TEST(PlimsollSimulate, SaysWhatIsWrongWithItsFiles) {
  EXPECT_THAT(plimsoll({"simulate", "--config", "missing.yaml", "--cluster", "x"}).err,
              HasSubstr("missing.yaml"));
  EXPECT_THAT(plimsoll({"simulate", "--config", kProfile, "--cluster", "missing.json"}).err,
              HasSubstr("missing.json"));
  const TempDir dir;
  const auto broken = dir.path() / "broken.yaml";
  ASSERT_TRUE(write_file(broken, "kind: Node\nmetadata: ["));
  const Answer answer = plimsoll({"simulate", "--config", kProfile, "--cluster", broken.string()});
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.err, HasSubstr("broken.yaml:"));
}

TEST(PlimsollSimulate, NotesPodsOfOtherSchedulers) {
  const TempDir dir;
  const auto pods = dir.path() / "pods.yaml";
  ASSERT_TRUE(write_file(pods,
                         "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default}\n"
                         "spec: {containers: [{name: c, image: i}]}\n---\n"
                         "apiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: default}\n"
                         "spec: {schedulerName: their, containers: [{name: c, image: i}]}\n---\n"
                         "apiVersion: v1\nkind: Pod\nmetadata: {name: r, namespace: default}\n"
                         "spec: {schedulerName: their, containers: [{name: c, image: i}]}\n"));
  const Answer answer = plimsoll({"simulate", "--config", kProfile, "--cluster",
                                  kSample + "cluster.yaml", "--pods", pods.string()});
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("note: pod default/p names scheduler \"default-scheduler\", "));
  EXPECT_THAT(answer.out, HasSubstr("note: 2 pods (default/q, ...) name scheduler \"their\", "));
}

TEST(PlimsollValidate, ExamplesAreGood) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("examples/profiles")) {
    const Answer answer = plimsoll({"validate", entry.path().string()});
    EXPECT_EQ(answer.code, 0) << entry.path() << answer.out << answer.err;
    ++count;
  }
  EXPECT_GE(count, 6);
}

TEST(PlimsollValidate, ShowsTheMergedResultThatLoadsAgain) {
  for (const auto& entry : std::filesystem::directory_iterator("examples/profiles")) {
    const Answer answer = plimsoll({"validate", "--show-effective", entry.path().string()});
    ASSERT_EQ(answer.code, 0) << answer.err;
    EXPECT_THAT(answer.out, HasSubstr("UnsupportedFeatures"));
    const TempDir dir;
    const auto effective = dir.path() / "effective.yaml";
    ASSERT_TRUE(write_file(effective, answer.out));
    const Answer again = plimsoll({"validate", "--show-effective", effective.string()});
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(again.out, answer.out) << entry.path();
  }
}

TEST(PlimsollRun, WritesTheEffectiveConfigurationAndEnds) {
  const TempDir dir;
  const auto file = dir.path() / "effective.yaml";
  const Answer written =
      plimsoll({"run", "--config", kProfile, "--write-config-to", file.string()});
  ASSERT_EQ(written.code, 0) << written.err;
  const Answer shown = plimsoll({"validate", "--show-effective", kProfile});
  const Answer printed = plimsoll({"run", "--config", kProfile, "--write-config-to", "-"});
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(printed.out, shown.out);
  const Answer again = plimsoll({"validate", "--show-effective", file.string()});
  EXPECT_EQ(again.out, shown.out);
  const Answer refused =
      plimsoll({"run", "--config", kProfile, "--write-config-to", dir.path() / "no" / "folder"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("cannot write the configuration"));
}

// The chart's extraArgs stand behind its own flags.
TEST(PlimsollRun, TheLastOfAFlagThatIsGivenTwiceWins) {
  const Answer twice =
      plimsoll({"run", "--config", "/no/such/file", "--config", kProfile, "--write-config-to", "-",
                "--bind-address=0.0.0.0", "--port=10259", "--bind-address=127.0.0.1", "--port=0",
                "--leader-elect=false", "--leader-elect", "--leader-elect-resource-name=first",
                "--leader-elect-resource-name=second"});
  EXPECT_EQ(twice.code, 0) << twice.err;
  EXPECT_THAT(twice.out, HasSubstr("leaderElect: true"));
  EXPECT_THAT(twice.out, HasSubstr("resourceName: second"));
  const TempDir first, second;
  ASSERT_TRUE(write_file(first.path() / "one.so", "no plugin"));
  ASSERT_TRUE(write_file(second.path() / "two.so", "no plugin"));
  const Answer both = plimsoll(
      {"plugins", "--plugin-dir", first.path().string(), "--plugin-dir", second.path().string()});
  EXPECT_THAT(both.out, AllOf(HasSubstr("one.so"), HasSubstr("two.so"))) << "a list has all";
}

// A minimal system has no program "kill".
TEST(PlimsollService, ReloadsWithoutAnyOtherPackage) {
  std::ifstream unit("packaging/plimsoll.service");
  std::string command;
  for (std::string line; std::getline(unit, line);) {
    if (line.starts_with("ExecReload=")) command = line.substr(line.find('=') + 1);
  }
  ASSERT_NE(command, "");
  // Exits with 128 and the number of the signal that the process got.
  const std::string script =
      "sleep 600 & env -i PATH=/no/folder MAINPID=$! " + command + " || kill -KILL $!; wait $!";
  ChildOptions options;
  options.argv = {"/bin/sh", "-c", script};
  auto process = ChildProcess::start(options);
  ASSERT_TRUE(process.has_value()) << process.error().message;
  const auto status = process->wait(120s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 128 + SIGHUP);
}

// What a changed profile file is asked before the one in force is given up.
TEST(PlimsollRun, AReloadLooksAtTheFilesThatAreNamed) {
  const TempDir dir;
  const auto kubeconfig = dir.path() / "kubeconfig";
  ASSERT_TRUE(write_file(kubeconfig, R"(apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
)"));
  const auto check = [&](const std::string& more) {
    const auto file = dir.path() / "profile.yaml";
    EXPECT_TRUE(write_file(file, R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles: [{schedulerName: mine}]
)" + more));
    return plimsoll({"run", "--config", file.string(), "--write-config-to", "-", "--as-a-reload"});
  };
  const std::string reached = "clientConnection: {kubeconfig: " + kubeconfig.string() + "}\n";
  EXPECT_EQ(check(reached).code, 0) << check(reached).err;
  const Answer no_kubeconfig = check("clientConnection: {kubeconfig: /no/such/kubeconfig}\n");
  EXPECT_EQ(no_kubeconfig.code, 1);
  EXPECT_THAT(no_kubeconfig.err, HasSubstr("/no/such/kubeconfig"));
  const Answer no_certificate = check(reached + R"(extenders:
- {urlPrefix: "https://x", filterVerb: f, enableHTTPS: true, tlsConfig: {caFile: /no/such/ca.pem}}
)");
  EXPECT_EQ(no_certificate.code, 1);
  EXPECT_THAT(no_certificate.err, HasSubstr("/no/such/ca.pem"));
}

TEST(PlimsollValidate, AllErrorsAtOnceThoseOfPluginsToo) {
  const TempDir dir;
  const auto file = dir.path() / "profile.yaml";
  ASSERT_TRUE(write_file(file, R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: -1
profiles:
- schedulerName: a
  plugins:
    multiPoint:
      enabled:
      - name: NodeResourceTopologyMatch
      - name: Imaginary
  pluginConfig:
  - name: NodeResourceTopologyMatch
    args:
      scoringStrategy:
        type: Cheapest
      cache:
        foreignPodDetect: All
      preemptionMode: Sometimes
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: Best
        resources:
        - name: cpu
          weight: 101
  - name: NodeResourcesBalancedAllocation
    args:
      kind: NodeResourcesFitArgs
      resource: []
)"));
  const Answer answer = plimsoll({"validate", file.string()});
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.err, HasSubstr("profile.yaml:3:"));
  EXPECT_THAT(answer.err, HasSubstr("Imaginary"));
  EXPECT_THAT(answer.err, HasSubstr("profile.yaml:15:"));
  EXPECT_THAT(answer.err, HasSubstr("Cheapest"));
  EXPECT_THAT(answer.err,
              HasSubstr("profile.yaml:17:9: unknown field "
                        "\"profiles[0].pluginConfig[0].args.cache.foreignPodDetect\", did you mean "
                        "\"foreignPodsDetect\"?"));
  EXPECT_THAT(answer.err,
              HasSubstr("profile.yaml:18:23: profiles[0].pluginConfig[0].args.preemptionMode: "
                        "must be Enabled or Disabled, not \"Sometimes\""));
  EXPECT_THAT(
      answer.err,
      HasSubstr("profile.yaml:22:15: profiles[0].pluginConfig[1].args.scoringStrategy.type: "
                "must be LeastAllocated, MostAllocated or RequestedToCapacityRatio, not "
                "\"Best\""));
  EXPECT_THAT(answer.err, HasSubstr("profile.yaml:25:19: profiles[0].pluginConfig[1].args."
                                    "scoringStrategy.resources[0].weight: must be a number from 0 "
                                    "to 100, not 101"));
  EXPECT_THAT(answer.err, HasSubstr("profile.yaml:28:13: profiles[0].pluginConfig[2].args.kind: "
                                    "must be NodeResourcesBalancedAllocationArgs, not "
                                    "\"NodeResourcesFitArgs\""));
  EXPECT_THAT(answer.err, HasSubstr("profile.yaml:29:7: unknown field "
                                    "\"profiles[0].pluginConfig[2].args.resource\", did you mean "
                                    "\"resources\"?"));
  EXPECT_THAT(answer.err, HasSubstr("9 errors"));
}

TEST(PlimsollValidate, PluginsWarnOfFieldsThatHaveNoEffect) {
  const auto warnings = [](const std::string& profile) {
    const Answer answer = plimsoll({"validate", "examples/profiles/" + profile});
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_EQ(answer.err, "") << "nothing is logged too";
    return answer.out;
  };
  const std::string migrated = warnings("koordinator-migrated.yaml");
  const std::string args = "profiles[0].pluginConfig[1].args.";
  EXPECT_THAT(migrated, HasSubstr(args + "allocator: has no effect: there is one allocator"));
  const std::string templates = args + "gpuSharedResourceTemplatesConfig.";
  EXPECT_THAT(migrated, HasSubstr(templates + "configMapNamespace: has no effect"));
  EXPECT_THAT(migrated, HasSubstr(templates + "configMapName: has no effect"));
  EXPECT_THAT(migrated, HasSubstr("3 warnings"));
  const std::string nrt = warnings("scheduler-plugins-nrt.yaml");
  EXPECT_THAT(nrt, HasSubstr("profiles[0].pluginConfig[0].args.cacheResyncPeriodSeconds: has no "
                             "effect: Plimsoll's NUMA ledger takes every report"));
  EXPECT_THAT(nrt, HasSubstr("args.cache.foreignPodsDetect: has no effect: the ledger counts"));
  EXPECT_THAT(nrt, HasSubstr("2 warnings"));
  EXPECT_THAT(warnings("topology.yaml"), Not(HasSubstr("warning")));
}

TEST(PlimsollPlugins, ListsWhatIsLoadedAndWhatWasRefused) {
  const Answer answer = plimsoll({"plugins", "-o", "json"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto plugins = nlohmann::json::parse(answer.out);
  const auto named = [&plugins](const std::string& name) {
    for (const auto& plugin : plugins) {
      if (plugin["name"] == name) return plugin;
    }
    return nlohmann::json();
  };
  for (const char* name : {"NodeResourceTopologyMatch", "TopologyScore", "NodeDevice"}) {
    EXPECT_TRUE(named(name)["loaded"].get<bool>()) << name;
    EXPECT_THAT(named(name)["path"].get<std::string>(), HasSubstr(".so")) << name;
    EXPECT_FALSE(named(name)["extensionPoints"].empty()) << name;
  }
  EXPECT_EQ(named("PrioritySort")["path"], "builtin");

  const TempDir dir;
  ASSERT_TRUE(write_file(dir.path() / "torn.so", "not a library"));
  const Answer refused = plimsoll({"plugins", "--plugin-dir", dir.path().string()});
  EXPECT_EQ(refused.code, 0);
  EXPECT_THAT(refused.out, HasSubstr("Refused:"));
  EXPECT_THAT(refused.out, HasSubstr("torn.so"));
}

TEST(PlimsollRun, SaysWhyItCannotStart) {
  const Answer no_kubeconfig =
      plimsoll({"run", "--config", kProfile, "--kubeconfig", "/no/such/kubeconfig"});
  EXPECT_EQ(no_kubeconfig.code, 1);
  EXPECT_THAT(no_kubeconfig.err, HasSubstr("/no/such/kubeconfig"));
}

// With a file it is the laboratory's, wherever the file stands on the line.
TEST(PlimsollUi, SaysWhyAFileCannotBeShown) {
  for (const std::vector<std::string>& line : {std::vector<std::string>{"ui", kSample + "no-file"},
                                               {"ui", "--local-port", "0", kSample + "no-file"},
                                               {"ui", "--config", kProfile, kSample + "no-file"}}) {
    const Answer answer = plimsoll(line);
    EXPECT_EQ(answer.code, 2);
    EXPECT_THAT(answer.err, HasSubstr("File does not exist: " + kSample + "no-file"));
  }
  const Answer answer = plimsoll({"ui", "README.md"});
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.err, HasSubstr("plimsoll ui: README.md:"));
  EXPECT_EQ(plimsoll({"ui", "--socket", "/nonexistent/s.sock"}).code, 1);
}

TEST(PlimsollUsage, ALineThatIsWrongEndsWithTwoAndNamesTheNearest) {
  const auto wrong = [](const std::vector<std::string>& line) {
    const Answer answer = plimsoll(line);
    EXPECT_EQ(answer.code, 2) << answer.err;
    EXPECT_EQ(answer.out, "");
    return answer.err;
  };
  EXPECT_THAT(wrong({"run"}), HasSubstr("--config"));
  EXPECT_THAT(wrong({"simulat"}),
              HasSubstr("unknown command \"simulat\", did you mean \"simulate\"?"));
  EXPECT_THAT(wrong({"run", "--kubconfig=x"}),
              HasSubstr("unknown flag \"--kubconfig\", did you mean \"--kubeconfig\"?"));
  EXPECT_THAT(wrong({"plugins", "lintt"}), HasSubstr("did you mean \"lint\"?"));
  EXPECT_THAT(wrong({"simulate", "--config", "a", "--cluster", "b", "--log-level", "loud"}),
              AllOf(HasSubstr("loud"), HasSubstr("warn")));
  EXPECT_THAT(wrong({"help", "simulat"}), HasSubstr("did you mean \"simulate\"?"));
}

TEST(PlimsollUsage, HelpIsThereWithoutAWordAndForEachCommand) {
  const auto told = [](const std::vector<std::string>& line) {
    const Answer answer = plimsoll(line);
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_EQ(answer.err, "");
    return answer.out;
  };
  EXPECT_THAT(told({}), AllOf(HasSubstr("simulate"), HasSubstr("explain")));
  EXPECT_EQ(told({}), told({"help"}));
  EXPECT_THAT(told({"help", "plugins", "lint"}), HasSubstr("--rounds"));
  EXPECT_THAT(told({"version"}), testing::MatchesRegex("plimsoll [0-9.]+\n"));
  EXPECT_THAT(told({"--version"}), Not(testing::IsEmpty()));
  for (const std::string command :
       {"run", "simulate", "validate", "explain", "debug", "plugins", "completion"}) {
    const std::string text = told({command, "--help"});
    EXPECT_EQ(text, told({"help", command}));
    EXPECT_THAT(text, HasSubstr("\nExamples:\n  ")) << command;
    EXPECT_THAT(text, Not(HasSubstr("->"))) << "no types of this program";
    EXPECT_THAT(text, Not(HasSubstr("=[]"))) << "nor what it writes for nothing";
  }
  for (const std::vector<std::string>& below :
       {std::vector<std::string>{"plugins", "lint"}, {"debug", "dump"}, {"debug", "compare"}}) {
    const std::string text = told({below[0], below[1], "--help"});
    EXPECT_THAT(text, HasSubstr("\nExamples:\n  plimsoll " + below[0] + " " + below[1]));
    EXPECT_THAT(text, Not(HasSubstr("=[]")));
  }
  EXPECT_THAT(told({"simulate", "--help"}), AllOf(HasSubstr("=500"), HasSubstr("=warn")));
  EXPECT_THAT(told({"debug", "log-level", "--help"}), HasSubstr("\nExamples:\n  plimsoll debug"));
  for (const char* shell : {"bash", "fish", "zsh"}) {
    EXPECT_THAT(told({"completion", shell}), HasSubstr("--cluster")) << shell;
  }
}

std::set<std::string> flags_in(const std::string& text) {
  std::set<std::string> flags;
  const std::regex flag("--[a-z][a-z-]*[a-z]");
  for (std::sregex_iterator at(text.begin(), text.end(), flag), end; at != end; ++at)
    flags.insert(at->str());
  return flags;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What --help, the documents and the manual page say agrees.
TEST(PlimsollUsage, TheDocumentsHaveEveryFlag) {
  for (const auto& [program, words, document] :
       {std::tuple<const char*, std::vector<std::string>, const char*>(
            "plimsoll", {"run", "--help"}, "docs/operations.md"),
        {"plimsoll-node", {"--help"}, "docs/node.md"}}) {
    const Answer help = call(program, words);
    EXPECT_EQ(help.code, 0) << help.err;
    const std::string text = text_of(document);
    for (const std::string& flag : flags_in(help.out)) {
      if (flag == "--help" || flag == "--help-all" || flag == "--version") continue;
      EXPECT_THAT(text, HasSubstr("`" + flag + "`")) << document;
    }
  }
  const Answer node = call("plimsoll-node", {"--help"});
  EXPECT_THAT(node.out, Not(HasSubstr("->"))) << "no numbers of this program";
  EXPECT_THAT(node.out, AllOf(HasSubstr("=info"), HasSubstr("=text")));
  const Answer run = call("plimsoll", {"run", "--help"});
  EXPECT_THAT(run.out, HasSubstr("besides the one installed"));
  EXPECT_THAT(text_of("packaging/plimsoll.h2m"), Not(HasSubstr("unless --plugin-dir")));
}

}  // namespace
}  // namespace plimsoll::test
