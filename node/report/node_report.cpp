#include "node/report/node_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plugins/topology/report/facts.hpp"

namespace plimsoll::node {
namespace {

using nlohmann::json;

json& list_at(json& object, const char* key) {
  json& list = object[key];
  if (!list.is_array()) list = json::array();
  return list;
}

std::string name_of(const json& item) {
  return item.is_object() ? item.value("name", "") : "";
}

template <typename Keep>
void keep_only(json& list, const Keep& keep) {
  json kept = json::array();
  for (json& item : list) {
    if (keep(name_of(item))) kept.push_back(std::move(item));
  }
  list = std::move(kept);
}

// Returns the first item of a list with this name, created if missing; removes further ones.
json& named(json& list, const std::string& name) {
  std::size_t first = 0;
  while (first < list.size() && name_of(list[first]) != name) ++first;
  if (first == list.size()) list.push_back({{"name", name}});
  for (std::size_t i = list.size() - 1; i > first; --i) {
    if (name_of(list[i]) == name) list.erase(i);
  }
  return list[first];
}

void set_quantity(json& resource, const char* field, const std::string& name, std::int64_t amount) {
  const auto old = parse_amount(name, resource.value(field, json()));
  if (!old || *old != amount) resource[field] = format_amount(name, amount);
}

void write_attributes(json& attributes, const NodeReport& report) {
  const auto is_given = [&](const std::string& name) {
    return std::any_of(report.attributes.begin(), report.attributes.end(),
                       [&](const auto& attribute) { return attribute.first == name; });
  };
  keep_only(attributes, [&](const std::string& name) {
    const bool ours =
        topology::kubelet::is_setting(name) || name == topology::kKubeletStateAttribute;
    return !ours || is_given(name);
  });
  for (const auto& [name, value] : report.attributes) named(attributes, name)["value"] = value;
}

}  // namespace

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
    if (report.complete) {
      keep_only(resources, [&](const std::string& name) { return zone.available.contains(name); });
      entry.erase("costs");
    }
    if (zone.costs.empty()) continue;
    json costs = json::array();
    for (const auto& [id, value] : zone.costs) {
      costs.push_back({{"name", "node-" + std::to_string(id)}, {"value", value}});
    }
    entry["costs"] = std::move(costs);
  }
  if (report.complete) {
    keep_only(zones, [&](const std::string& name) {
      return std::any_of(report.zones.begin(), report.zones.end(), [&](const ZoneReport& zone) {
        return name == "node-" + std::to_string(zone.id);
      });
    });
    nrt.erase("topologyPolicies");
  }
  write_attributes(list_at(nrt, "attributes"), report);
  for (const auto& [name, value] : report.annotations) {
    json& metadata = nrt["metadata"];
    if (!value.empty())
      metadata["annotations"][name] = value;
    else if (metadata.contains("annotations"))
      metadata["annotations"].erase(name);
  }
}

void mark_away(json& nrt) {
  named(list_at(nrt, "attributes"), std::string(topology::kKubeletStateAttribute))["value"] =
      topology::kKubeletAway;
}

void add_fingerprint(NodeReport& report, const std::string& fingerprint,
                     topology::FingerprintMethod method) {
  report.attributes.emplace_back(topology::kFingerprintAttribute, fingerprint);
  report.attributes.emplace_back(
      topology::kFingerprintMethodAttribute,
      method == topology::FingerprintMethod::kAll ? "all" : "with-exclusive-resources");
  report.annotations.emplace_back(topology::kFingerprintAnnotation, fingerprint);
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

}  // namespace plimsoll::node
