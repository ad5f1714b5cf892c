// NodeResourceTopologyMatch, TopologyScore and NodeDevice from their files, in a profile: a dry run
// of preemption as the scheduler makes it, and what comes of it.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "framework/api/decode/decode.hpp"
#include "framework/cluster/cluster_state.hpp"
#include "plugins/topology/report/fingerprint.hpp"
#include "tests/runtime/support.hpp"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::minimal_profile;
using testing::World;
using Json = nlohmann::json;

constexpr const char* kNrts = "noderesourcetopologies.v1alpha2.topology.node.k8s.io";
constexpr const char* kDevices = "devices.v1alpha1.scheduling.koordinator.sh";

class PluginFiles : public ::testing::Test {
 protected:
  // TopologyScore first: the ledger is its, the others reach it through their module's border.
  PluginFiles() : framework_(load({"TopologyScore", "NodeResourceTopologyMatch", "NodeDevice"})) {}

  Framework& load(const std::vector<std::string>& names) {
    ProfileSpec spec = minimal_profile();
    for (const std::string& name : names) {
      const ModuleRecord& record =
          world_.modules.load_file(std::filesystem::absolute(PLIMSOLL_PLUGINS) / (name + ".so"));
      EXPECT_TRUE(record.loaded) << record.refusal;
      const auto points = world_.modules.extension_points(name);
      for (ExtensionPoint point : points.value()) spec.at(point).push_back({name, 1});
    }
    return world_.make(spec);
  }

  void node(const std::string& name) {
    const Json object = {
        {"metadata", {{"name", name}}},
        {"status",
         {{"allocatable",
           {{"cpu", "32"}, {"memory", "128Gi"}, {"pods", "110"}, {"nvidia.com/gpu", "4"}}}}}};
    cluster_.upsert_node(decode_node(object.dump(), world_.symbols).value());
    framework_.node_event(PLIMSOLL_NODE_ADDED, *cluster_.node(name)->abi(), 0);
  }
  // Two zones of eight CPUs, single-numa-node.
  void zones(const std::string& name, int free0, int free1, const std::vector<std::string>& pods) {
    std::vector<uint64_t> hashes;
    for (const std::string& pod : pods) hashes.push_back(topology::pod_hash("ns", pod));
    const auto zone = [](int id, int free) {
      const auto amount = [](const std::string& what, int all, int available) {
        return Json{{"name", what},
                    {"capacity", std::to_string(all)},
                    {"allocatable", std::to_string(all)},
                    {"available", std::to_string(available)}};
      };
      return Json{{"name", "node-" + std::to_string(id)},
                  {"type", "Node"},
                  {"resources", {amount("cpu", 8, free), amount("memory", 1 << 30, 1 << 30)}}};
    };
    const Json object = {
        {"metadata", {{"name", name}, {"resourceVersion", std::to_string(++versions_)}}},
        {"attributes",
         {{{"name", "topologyManagerPolicy"}, {"value", "single-numa-node"}},
          {{"name", "topologyManagerScope"}, {"value", "container"}},
          {{"name", "nodeTopologyPodsFingerprint"},
           {"value", topology::fingerprint_text(topology::fingerprint_sum(hashes))}}}},
        {"zones", {zone(0, free0), zone(1, free1)}}};
    framework_.object_event(PLIMSOLL_OBJECT_UPSERT, kNrts, name, "", object.dump());
  }
  void gpus(const std::string& name, int count) {
    Json devices = Json::array();
    for (int minor = 0; minor < count; ++minor) {
      devices.push_back({{"type", "gpu"},
                         {"id", "GPU-" + std::to_string(minor)},
                         {"minor", minor},
                         {"health", true},
                         {"resources",
                          {{"koordinator.sh/gpu-core", "100"},
                           {"koordinator.sh/gpu-memory", "16Gi"},
                           {"koordinator.sh/gpu-memory-ratio", "100"}}}});
    }
    const Json object = {{"metadata", {{"name", name}}}, {"spec", {{"devices", devices}}}};
    framework_.object_event(PLIMSOLL_OBJECT_UPSERT, kDevices, name, "", object.dump());
  }

