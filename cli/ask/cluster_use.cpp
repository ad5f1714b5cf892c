#include "cli/ask/cluster_use.hpp"

#include <plimsoll/join.hpp>
#include <plimsoll/quantity.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/ask/node_use.hpp"
#include "cli/line/table.hpp"
#include "framework/api/readable_amount.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;

constexpr const char* kZonesFrom = "NodeResourceTopologyMatch";
constexpr const char* kDevicesFrom = "NodeDevice";
constexpr std::string_view kZonePrefix = "node-";

// The nodes of a plugin's state; an empty object if it says nothing of them.
json nodes_of(const StateSnapshot& snapshot, const char* plugin) {
  const auto found = snapshot.plugins.find(plugin);
  if (found == snapshot.plugins.end()) return json::object();
  const json state = json::parse(found->second, nullptr, false);
  const auto nodes = state.is_object() ? state.find("nodes") : state.end();
  return state.is_object() && nodes != state.end() && nodes->is_object() ? *nodes : json::object();
}

int64_t amount_of(const std::string& resource, const json& amounts, const char* which) {
  const std::string text = amounts.value(which, "0");
  const auto unit = resource == "cpu" ? sdk::QuantityUnit::kMilli : sdk::QuantityUnit::kWhole;
  return sdk::parse_quantity(text, unit).value_or(0);
}

std::vector<node::ZoneReport> zones_of(const json& node) {
  std::vector<node::ZoneReport> zones;
  const auto listed = node.find("zones");
  if (listed == node.end()) return zones;
  for (const auto& [name, resources] : listed->items()) {
    node::ZoneReport zone;
    if (name.starts_with(kZonePrefix)) {
      std::from_chars(name.data() + kZonePrefix.size(), name.data() + name.size(), zone.id);
    }
    for (const auto& [resource, amounts] : resources.items()) {
      zone.allocatable[resource] = amount_of(resource, amounts, "allocatable");
      zone.available[resource] = amount_of(resource, amounts, "free");
    }
    zones.push_back(std::move(zone));
  }
  return zones;
}

// What pods can still have of the resources that stand for devices. Pods that ask for shares do not
// name the resource of whole devices, and those that ask for whole ones not that of shares.
std::map<std::string, int64_t> free_of_devices(const json& node) {
  std::map<std::string, int64_t> free;
  const auto types = node.find("devices");
  if (types == node.end()) return free;
  for (const auto& [type, state] : types->items()) {
    for (const std::string name : state.value("wholeNames", json::array()))
      free[name] = state.at("wholeFree");
    for (const auto& [minor, device] : state.at("minors").items()) {
      const json& left = device.at("free");
      for (const auto& [resource, total] : device.at("total").items())
        free[resource] += left.value(resource, int64_t{0});
    }
  }
  return free;
}

// By type and minor: what there is, what is used, and what is wrong.
json devices_of(const json& node) {
  json devices = json::object();
  const auto types = node.find("devices");
  if (types == node.end()) return devices;
  for (const auto& [type, state] : types->items()) {
    for (const auto& [minor, device] : state.at("minors").items()) {
      json& one = devices[type][minor];
      for (const char* field : {"total", "used", "free"}) one[field] = device.at(field);
      one["state"] = !device.value("present", false)   ? "gone"
                     : !device.value("healthy", false) ? "unhealthy"
                     : device.value("setAside", false) ? "set aside"
                                                       : "healthy";
    }
  }
  return devices;
}

// `largest`: of each resource, the most that a device has. So a column has one unit.
std::string used_text(const json& device, const std::map<std::string, int64_t>& largest) {
  return sdk::join(device.at("total").items(), ", ", [&](const auto& item) {
    const int64_t total = item.value().template get<int64_t>();
    const auto free = device.at("free").find(item.key());
    const int64_t left = free == device.at("free").end() ? 0 : free->template get<int64_t>();
    const int unit = unit_for(item.key(), largest.at(item.key()));
    return item.key() + " " + readable_amount(item.key(), total - left, unit) + "/" +
           readable_amount(item.key(), total, unit);
  });
}

// Minors are numbers: 2 comes before 10.
std::vector<std::string> by_number(const json& minors) {
  std::vector<std::string> names;
  for (const auto& [minor, device] : minors.items()) names.push_back(minor);
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return names;
}

