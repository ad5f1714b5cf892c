#include "lab/sandbox/kubelet/pod_demand_of.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll::sandbox {
namespace {

namespace kubelet = topology::kubelet;
using nlohmann::json;

kubelet::ContainerKind kind_of(ContainerAmounts::Role role) {
  switch (role) {
    case ContainerAmounts::Role::kInit:
      return kubelet::ContainerKind::kInit;
    case ContainerAmounts::Role::kSidecar:
      return kubelet::ContainerKind::kSidecar;
    case ContainerAmounts::Role::kApp:
      break;
  }
  return kubelet::ContainerKind::kApp;
}

kubelet::Needs memory_of(const node::Amounts& requests, ResourceIndex& resources) {
  kubelet::Needs needs;
  for (const auto& [name, amount] : requests) {
    if (node::is_memory(name)) needs.push_back({resources.of(name), amount});
  }
  return needs;
}

}  // namespace

kubelet::PodDemand pod_demand_of(const json& pod, const PodAmounts& amounts,
                                 ResourceIndex& resources) {
  kubelet::PodDemand demand;
  demand.guaranteed = amounts.guaranteed;
  for (const ContainerAmounts& container : amounts.containers) {
    kubelet::ContainerDemand& into = demand.containers.emplace_back();
    into.name = container.name;
    into.kind = kind_of(container.role);
    into.cpu_milli = node::amount_of(container.requests, "cpu");
    into.cpu_limit_milli = node::amount_of(container.limits, "cpu");
    into.memory = memory_of(container.requests, resources);
    into.memory_limit = node::amount_of(container.limits, "memory");
    for (const auto& [name, amount] : container.limits) {
      if (node::is_device(name)) into.devices.push_back({resources.of(name), amount});
    }
  }
  // IsPodLevelResourcesSet
  const json& spec = pod.at("spec");
  const json level = spec.value("resources", json::object());
  for (const char* list : {"requests", "limits"}) {
    const auto found = level.find(list);
    if (found != level.end() && found->is_object() && !found->empty()) demand.pod_level = true;
  }
  if (demand.pod_level) {
    // Requests default to limits, as for containers.
    auto requests = node::parse_amounts(level.value("requests", json()));
    const auto limits = node::parse_amounts(level.value("limits", json()));
    if (requests && limits) {
      for (const auto& [name, amount] : *limits) requests->try_emplace(name, amount);
    }
    if (requests) {
      demand.pod_cpu_milli = node::amount_of(*requests, "cpu");
      demand.pod_memory = memory_of(*requests, resources);
    }
  }
  demand.prepare();
  return demand;
}

}  // namespace plimsoll::sandbox
