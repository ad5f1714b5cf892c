#include "tests/e2e/zone_reports.hpp"

#include <algorithm>

#include "sandbox/kubelet/pod_fingerprint.hpp"
#include "tests/kube/kube_objects.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

std::string fingerprint_of(const Recount& cluster, const std::string& node) {
  std::vector<std::pair<std::string, std::string>> pods;
  for (const PodFacts& pod : cluster.pods) {
    if (pod.node != node || pod.finished) continue;
    const std::size_t slash = pod.name.find('/');
    pods.emplace_back(pod.name.substr(0, slash), pod.name.substr(slash + 1));
  }
  return sandbox::pod_fingerprint(pods);
}

void set_attribute(json& attributes, const std::string& name, const std::string& value) {
  for (json& attribute : attributes) {
    if (attribute["name"] == name) return void(attribute["value"] = value);
  }
  attributes.push_back({{"name", name}, {"value", value}});
}

}  // namespace

Result<void> report_zones(KubeClient& client, const Recount& cluster) {
  Result<std::vector<json>> reports = client.list(kNrts);
  if (!reports) return fail(reports.error());
  for (json& report : *reports) {
    const std::string name = report["metadata"]["name"];
    const auto node = cluster.nodes.find(name);
    if (node == cluster.nodes.end()) continue;
    for (json& zone : report["zones"]) {
      const int id = std::stoi(zone["name"].get<std::string>().substr(5));
      const auto running = node->second.running.find(id);
      for (json& resource : zone["resources"]) {
        const std::string of = resource["name"];
        const Amounts& all = node->second.zones.at(id).all;
        const auto used = running == node->second.running.end() ? 0 : get(running->second, of);
        const std::int64_t free = std::max<std::int64_t>(0, get(all, of) - used);
        resource["available"] = std::to_string(free) + (of == "cpu" ? "m" : "");
      }
    }
    json& attributes = report["attributes"];
    set_attribute(attributes, "nodeTopologyPodsFingerprint", fingerprint_of(cluster, name));
    set_attribute(attributes, "nodeTopologyPodsFingerprintMethod", "all");
    const KubeReply reply = client.patch(std::string(kNrts) + "/" + name,
                                         {{"zones", report["zones"]}, {"attributes", attributes}});
    if (!reply.ok())
      return fail(ErrorCode::kInvalid, "reporting zones of " + name + ": " + reply.body);
  }
  return {};
}

}  // namespace plimsoll::test
