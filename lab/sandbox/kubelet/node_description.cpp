// Reads a Node and its NodeResourceTopology.

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "lab/sandbox/kubelet/node_admission.hpp"
#include "plugins/topology/report/koordlet.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

struct LegacyPolicy {
  const char* name;
  const char* policy;
  const char* scope;
};
constexpr LegacyPolicy kLegacyPolicies[] = {
    {"SingleNUMANodeContainerLevel", "single-numa-node", "container"},
    {"SingleNUMANodePodLevel", "single-numa-node", "pod"},
    {"RestrictedContainerLevel", "restricted", "container"},
    {"RestrictedPodLevel", "restricted", "pod"},
    {"BestEffortContainerLevel", "best-effort", "container"},
    {"BestEffortPodLevel", "best-effort", "pod"},
};

constexpr int kMaxZones = 64;  // bits in a kubelet's mask of NUMA nodes

bool one_of(const std::string& text, std::initializer_list<const char*> choices) {
  return std::any_of(choices.begin(), choices.end(), [&](const char* c) { return text == c; });
}

// "node-3" -> 3; -1 for any other name.
int zone_id(const std::string& name) {
  if (!name.starts_with("node-")) return -1;
  int id = -1;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + 5, end, id);
  return error == std::errc() && stop == end && id >= 0 && id < kMaxZones ? id : -1;
}

void read_policy(const json& nrt, NodeDescription& node) {
  if (const auto legacy = nrt.find("topologyPolicies");
      legacy != nrt.end() && legacy->is_array() && !legacy->empty()) {
    for (const LegacyPolicy& known : kLegacyPolicies) {
      if (legacy->front() != known.name) continue;
      node.policy = known.policy;
      node.scope = known.scope;
    }
  }
  std::vector<topology::NrtAttribute> attributes;
  if (const auto own = nrt.find("attributes"); own != nrt.end() && own->is_array()) {
    for (const json& attribute : *own) {
      attributes.push_back({attribute.value("name", ""), attribute.value("value", "")});
    }
  }
  const json annotations = nrt.value("metadata", json::object()).value("annotations", json());
  const std::string key(topology::kKoordletCpuAnnotation);
  if (annotations.is_object() && annotations.contains(key)) {
    // What is wrong with it the scheduler says.
    (void)topology::add_koordlet_settings(annotations.value(key, ""), attributes);
  }
  for (const auto& [name, value] : attributes) {
    if (name == "topologyManagerPolicy" &&
        one_of(value, {"none", "best-effort", "restricted", "single-numa-node"})) {
      node.policy = value;
    }
    if (name == "topologyManagerScope" && one_of(value, {"container", "pod"})) node.scope = value;
    if (name == "cpuManagerPolicy") node.cpu_manager_off = value == "none";
    if (name == "memoryManagerPolicy") node.memory_manager_off = value == "None";
  }
}

Result<ZoneDescription> read_zone(const json& zone, int id) {
  ZoneDescription result;
  result.id = id;
  for (const json& cost : zone.value("costs", json::array())) {
    const int to = zone_id(cost.value("name", ""));
    if (to >= 0) result.costs.emplace_back(to, cost.value("value", std::int64_t{0}));
  }
  for (const json& resource : zone.value("resources", json::array())) {
    const std::string name = resource.value("name", "");
    const json allocatable = resource.value("allocatable", json());
    const auto total = node::parse_amount(
        name, allocatable.is_null() ? resource.value("capacity", json()) : allocatable);
    if (!total) return fail(total.error());
    const json all = resource.value("capacity", json());
    const auto capacity = all.is_null() ? total : node::parse_amount(name, all);
    if (!capacity) return fail(capacity.error());
    const json reported = resource.value("available", json());
    const auto available = reported.is_null() ? total : node::parse_amount(name, reported);
    if (!available) return fail(available.error());
    result.capacity[name] = std::max(*capacity, *total);
    result.allocatable[name] = *total;
    result.available[name] =
        std::clamp<std::int64_t>(*available, 0, std::max<std::int64_t>(0, *total));
  }
  return result;
}

// Sets the zones of an unused machine.
void describe_machine(const std::shared_ptr<const node::Machine>& machine, NodeDescription& node) {
  node.machine = machine;
  node.policy = machine->kubelet.topology_manager_policy;
  node.scope = machine->kubelet.topology_manager_scope;
  node.allocatable = machine->allocatable();
  for (std::size_t column = 0; column < machine->hardware.zones.size(); ++column) {
    ZoneDescription zone;
    zone.id = machine->hardware.zones[column].id;
    zone.allocatable = machine->allocatable_memory(column);
    node.zones.push_back(std::move(zone));
  }
}

}  // namespace

bool NodeDescription::same_machine(const NodeDescription& other) const {
  const auto same_zone = [](const ZoneDescription& a, const ZoneDescription& b) {
    return a.id == b.id && a.capacity == b.capacity && a.allocatable == b.allocatable &&
           a.costs == b.costs;
  };
  return name == other.name && machine == other.machine && allocatable == other.allocatable &&
         policy == other.policy && scope == other.scope &&
         cpu_manager_off == other.cpu_manager_off &&
         memory_manager_off == other.memory_manager_off &&
         std::equal(zones.begin(), zones.end(), other.zones.begin(), other.zones.end(), same_zone);
}

Result<NodeDescription> describe_node(const json& node, const json& nrt,
                                      const std::shared_ptr<const node::Machine>& machine) try {
  NodeDescription result;
  result.name = node.at("metadata").at("name").get<std::string>();
  if (machine != nullptr) {
    describe_machine(machine, result);
    return result;
  }
  const json status = node.value("status", json::object());
  const json capacity = status.value("capacity", json());
  auto allocatable = node::parse_amounts(status.value("allocatable", capacity));
  if (!allocatable) {
    return fail(allocatable.error().within("node " + result.name + ": status.allocatable"));
  }
  result.allocatable = std::move(*allocatable);
  if (!nrt.is_object()) return result;
  read_policy(nrt, result);
  for (const json& zone : nrt.value("zones", json::array())) {
    const std::string name = zone.value("name", "");
    const int id = zone_id(name);
    if (zone.value("type", "") != "Node" || id < 0) continue;
    auto read = read_zone(zone, id);
    if (!read) {
      return fail(read.error().within("noderesourcetopology " + result.name + ": zone " + name));
    }
    result.zones.push_back(std::move(*read));
  }
  std::sort(result.zones.begin(), result.zones.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  const auto twice = std::adjacent_find(result.zones.begin(), result.zones.end(),
                                        [](const auto& a, const auto& b) { return a.id == b.id; });
  if (twice != result.zones.end()) {
    return fail(ErrorCode::kInvalid, "noderesourcetopology " + result.name + ": zone node-" +
                                         std::to_string(twice->id) + " is listed twice");
  }
  return result;
} catch (const json::exception& error) {
  return fail(ErrorCode::kInvalid,
              std::string("malformed node or noderesourcetopology: ") + error.what());
}

}  // namespace plimsoll::sandbox