  PodRef pod(const std::string& name, int priority, const Json& requests,
             const std::vector<int>& minors = {}, const std::string& node = "") {
    Json annotations = Json::object();
    if (!minors.empty()) {
      Json list = Json::array();
      for (int minor : minors) {
        list.push_back({{"minor", minor},
                        {"resources",
                         {{"koordinator.sh/gpu-core", "100"},
                          {"koordinator.sh/gpu-memory", "16Gi"},
                          {"koordinator.sh/gpu-memory-ratio", "100"}}}});
      }
      annotations["scheduling.koordinator.sh/device-allocated"] = Json{{"gpu", list}}.dump();
    }
    Json spec = {{"priority", priority},
                 {"containers",
                  {{{"name", "main"},
                    {"image", "i"},
                    {"resources", {{"requests", requests}, {"limits", requests}}}}}}};
    if (!node.empty()) spec["nodeName"] = node;
    const Json object = {{"metadata",
                          {{"name", name},
                           {"namespace", "ns"},
                           {"uid", "uid-" + name},
                           {"annotations", annotations}}},
                         {"spec", spec}};
    return decode_pod(object.dump(), world_.symbols).value();
  }
  PodRef bound(const std::string& node, const std::string& name, int priority, const Json& requests,
               const std::vector<int>& minors = {}) {
    const PodRef made = pod(name, priority, requests, minors, node);
    cluster_.upsert_pod(made);
    framework_.pod_event(PLIMSOLL_POD_ASSIGNED, *made, node);
    return made;
  }
  void gone(const PodRef& pod) {
    cluster_.remove_pod(sdk::view(pod->meta.uid));
    framework_.pod_event(PLIMSOLL_POD_REMOVED, *pod, sdk::view(pod->node_name));
  }

  std::string filter(const CycleContext& cycle, const PodRef& pod, const NodeInfo& node) {
    return world_.message(framework_.run_filters_on(cycle, *pod, *node.abi()));
  }
  // selectVictimsOnNode, on nodes where the refusal is Unschedulable: without all pods of lower
  // priority, then one by one with them again, the most important first. The names of those that
  // have to go; "none" if that does not help, or cannot.
  std::vector<std::string> victims(const CycleContext& cycle, const PodRef& pod,
                                   const std::string& name) {
    NodeInfo node(*cluster_.node(name));
    if (framework_.run_filters_on(cycle, *pod, *node.abi()).code != Code::kUnschedulable) {
      return {"none"};
    }
    const auto state = cycle.clone();
    std::vector<PodRef> lower;
    for (const PodRef& other : cluster_.node(name)->pods()) {
      if (other->priority < pod->priority) lower.push_back(other);
    }
    std::stable_sort(lower.begin(), lower.end(),
                     [](const PodRef& a, const PodRef& b) { return a->priority > b->priority; });
    for (const PodRef& other : lower) {
      node.remove_pod(sdk::view(other->meta.uid));
      EXPECT_TRUE(framework_.run_remove_pod(*state, *pod, *other, *node.abi()).ok());
    }
    if (!filter(*state, pod, node).empty()) return {"none"};
    std::vector<std::string> names;
    for (const PodRef& other : lower) {
      node.add_pod(other);
      EXPECT_TRUE(framework_.run_add_pod(*state, *pod, *other, *node.abi()).ok());
      if (filter(*state, pod, node).empty()) continue;
      node.remove_pod(sdk::view(other->meta.uid));
      EXPECT_TRUE(framework_.run_remove_pod(*state, *pod, *other, *node.abi()).ok());
      names.emplace_back(sdk::view(other->meta.name));
    }
    return names;
  }

  World world_;
  Framework& framework_;
  ClusterState cluster_;
  int versions_ = 0;
};

Json cpus(int count, int gpus = 0) {
  Json requests = {{"cpu", std::to_string(count)}, {"memory", "1"}};
  if (gpus > 0) requests["nvidia.com/gpu"] = std::to_string(gpus);
  return requests;
}

