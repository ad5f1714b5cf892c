#include "lab/simulate/simulation_notes.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "lab/sandbox/admission/pod_rules.hpp"

namespace plimsoll::cli {
namespace {

// Pods that name none of our schedulers, one note for each scheduler; they would wait for ever
// without an explanation.
void note_foreign_pods(const sandbox::ObjectStore& store,
                       const std::set<std::string>& scheduler_names, SimulationNotes& notes) {
  const auto pods = store.list(sandbox::kPods);
  if (!pods) return;
  std::map<std::string, std::vector<std::string>> foreign;
  for (const sandbox::ObjectPtr& object : pods->objects) {
    const std::string& wanted = object->field("spec.schedulerName");
    if (!object->field("spec.nodeName").empty() || scheduler_names.contains(wanted)) continue;
    const bool over =
        sandbox::is_terminal(*object) || object->parse()["metadata"].contains("deletionTimestamp");
    if (!over) foreign[wanted].push_back(object->key.ns + "/" + object->key.name);
  }
  for (const auto& [wanted, waiting] : foreign) {
    const bool one = waiting.size() == 1;
    notes.add(named("pod", waiting) + (one ? " names" : " name") + " scheduler \"" + wanted +
              "\", which the profile file does not have: " + (one ? "it is" : "they are") +
              " not scheduled");
  }
}

void note_nodes(const sandbox::ObjectStore& store, const sandbox::SimulatedKubelets& kubelets,
                SimulationNotes& notes) {
  const auto nodes = store.list(sandbox::kNodes);
  if (!nodes) return;
  const auto zones = kubelets.zones();
  std::vector<std::string> without_zones;
  std::vector<std::string> without_kubelet;
  for (const sandbox::ObjectPtr& object : nodes->objects) {
    const auto known = zones.find(object->key.name);
    if (known == zones.end())
      without_kubelet.push_back(object->key.name);
    else if (known->second.empty())
      without_zones.push_back(object->key.name);
  }
  if (!without_zones.empty()) {
    notes.add(named("node", without_zones) + (without_zones.size() == 1 ? " has" : " have") +
              " neither a machine nor a NodeResourceTopology with zones: NUMA zones are not "
              "simulated there, and pods are admitted by the node's totals alone");
  }
  if (!without_kubelet.empty()) {
    notes.add(named("node", without_kubelet) + (without_kubelet.size() == 1 ? " has" : " have") +
              " no simulated kubelet, because the Node or its NodeResourceTopology is malformed "
              "(the log says how): pods there never run");
  }
}

void note_unknown_zones(const sandbox::SimulatedKubelets& kubelets, bool pessimistic,
                        SimulationNotes& notes) {
  std::vector<std::string> pods;
  for (const auto& [pod, node] : kubelets.unknown_zones()) pods.push_back(pod + " on " + node);
  if (pods.empty()) return;
  const bool one = pods.size() == 1;
  notes.add("nobody knows the zones of " + std::string(one ? "the running " : "") +
            named(one ? "pod" : "running pod", pods) +
            (pessimistic ? ": each counts in every zone, so what fits is a lower bound"
                         : ": taken as packed into few zones, so what fits is an upper bound "
                           "(--unknown-zones pessimistic gives a lower one)"));
}

}  // namespace

void SimulationNotes::add(const std::string& note) {
  if (said_.insert(note).second) notes_.push_back(note);
}

void SimulationNotes::add(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) add(note);
}

std::string named(std::string_view what, const std::vector<std::string>& names) {
  if (names.size() == 1) return std::string(what) + " " + names.front();
  return std::to_string(names.size()) + " " + std::string(what) + "s (" + names.front() + ", ...)";
}

void note_hidden_amounts(const std::vector<sandbox::HiddenAmount>& hidden, SimulationNotes& notes) {
  std::map<std::string, std::vector<std::string>> nodes;  // by resource
  std::map<std::string, const sandbox::HiddenAmount*> first;
  for (const sandbox::HiddenAmount& amount : hidden) {
    nodes[amount.resource].push_back(amount.node);
    first.try_emplace(amount.resource, &amount);
  }
  for (const auto& [resource, names] : nodes) {
    const sandbox::HiddenAmount& amount = *first.at(resource);
    notes.add(named("node", names) + ": Node.status has " +
              node::format_amount(resource, amount.said) + " " + resource +
              ", and the machine describes " + node::format_amount(resource, amount.described) +
              ": the machine counts (annotation " + sandbox::kMachineAnnotation + ")");
  }
}

void note_what_is_left_out(const sandbox::ObjectStore& store,
                           const sandbox::SimulatedKubelets& kubelets,
                           const std::set<std::string>& scheduler_names, bool pessimistic,
                           SimulationNotes& notes) {
  note_foreign_pods(store, scheduler_names, notes);
  note_unknown_zones(kubelets, pessimistic, notes);
  note_nodes(store, kubelets, notes);
}

}  // namespace plimsoll::cli
