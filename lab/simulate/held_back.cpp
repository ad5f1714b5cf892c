#include "lab/simulate/held_back.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"
#include "framework/api/symbols.hpp"
#include "lab/sandbox/admission/pod_amounts.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/simulate/placements.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;

// An extended resource that a node does not have rejects a pod in a scheduler, but not in a kubelet
// (removeMissingExtendedResources).
bool has_all(const plimsoll_node& node, const node::Amounts& requests) {
  for (const auto& [name, amount] : requests) {
    if (amount == 0) continue;
    bool there = false;
    for (const plimsoll_resource& resource : items<plimsoll_resource>(node.allocatable)) {
      there = there || view(resource.name) == name;
    }
    if (!there) return false;
  }
  return true;
}

// NodeUnschedulable, TaintToleration and NodeAffinity.
bool open_to(const plimsoll_node& node, const plimsoll_pod& pod, const plimsoll_taint& cordon) {
  if (node.unschedulable != 0 && !tolerated(pod.tolerations, cordon)) return false;
  for (const plimsoll_taint& taint : items<plimsoll_taint>(node.taints)) {
    if (taint.effect != PLIMSOLL_EFFECT_PREFER_NO_SCHEDULE && !tolerated(pod.tolerations, taint)) {
      return false;
    }
  }
  return matches_required_node_affinity(pod, node);
}

// NodePorts: of the containers that keep running; sidecars count, other init containers do not.
std::vector<plimsoll_host_port> ports_of(const plimsoll_pod& pod) {
  std::vector<plimsoll_host_port> ports;
  for (const plimsoll_list* containers : {&pod.containers, &pod.init_containers}) {
    for (const plimsoll_container& container : items<plimsoll_container>(*containers)) {
      if (container.kind == PLIMSOLL_CONTAINER_INIT) continue;
      for (const auto& port : items<plimsoll_host_port>(container.ports)) ports.push_back(port);
    }
  }
  return ports;
}

// The running pods, as far as they affect waiting pods.
struct Running {
  std::vector<PodRef> pods;                                      // own the data below
  std::map<std::string, std::vector<plimsoll_host_port>> ports;  // by node
  std::vector<const plimsoll_pod_affinity*> anti_affinity;       // with required terms
  std::set<std::string> with_devices;                            // nodes that have a Device object

  void add(PodRef pod) {
    for (const plimsoll_host_port& port : ports_of(*pod)) {
      ports[std::string(view(pod->node_name))].push_back(port);
    }
    if (pod->pod_anti_affinity != nullptr && pod->pod_anti_affinity->required.count > 0) {
      anti_affinity.push_back(pod->pod_anti_affinity);
    }
    pods.push_back(std::move(pod));
  }

  [[nodiscard]] bool ports_are_free(const plimsoll_pod& pod, const std::string& node) const {
    const auto taken = ports.find(node);
    if (taken == ports.end()) return true;
    for (const plimsoll_host_port& wanted : ports_of(pod)) {
      for (const plimsoll_host_port& port : taken->second) {
        if (conflicts(wanted, port)) return false;
      }
    }
    return true;
  }
};

Running running_pods(const sandbox::ObjectStore& store, SymbolTable& symbols) {
  Running running;
  if (const auto devices = store.list(sandbox::kDevices)) {
    for (const sandbox::ObjectPtr& object : devices->objects) {
      running.with_devices.insert(object->key.name);
    }
  }
  const auto pods = store.list(sandbox::kPods);
  if (!pods) return running;
  for (const sandbox::ObjectPtr& object : pods->objects) {
    const std::string* node = sandbox::find_field(object->fields, "spec.nodeName");
    if (node == nullptr || node->empty() || sandbox::is_terminal(object->parse())) continue;
    if (auto pod = decode_pod(object->text, symbols)) running.add(std::move(*pod));
  }
  return running;
}

