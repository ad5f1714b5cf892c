// Reports that are late, old, lost, or stop for a while; and nodes that name their machines.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/kubelet/kubelet.hpp"
#include "plugins/topology/report/fingerprint.hpp"
#include "tests/sandbox/kubelet_options.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;
using topology::pod_fingerprint;
using namespace std::chrono_literals;

class ReportFaultsTest : public testing::Test {
 protected:
  void add_machine(const std::string& name, const char* policy = "single-numa-node") {
    const json machine = {{"hwlocSynthetic", "pack:2 [numa(memory=16GiB)] core:4 pu:2"},
                          {"kubelet",
                           {{"topologyManagerPolicy", policy},
                            {"cpuManagerPolicy", "static"},
                            {"memoryManagerPolicy", "Static"},
                            {"reservedSystemCPUs", "0"}}}};
    ASSERT_TRUE(store.create(
        kNodes,
        {{"metadata", {{"name", name}, {"annotations", {{kMachineAnnotation, machine.dump()}}}}}}));
  }

  void add_bound(const std::string& name, const std::string& node, const char* cpu,
                 const std::string& zones = "") {
    json object = {{"metadata", {{"name", name}, {"namespace", "default"}}},
                   {"spec",
                    {{"nodeName", node},
                     {"containers",
                      {{{"name", "c"},
                        {"image", "i"},
                        {"resources", {{"limits", {{"cpu", cpu}, {"memory", "1Gi"}}}}}}}}}}};
    if (!zones.empty()) object["metadata"]["annotations"][kZonesAnnotation] = zones;
    set_pod_defaults(object);
    ASSERT_TRUE(store.create(kPods, std::move(object)));
  }

  json nrt(const std::string& node) const {
    const auto found = store.get(kNodeResourceTopologies, {"", node});
    return found ? (*found)->parse() : json();
  }
  std::string free_cpus(const std::string& node, std::size_t zone) const {
    const json object = nrt(node);
    for (const json& resource : object["zones"][zone]["resources"]) {
      if (resource["name"] == "cpu") return resource["available"];
    }
    return "none";
  }
  std::string fingerprint(const std::string& node) const {
    const json object = nrt(node);
    for (const json& entry : object["attributes"]) {
      if (entry["name"] == "nodeTopologyPodsFingerprint") return entry["value"];
    }
    return "none";
  }
  // Until so many reports have arrived or were lost.
  static bool wait_for_looks(const SimulatedKubelets& kubelets, std::uint64_t looks) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (std::chrono::steady_clock::now() < deadline) {
      const KubeletStats stats = kubelets.stats();
      if (stats.reports + stats.reports_lost >= looks) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }
  std::string phase(const std::string& pod) const {
    return *find_field((*store.get(kPods, {"default", pod}))->fields, "status.phase");
  }

  ObjectStore store{{.seed = 3}};
};

TEST_F(ReportFaultsTest, ANodeWithAMachineNeedsNothingElse) {
  SimulatedKubelets kubelets(store, fast());
  add_machine("n");
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  const json status = (*store.get(kNodes, {"", "n"}))->parse()["status"];
  EXPECT_EQ(status["allocatable"]["cpu"], "15");
  EXPECT_EQ(free_cpus("n", 0), "7");
  EXPECT_EQ(nrt("n")["metadata"]["annotations"].count("topology.plimsoll.io/free"), 1U);
  add_bound("a", "n", "8", R"({"c":{"cpu":[1],"memory":[1]}})");
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_EQ(free_cpus("n", 1), "0");
  // What somebody does to the object is undone by the next report, its deletion too.
  ASSERT_TRUE(store.remove(kNodeResourceTopologies, {"", "n"}));
  add_bound("b", "n", "7");
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_EQ(free_cpus("n", 0), "0");
}

