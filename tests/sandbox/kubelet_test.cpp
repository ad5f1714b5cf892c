#include "lab/sandbox/kubelet/kubelet.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "lab/sandbox/admission/pod_rules.hpp"
#include "plugins/topology/report/fingerprint.hpp"
#include "tests/sandbox/kubelet_options.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;
using topology::pod_fingerprint;
using namespace std::chrono_literals;

class KubeletTest : public testing::Test {
 protected:
  void add_node(const std::string& name, int zones = 2) {
    ASSERT_TRUE(store.create(
        kNodes,
        {{"metadata", {{"name", name}}},
         {"status", {{"allocatable", {{"cpu", "16"}, {"memory", "32Gi"}, {"pods", "110"}}}}}}));
    json list = json::array();
    for (int i = 0; i < zones; ++i) {
      list.push_back(
          {{"name", "node-" + std::to_string(i)},
           {"type", "Node"},
           {"resources",
            {{{"name", "cpu"}, {"capacity", "8"}, {"allocatable", "8"}, {"available", "8"}},
             {{"name", "memory"},
              {"capacity", "16Gi"},
              {"allocatable", "16Gi"},
              {"available", "16Gi"}}}}});
    }
    if (zones == 0) return;
    ASSERT_TRUE(store.create(kNodeResourceTopologies,
                             {{"metadata", {{"name", name}}},
                              {"zones", list},
                              {"attributes",
                               {{{"name", "topologyManagerPolicy"}, {"value", "single-numa-node"}},
                                {{"name", "topologyManagerScope"}, {"value", "container"}}}}}));
  }

  // Creates a pod that is bound already: what a scheduler leaves behind.
  void add_bound(const std::string& name, const std::string& node, const char* cpu,
                 json annotations = json::object()) {
    const json limits = {{"cpu", cpu}, {"memory", "1Gi"}};
    json pod = {
        {"metadata",
         {{"name", name}, {"namespace", "default"}, {"annotations", std::move(annotations)}}},
        {"spec",
         {{"nodeName", node},
          {"initContainers",
           {{{"name", "init"}, {"image", "i"}, {"resources", {{"limits", limits}}}}}},
          {"containers", {{{"name", "c"}, {"image", "i"}, {"resources", {{"limits", limits}}}}}}}}};
    set_pod_defaults(pod);
    ASSERT_TRUE(store.create(kPods, std::move(pod)));
  }

  json pod(const std::string& name) const {
    const auto found = store.get(kPods, {"default", name});
    return found ? (*found)->parse() : json();
  }
  json nrt(const std::string& node) const {
    return (*store.get(kNodeResourceTopologies, {"", node}))->parse();
  }
  std::string available(const std::string& node, int zone) const {
    return nrt(node)["zones"][zone]["resources"][0]["available"];
  }
  std::string attribute(const std::string& node, const std::string& name) const {
    const json object = nrt(node);
    for (const json& entry : object["attributes"]) {
      if (entry["name"] == name) return entry["value"];
    }
    return {};
  }

  ObjectStore store{{.seed = 3}};
};

TEST_F(KubeletTest, RunsABoundPodAndReportsItsZone) {
  add_node("n");
  SimulatedKubelets kubelets(store, fast());
  add_bound("a", "n", "6");
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  const json running = pod("a");
  EXPECT_EQ(running["status"]["phase"], "Running");
  EXPECT_EQ(running["status"]["containerStatuses"][0]["state"].contains("running"), true);
  EXPECT_EQ(running["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"], 0);
  EXPECT_EQ(available("n", 0), "2");
  EXPECT_EQ(available("n", 1), "8");
  EXPECT_EQ(attribute("n", "nodeTopologyPodsFingerprint"), pod_fingerprint({{"default", "a"}}));
  EXPECT_EQ(attribute("n", "nodeTopologyPodsFingerprintMethod"), "all");
  EXPECT_EQ(attribute("n", "topologyManagerPolicy"), "single-numa-node");
  const KubeletStats stats = kubelets.stats();
  EXPECT_EQ(stats.nodes, 1U);
  EXPECT_EQ(stats.admitted, 1U);
  EXPECT_EQ(stats.reports, 1U);
}

TEST_F(KubeletTest, RejectsWhatDoesNotAlignAsAKubeletDoes) {
  add_node("n");
  SimulatedKubelets kubelets(store, fast());
  add_bound("a", "n", "6");
  add_bound("b", "n", "6");
  add_bound("c", "n", "3");
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  const json failed = pod("c");
  EXPECT_EQ(failed["status"]["phase"], "Failed");
  EXPECT_EQ(failed["status"]["reason"], "TopologyAffinityError");
  EXPECT_EQ(failed["status"]["message"],
            "Pod was rejected: Resources cannot be allocated with Topology locality");
  EXPECT_EQ(kubelets.stats().rejected, 1U);
  EXPECT_EQ(kubelets.stats().topology_rejections, 1U);
  EXPECT_EQ(kubelets.stats().admitted, 2U);
  EXPECT_EQ(attribute("n", "nodeTopologyPodsFingerprint"),
            pod_fingerprint({{"default", "a"}, {"default", "b"}}));
}

