#include "tests/e2e/kubelets.hpp"

#include <algorithm>
#include <utility>

#include "lab/sandbox/kubelet/node_admission.hpp"
#include "lab/sandbox/kubelet/pod_status.hpp"
#include "plugins/topology/report/fingerprint.hpp"
#include "tests/kube/kube_objects.hpp"

namespace plimsoll::test {

using nlohmann::json;

namespace {

constexpr const char* kZones = "topology.plimsoll.io/zones";

std::string name_of(const json& object) {
  return object["metadata"]["name"].get<std::string>();
}
std::string uid_of(const json& object) {
  return object["metadata"]["uid"].get<std::string>();
}
std::string path_of(const json& pod) {
  return "/api/v1/namespaces/" + pod["metadata"]["namespace"].get<std::string>() + "/pods/" +
         name_of(pod);
}
std::string node_name_of(const json& pod) {
  return pod["spec"].value("nodeName", "");
}
bool is_finished(const json& pod) {
  const std::string phase = pod["status"].value("phase", "");
  return phase == "Succeeded" || phase == "Failed";
}
// The version of the binding: nobody writes to a pod between that and its kubelet's answer.
std::uint64_t version_of(const json& pod) {
  return std::stoull(pod["metadata"]["resourceVersion"].get<std::string>());
}

json zones_of(const sandbox::AdmissionDecision& decision) {
  json zones = json::object();
  for (const sandbox::ContainerZones& container : decision.zones) {
    if (!container.zones.empty()) zones[container.container] = container.zones;
  }
  return zones;
}

// What the annotation says; null: nothing.
json announced(const json& pod) {
  const json annotations = pod["metadata"].value("annotations", json::object());
  if (!annotations.contains(kZones)) return {};
  return json::parse(annotations[kZones].get<std::string>());
}

// Whether the annotation names the zones that each container got.
bool names(const json& announcement, const json& zones) {
  for (const auto& [container, resources] : zones.items()) {
    for (const auto& [resource, ids] : resources.items()) {
      const json::json_pointer where = json::json_pointer() / container / resource;
      if (!announcement.contains(where) || announcement[where] != ids) return false;
    }
  }
  return true;
}

Error refused_by_server(const std::string& what, const KubeReply& reply) {
  return {ErrorCode::kInvalid, what + ": " + reply.body};
}

}  // namespace

struct Kubelets::Node {
  std::unique_ptr<sandbox::NodeAdmission> admission;
  std::map<std::string, std::pair<std::string, std::string>> pods;  // namespace and name, by UID
  bool changed = true;                                              // since its last report
};

Kubelets::Kubelets(KubeClient client) : client_(std::move(client)) {}
Kubelets::~Kubelets() = default;

Result<void> Kubelets::look_at_nodes() {
  const auto nodes = client_.list(kNodes);
  if (!nodes) return fail(nodes.error());
  const auto nrts = client_.list(kNrts);
  if (!nrts) return fail(nrts.error());
  std::set<std::string> there;
  for (const json& node : *nodes) there.insert(name_of(node));
  std::erase_if(node_of_, [&](const auto& pod) {
    if (there.contains(pod.second)) return false;
    really_.erase(pod.first);
    return true;
  });
  std::erase_if(nodes_, [&](const auto& node) { return !there.contains(node.first); });
  for (const json& node : *nodes) {
    const std::string name = name_of(node);
    if (nodes_.contains(name)) continue;
    const auto nrt = std::ranges::find_if(*nrts, [&](const json& o) { return name_of(o) == name; });
    const auto described = sandbox::describe_node(node, nrt == nrts->end() ? json() : *nrt);
    if (!described) return fail(described.error());
    auto made = std::make_unique<Node>();
    made->admission = sandbox::make_node_admission(*described);
    nodes_.emplace(name, std::move(made));
  }
  return {};
}

Result<Admissions> Kubelets::admit() {
  if (const auto looked = look_at_nodes(); !looked) return fail(looked.error());
  auto pods = client_.list("/api/v1/pods");
  if (!pods) return fail(pods.error());
  std::set<std::string> there;
  // In the order of the API server: what is bound, and what is released (a null pod).
  std::multimap<std::uint64_t, std::pair<std::string, json*>> steps;
  for (json& pod : *pods) {
    if (is_finished(pod)) continue;
    const std::string uid = uid_of(pod);
    there.insert(uid);
    if (nodes_.contains(node_name_of(pod)) && !node_of_.contains(uid)) {
      steps.emplace(version_of(pod), std::pair(uid, &pod));
    }
  }
  for (const auto& [uid, node] : node_of_) {
    if (there.contains(uid)) continue;
    const auto removed = removed_at_.find(uid);
    steps.emplace(removed == removed_at_.end() ? 0 : removed->second, std::pair(uid, nullptr));
  }
  Admissions result;
  for (const auto& [version, step] : steps) {
    const auto& [uid, pod] = step;
    if (pod == nullptr) {
      release(uid);
    } else if (const auto done = admit_one(*pod, result); !done) {
      return fail(done.error());
    }
  }
  removed_at_.clear();
  return result;
}

Result<void> Kubelets::remove(const json& pod) {
  const KubeReply reply = client_.del(path_of(pod), {{"gracePeriodSeconds", 0}});
  if (!reply.ok()) return fail(refused_by_server("deleting " + name_of(pod), reply));
  removed_at_[uid_of(pod)] = version_of(reply.json());
  return {};
}

void Kubelets::release(const std::string& uid) {
  Node& node = *nodes_.at(node_of_.at(uid));
  node.admission->release(uid);
  node.changed = node.pods.erase(uid) > 0 || node.changed;
  node_of_.erase(uid);
  really_.erase(uid);
}

Result<void> Kubelets::admit_one(json& pod, Admissions& result) {
  const std::string uid = uid_of(pod);
  const std::string node = node_name_of(pod);
  Node& kubelet = *nodes_.at(node);
  const std::string name = pod["metadata"]["namespace"].get<std::string>() + "/" + name_of(pod);
  const sandbox::AdmissionDecision decision = kubelet.admission->admit(pod);
  if (!decision.admitted) {
    sandbox::set_rejected(pod, decision);
    const KubeReply reply = client_.patch(path_of(pod) + "/status", {{"status", pod["status"]}});
    if (!reply.ok()) return fail(refused_by_server("the status of " + name, reply));
    result.refused.push_back({name, node, decision.reason});
    return {};
  }
  ++result.admitted;
  kubelet.changed = true;
  kubelet.pods[uid] = {pod["metadata"]["namespace"], name_of(pod)};
  node_of_[uid] = node;
  const json zones = zones_of(decision);
  const json announcement = announced(pod);
  if (!announcement.is_null() && names(announcement, zones)) return {};
  really_[uid] = zones;
  if (!announcement.is_null()) result.elsewhere.push_back(name);
  return {};
}

Result<void> Kubelets::report() {
  if (const auto looked = look_at_nodes(); !looked) return fail(looked.error());
  auto nrts = client_.list(kNrts);
  if (!nrts) return fail(nrts.error());
  for (json& nrt : *nrts) {
    const auto found = nodes_.find(name_of(nrt));
    if (found == nodes_.end() || !found->second->changed) continue;
    std::vector<std::pair<std::string, std::string>> pods;
    for (const auto& [uid, name] : found->second->pods) pods.push_back(name);
    node::NodeReport seen = found->second->admission->report(node::ReportKind::kFacts);
    seen.attributes.emplace_back("nodeTopologyPodsFingerprint", topology::pod_fingerprint(pods));
    seen.attributes.emplace_back("nodeTopologyPodsFingerprintMethod", "all");
    node::write_report(nrt, seen);
    // As resource-topology-exporter marks its reports.
    nrt["metadata"]["annotations"]["k8stopoawareschedwg/rte-update"] =
        "periodic-" + std::to_string(reports_);
    const KubeReply reply =
        client_.patch(std::string(kNrts) + "/" + found->first,
                      {{"metadata", {{"annotations", nrt["metadata"]["annotations"]}}},
                       {"attributes", nrt["attributes"]},
                       {"zones", nrt["zones"]}});
    if (!reply.ok()) return fail(refused_by_server("the report of " + found->first, reply));
    found->second->changed = false;
  }
  return {};
}

Result<void> Kubelets::report_all() {
  for (auto& [name, node] : nodes_) node->changed = true;
  ++reports_;
  return report();
}

Result<bool> Kubelets::bind_somewhere(const json& pod) {
  const auto taker = std::ranges::find_if(
      nodes_, [&](const auto& node) { return node.second->admission->try_admit(pod).admitted; });
  if (taker == nodes_.end()) return false;
  const KubeReply reply = client_.post(path_of(pod) + "/binding",
                                       binding_object(name_of(pod), taker->first, uid_of(pod)));
  if (!reply.ok()) return fail(refused_by_server("binding " + name_of(pod), reply));
  const auto admitted = admit();
  if (!admitted) return fail(admitted.error());
  return true;
}

void Kubelets::correct(ClusterObjects& objects) const {
  for (json& pod : objects.pods) {
    const auto really = really_.find(uid_of(pod));
    if (really == really_.end()) continue;
    pod["metadata"]["annotations"][kZones] = really->second.dump();
  }
}

}  // namespace plimsoll::test