std::string device_table(const json& nodes, size_t most) {
  std::map<std::string, int64_t> largest;
  for (const json& node : nodes) {
    for (const json& minors : node.at("devices")) {
      for (const json& device : minors) {
        for (const auto& [resource, total] : device.at("total").items())
          largest[resource] = std::max(largest[resource], total.get<int64_t>());
      }
    }
  }
  Table table({"NODE", "DEVICE", "MINOR", "USED", "STATE"});
  for (size_t i = 0; i < std::min(nodes.size(), most); ++i) {
    for (const auto& [type, minors] : nodes[i].at("devices").items()) {
      for (const std::string& minor : by_number(minors)) {
        const json& device = minors.at(minor);
        table.add(
            {nodes[i].at("node"), type, minor, used_text(device, largest), device.at("state")});
      }
    }
  }
  return table.empty() ? "" : "\nDevices, used of what there is:\n" + table.text();
}

std::string seconds_text(const json& seconds) {
  const auto whole = static_cast<int64_t>(seconds.get<double>());
  if (whole < 120) return std::to_string(whole) + "s";
  if (whole < 7200) return std::to_string(whole / 60) + "m";
  return std::to_string(whole / 3600) + "h";
}

constexpr const char* kStandby =
    "This replica stands by: another one leads, and only that one decides.\n";

}  // namespace

std::string use_json(const StateSnapshot& snapshot) {
  const json zones_by_node = nodes_of(snapshot, kZonesFrom);
  const json devices_by_node = nodes_of(snapshot, kDevicesFrom);
  std::map<std::string, std::vector<node::ZoneReport>> zones;
  for (const auto& [name, node] : zones_by_node.items()) zones[name] = zones_of(node);
  std::vector<NodeUse> uses = node_use(snapshot, zones);
  for (NodeUse& use : uses) {
    const auto found = devices_by_node.find(use.node);
    if (found == devices_by_node.end()) continue;
    for (const auto& [resource, free] : free_of_devices(*found)) {
      const auto at = use.all.find(resource);
      if (at == use.all.end()) continue;
      at->second.used = std::max(at->second.used, at->second.allocatable - free);
    }
  }
  json nodes = node_use_json(uses);
  for (json& node : nodes) {
    const auto found = devices_by_node.find(node.at("node").get<std::string>());
    node["devices"] = found == devices_by_node.end() ? json::object() : devices_of(*found);
  }
  return json{{"standby", snapshot.standby}, {"nodes", std::move(nodes)}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

std::string use_text(std::string_view text, size_t most) {
  const json use = json::parse(text);
  const json& nodes = use.at("nodes");
  std::string out = use.value("standby", false) ? kStandby : "";
  if (nodes.empty()) return out + "There are no nodes.\n";
  out += node_use_text(read_node_use(nodes), most, "--limit").substr(1) + device_table(nodes, most);
  return out;
}

std::string queue_text(std::string_view text, size_t most) {
  const json state = json::parse(text);
  const json& queue = state.at("queue");
  std::string out = state.value("standby", false) ? kStandby : "";
  if (queue.empty()) return out + "No pod waits.\n";
  Table table(
      {"POD", "PLACE", "ATTEMPTS", "WAITED", "LAST TRY", "BACKOFF", "REJECTED BY", "NOMINATED"});
  std::map<std::string, size_t> places;
  size_t shown = 0;
  for (const json& pod : queue) {
    ++places[pod.at("place")];
    if (++shown > most) continue;
    const json& rejected = pod.at("rejectedBy");
    const auto attempts = pod.at("attempts").get<int64_t>();
    const bool backs_off = pod.at("backoffSecondsLeft").get<double>() > 0;
    table.add({pod.at("pod"), pod.at("place"), std::to_string(attempts),
               seconds_text(pod.at("secondsWaiting")),
               attempts == 0 ? "-" : seconds_text(pod.at("secondsQueued")) + " ago",
               backs_off ? seconds_text(pod.at("backoffSecondsLeft")) : "-",
               rejected.empty() ? "-" : sdk::join(rejected.get<std::vector<std::string>>(), ","),
               pod.value("nominatedNode", "-")});
  }
  out += table.text();
  if (queue.size() > most) {
    out += "and " + std::to_string(queue.size() - most) + " more pods (--limit all)\n";
  }
  out += std::to_string(queue.size()) + (queue.size() == 1 ? " pod waits: " : " pods wait: ");
  return out +
         sdk::join(
             places, ", ",
             [](const auto& place) { return std::to_string(place.second) + " " + place.first; }) +
         "\n";
}

}  // namespace plimsoll::cli