TEST_F(ReportFaultsTest, CountsPredictionsAndContainersOverSeveralZones) {
  add_machine("n");
  add_machine("wide", "best-effort");
  SimulatedKubelets kubelets(store, fast());
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  add_bound("right", "n", "8", R"({"c":{"cpu":[1],"memory":[1]}})");
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  add_bound("wrong", "n", "4", R"({"c":{"cpu":[1],"memory":[1]}})");
  add_bound("silent", "wide", "12");
  add_bound("shared", "wide", "500m");
  add_bound("refused", "n", "6");
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  kubelets.stop();
  const KubeletStats stats = kubelets.stats();
  EXPECT_EQ(stats.admitted, 4U);
  EXPECT_EQ(stats.exclusive_pods, 4U) << "memory of Guaranteed pods is their own";
  EXPECT_EQ(stats.predicted_pods, 2U);
  EXPECT_EQ(stats.predictions_right, 1U);
  // "silent" has CPUs of both zones, and its memory makes them one group for all pods after it.
  EXPECT_EQ(stats.cross_zone_pods, 2U);
  EXPECT_EQ(stats.cross_zone_containers, 2U);
  EXPECT_EQ(stats.rejections, (std::map<std::string, std::uint64_t>{{"TopologyAffinityError", 1}}));
  const auto use = kubelets.zone_use();
  EXPECT_EQ(use.at("cpu").used, 24000);
  EXPECT_EQ(use.at("cpu").allocatable, 30000);
  EXPECT_EQ(use.at("cpu").peak, 24000);
  EXPECT_DOUBLE_EQ(use.at("cpu").fullest, 1.0);
}

TEST_F(ReportFaultsTest, FindsWhoWouldTakeAPod) {
  add_machine("a");
  add_machine("b");
  SimulatedKubelets kubelets(store, fast());
  add_bound("x", "a", "5");
  add_bound("y", "a", "5");
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  add_bound("probe", "nowhere", "6");
  const json probe = (*store.get(kPods, {"default", "probe"}))->parse();
  kubelets.stop();
  const auto any = [](const std::string&) { return true; };
  EXPECT_EQ(kubelets.first_taker(probe, any), "b");
  EXPECT_EQ(kubelets.first_taker(probe, [](const std::string& n) { return n == "a"; }),
            std::nullopt);
}

TEST_F(ReportFaultsTest, LostReportsAreMadeUpForInTheNextPeriod) {
  for (int i = 0; i < 8; ++i) add_machine("n" + std::to_string(i));
  KubeletOptions options = fast();
  options.reports.loss = 0.6;
  SimulatedKubelets kubelets(store, options);
  for (int i = 0; i < 8; ++i) {
    add_bound("p" + std::to_string(i), "n" + std::to_string(i), "4");
  }
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_GT(kubelets.stats().reports_lost, 0U);
  EXPECT_GE(kubelets.stats().reports, 8U);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(free_cpus("n" + std::to_string(i), 0), "3") << i;
}

// A change makes the exporter look at once, however long the period is.
TEST_F(ReportFaultsTest, ALostReportSilencesNobody) {
  constexpr int kNodes = 16;
  const auto name = [](int i) { return "n" + std::to_string(i); };
  for (int i = 0; i < kNodes; ++i) add_machine(name(i));
  KubeletOptions options = fast();
  options.reports.loss = 0.5;
  options.reports.period = 1h;
  SimulatedKubelets kubelets(store, options);
  std::vector<std::vector<std::pair<std::string, std::string>>> pods(kNodes);
  std::uint64_t looks = 0;
  int behind = kNodes;
  for (int round = 0; round < 14 && behind > 0; ++round) {
    for (int i = 0; i < kNodes; ++i) {
      if (round > 0 && fingerprint(name(i)) == pod_fingerprint(pods[i])) continue;
      const std::string pod = "p" + std::to_string(i) + "-" + std::to_string(round);
      pods[i].emplace_back("default", pod);
      add_bound(pod, name(i), "500m");
      ++looks;
    }
    ASSERT_TRUE(wait_for_looks(kubelets, looks)) << "round " << round;
    behind = 0;
    for (int i = 0; i < kNodes; ++i) behind += fingerprint(name(i)) != pod_fingerprint(pods[i]);
  }
  EXPECT_EQ(behind, 0);
  EXPECT_GT(kubelets.stats().reports_lost, 0U);
  EXPECT_TRUE(kubelets.wait_idle(kLong)) << "nobody waits for the end of the period";
}