TEST_F(PluginFiles, VictimsZonesAndDevicesAreFreeInTheDryRun) {
  node("n1");
  node("n2");
  for (const char* name : {"n1", "n2"}) gpus(name, 4);
  zones("n1", 0, 0, {"zone-holder", "zone-keeper", "gpu-holder", "gpu-keeper", "bystander"});
  zones("n2", 0, 0, {"important"});
  const Json one_gpu = {{"nvidia.com/gpu", "1"}};
  const PodRef zone_holder = bound("n1", "zone-holder", 0, cpus(8));
  bound("n1", "zone-keeper", 1000, cpus(8));
  const PodRef gpu_holder = bound("n1", "gpu-holder", 0, one_gpu, {3});
  bound("n1", "gpu-keeper", 1000, {{"nvidia.com/gpu", "3"}}, {0, 1, 2});
  bound("n1", "bystander", 0, {{"ephemeral-storage", "1"}});
  bound("n2", "important", 1000, cpus(8));

  const PodRef pod = this->pod("p", 100, cpus(4, 1));
  const auto cycle = framework_.new_cycle();
  ASSERT_TRUE(framework_.run_pre_filter(*cycle, *pod).status.ok());
  const std::string refused = filter(*cycle, pod, *cluster_.node("n1"));
  EXPECT_EQ(refused, "cannot align container (cpu)");
  EXPECT_THAT(victims(*cycle, pod, "n1"), ElementsAre("zone-holder", "gpu-holder"));
  EXPECT_THAT(victims(*cycle, pod, "n2"), ElementsAre("none"))
      << "eight of the zones' CPUs are used by nobody known";
  EXPECT_EQ(filter(*cycle, pod, *cluster_.node("n1")), refused) << "only the copies changed";

  // They go. No report says so yet: the pod waits, but nobody else has to go.
  gone(zone_holder);
  gone(gpu_holder);
  EXPECT_EQ(filter(*cycle, pod, *cluster_.node("n1")), refused);
  EXPECT_EQ(framework_.run_filters_on(*cycle, *pod, *cluster_.node("n1")->abi()).code,
            Code::kPending);
  EXPECT_THAT(victims(*cycle, pod, "n1"), ElementsAre("none"));
  zones("n1", 8, 0, {"zone-keeper", "gpu-keeper", "bystander"});
  EXPECT_EQ(filter(*cycle, pod, *cluster_.node("n1")), "");
  ASSERT_TRUE(framework_.run_reserve(*cycle, *pod, *cluster_.node("n1")->abi()).ok());
  std::string annotations;
  for (const auto& [key, value] : cycle->annotations()) annotations += key + "=" + value + "\n";
  EXPECT_THAT(annotations, HasSubstr(R"({"main":{"cpu":[0],"memory":[0]}})"));
  EXPECT_THAT(annotations, HasSubstr(R"("minor":3)"));
}

// Pass 1 of RunFilterPluginsWithNominatedPods.
TEST_F(PluginFiles, NominatedPodsKeepTheirRoom) {
  node("n1");
  gpus("n1", 2);
  zones("n1", 8, 4, {});
  const PodRef nominated = pod("nominated", 100, cpus(6, 1));
  const PodRef second = pod("second", 10, cpus(4, 1));
  const PodRef large = pod("large", 10, cpus(5, 1));
  const PodRef greedy = pod("greedy", 10, cpus(1, 2));
  const auto with_nominated = [&](const PodRef& pod) {
    const auto cycle = framework_.new_cycle();
    EXPECT_TRUE(framework_.run_pre_filter(*cycle, *pod).status.ok());
    EXPECT_EQ(filter(*cycle, pod, *cluster_.node("n1")), "");
    const auto state = cycle->clone();
    NodeInfo node(*cluster_.node("n1"));
    node.add_pod(nominated);
    EXPECT_TRUE(framework_.run_add_pod(*state, *pod, *nominated, *node.abi()).ok());
    return filter(*state, pod, node);
  };
  EXPECT_EQ(with_nominated(second), "");
  EXPECT_EQ(with_nominated(large), "cannot align container (cpu)");
  EXPECT_EQ(with_nominated(greedy), "Insufficient gpu devices");
}

}  // namespace
}  // namespace plimsoll
