#include "node/exporter/compose.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "node/exporter/object_writer.hpp"
#include "node/exporter/report_kind.hpp"
#include "node/report/node_kind.hpp"
#include "plugins/topology/report/fingerprint.hpp"

namespace plimsoll::node {

using nlohmann::json;

NodeReport compose(const Hardware& hardware, const KubeletSettings& settings,
                   const KubeletView& kubelet, const ClusterView& cluster, KnownDevices& devices) {
  ResourceIndex resources;
  const Machine machine = machine_of(hardware, settings, kubelet,
                                     devices.unhealthy(kubelet.allocatable, cluster.capacity));
  const NodeKind kind = kind_of_machine(machine, resources);
  const auto state = free_of(kind, kubelet, counted_uids(kubelet, cluster.uids), resources);
  NodeReport report = zones_of(kind, state, resources);
  report.complete = true;
  add_costs(report, *kind.model);
  add_facts(report, kind, state, holdings_of(kind, kubelet, cluster.uids, resources), resources);
  std::vector<std::pair<std::string, std::string>> pods;
  for (const PodUse& pod : kubelet.pods) pods.emplace_back(pod.ns, pod.name);
  add_fingerprint(report, topology::pod_fingerprint(pods), topology::FingerprintMethod::kAll);
  return report;
}

void write_object(json& object, const std::string& node, const std::string& node_uid,
                  const NodeReport& report) {
  object["apiVersion"] = std::string(kReportGroup) + "/" + kReportVersion;
  object["kind"] = "NodeResourceTopology";
  object["metadata"]["name"] = node;
  set_owner(object, node, node_uid);
  write_report(object, report);
}

PodNames strangers_of(const KubeletView& kubelet, const ClusterView& cluster) {
  PodNames strangers;
  for (const PodUse& pod : kubelet.pods) {
    if (!cluster.uids.contains({pod.ns, pod.name})) strangers.emplace(pod.ns, pod.name);
  }
  return strangers;
}

bool take_out_starting(KubeletView& kubelet, const ClusterView& cluster,
                       const PodNames& known_strangers) {
  for (const auto& name : strangers_of(kubelet, cluster)) {
    if (!known_strangers.contains(name)) return false;
  }
  for (const PodUse& pod : kubelet.pods) {
    if (cluster.replaced.contains({pod.ns, pod.name})) return false;  // the old one or the new one
  }
  std::erase_if(kubelet.pods, [&](const PodUse& pod) {
    return cluster.starting.contains({pod.ns, pod.name});
  });
  return true;
}

std::string not_back_yet(const KubeletView& kubelet, const ClusterView& cluster) {
  std::set<std::pair<std::string, std::string>> listed;
  for (const PodUse& pod : kubelet.pods) listed.emplace(pod.ns, pod.name);
  for (const auto& name : cluster.running) {
    if (!listed.contains(name)) {
      return "pod " + name.first + "/" + name.second +
             " has started, but the kubelet does not list it";
    }
  }
  if (kubelet.pods.empty() && !kubelet.cpus.held.empty()) {
    return "it lists no pods, but its state has pods with CPUs";
  }
  for (const auto& [resource, ids] : kubelet.devices.healthy) {
    if (!ids.empty() && !kubelet.allocatable.devices.contains(resource)) {
      return "the plugin of " + resource + " has not registered again";
    }
  }
  return {};
}

}  // namespace plimsoll::node
