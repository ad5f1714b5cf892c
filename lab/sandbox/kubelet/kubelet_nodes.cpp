// The simulated kubelets' nodes, and their reports.

#include "framework/base/log.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/kubelet/kubelet_impl.hpp"
#include "lab/sandbox/kubelet/machine_nodes.hpp"
#include "plugins/topology/report/fingerprint.hpp"

namespace plimsoll::sandbox {

using nlohmann::json;

Result<NodeDescription> SimulatedKubelets::Impl::description_of(const json& node) {
  auto machine = options.machines->machine_of(node);
  if (!machine) return fail(machine.error());
  if (*machine != nullptr) return describe_node(node, json(), *machine);
  const std::string name = text_field(node.value("metadata", json::object()), "name");
  const auto nrt = store.get(kNodeResourceTopologies, {"", name});
  return describe_node(node, nrt ? (*nrt)->parse() : json());
}

std::map<std::string, std::vector<ObjectPtr>> SimulatedKubelets::Impl::pods_by_node() const {
  std::map<std::string, std::vector<ObjectPtr>> bound;
  const auto all = store.list(kPods);
  if (!all) return bound;
  for (const ObjectPtr& pod : all->objects) {
    if (const std::string node = pod->field("spec.nodeName"); !node.empty()) {
      bound[node].push_back(pod);
    }
  }
  return bound;
}

std::vector<ObjectPtr> SimulatedKubelets::Impl::pods_on(const std::string& name) const {
  std::vector<ObjectPtr> bound;
  const auto all = store.list(kPods);
  if (!all) return bound;
  for (const ObjectPtr& pod : all->objects) {
    const std::string* node = find_field(pod->fields, "spec.nodeName");
    if (node != nullptr && *node == name) bound.push_back(pod);
  }
  return bound;
}

// A node appeared or changed, or its topology did.
void SimulatedKubelets::Impl::look_at_node(const std::string& name,
                                           const std::vector<ObjectPtr>* bound) {
  const auto stored = store.get(kNodes, {"", name});
  if (!stored) return forget_node(name);
  auto description = description_of((*stored)->parse());
  if (!description) {
    log_warn("the simulated kubelet leaves a malformed node alone",
             {{"node", name}, {"why", description.error().message}});
    return;
  }
  const auto known = nodes.find(name);
  if (known != nodes.end() && known->second.description.same_machine(*description)) return;
  // If the machine changed, treat its zones as empty: all its pods are accounted for below.
  if (known != nodes.end()) {
    for (ZoneDescription& zone : description->zones) zone.available = zone.allocatable;
  }
  SimulatedNode& node = nodes[name];
  node.admission = options.admission(*description);
  node.version = ++versions;
  node.description = std::move(*description);
  if (node.description.machine != nullptr) {
    write_node_status(store, name, *node.description.machine);
  }
  adopt_pods(name, node, bound != nullptr ? *bound : pods_on(name));
  count([this](KubeletStats& s) { s.nodes = nodes.size(); });
}

// Handles the pods already on a node: running ones are taken over, newly bound ones are admitted.
void SimulatedKubelets::Impl::adopt_pods(const std::string& name, SimulatedNode& node,
                                         const std::vector<ObjectPtr>& here) {
  std::vector<json> bound;
  const bool again = !node.pods.empty();
  for (const ObjectPtr& object : here) {
    json pod = object->parse();
    if (is_terminal(pod)) continue;
    const bool started = text_field(pod.value("status", json::object()), "phase") == "Running";
    if (started || node.pods.contains(object->uid)) {
      const bool known = node.admission->restore(pod);
      if (!known && !again) {
        unknown_zones.emplace_back(object->key.ns + "/" + object->key.name, name);
      }
      if (started) node.admission->started(object->uid);
      node.pods.insert(object->uid);
      if (!pods.contains(object->uid)) {
        begin_life(pod, object->key, object->uid, {object->key.ns + "/" + object->key.name, name},
                   node);
      }
      if (started && !again) schedule_end(pod, object->key, object->uid);
    } else {
      bound.push_back(std::move(pod));
    }
  }
  // Exporters report when they start, which replaces values that others left in the object.
  if (!node.description.zones.empty()) write(name, node, snapshot_of(node));
  use.update(name, node.admission->zones(), seconds());
  for (const json& pod : bound) look_at_pod(pod);
  if (again) zones_changed(name, node);
}

void SimulatedKubelets::Impl::forget_node(const std::string& name) {
  const auto found = nodes.find(name);
  if (found == nodes.end()) return;
  for (const std::string& uid : found->second.pods) {
    lives[pods.at(uid).life].ended = seconds();
    pods.erase(uid);
  }
  set_behind(found->second, false);
  nodes.erase(found);
  use.forget(name, seconds());
  count([this](KubeletStats& s) {
    s.nodes = nodes.size();
    s.pods = pods.size();
  });
}

// Pods of the node changed: schedules a look of the exporter.
void SimulatedKubelets::Impl::zones_changed(const std::string& name, SimulatedNode& node) {
  if (node.description.zones.empty()) return;
  use.update(name, node.admission->zones(), seconds());
  if (node.report_pending) return;
  node.report_pending = true;
  const std::string number = std::to_string(++node.looks);
  const double varied = dice(name, number, "delay").vary(options.reports.jitter);
  schedule({after(Seconds(options.reports.delay) * varied),
            0,
            ActionKind::kReport,
            {"", name},
            "",
            nullptr,
            number});
}

Dice SimulatedKubelets::Impl::dice(const std::string& node, const std::string& number,
                                   const char* purpose) const {
  return {options.seed, node + "/" + purpose + "/" + number};
}

void SimulatedKubelets::Impl::set_behind(SimulatedNode& node, bool behind) {
  if (node.behind == behind) return;
  node.behind = behind;
  const std::lock_guard lock(mutex);
  behind ? ++nodes_behind : --nodes_behind;
}

NodeSnapshot SimulatedKubelets::Impl::snapshot_of(const SimulatedNode& node) const {
  std::vector<std::pair<std::string, std::string>> covered;
  for (const std::string& uid : node.pods) {
    if (options.fingerprint == FingerprintMethod::kWithExclusiveResources &&
        !node.admission->holds_exclusively(uid)) {
      continue;
    }
    const ObjectKey& key = pods.at(uid).key;
    covered.emplace_back(key.ns, key.name);
  }
  for (const auto& [uid, pod] : node.ahead) {
    if (options.fingerprint == FingerprintMethod::kWithExclusiveResources &&
        !node.admission->holds_exclusively(uid)) {
      continue;
    }
    covered.emplace_back(pod.key.ns, pod.key.name);
  }
  return {node.admission->report(options.reports.kind), topology::pod_fingerprint(covered)};
}

// The exporter looks, unless its agent restarts.
void SimulatedKubelets::Impl::report(const Action& action) {
  const std::string& name = action.pod.name;
  const auto found = nodes.find(name);
  if (found == nodes.end()) return;
  SimulatedNode& node = found->second;
  const ReportOptions& reports = options.reports;
  if (!node.agent_back && dice(name, action.look, "restart").chance(reports.restarts)) {
    node.agent_back = true;
    count([](KubeletStats& s) { ++s.agent_restarts; });
    schedule({after(reports.pause), 0, ActionKind::kReport, {"", name}, "", nullptr, action.look});
    return;
  }
  node.agent_back = false;
  node.report_pending = false;
  look(name, node, action.look);
}

// The last report of the node was lost, and there was nothing to report since.
void SimulatedKubelets::Impl::report_again(const Action& action) {
  const auto found = nodes.find(action.pod.name);
  if (found == nodes.end()) return;
  SimulatedNode& node = found->second;
  node.again_pending = false;
  // An agent that restarts reports when it is back.
  if (node.behind && !node.agent_back) look(action.pod.name, node, action.look);
}

void SimulatedKubelets::Impl::look(const std::string& name, SimulatedNode& node,
                                   const std::string& number) {
  const ReportOptions& reports = options.reports;
  NodeSnapshot snapshot = snapshot_of(node);
  if (reports.transit.count() == 0) return deliver(name, snapshot, number);
  const double varied = dice(name, number, "transit").vary(reports.jitter);
  node.last_due = std::max(after(Seconds(reports.transit) * varied), node.last_due);
  schedule({node.last_due,
            0,
            ActionKind::kDeliver,
            {"", name},
            "",
            std::make_shared<const NodeSnapshot>(std::move(snapshot)),
            number});
}

void SimulatedKubelets::Impl::deliver(const std::string& name, const NodeSnapshot& snapshot,
                                      const std::string& number) {
  const auto found = nodes.find(name);
  if (found == nodes.end()) return;
  SimulatedNode& node = found->second;
  if (!dice(name, number, "loss").chance(options.reports.loss)) {
    if (write(name, node, snapshot)) count([](KubeletStats& s) { ++s.reports; });
    return set_behind(node, false);  // last, because wait_idle waits for it
  }
  set_behind(node, true);
  count([](KubeletStats& s) { ++s.reports_lost; });
  // The next change makes the exporter look as usual; without a change it looks after the period.
  if (node.again_pending) return;
  node.again_pending = true;
  schedule({after(options.reports.period),
            0,
            ActionKind::kReportAgain,
            {"", name},
            "",
            nullptr,
            "again " + std::to_string(++node.looks_again)});
}

bool SimulatedKubelets::Impl::write(const std::string& name, SimulatedNode& node,
                                    const NodeSnapshot& snapshot) {
  node::NodeReport report = snapshot.report;
  add_fingerprint(report, snapshot.fingerprint,
                  options.fingerprint == FingerprintMethod::kAll
                      ? topology::FingerprintMethod::kAll
                      : topology::FingerprintMethod::kExclusiveResources);
  // A deleted object is created again only if the exporter is ours.
  const std::uint64_t version =
      publish_report(store, name, report, node.description.machine != nullptr);
  if (version == 0) return false;
  node.reported = version;
  return true;
}

}  // namespace plimsoll::sandbox
