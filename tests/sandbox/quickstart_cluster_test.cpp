// The quick start's cluster can do what its expected.yaml says: by the simulated kubelets'
// own admission, without a scheduler.

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "config/manifest.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/apiserver/cluster_loader.hpp"
#include "lab/sandbox/kubelet/kubelet.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

const std::string kFolder = "examples/clusters/quickstart/";

std::vector<std::string> texts_of(const std::string& file) {
  std::vector<std::string> texts;
  const auto objects = config::load_manifests(kFolder + file);
  if (!objects) {
    ADD_FAILURE() << objects.error().message;
    return texts;
  }
  for (const auto& object : *objects) texts.push_back(object.json);
  return texts;
}

class QuickstartCluster : public testing::Test {
 protected:
  void SetUp() override {
    const auto loaded = load_cluster(store, texts_of("cluster.yaml"));
    ASSERT_TRUE(loaded) << loaded.error().message;
    ASSERT_TRUE(loaded->notes.empty());
    for (const std::string& text : texts_of("pods.yaml")) {
      json pod = json::parse(text);
      set_pod_defaults(pod);
      const json& metadata = pod["metadata"];
      pod["metadata"]["uid"] = metadata["name"];
      pods.push_back(std::move(pod));
    }
    const auto nodes = store.list(kNodes);
    for (const ObjectPtr& stored : nodes->objects) {
      const auto nrt = store.get(kNodeResourceTopologies, stored->key);
      objects[stored->key.name] = stored->parse();
      descriptions[stored->key.name] =
          describe_node(stored->parse(), nrt ? (*nrt)->parse() : json()).value();
    }
    expected = YAML::LoadFile(kFolder + "expected.yaml");
    for (const auto& [name, description] : descriptions) {
      admissions[name] = make_node_admission(description);
    }
    const auto running = store.list(kPods);
    for (const ObjectPtr& pod : running->objects) {
      admissions.at(*find_field(pod->fields, "spec.nodeName"))->restore(pod->parse());
    }
  }

  // Open to a pod that tolerates nothing and selects by labels.
  bool open_to(const std::string& node, const json& pod) const {
    const json spec = objects.at(node).value("spec", json::object());
    if (spec.value("unschedulable", false) || spec.contains("taints")) return false;
    const json labels = objects.at(node)["metadata"]["labels"];
    const json wanted = pod["spec"].value("nodeSelector", json::object());
    for (const auto& [key, value] : wanted.items()) {
      if (labels.value(key, "") != value) return false;
    }
    return true;
  }

  ObjectStore store;
  std::vector<json> pods;
  std::map<std::string, json> objects;
  std::map<std::string, NodeDescription> descriptions;
  std::map<std::string, std::unique_ptr<NodeAdmission>> admissions;
  YAML::Node expected;
};

TEST_F(QuickstartCluster, ExpectationsNameEveryPodOnce) {
  std::multiset<std::string> named;
  for (const char* list : {"placed", "unplaced"}) {
    for (const auto& entry : expected[list]) named.insert(entry["pod"].as<std::string>());
  }
  std::multiset<std::string> there;
  for (const json& pod : pods) {
    there.insert("default/" + pod["metadata"]["name"].get<std::string>());
    EXPECT_EQ(pod["spec"]["schedulerName"], "topo-aware-scheduler");
  }
  EXPECT_EQ(named, there);
  for (const auto& entry : expected["placed"]) {
    for (const auto& node : entry["nodes"]) EXPECT_TRUE(objects.contains(node.as<std::string>()));
  }
  for (const auto& entry : expected["unplaced"])
    EXPECT_FALSE(entry["reason"].as<std::string>().empty());
}

TEST_F(QuickstartCluster, ZonesAddUpToTheirNodes) {
  for (const auto& [name, node] : descriptions) {
    if (node.zones.empty()) continue;
    node::Amounts sum;
    for (const ZoneDescription& zone : node.zones) node::add_amounts(sum, zone.allocatable);
    for (const auto& [resource, amount] : sum) {
      EXPECT_EQ(amount, node::amount_of(node.allocatable, resource)) << name << " " << resource;
    }
  }
  EXPECT_EQ(descriptions.size(), 12U);
}