// Scheduler rules about this pod that are not checked here.
std::vector<std::string> rules_not_tried(const plimsoll_pod& pod, const Running& running,
                                         const std::string& node, const node::Amounts& requests) {
  std::vector<std::string> rules;
  for (const plimsoll_volume& volume : items<plimsoll_volume>(pod.volumes)) {
    static const std::set<std::string_view> kPlaced = {"persistentVolumeClaim",
                                                       "ephemeral",
                                                       "gcePersistentDisk",
                                                       "awsElasticBlockStore",
                                                       "iscsi",
                                                       "rbd",
                                                       "csi"};
    if (!kPlaced.contains(view(volume.kind))) continue;
    rules.emplace_back("volumes");
    break;
  }
  if (pod.pod_affinity != nullptr && pod.pod_affinity->required.count > 0) {
    rules.emplace_back("inter-pod affinity");
  }
  if (pod.pod_anti_affinity != nullptr && pod.pod_anti_affinity->required.count > 0) {
    rules.emplace_back("inter-pod anti-affinity");
  }
  const bool is_selected = std::any_of(
      running.anti_affinity.begin(), running.anti_affinity.end(), [&](const auto* affinity) {
        const auto terms = items<plimsoll_pod_affinity_term>(affinity->required);
        return std::any_of(terms.begin(), terms.end(), [&](const auto& term) {
          return matches(term.selector, pod.meta.labels);
        });
      });
  if (is_selected) rules.emplace_back("anti-affinity of running pods");
  for (const auto& constraint : items<plimsoll_spread_constraint>(pod.spread_constraints)) {
    if (constraint.do_not_schedule == 0) continue;
    rules.emplace_back("topology spread");
    break;
  }
  if (pod.resource_claims.count > 0) rules.emplace_back("resource claims");
  const bool devices = std::any_of(requests.begin(), requests.end(), [](const auto& request) {
    return request.second > 0 && request.first.find('/') != std::string::npos;
  });
  if (devices && running.with_devices.contains(node)) rules.emplace_back("the Device object");
  return rules;
}

}  // namespace

std::vector<HeldBackPod> held_back_pods(const sandbox::ObjectStore& store,
                                        const sandbox::SimulatedKubelets& kubelets,
                                        const std::set<std::string>& scheduler_names) {
  std::vector<HeldBackPod> held_back;
  const auto pods = store.list(sandbox::kPods);
  const auto stored_nodes = store.list(sandbox::kNodes);
  if (!pods || !stored_nodes) return held_back;
  // Usually no pod waits; nothing else is read then.
  std::vector<sandbox::ObjectPtr> waiting;
  for (const sandbox::ObjectPtr& object : pods->objects) {
    if (!scheduler_names.contains(object->field("spec.schedulerName"))) continue;
    if (object->field("spec.nodeName").empty()) waiting.push_back(object);
  }
  if (waiting.empty()) return held_back;
  SymbolTable symbols;
  const plimsoll_taint cordon{symbols.intern("node.kubernetes.io/unschedulable"),
                              symbols.intern(""), PLIMSOLL_EFFECT_NO_SCHEDULE, 0};
  std::map<std::string, NodeRef> nodes;
  for (const sandbox::ObjectPtr& object : stored_nodes->objects) {
    if (auto node = decode_node(object->text, symbols)) nodes[object->key.name] = *node;
  }
  const Running running = running_pods(store, symbols);
  std::map<std::string, std::string> known;  // spec -> node: most waiting pods are copies
  for (const sandbox::ObjectPtr& object : waiting) {
    const json pod = object->parse();
    const json spec = pod.value("spec", json::object());
    if (sandbox::is_terminal(pod)) continue;
    if (!spec.value("schedulingGates", json::array()).empty()) continue;
    if (pod["metadata"].contains("deletionTimestamp")) continue;
    const auto decoded = decode_pod(object->text, symbols);
    const auto amounts = sandbox::pod_amounts(pod);
    if (!decoded || !amounts) continue;
    const auto [at, fresh] = known.try_emplace(spec.dump());
    if (fresh) {
      const auto taker = kubelets.first_taker(pod, [&](const std::string& name) {
        const auto node = nodes.find(name);
        return node != nodes.end() && has_all(*node->second, amounts->requests) &&
               open_to(*node->second, **decoded, cordon) && running.ports_are_free(**decoded, name);
      });
      at->second = taker.value_or("");
    }
    if (at->second.empty()) continue;
    const Placement placement = placement_of(pod);
    held_back.push_back({placement.pod, at->second, placement.message,
                         rules_not_tried(**decoded, running, at->second, amounts->requests)});
  }
  return held_back;
}

}  // namespace plimsoll::cli