TEST_F(KubeletTest, HoldsReportsBack) {
  add_node("n");
  KubeletOptions options = fast();
  options.reports.delay = 400ms;
  SimulatedKubelets kubelets(store, options);
  add_bound("a", "n", "6");
  for (int i = 0; i < 15000 && pod("a")["status"]["phase"] != "Running"; ++i) {
    std::this_thread::sleep_for(2ms);
  }
  if (kubelets.stats().reports == 0) {
    EXPECT_EQ(available("n", 0), "8");
  }
  add_bound("b", "n", "2");
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_EQ(available("n", 0), "0");
  EXPECT_LE(kubelets.stats().reports, 2U);  // changes within the delay share a report
}

TEST_F(KubeletTest, FinishesPodsAfterTheirRunSeconds) {
  add_node("n");
  KubeletOptions options = fast();
  options.speed = 10;
  SimulatedKubelets kubelets(store, options);
  add_bound("a", "n", "6", {{kRunSecondsAnnotation, "0.5"}});
  add_bound("b", "n", "1", {{kRunSecondsAnnotation, "soon"}});
  for (int i = 0; i < 6000 && pod("a")["status"]["phase"] != "Succeeded"; ++i) {
    std::this_thread::sleep_for(5ms);
  }
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_EQ(pod("a")["status"]["phase"], "Succeeded");
  EXPECT_EQ(pod("a")["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 0);
  EXPECT_EQ(pod("b")["status"]["phase"], "Running");
  EXPECT_EQ(available("n", 0), "7");
  EXPECT_EQ(kubelets.stats().finished, 1U);
  EXPECT_EQ(attribute("n", "nodeTopologyPodsFingerprint"), pod_fingerprint({{"default", "b"}}));
}

// A thousand million seconds on a clock that goes a million times slower.
TEST_F(KubeletTest, WhatIsDueBeyondTheClockNeverComes) {
  add_node("n");
  KubeletOptions options = fast();
  options.start_delay = 0ms;
  options.reports.delay = 0ms;
  options.speed = 1e-6;
  SimulatedKubelets kubelets(store, options);
  add_bound("a", "n", "6", {{kRunSecondsAnnotation, "1e9"}});
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_EQ(pod("a")["status"]["phase"], "Running");
  EXPECT_EQ(kubelets.stats().finished, 0U);
  EXPECT_EQ(kubelets.stats().pending_finishes, 1U);
}

TEST_F(KubeletTest, GivesBackOnDeletion) {
  add_node("n");
  SimulatedKubelets kubelets(store, fast());
  add_bound("a", "n", "6");
  add_bound("b", "n", "8");
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_EQ(available("n", 0), "2");
  EXPECT_EQ(available("n", 1), "0");
  ASSERT_TRUE(store.remove(kPods, {"default", "a"}));
  ASSERT_TRUE(store.modify(kPods, {"default", "b"}, {}, [](json& object) -> ApiResult<void> {
    object["metadata"]["deletionTimestamp"] = timestamp_now();
    return {};
  }));
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_TRUE(pod("b").is_null());
  EXPECT_EQ(available("n", 0), "8");
  EXPECT_EQ(available("n", 1), "8");
  EXPECT_EQ(kubelets.stats().removed, 1U);
}

TEST_F(KubeletTest, TakesOverWhatIsThereAndNodesThatComeLater) {
  add_node("old");
  add_bound("running", "old", "6");
  ASSERT_TRUE(store.modify(kPods, {"default", "running"}, {}, [](json& object) -> ApiResult<void> {
    object["status"]["phase"] = "Running";
    return {};
  }));
  add_bound("waiting", "new", "3");
  SimulatedKubelets kubelets(store, fast());
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_EQ(pod("waiting")["status"]["phase"], "Pending");
  EXPECT_EQ(kubelets.stats().admitted, 0U);
  add_node("new", 0);
  add_bound("next", "old", "3");
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_EQ(pod("waiting")["status"]["phase"], "Running");
  EXPECT_EQ(available("old", 0), "2");
  EXPECT_EQ(available("old", 1), "5");
}

TEST_F(KubeletTest, ANodeThatGrowsKeepsItsPods) {
  add_node("n");
  SimulatedKubelets kubelets(store, fast());
  add_bound("a", "n", "6");
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  ASSERT_TRUE(
      store.modify(kNodeResourceTopologies, {"", "n"}, {}, [](json& object) -> ApiResult<void> {
        for (json& zone : object["zones"]) {
          zone["resources"][0]["allocatable"] = "12";
          zone["resources"][0]["available"] = "12";
        }
        return {};
      }));
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_EQ(available("n", 0), "6");
  EXPECT_EQ(available("n", 1), "12");
}

// Settings and facts of another exporter, and of another moment, do not outlive the first report:
// not even of a simulated exporter that writes counts alone.
TEST_F(KubeletTest, TheFirstReportEndsWhatOthersLeft) {
  for (const node::ReportKind kind : {node::ReportKind::kFacts, node::ReportKind::kCounts}) {
    const std::string name = kind == node::ReportKind::kFacts ? "facts" : "counts";
    add_node(name);
    ASSERT_TRUE(
        store.modify(kNodeResourceTopologies, {"", name}, {}, [](json& object) -> ApiResult<void> {
          json& annotations = object["metadata"]["annotations"];
          annotations["topology.plimsoll.io/machine"] = "v1.0\ncpus 0/0/0 0-7\n";
          annotations["topology.plimsoll.io/free"] = "v1.0\ncpus 0\n";
          for (const char* setting : {"cpuManagerPolicyOptions", "kubeletFeatureGates"}) {
            object["attributes"].push_back({{"name", setting}, {"value", "x=true"}});
          }
          object["attributes"].push_back({{"name", "colour"}, {"value", "red"}});
          // Readers take the last valid one.
          object["attributes"].push_back(
              {{"name", "topologyManagerPolicy"}, {"value", "restricted"}});
          return {};
        }));
    KubeletOptions options = fast();
    options.reports.kind = kind;
    SimulatedKubelets kubelets(store, options);
    ASSERT_TRUE(kubelets.wait_idle(kLong));
    const json object = nrt(name);
    std::map<std::string, std::string> attributes;
    for (const json& entry : object["attributes"]) {
      EXPECT_TRUE(attributes.emplace(entry["name"], entry["value"]).second) << entry;
    }
    EXPECT_EQ(attributes.count("cpuManagerPolicyOptions"), 0U) << name;
    EXPECT_EQ(attributes.count("kubeletFeatureGates"), 0U) << name;
    EXPECT_EQ(attributes["colour"], "red") << "nobody's business here";
    EXPECT_EQ(attributes["topologyManagerPolicy"], "restricted");
    EXPECT_EQ(attributes["nodeTopologyPodsFingerprint"], pod_fingerprint({}));
    const json annotations = object["metadata"].value("annotations", json::object());
    EXPECT_NE(annotations.value("topology.plimsoll.io/free", ""), "v1.0\ncpus 0\n");
    EXPECT_EQ(annotations.contains("topology.plimsoll.io/free"), kind == node::ReportKind::kFacts);
    EXPECT_EQ(annotations.contains("topology.plimsoll.io/machine"),
              kind == node::ReportKind::kFacts);
    EXPECT_EQ(kubelets.stats().reports, 0U) << "the first one of a node is not counted";
  }
}

TEST_F(KubeletTest, SurvivesALostHistoryAndBrokenObjects) {
  ObjectStore small({.history_per_kind = 4});
  SimulatedKubelets kubelets(small, fast());
  ASSERT_TRUE(small.create(
      kNodes, {{"metadata", {{"name", "bad"}}}, {"status", {{"allocatable", {{"cpu", "x"}}}}}}));
  ASSERT_TRUE(
      small.create(kNodes, {{"metadata", {{"name", "n"}}},
                            {"status", {{"allocatable", {{"cpu", "200"}, {"pods", "500"}}}}}}));
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(small.create(kPods, {{"metadata", {{"name", "p" + std::to_string(i)}}},
                                     {"spec", {{"nodeName", "n"}, {"containers", json::array()}}},
                                     {"status", {{"phase", "Pending"}}}}));
  }
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_EQ(kubelets.stats().admitted, 200U);
  const auto all = small.list(kPods);
  for (const ObjectPtr& object : all->objects) {
    EXPECT_EQ(*find_field(object->fields, "status.phase"), "Running") << object->key.name;
  }
}

class RefuseAll : public NodeAdmission {
 public:
  AdmissionDecision admit(const json&) override {
    return {false, "UnexpectedAdmissionError", "no"};
  }
  AdmissionDecision try_admit(const json&) const override { return {}; }
  std::shared_ptr<const PodQuestion> question_of(const json&) const override { return nullptr; }
  bool takes(const PodQuestion&) const override { return false; }
  bool restore(const json&) override { return true; }
  bool started(const std::string&) override { return false; }
  void release(const std::string&) override {}
  bool holds_exclusively(const std::string&) const override { return false; }
  node::NodeReport zones() const override { return {}; }
  node::NodeReport report(node::ReportKind) const override { return {}; }
};

TEST_F(KubeletTest, AdmissionCanBeReplaced) {
  add_node("n");
  KubeletOptions options = fast();
  options.admission = [](const NodeDescription&) { return std::make_unique<RefuseAll>(); };
  SimulatedKubelets kubelets(store, options);
  add_bound("a", "n", "1");
  ASSERT_TRUE(kubelets.wait_idle(kLong));
  EXPECT_EQ(pod("a")["status"]["reason"], "UnexpectedAdmissionError");
}

}  // namespace
}  // namespace plimsoll::sandbox
