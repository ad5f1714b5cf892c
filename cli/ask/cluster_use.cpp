#include "cli/ask/cluster_use.hpp"

#include <plimsoll/join.hpp>
#include <plimsoll/quantity.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <vector>

#include "cli/ask/node_use.hpp"
#include "cli/line/table.hpp"
#include "framework/api/readable_amount.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;

constexpr const char* kZonesFrom = "NodeResourceTopologyMatch";
constexpr const char* kDevicesFrom = "NodeDevice";
constexpr const char* kClaimsFrom = "DynamicResources";
constexpr std::string_view kZonePrefix = "node-";

// The nodes of a plugin's state; an empty object if it says nothing of them.
json nodes_of(const StateSnapshot& snapshot, const char* plugin) {
  const auto found = snapshot.plugins.find(plugin);
  if (found == snapshot.plugins.end()) return json::object();
  const json state = json::parse(found->second.text(), nullptr, false);
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

// Pods on nodes, and as what their parts of a node count.
class Holders {
 public:
  explicit Holders(const StateSnapshot& snapshot)
      : ours_(snapshot.scheduler_names.begin(), snapshot.scheduler_names.end()) {
    for (const StateSnapshot::PlacedPod& placed : snapshot.placed)
      pods_.emplace(view(placed.pod->meta.uid), &placed);
  }
  // "foreign": another scheduler's; "promised": no report of the node counts it yet; "bound".
  [[nodiscard]] const char* state(std::string_view uid, bool promised) const {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return promised ? "promised" : "bound";
    if (!ours_.contains(view(found->second->pod->scheduler_name))) return "foreign";
    return promised || found->second->assumed ? "promised" : "bound";
  }

 private:
  std::set<std::string, std::less<>> ours_;
  std::unordered_map<std::string_view, const StateSnapshot::PlacedPod*> pods_;  // by uid
};

// A member of an object, or an empty one.
const json& member(const json& of, const char* name) {
  static const json kNone = json::object();
  const auto found = of.find(name);
  return found == of.end() || !found->is_object() ? kNone : *found;
}

bool is_promised(const json& zone_pod) {
  return zone_pod.value("state", "") == "promised";
}

// By type and minor: what there is, what is used and by whom, and what is wrong.
json devices_of(const json& node, const Holders& holders) {
  json devices = json::object();
  for (const auto& [type, state] : member(node, "devices").items()) {
    for (const auto& [minor, device] : state.at("minors").items()) {
      json& one = devices[type][minor];
      for (const char* field : {"total", "used", "free"}) one[field] = device.at(field);
      one["state"] = !device.value("present", false)   ? "gone"
                     : !device.value("healthy", false) ? "unhealthy"
                     : device.value("setAside", false) ? "set aside"
                                                       : "healthy";
    }
  }
  for (const auto& [uid, pod] : member(node, "pods").items()) {
    for (const auto& [type, shares] : member(pod, "devices").items()) {
      for (const json& share : shares) {
        const std::string minor = std::to_string(share.at("minor").get<int64_t>());
        if (!devices.contains(type) || !devices[type].contains(minor)) continue;
        devices[type][minor]["pods"].push_back(
            {{"pod", pod.at("pod")}, {"state", holders.state(uid, pod.value("assumed", false))}});
      }
    }
  }
  return devices;
}

// Of what zones have used, that of pods which is promised, and that of others' pods.
void add_holders(json& zones, const json& node, const Holders& holders) {
  for (const auto& [uid, pod] : member(node, "pods").items()) {
    const std::string as = holders.state(uid, is_promised(pod));
    if (as == "bound") continue;
    for (const auto& [zone, charged] : member(pod, "zones").items()) {
      if (!zones.contains(zone)) continue;
      for (const auto& [resource, amount] : charged.items()) {
        const auto use = zones[zone].find(resource);
        if (use == zones[zone].end()) continue;
        (*use)[as] = use->value(as, int64_t{0}) + amount_of(resource, charged, resource.c_str());
      }
    }
  }
}

// Labels that tell nodes apart in groups: a name of its own groups nothing, and what
// node-feature-discovery finds is more than all others.
json labels_of(const plimsoll_node& node) {
  json labels = json::object();
  for (const plimsoll_label& label : sdk::List<plimsoll_label>(node.meta.labels)) {
    const std::string_view key = view(label.key);
    if (key == "kubernetes.io/hostname" || key.starts_with("feature.node.kubernetes.io/")) continue;
    labels[std::string(key)] = view(label.value);
  }
  return labels;
}

void add_node(json& out, const plimsoll_node& node) {
  out["labels"] = labels_of(node);
  if (node.unschedulable != 0) out["unschedulable"] = true;
  for (const plimsoll_taint& taint : sdk::List<plimsoll_taint>(node.taints)) {
    const char* effect = taint.effect == PLIMSOLL_EFFECT_NO_SCHEDULE          ? ":NoSchedule"
                         : taint.effect == PLIMSOLL_EFFECT_PREFER_NO_SCHEDULE ? ":PreferNoSchedule"
                                                                              : ":NoExecute";
    const std::string value(view(taint.value));
    out["taints"].push_back(std::string(view(taint.key)) + (value.empty() ? "" : "=" + value) +
                            effect);
  }
}

// The pods on the nodes of `wanted`, with the zones and devices that are theirs.
void add_pods(const StateSnapshot& snapshot, const Holders& holders, const json& zones,
              const json& devices, const std::map<std::string, json*, std::less<>>& wanted) {
  for (const auto& [name, node] : wanted) (*node)["pods"] = json::array();
  for (const StateSnapshot::PlacedPod& placed : snapshot.placed) {
    const auto found = wanted.find(view(placed.pod->node_name));
    if (found == wanted.end()) continue;
    const std::string uid(view(placed.pod->meta.uid));
    const json& zoned = member(member(member(zones, found->first.c_str()), "pods"), uid.c_str());
    const json& held = member(member(member(devices, found->first.c_str()), "pods"), uid.c_str());
    json pod{{"pod", full_name(*placed.pod)}, {"state", holders.state(uid, is_promised(zoned))}};
    if (zoned.value("state", "") == "no zones known") pod["state"] = "uncertain";
    if (!member(zoned, "zones").empty()) pod["zones"] = zoned["zones"];
    for (const auto& [type, shares] : member(held, "devices").items()) {
      for (const json& share : shares) pod["devices"][type].push_back(share.at("minor"));
    }
    (*found->second)["pods"].push_back(std::move(pod));
  }
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

// "free", "tainted", or who has it.
std::string claim_device_text(const json& device) {
  std::vector<std::string> users;
  for (const json& claim : device.at("claims")) {
    std::string& text = users.emplace_back(claim.at("claim"));
    const auto pods = claim.at("pods").get<std::vector<std::string>>();
    if (!pods.empty()) text += (text.empty() ? "for " : " for ") + sdk::join(pods);
    if (claim.at("state") == "promised") text += " (promised)";
  }
  if (!users.empty()) return sdk::join(users);
  if (device.value("elsewhere", false)) return "given away by NodeDevice";
  return device.contains("taints") ? "tainted" : "free";
}

std::string claim_device_table(const json& nodes, size_t most) {
  Table table({"NODE", "DRIVER", "POOL", "DEVICE", "HELD BY"});
  for (size_t i = 0; i < std::min(nodes.size(), most); ++i) {
    for (const auto& [driver, pools] : member(nodes[i], "claimDevices").items()) {
      for (const auto& [pool, devices] : pools.items()) {
        for (const auto& [name, device] : devices.items())
          table.add({nodes[i].at("node"), driver, pool, name, claim_device_text(device)});
      }
    }
  }
  return table.empty() ? "" : "\nDevices of claims:\n" + table.text();
}

std::string seconds_text(const json& seconds) {
  const auto whole = static_cast<int64_t>(seconds.get<double>());
  if (whole < 120) return std::to_string(whole) + "s";
  if (whole < 7200) return std::to_string(whole / 60) + "m";
  return std::to_string(whole / 3600) + "h";
}

constexpr const char* kStandby =
    "This replica stands by: another one leads, and only that one decides.\n";

json nodes_json(const StateSnapshot& snapshot, bool pods) {
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
  const json claims_by_node = nodes_of(snapshot, kClaimsFrom);
  const Holders holders(snapshot);
  json nodes = node_use_json(uses);
  std::map<std::string, json*, std::less<>> by_name;
  for (json& node : nodes) {
    const std::string name = node.at("node");
    by_name[name] = &node;
    node["devices"] = devices_of(member(devices_by_node, name.c_str()), holders);
    const json& claimed = member(member(claims_by_node, name.c_str()), "claimDevices");
    if (!claimed.empty()) node["claimDevices"] = claimed;
    const json& zoned = member(zones_by_node, name.c_str());
    add_holders(node["zones"], zoned, holders);
    for (const char* field : {"report", "uncertain", "policy", "scope", "leaving"})
      if (zoned.contains(field)) node[field] = zoned[field];
  }
  for (const StateSnapshot::Node& node : snapshot.nodes) {
    const auto found = by_name.find(view(node.node->meta.name));
    if (found != by_name.end()) add_node(*found->second, *node.node);
  }
  if (pods) add_pods(snapshot, holders, zones_by_node, devices_by_node, by_name);
  return nodes;
}

std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string use_json(const StateSnapshot& snapshot, bool pods) {
  return text_of({{"standby", snapshot.standby},
                  {"loopMilliseconds", static_cast<double>(snapshot.took_us) / 1000},
                  {"nodes", nodes_json(snapshot, pods)}});
}

std::map<std::string, std::string> use_of_nodes(const StateSnapshot& snapshot) {
  std::map<std::string, std::string> nodes;
  for (const json& node : nodes_json(snapshot, false)) nodes[node.at("node")] = text_of(node);
  return nodes;
}

std::string use_text(std::string_view text, size_t most) {
  const json use = json::parse(text);
  const json& nodes = use.at("nodes");
  std::string out = use.value("standby", false) ? kStandby : "";
  if (nodes.empty()) return out + "There are no nodes.\n";
  out += node_use_text(read_node_use(nodes), most, "--limit").substr(1) +
         device_table(nodes, most) + claim_device_table(nodes, most);
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
