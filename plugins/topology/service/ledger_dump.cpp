#include "plugins/topology/service/ledger_dump.hpp"

#include <nlohmann/json.hpp>

#include "plugins/topology/ask/explain_text.hpp"

namespace plimsoll::topology {
namespace {

using nlohmann::json;

const char* uncertainty_of(NodeRecord::Doubt doubt) {
  switch (doubt) {
    case NodeRecord::Doubt::kNone:
      return "";
    case NodeRecord::Doubt::kOrder:
      return "the order of pods is not known";
    case NodeRecord::Doubt::kUnknown:
      return "the zones of pods are not known";
    case NodeRecord::Doubt::kRefused:
      return "its kubelet refused a pod";
    case NodeRecord::Doubt::kAway:
      return "its kubelet is away";
    case NodeRecord::Doubt::kGone:
      return "its report is gone";
  }
  return "";
}

std::string dumped_zone(uint32_t id) {
  return "node-" + std::to_string(id);
}

// A resource that the node does not offer has no name there.
std::string offered_name(const sdk::Node& node, uint32_t resource) {
  for (const plimsoll_resource& one : sdk::List<plimsoll_resource>(node.object().allocatable)) {
    if (one.index == resource) return std::string(sdk::view(one.name));
  }
  return "resource " + std::to_string(resource);
}

json dumped_zones(const sdk::Node& node, const plimsoll_numa_node& view) {
  json zones = json::object();
  for (uint32_t row = 0; row < view.resource_count; ++row) {
    const std::string name = offered_name(node, view.resources[row]);
    for (uint32_t column = 0; column < view.zone_count; ++column) {
      if ((view.listed[row] >> column & 1) == 0) continue;
      const size_t cell = size_t{row} * view.zone_count + column;
      zones[dumped_zone(view.zone_ids[column])][name] = {
          {"allocatable", amount_text(name, view.allocatable[cell])},
          {"free", amount_text(name, view.free[cell])}};
    }
  }
  return zones;
}

json dumped_pod(const sdk::Node& node, const plimsoll_pod& pod, const PodRecord& record) {
  json zones = json::object();
  for (const Charge& charge : record.charges) {
    const std::string name = offered_name(node, charge.resource);
    zones[dumped_zone(charge.zone_id)][name] = amount_text(name, charge.amount);
  }
  return {
      {"pod", std::string(sdk::view(pod.meta.ns)) + "/" + std::string(sdk::view(pod.meta.name))},
      {"state", record.promised() ? "promised"
                : record.covered  ? "reported"
                                  : "no zones known"},
      {"bound", record.bound()},
      {"zones", std::move(zones)}};
}

}  // namespace

std::string ledger_json(const Questions& ledger, const sdk::Host& host) {
  json nodes = json::object();
  for (uint32_t slot = 0; slot < host.slot_count(); ++slot) {
    const sdk::Node node = host.node(slot);
    if (!node) continue;
    json pods = json::object();
    for (const plimsoll_pod* pod : node.pods()) {
      const PodRecord* record = ledger.pod(sdk::view(pod->meta.uid));
      if (record == nullptr || !record->exclusive()) continue;
      pods[std::string(sdk::view(pod->meta.uid))] = dumped_pod(node, *pod, *record);
    }
    const plimsoll_numa_node* view = ledger.node(slot);
    const bool gone = ledger.doubt(slot) == NodeRecord::Doubt::kGone;
    if (view == nullptr && pods.empty() && !gone && !ledger.malformed(slot)) continue;
    json& one = nodes[std::string(node.name())];
    one["report"] = ledger.malformed(slot) ? "unreadable" : view == nullptr ? "none" : "read";
    if (view != nullptr) {
      one["reportedMs"] = view->reported_ms;
      one["promises"] = view->promises;
      one["leaving"] = view->leaving;
      one["zones"] = dumped_zones(node, *view);
    }
    if (const char* doubt = uncertainty_of(ledger.doubt(slot)); *doubt != '\0')
      one["uncertain"] = doubt;
    one["pods"] = std::move(pods);
  }
  return json{{"nodes", std::move(nodes)}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace plimsoll::topology
