#include "cli/ask/node_use.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/line/table.hpp"
#include "framework/api/objects.hpp"
#include "framework/api/readable_amount.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;

// What every node has and nobody looks for: shown only where pods use it, in JSON always.
bool is_plain(const std::string& resource) {
  return resource == "pods" || resource == "ephemeral-storage" ||
         resource.rfind("hugepages-", 0) == 0;
}

std::set<std::string> columns_of(const std::vector<NodeUse>& nodes) {
  std::set<std::string> names;
  for (const NodeUse& node : nodes) {
    for (const auto& [name, use] : node.all) {
      if (use.allocatable > 0 && (!is_plain(name) || (name != "pods" && use.used > 0)))
        names.insert(name);
    }
    for (const auto& [id, uses] : node.zones) {
      for (const auto& [name, use] : uses) {
        if (use.used > 0) names.insert(name);
      }
    }
  }
  return names;
}

// A column has one unit, so that its amounts can be compared: that of the largest.
std::map<std::string, int> units_of(const std::vector<NodeUse>& nodes) {
  std::map<std::string, int64_t> largest;
  const auto look_at = [&largest](const AmountUses& uses) {
    for (const auto& [name, use] : uses)
      largest[name] = std::max({largest[name], use.used, use.allocatable});
  };
  for (const NodeUse& node : nodes) {
    look_at(node.all);
    for (const auto& [id, uses] : node.zones) look_at(uses);
  }
  std::map<std::string, int> units;
  for (const auto& [name, amount] : largest) units[name] = unit_for(name, amount);
  return units;
}

std::string cell(const AmountUses& uses, const std::string& name, int unit) {
  const auto found = uses.find(name);
  if (found == uses.end()) return "-";
  return readable_amount(name, found->second.used, unit) + "/" +
         readable_amount(name, found->second.allocatable, unit);
}

json json_of(const AmountUses& uses) {
  json out = json::object();
  for (const auto& [name, use] : uses) {
    out[name] = {{"used", use.used}, {"allocatable", use.allocatable}};
  }
  return out;
}

AmountUses read_uses(const json& uses) {
  AmountUses out;
  for (const auto& [name, use] : uses.items()) {
    out[name] = {use.at("used").get<int64_t>(), use.at("allocatable").get<int64_t>()};
  }
  return out;
}

}  // namespace

std::vector<NodeUse> node_use(const StateSnapshot& scheduler,
                              const std::map<std::string, std::vector<node::ZoneReport>>& zones) {
  std::map<std::string, int64_t, std::less<>> pods;
  for (const StateSnapshot::PlacedPod& placed : scheduler.placed) {
    ++pods[std::string(view(placed.pod->node_name))];
  }
  std::vector<NodeUse> nodes;
  for (const StateSnapshot::Node& node : scheduler.nodes) {
    NodeUse use;
    use.node = std::string(view(node.node->meta.name));
    for (size_t i = 0; i < scheduler.resource_names.size(); ++i) {
      const int64_t allocatable = i < node.allocatable.size() ? node.allocatable[i] : 0;
      const int64_t used = i < node.requested.size() ? node.requested[i] : 0;
      if (allocatable != 0 || used != 0) use.all[scheduler.resource_names[i]] = {used, allocatable};
    }
    // No pod asks for it: the accounts have no use of it.
    if (const auto found = use.all.find("pods"); found != use.all.end()) {
      found->second.used = pods[use.node];
    }
    if (const auto found = zones.find(use.node); found != zones.end()) {
      for (const node::ZoneReport& zone : found->second) {
        AmountUses& uses = use.zones[zone.id];
        for (const auto& [name, allocatable] : zone.allocatable) {
          const auto left = zone.available.find(name);
          const int64_t free = left == zone.available.end() ? 0 : left->second;
          uses[name] = {allocatable - free, allocatable};
        }
      }
    }
    nodes.push_back(std::move(use));
  }
  std::ranges::sort(nodes, {}, &NodeUse::node);
  return nodes;
}

std::string node_use_text(const std::vector<NodeUse>& nodes, size_t most, const char* flag) {
  const std::set<std::string> columns = columns_of(nodes);
  std::map<std::string, int> units = units_of(nodes);
  std::vector<std::string> header{"NODE", "ZONE"};
  header.insert(header.end(), columns.begin(), columns.end());
  Table table(header);
  for (size_t i = 0; i < std::min(nodes.size(), most); ++i) {
    const NodeUse& node = nodes[i];
    std::vector<std::string> row{node.node, ""};
    for (const std::string& name : columns) row.push_back(cell(node.all, name, units[name]));
    table.add(std::move(row));
    for (const auto& [id, uses] : node.zones) {
      std::vector<std::string> zone{"", "node-" + std::to_string(id)};
      for (const std::string& name : columns) zone.push_back(cell(uses, name, units[name]));
      table.add(std::move(zone));
    }
  }
  if (table.empty()) return {};
  if (nodes.size() > 1) {
    AmountUses total;
    const auto add = [](int64_t& sum, int64_t amount) {
      if (__builtin_add_overflow(sum, amount, &sum)) sum = std::numeric_limits<int64_t>::max();
    };
    for (const NodeUse& node : nodes) {
      for (const auto& [name, use] : node.all) {
        add(total[name].used, use.used);
        add(total[name].allocatable, use.allocatable);
      }
    }
    std::vector<std::string> row{"all " + std::to_string(nodes.size()), ""};
    for (const std::string& name : columns) row.push_back(cell(total, name, units[name]));
    table.add(std::move(row));
  }
  std::string text = "\nUsed of what there is:\n" + table.text();
  if (nodes.size() > most) {
    text += "and " + std::to_string(nodes.size() - most) + " more nodes (" + flag + " all)\n";
  }
  return text;
}

json node_use_json(const std::vector<NodeUse>& nodes) {
  json out = json::array();
  for (const NodeUse& node : nodes) {
    json zones = json::object();
    for (const auto& [id, uses] : node.zones) zones["node-" + std::to_string(id)] = json_of(uses);
    out.push_back({{"node", node.node}, {"resources", json_of(node.all)}, {"zones", zones}});
  }
  return out;
}

std::vector<NodeUse> read_node_use(const json& nodes) {
  std::vector<NodeUse> out;
  for (const json& node : nodes) {
    NodeUse use;
    use.node = node.at("node").get<std::string>();
    use.all = read_uses(node.at("resources"));
    for (const auto& [zone, uses] : node.at("zones").items()) {
      use.zones[std::stoi(zone.substr(5))] = read_uses(uses);  // behind "node-"
    }
    out.push_back(std::move(use));
  }
  return out;
}

}  // namespace plimsoll::cli
