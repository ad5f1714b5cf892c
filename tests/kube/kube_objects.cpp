#include "tests/kube/kube_objects.hpp"

#include <gtest/gtest.h>

#include <map>

namespace plimsoll::test {
namespace {

using nlohmann::json;

json resource_list(const Resources& resources) {
  json list = json::object();
  for (const auto& [name, quantity] : resources) list[name] = quantity;
  return list;
}

}  // namespace

std::string collection_of(const json& object) {
  static const std::map<std::string, std::string> kPlurals = {
      {"ServiceAccount", "serviceaccounts"},
      {"ConfigMap", "configmaps"},
      {"Service", "services"},
      {"Deployment", "deployments"},
      {"DaemonSet", "daemonsets"},
      {"PodDisruptionBudget", "poddisruptionbudgets"},
      {"NetworkPolicy", "networkpolicies"},
      {"Role", "roles"},
      {"RoleBinding", "rolebindings"},
      {"ClusterRole", "clusterroles"},
      {"ClusterRoleBinding", "clusterrolebindings"},
      {"ValidatingAdmissionPolicy", "validatingadmissionpolicies"},
      {"ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"}};
  const std::string version = object.at("apiVersion");
  const auto plural = kPlurals.find(object.at("kind").get<std::string>());
  EXPECT_NE(plural, kPlurals.end()) << object.at("kind");
  if (plural == kPlurals.end()) return {};
  const std::string ns = object.at("metadata").value("namespace", "");
  return (version == "v1" ? "/api/v1" : "/apis/" + version) +
         (ns.empty() ? "" : "/namespaces/" + ns) + "/" + plural->second;
}

json node_object(const std::string& name, const Resources& allocatable) {
  const json resources = resource_list(allocatable);
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", name}, {"labels", {{"kubernetes.io/hostname", name}}}}},
          {"status",
           {{"capacity", resources},
            {"allocatable", resources},
            {"conditions", json::array({{{"type", "Ready"},
                                         {"status", "True"},
                                         {"reason", "KubeletReady"},
                                         {"message", "kubelet is posting ready status"}}})}}}};
}

json pod_object(const PodSpec& spec) {
  const json requests = resource_list(spec.requests);
  json resources = {{"requests", requests}};
  if (spec.guaranteed) resources["limits"] = requests;
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", spec.name}}},
          {"spec",
           {{"schedulerName", spec.scheduler},
            {"containers", json::array({{{"name", "main"},
                                         {"image", "registry.example/main:1"},
                                         {"resources", resources}}})}}}};
}

json nrt_object(const NrtSpec& spec) {
  json zones = json::array();
  for (std::size_t zone = 0; zone < spec.zones.size(); ++zone) {
    json resources = json::array();
    for (const auto& [name, quantity] : spec.zones[zone]) {
      resources.push_back({{"name", name},
                           {"capacity", quantity},
                           {"allocatable", quantity},
                           {"available", quantity}});
    }
    json costs = json::array();
    for (std::size_t other = 0; other < spec.zones.size(); ++other) {
      costs.push_back(
          {{"name", "node-" + std::to_string(other)}, {"value", other == zone ? 10 : 20}});
    }
    zones.push_back({{"name", "node-" + std::to_string(zone)},
                     {"type", "Node"},
                     {"costs", costs},
                     {"resources", resources}});
  }
  return {{"apiVersion", "topology.node.k8s.io/v1alpha2"},
          {"kind", "NodeResourceTopology"},
          {"metadata", {{"name", spec.node}}},
          {"attributes", json::array({{{"name", "topologyManagerPolicy"}, {"value", spec.policy}},
                                      {{"name", "topologyManagerScope"}, {"value", spec.scope}}})},
          {"zones", zones}};
}

json gpu_device(int minor, int numa_node, const std::string& memory) {
  return {{"type", "gpu"},
          {"id", "GPU-" + std::to_string(minor)},
          {"minor", minor},
          {"health", true},
          {"resources",
           {{"koordinator.sh/gpu-core", "100"},
            {"koordinator.sh/gpu-memory-ratio", "100"},
            {"koordinator.sh/gpu-memory", memory}}},
          {"topology",
           {{"socketID", -1},
            {"nodeID", numa_node},
            {"pcieID", "pci0000:" + std::to_string(minor)},
            {"busID", "0000:0" + std::to_string(minor) + ":00.0"}}}};
}

json device_object(const std::string& node, std::vector<json> devices) {
  return {{"apiVersion", "scheduling.koordinator.sh/v1alpha1"},
          {"kind", "Device"},
          {"metadata", {{"name", node}}},
          {"spec", {{"devices", std::move(devices)}}}};
}

json coscheduling_crd() {
  const json amount{{"type", "integer"}, {"format", "int32"}};
  json at_least_one = amount;
  at_least_one["minimum"] = 1;
  const json any{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  const json spec{
      {"type", "object"},
      {"properties",
       {{"minMember", at_least_one}, {"minResources", any}, {"scheduleTimeoutSeconds", amount}}}};
  return {
      {"apiVersion", "apiextensions.k8s.io/v1"},
      {"kind", "CustomResourceDefinition"},
      {"metadata", {{"name", "podgroups.scheduling.x-k8s.io"}}},
      {"spec",
       {{"group", "scheduling.x-k8s.io"},
        {"scope", "Namespaced"},
        {"names", {{"kind", "PodGroup"}, {"plural", "podgroups"}, {"shortNames", {"pg", "pgs"}}}},
        {"versions",
         {{{"name", "v1alpha1"},
           {"served", true},
           {"storage", true},
           {"subresources", {{"status", json::object()}}},
           {"schema",
            {{"openAPIV3Schema",
              {{"type", "object"}, {"properties", {{"spec", spec}, {"status", any}}}}}}}}}}}}};
}

json binding_object(const std::string& pod, const std::string& node, const std::string& uid) {
  json metadata = {{"name", pod}};
  if (!uid.empty()) metadata["uid"] = uid;
  return {{"apiVersion", "v1"},
          {"kind", "Binding"},
          {"metadata", metadata},
          {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
}

}  // namespace plimsoll::test
