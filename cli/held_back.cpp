#include "cli/held_back.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "cli/placements.hpp"
#include "framework/api/decode.hpp"
#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"
#include "framework/api/symbols.hpp"
#include "sandbox/pod_amounts.hpp"
#include "sandbox/pod_rules.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;

// Extended resources that a node does not have stop a scheduler, but not a kubelet
// (removeMissingExtendedResources).
bool has_all(const plimsoll_node& node, const sandbox::Amounts& requests) {
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

}  // namespace

std::vector<HeldBackPod> held_back_pods(const sandbox::ObjectStore& store,
                                        const sandbox::SimulatedKubelets& kubelets,
                                        const std::set<std::string>& scheduler_names) {
  std::vector<HeldBackPod> held_back;
  const auto pods = store.list(sandbox::kPods);
  const auto stored_nodes = store.list(sandbox::kNodes);
  if (!pods || !stored_nodes) return held_back;
  SymbolTable symbols;
  const plimsoll_taint cordon{symbols.intern("node.kubernetes.io/unschedulable"),
                              symbols.intern(""), PLIMSOLL_EFFECT_NO_SCHEDULE, 0};
  std::map<std::string, NodeRef> nodes;
  for (const sandbox::ObjectPtr& object : stored_nodes->objects) {
    if (auto node = decode_node(object->text, symbols)) nodes[object->key.name] = *node;
  }
  std::map<std::string, std::string> known;  // spec -> node: most waiting pods are copies
  for (const sandbox::ObjectPtr& object : pods->objects) {
    const json pod = object->parse();
    const json spec = pod.value("spec", json::object());
    if (!scheduler_names.contains(spec.value("schedulerName", ""))) continue;
    if (!spec.value("nodeName", "").empty() || sandbox::is_terminal(pod)) continue;
    if (!spec.value("schedulingGates", json::array()).empty()) continue;
    if (pod["metadata"].contains("deletionTimestamp")) continue;
    const auto [at, fresh] = known.try_emplace(spec.dump());
    if (fresh) {
      const auto decoded = decode_pod(object->text, symbols);
      const auto amounts = sandbox::pod_amounts(pod);
      if (!decoded || !amounts) continue;
      const auto taker = kubelets.first_taker(pod, [&](const std::string& name) {
        const auto node = nodes.find(name);
        return node != nodes.end() && has_all(*node->second, amounts->requests) &&
               open_to(*node->second, **decoded, cordon);
      });
      at->second = taker.value_or("");
    }
    if (at->second.empty()) continue;
    const Placement placement = placement_of(pod);
    held_back.push_back({placement.pod, at->second, placement.message});
  }
  return held_back;
}

}  // namespace plimsoll::cli
