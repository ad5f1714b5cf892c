#include "plugins/topology/service/ledger_dump.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "plugins/topology/ask/explain_text.hpp"
#include "plugins/topology/base/json_text.hpp"

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

KeptLedger::KeptLedger(const Questions& ledger, const sdk::Host& host) {
  for (uint32_t slot = 0; slot < host.slot_count(); ++slot) keep(ledger, host.node(slot));
}

KeptLedger::KeptLedger(const Questions& ledger, const sdk::Host& host,
                       std::span<const uint32_t> slots) {
  nodes_.reserve(slots.size());
  for (const uint32_t slot : slots) keep(ledger, host.node(slot));
}

void KeptLedger::keep(const Questions& ledger, const sdk::Node& node) {
  if (!node) return;
  const uint32_t slot = node.slot();
  const size_t begin = pods_.size();
  for (const plimsoll_pod* pod : node.pods()) {
    const PodRecord* record = ledger.pod_on(slot, sdk::view(pod->meta.uid));
    if (record == nullptr || !record->exclusive()) continue;
    if (pods_.size() > begin) pods_ += ',';
    append_pod(pods_, node, *pod, *record);
  }
  const plimsoll_numa_node* view = ledger.node(slot);
  const NodeRecord::Doubt doubt = ledger.doubt(slot);
  const bool malformed = ledger.malformed(slot);
  const size_t size = pods_.size() - begin;
  if (view == nullptr && size == 0 && doubt != NodeRecord::Doubt::kGone && !malformed) return;
  Node& kept = nodes_.emplace_back(
      Node{std::string(node.name()), malformed, uncertainty_of(doubt), std::nullopt, begin, size});
  if (view != nullptr) kept.zones = kept_zones(node, *view);
}

KeptLedger::Zones KeptLedger::kept_zones(const sdk::Node& node, const plimsoll_numa_node& view) {
  const size_t cells = size_t{view.resource_count} * view.zone_count;
  Zones kept{view.reported_ms,
             view.promises,
             view.leaving,
             static_cast<Policy>(view.policy),
             static_cast<Scope>(view.scope),
             {view.zone_ids, view.zone_ids + view.zone_count},
             {},
             {view.listed, view.listed + view.resource_count},
             {view.allocatable, view.allocatable + cells}};
  kept.amounts.insert(kept.amounts.end(), view.free, view.free + cells);
  kept.resources.reserve(view.resource_count);
  for (uint32_t row = 0; row < view.resource_count; ++row)
    kept.resources.push_back(offered_name(node, view.resources[row]));
  return kept;
}

void KeptLedger::append(std::string& out, const Zones& zones) {
  const size_t cells = zones.amounts.size() / 2;
  out += '{';
  for (size_t column = 0; column < zones.ids.size(); ++column) {
    std::string zone = "{";
    for (size_t row = 0; row < zones.resources.size(); ++row) {
      if ((zones.listed[row] >> column & 1) == 0) continue;
      const size_t cell = row * zones.ids.size() + column;
      const std::string& name = zones.resources[row];
      append_comma(zone);
      append_quoted(zone, name);
      zone += R"(:{"allocatable":")" + amount_text(name, zones.amounts[cell]) + R"(","free":")" +
              amount_text(name, zones.amounts[cells + cell]) + "\"}";
    }
    if (zone.size() == 1) continue;
    append_comma(out);
    append_quoted(out, dumped_zone(zones.ids[column]));
    out += ":" + zone + "}";
  }
  out += '}';
}

void KeptLedger::append(std::string& out, const Node& node) const {
  json one{{"report", node.malformed ? "unreadable" : node.zones ? "read" : "none"}};
  if (node.zones) {
    one["reportedMs"] = node.zones->reported_ms;
    one["promises"] = node.zones->promises;
    one["leaving"] = node.zones->leaving;
    one["policy"] = to_string(node.zones->policy);
    one["scope"] = to_string(node.zones->scope);
  }
  if (*node.uncertain != '\0') one["uncertain"] = node.uncertain;
  append_comma(out);
  append_quoted(out, node.name);
  out += ":" + one.dump(-1, ' ', false, json::error_handler_t::replace);
  out.back() = ',';  // instead of its end
  if (node.zones) {
    out += "\"zones\":";
    append(out, *node.zones);
    out += ',';
  }
  out += "\"pods\":{";
  out.append(pods_, node.pods_begin, node.pods_size);
  out += "}}";
}

std::string KeptLedger::text() const {
  std::string nodes = "{";
  for (const Node& node : nodes_) append(nodes, node);
  return "{\"nodes\":" + nodes + "}}";
}

}  // namespace plimsoll::topology
