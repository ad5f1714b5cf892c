#include "plugins/topology/service/ledger_dump.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "plugins/topology/ask/explain_text.hpp"
#include "plugins/topology/base/json_text.hpp"
#include "plugins/topology/kubelet/policy.hpp"

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

std::string dumped_zones(const sdk::Node& node, const plimsoll_numa_node& view) {
  std::vector<std::string> names;
  for (uint32_t row = 0; row < view.resource_count; ++row)
    names.push_back(offered_name(node, view.resources[row]));
  std::string zones = "{";
  for (uint32_t column = 0; column < view.zone_count; ++column) {
    std::string zone = "{";
    for (uint32_t row = 0; row < view.resource_count; ++row) {
      if ((view.listed[row] >> column & 1) == 0) continue;
      const size_t cell = size_t{row} * view.zone_count + column;
      append_comma(zone);
      append_quoted(zone, names[row]);
      zone += R"(:{"allocatable":")" + amount_text(names[row], view.allocatable[cell]) +
              R"(","free":")" + amount_text(names[row], view.free[cell]) + "\"}";
    }
    if (zone.size() == 1) continue;
    append_comma(zones);
    append_quoted(zones, dumped_zone(view.zone_ids[column]));
    zones += ":" + zone + "}";
  }
  return zones + "}";
}

void append_pod(std::string& out, const sdk::Node& node, const plimsoll_pod& pod,
                const PodRecord& record) {
  append_quoted(out, sdk::view(pod.meta.uid));
  out += R"(:{"pod":)";
  append_quoted(out,
                std::string(sdk::view(pod.meta.ns)) + "/" + std::string(sdk::view(pod.meta.name)));
  out += R"(,"state":)";
  append_quoted(out, record.promised() ? "promised"
                     : record.covered  ? "reported"
                                       : "no zones known");
  out += record.bound() ? R"(,"bound":true,"zones":{)" : R"(,"bound":false,"zones":{)";
  std::vector<Charge> charges = record.charges;
  std::ranges::stable_sort(charges, {}, [](const Charge& charge) { return charge.zone_id; });
  for (size_t i = 0; i < charges.size(); ++i) {
    const bool first = i == 0 || charges[i].zone_id != charges[i - 1].zone_id;
    if (first) {
      if (i > 0) out += '}';
      append_comma(out);
      append_quoted(out, dumped_zone(charges[i].zone_id));
      out += ":{";
    }
    const std::string name = offered_name(node, charges[i].resource);
    append_comma(out);
    append_quoted(out, name);
    out += ':';
    append_quoted(out, amount_text(name, charges[i].amount));
  }
  out += charges.empty() ? "}}" : "}}}";
}

}  // namespace

std::string ledger_json(const Questions& ledger, const sdk::Host& host) {
  std::vector<uint32_t> slots(host.slot_count());
  std::iota(slots.begin(), slots.end(), 0U);
  return ledger_json(ledger, host, slots);
}

std::string ledger_json(const Questions& ledger, const sdk::Host& host,
                        std::span<const uint32_t> slots) {
  std::string nodes = "{";
  for (const uint32_t slot : slots) {
    const sdk::Node node = host.node(slot);
    if (!node) continue;
    std::string pods;
    for (const plimsoll_pod* pod : node.pods()) {
      const PodRecord* record = ledger.pod(sdk::view(pod->meta.uid));
      if (record == nullptr || !record->exclusive()) continue;
      pods += pods.empty() ? "" : ",";
      append_pod(pods, node, *pod, *record);
    }
    const plimsoll_numa_node* view = ledger.node(slot);
    const bool gone = ledger.doubt(slot) == NodeRecord::Doubt::kGone;
    if (view == nullptr && pods.empty() && !gone && !ledger.malformed(slot)) continue;
    json one{{"report", ledger.malformed(slot) ? "unreadable" : view == nullptr ? "none" : "read"}};
    if (view != nullptr) {
      one["reportedMs"] = view->reported_ms;
      one["promises"] = view->promises;
      one["leaving"] = view->leaving;
      one["policy"] = to_string(static_cast<Policy>(view->policy));
      one["scope"] = to_string(static_cast<Scope>(view->scope));
    }
    if (const char* doubt = uncertainty_of(ledger.doubt(slot)); *doubt != '\0')
      one["uncertain"] = doubt;
    append_comma(nodes);
    append_quoted(nodes, node.name());
    nodes += ":" + one.dump(-1, ' ', false, json::error_handler_t::replace);
    nodes.back() = ',';  // instead of its end
    if (view != nullptr) nodes += "\"zones\":" + dumped_zones(node, *view) + ",";
    nodes += "\"pods\":{" + pods + "}}";
  }
  return "{\"nodes\":" + nodes + "}}";
}

}  // namespace plimsoll::topology