TEST_F(QuickstartCluster, DevicesAddUpToTheirNodes) {
  const auto devices = store.list(kDevices);
  EXPECT_EQ(devices->objects.size(), 3U);
  for (const ObjectPtr& stored : devices->objects) {
    node::Amounts sum;
    const json object = stored->parse();
    for (const json& device : object["spec"]["devices"]) {
      node::add_amounts(sum, node::parse_amounts(device["resources"]).value());
      if (device["type"] == "gpu")
        node::add_amounts(sum, {{"nvidia.com/gpu", 1}, {"koordinator.sh/gpu", 100}});
    }
    for (const auto& [resource, amount] : sum) {
      EXPECT_EQ(amount, node::amount_of(descriptions.at(stored->key.name).allocatable, resource))
          << stored->key.name << " " << resource;
    }
  }
}

TEST_F(QuickstartCluster, WhatIsToBePlacedIsAdmitted) {
  std::map<std::string, std::set<std::string>> allowed;
  for (const auto& entry : expected["placed"]) {
    auto& nodes = allowed[entry["pod"].as<std::string>()];
    for (const auto& node : entry["nodes"]) nodes.insert(node.as<std::string>());
  }
  for (const json& pod : pods) {
    const std::string name = "default/" + pod["metadata"]["name"].get<std::string>();
    const auto found = allowed.find(name);
    if (found == allowed.end()) continue;
    std::string taken_by;
    for (const auto& [node, admission] : admissions) {
      if (!open_to(node, pod) || (!found->second.empty() && !found->second.contains(node)))
        continue;
      if (admission->admit(pod).admitted) {
        taken_by = node;
        break;
      }
    }
    EXPECT_FALSE(taken_by.empty()) << name << " fits nowhere";
  }
}

TEST_F(QuickstartCluster, NoNodeButTheNamedOnesTakesAPodEvenWhenEmpty) {
  for (const auto& entry : expected["placed"]) {
    if (!entry["nodes"]) continue;
    std::set<std::string> listed;
    for (const auto& node : entry["nodes"]) listed.insert(node.as<std::string>());
    for (const json& pod : pods) {
      if ("default/" + pod["metadata"]["name"].get<std::string>() != entry["pod"].as<std::string>())
        continue;
      const bool devices = pod["spec"].dump().find("/gpu") != std::string::npos ||
                           pod["spec"].contains("resourceClaims");
      for (const auto& [node, description] : descriptions) {
        if (listed.contains(node) || !open_to(node, pod) || devices) continue;
        // As it stands with its running pods, before anything is placed.
        EXPECT_FALSE(admissions.at(node)->admit(pod).admitted)
            << entry["pod"].as<std::string>() << " fits " << node;
      }
    }
  }
}

TEST_F(QuickstartCluster, WhatCannotAlignIsRefusedForItsZonesOnly) {
  for (const auto& entry : expected["unplaced"]) {
    if (entry["reason"].as<std::string>().find("cannot align") == std::string::npos) continue;
    for (const json& pod : pods) {
      if ("default/" + pod["metadata"]["name"].get<std::string>() != entry["pod"].as<std::string>())
        continue;
      int by_zone = 0;
      for (const auto& [node, admission] : admissions) {
        if (!open_to(node, pod)) continue;
        const AdmissionDecision decision = admission->admit(pod);
        EXPECT_FALSE(decision.admitted) << node;
        const auto limits =
            node::parse_amounts(pod["spec"]["containers"][0]["resources"]["limits"]).value();
        bool total_fits = true;
        for (const auto& [resource, amount] : limits) {
          total_fits =
              total_fits && amount <= node::amount_of(descriptions.at(node).allocatable, resource);
        }
        if (total_fits && decision.reason == "TopologyAffinityError") ++by_zone;
      }
      EXPECT_GT(by_zone, 0) << entry["pod"].as<std::string>();
    }
  }
}

TEST_F(QuickstartCluster, SimulatedKubeletsTakeItOver) {
  SimulatedKubelets kubelets(store);
  ASSERT_TRUE(kubelets.wait_idle(std::chrono::seconds(20)));
  EXPECT_EQ(kubelets.stats().nodes, 12U);
  EXPECT_EQ(kubelets.stats().rejected, 0U);
}

}  // namespace
}  // namespace plimsoll::sandbox
