#include "sandbox/node_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

json& list_at(json& object, const char* key) {
  json& list = object[key];
  if (!list.is_array()) list = json::array();
  return list;
}

// The item of a list that has this name; made if there is none.
json& named(json& list, const std::string& name) {
  for (json& item : list) {
    if (item.is_object() && item.value("name", "") == name) return item;
  }
  list.push_back({{"name", name}});
  return list.back();
}

void set_quantity(json& resource, const char* field, const std::string& name, std::int64_t amount) {
  const auto old = parse_amount(name, resource.value(field, json()));
  if (!old || *old != amount) resource[field] = format_amount(name, amount);
}

}  // namespace

void set_attribute(json& nrt, const std::string& name, const std::string& value) {
  named(list_at(nrt, "attributes"), name)["value"] = value;
}

void write_report(json& nrt, const NodeReport& report) {
  json& zones = list_at(nrt, "zones");
  for (const ZoneReport& zone : report.zones) {
    json& entry = named(zones, "node-" + std::to_string(zone.id));
    entry["type"] = "Node";
    json& resources = list_at(entry, "resources");
    for (const auto& [name, available] : zone.available) {
      json& resource = named(resources, name);
      set_quantity(resource, "capacity", name, amount_of(zone.capacity, name));
      set_quantity(resource, "allocatable", name, amount_of(zone.allocatable, name));
      set_quantity(resource, "available", name, std::max<std::int64_t>(0, available));
    }
    if (zone.costs.empty()) continue;
    json costs = json::array();
    for (const auto& [id, value] : zone.costs) {
      costs.push_back({{"name", "node-" + std::to_string(id)}, {"value", value}});
    }
    entry["costs"] = std::move(costs);
  }
  for (const auto& [name, value] : report.attributes) set_attribute(nrt, name, value);
  for (const auto& [name, value] : report.annotations) {
    json& metadata = nrt["metadata"];
    if (!value.empty())
      metadata["annotations"][name] = value;
    else if (metadata.contains("annotations"))
      metadata["annotations"].erase(name);
  }
}

std::vector<topology::NrtZone> nrt_zones_of(const NodeReport& report) {
  std::vector<topology::NrtZone> zones;
  for (const ZoneReport& from : report.zones) {
    topology::NrtZone& zone = zones.emplace_back();
    zone.id = static_cast<std::uint32_t>(from.id);
    for (const auto& [name, available] : from.available) {
      zone.resources.push_back({name, amount_of(from.capacity, name),
                                amount_of(from.allocatable, name),
                                std::max<std::int64_t>(0, available)});
    }
  }
  return zones;
}

}  // namespace plimsoll::sandbox
