#pragma once
// A small cluster as API objects, for tests of the recount of placements.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/placement_facts.hpp"
#include "tests/e2e/provisioner.hpp"
#include "tests/e2e/recount_placement.hpp"
#include "tests/kube/kube_objects.hpp"

namespace plimsoll::test {

// Two zones of two nodes with 4 CPUs and room for two volumes: a1 and a2, b1 and b2.
class PlacementTest : public testing::Test {
 protected:
  static constexpr const char* kOurs = "ours";
  static constexpr const char* kZone = "zone";
  static constexpr const char* kHost = "kubernetes.io/hostname";
  static constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";

  PlacementTest() {
    for (const char* name : {"a1", "a2", "b1", "b2"}) {
      nlohmann::json node = node_object(name, {{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "9"}});
      node["metadata"]["labels"][kZone] = std::string(1, name[0]);
      objects_.nodes.push_back(node);
      const nlohmann::json driver = {
          {"name", "disk"}, {"nodeID", name}, {"allocatable", {{"count", 2}}}};
      storage_.csi_nodes.push_back({{"metadata", {{"name", name}}},
                                    {"spec", {{"drivers", nlohmann::json::array({driver})}}}});
    }
    add_class("zonal", "disk");
    add_class("local", "kubernetes.io/no-provisioner");
  }

  void add_class(const char* name, const char* provisioner) {
    storage_.classes.push_back({{"metadata", {{"name", name}}},
                                {"provisioner", provisioner},
                                {"volumeBindingMode", "WaitForFirstConsumer"}});
  }

  // A pod of the app; on no node if there is none. The answer holds until the next pod.
  nlohmann::json& add_pod(const std::string& name, const std::string& app,
                          const std::string& node) {
    nlohmann::json pod = pod_object({.name = name, .scheduler = kOurs, .requests = {{"cpu", "1"}}});
    pod["metadata"]["namespace"] = "t";
    pod["metadata"]["labels"] = {{"app", app}};
    pod["status"] = nlohmann::json::object();
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    objects_.pods.push_back(std::move(pod));
    return objects_.pods.back();
  }
  static nlohmann::json selector(const std::string& app) {
    return {{"matchLabels", {{"app", app}}}};
  }
  nlohmann::json& add_spread(const std::string& name, const std::string& node,
                             const std::string& key = kZone) {
    nlohmann::json& pod = add_pod(name, "web", node);
    pod["spec"]["topologySpreadConstraints"] =
        nlohmann::json::array({{{"maxSkew", 1},
                                {"topologyKey", key},
                                {"whenUnsatisfiable", "DoNotSchedule"},
                                {"labelSelector", selector("web")}}});
    return pod;
  }
  nlohmann::json& add_near(const std::string& name, const std::string& app, const std::string& to,
                           const std::string& node) {
    nlohmann::json& pod = add_pod(name, app, node);
    pod["spec"]["affinity"]["podAffinity"][kRequired] =
        nlohmann::json::array({{{"topologyKey", kZone}, {"labelSelector", selector(to)}}});
    return pod;
  }
  nlohmann::json& add_apart(const std::string& name, const std::string& node) {
    nlohmann::json& pod = add_pod(name, "apart", node);
    pod["spec"]["affinity"]["podAntiAffinity"][kRequired] =
        nlohmann::json::array({{{"topologyKey", kHost}, {"labelSelector", selector("apart")}}});
    return pod;
  }

  // A claim, bound to a volume of its own that can be used in the zone; without: to none.
  nlohmann::json& add_claim(const std::string& name, const std::string& zone,
                            const std::string& of = "zonal") {
    nlohmann::json claim = claim_object(name, of);
    claim["metadata"]["namespace"] = "t";
    claim["metadata"]["uid"] = "uid-of-" + name;
    claim["status"] = {{"phase", zone.empty() ? "Pending" : "Bound"}};
    if (!zone.empty()) {
      claim["spec"]["volumeName"] = "volume-" + name;
      add_volume("volume-" + name, kZone, zone, "zonal")["spec"]["claimRef"] =
          claim_reference(claim);
    }
    storage_.claims.push_back(std::move(claim));
    return storage_.claims.back();
  }
  nlohmann::json& add_volume(const std::string& name, const std::string& label,
                             const std::string& value, const std::string& of) {
    nlohmann::json volume = {
        {"metadata", {{"name", name}}},
        {"spec", {{"storageClassName", of}, {"nodeAffinity", volume_affinity(label, {value})}}},
        {"status", {{"phase", "Available"}}}};
    if (of == "zonal") volume["spec"]["csi"] = {{"driver", "disk"}, {"volumeHandle", name}};
    storage_.volumes.push_back(std::move(volume));
    return storage_.volumes.back();
  }
  void add_pod_with_claim(const std::string& name, const std::string& node,
                          const std::string& zone) {
    add_claim("data-" + name, zone);
    add_claim_to(add_pod(name, "set", node), "data-" + name);
  }

  [[nodiscard]] Placement placement() const { return placement_of(objects_, storage_); }
  [[nodiscard]] std::vector<std::string> faults() const { return placement_faults(placement()); }
  [[nodiscard]] std::vector<std::string> waiting() const {
    return kept_waiting(placement(), kOurs);
  }

  ClusterObjects objects_;
  StorageObjects storage_;
};

}  // namespace plimsoll::test