// What else goes wrong does not change whose reports are lost.
TEST_F(ReportFaultsTest, FaultsDoNotShiftOtherFaults) {
  std::vector<std::set<int>> lost;
  std::vector<std::uint64_t> restarts;
  for (const double restart : {0.0, 0.7}) {
    for (int i = 0; i < 24; ++i) add_machine("n" + std::to_string(i));
    KubeletOptions options = fast();
    options.reports.loss = 0.5;
    options.reports.period = 1h;
    options.reports.restarts = restart;
    SimulatedKubelets kubelets(store, options);
    for (int i = 0; i < 24; ++i) {
      add_bound("p" + std::to_string(i), "n" + std::to_string(i), "4");
    }
    ASSERT_TRUE(wait_for_looks(kubelets, 24));
    restarts.push_back(kubelets.stats().agent_restarts);
    std::set<int>& silent = lost.emplace_back();
    for (int i = 0; i < 24; ++i) {
      if (free_cpus("n" + std::to_string(i), 0) == "7") silent.insert(i);
    }
    kubelets.stop();
    for (int i = 0; i < 24; ++i) {
      const std::string number = std::to_string(i);
      ASSERT_TRUE(store.remove(kPods, {"default", "p" + number}));
      ASSERT_TRUE(store.remove(kNodeResourceTopologies, {"", "n" + number}));
      ASSERT_TRUE(store.remove(kNodes, {"", "n" + number}));
    }
  }
  EXPECT_EQ(restarts[0], 0U);
  EXPECT_GT(restarts[1], 0U);
  EXPECT_FALSE(lost[0].empty());
  EXPECT_LT(lost[0].size(), 24U);
  EXPECT_EQ(lost[0], lost[1]);
}

TEST_F(ReportFaultsTest, AnAgentThatRestartsReportsAfresh) {
  for (int i = 0; i < 8; ++i) add_machine("n" + std::to_string(i));
  KubeletOptions options = fast();
  options.reports.restarts = 0.5;
  SimulatedKubelets kubelets(store, options);
  for (int i = 0; i < 8; ++i) {
    add_bound("p" + std::to_string(i), "n" + std::to_string(i), "4");
  }
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_GT(kubelets.stats().agent_restarts, 0U);
  EXPECT_LE(kubelets.stats().agent_restarts, 8U * 2);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(free_cpus("n" + std::to_string(i), 0), "3") << i;
}

// The fingerprint and the amounts are of the moment of the look, not of the arrival.
TEST_F(ReportFaultsTest, ReportsMayBeOldWhenTheyArrive) {
  add_machine("n");
  KubeletOptions options = fast();
  options.reports.delay = 0ms;
  options.reports.transit = 400ms;
  SimulatedKubelets kubelets(store, options);
  add_bound("a", "n", "4");
  ASSERT_TRUE(kubelets.wait_handled(kLong));
  for (int i = 0; i < 2000 && phase("a") != "Running"; ++i) std::this_thread::yield();
  add_bound("b", "n", "2");
  std::vector<std::string> seen;
  while (!kubelets.wait_idle(1ms)) {
    const json object = nrt("n");
    for (const json& entry : object["attributes"]) {
      if (entry["name"] != "nodeTopologyPodsFingerprint") continue;
      if (seen.empty() || seen.back() != entry["value"]) seen.push_back(entry["value"]);
    }
    std::this_thread::yield();
  }
  const std::string none = pod_fingerprint({});
  const std::string one = pod_fingerprint({{"default", "a"}});
  const std::string both = pod_fingerprint({{"default", "a"}, {"default", "b"}});
  EXPECT_THAT(seen,
              testing::AnyOf(testing::ElementsAre(none, one, both), testing::ElementsAre(none, one),
                             testing::ElementsAre(none, both), testing::ElementsAre(none)));
  EXPECT_EQ(free_cpus("n", 0), "1");
}

TEST_F(ReportFaultsTest, LeavesNodesAloneWhoseMachineCannotBeRead) {
  ASSERT_TRUE(store.create(
      kNodes, {{"metadata", {{"name", "bad"}, {"annotations", {{kMachineAnnotation, "{}"}}}}}}));
  add_machine("good");
  SimulatedKubelets kubelets(store, fast());
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_EQ(kubelets.stats().nodes, 1U);
}

TEST(ParseSeconds, ReadsNumbersOnly) {
  EXPECT_EQ(parse_seconds("2.5"), 2.5);
  EXPECT_EQ(parse_seconds("0"), 0.0);
  for (const char* text : {"", "x", "-1", "1s", "nan", "1e10"}) {
    EXPECT_EQ(parse_seconds(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace plimsoll::sandbox
