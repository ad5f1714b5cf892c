#include "tests/e2e/recount.hpp"

#include <algorithm>
#include <set>

namespace plimsoll::test {
namespace {

using nlohmann::json;

// The share of a container's requests that zones of the node list, so that a topology manager
// aligns them; without CPUs that a Guaranteed pod shares (not whole), which are not pinned.
Amounts pinned(const ContainerFacts& container, const NodeFacts& node) {
  Amounts amounts;
  for (const auto& request : container.requests) {
    const std::string& resource = request.first;
    const int64_t amount = request.second;
    const bool listed = std::ranges::any_of(
        node.zones, [&](const auto& zone) { return zone.second.all.contains(resource); });
    if (!listed || amount == 0 || (resource == "cpu" && amount % 1000 != 0)) continue;
    amounts[resource] = amount;
  }
  return amounts;
}

bool has_init(const PodFacts& pod) {
  return std::ranges::any_of(pod.containers, &ContainerFacts::init);
}

class Counter {
 public:
  explicit Counter(Recount& result) : result_(result) {}

  void take(const PodFacts& pod) {
    if (pod.node.empty() || pod.finished) return;
    const auto found = result_.nodes.find(pod.node);
    if (found == result_.nodes.end()) return fault(pod.name + " is on " + pod.node + ": no node");
    NodeFacts& node = found->second;
    ++node.pods;
    add(node.stock.held, pod.requests);
    take_zones(pod, node);
    take_devices(pod, node);
  }

  void check_totals() {
    for (const auto& [name, node] : result_.nodes) {
      check(name, node.stock);
      if (node.pods > get(node.stock.all, "pods")) {
        fault(name + " has " + std::to_string(node.pods) + " pods");
      }
      for (const auto& [id, zone] : node.zones) {
        if (!node.aligns() || node.spread) break;
        check(name + " zone " + std::to_string(id), zone);
      }
      for (const auto& [key, device] : node.devices) {
        check(name + " " + key.first + " " + std::to_string(key.second), device);
      }
    }
  }

 private:
  void fault(std::string text) { result_.faults.push_back(std::move(text)); }

  void check(const std::string& what, const Stock& stock) {
    if (fits(stock.held, stock.all)) return;
    fault(what + " is promised beyond what it has: has " + to_string(stock.all) + "; held " +
          to_string(stock.held));
  }

  // Zones that the pod's annotation names for a container, by resource.
  static std::map<std::string, std::set<int>> named_zones(const PodFacts& pod,
                                                          const std::string& container) {
    std::map<std::string, std::set<int>> zones;
    if (!pod.zones.is_object() || !pod.zones.contains(container)) return zones;
    for (const auto& [resource, ids] : pod.zones[container].items()) {
      zones[resource] = ids.get<std::set<int>>();
    }
    return zones;
  }

  void take_zones(const PodFacts& pod, NodeFacts& node) {
    std::map<int, Amounts> running;  // sidecars and app containers
    std::map<int, Amounts> peak;     // with the init container that needs most
    std::set<int> zones_of_pod;
    if (pod.guaranteed && has_init(pod) && !node.aligns()) node.leftovers = true;
    for (const ContainerFacts& container : pod.containers) {
      const auto named = named_zones(pod, container.name);
      std::set<int> zones_of_container;
      for (const auto& [resource, ids] : named) {
        zones_of_container.insert(ids.begin(), ids.end());
        if (ids.size() != 1) node.spread = true;  // said below, where it must not be
        std::int64_t left = get(container.requests, resource);
        for (const int id : ids) {
          const std::int64_t free = get(node.zones[id].all, resource) -
                                    get(node.zones[id].held, resource) - get(running[id], resource);
          const std::int64_t part =
              id == *ids.rbegin() ? left : std::clamp<std::int64_t>(free, 0, left);
          left -= part;
          Amounts step = running[id];
          add(step, {{resource, part}});
          if (container.init) raise(peak[id], step);
          if (!container.init) running[id] = step;
        }
      }
      if (node.single_numa()) check_container(pod, container, node, named, zones_of_container);
      if (container.init && node.scope == "container") continue;
      zones_of_pod.insert(zones_of_container.begin(), zones_of_container.end());
    }
    if (node.single_numa() && node.scope == "pod" && zones_of_pod.size() > 1) {
      fault(pod.name + " is spread over zones of " + node.name +
            ", whose scope is pod: " + pod.zones.dump());
    }
    for (const auto& [id, amounts] : running) raise(peak[id], amounts);
    for (const auto& [id, amounts] : peak) {
      if (node.zones.contains(id)) add(node.zones[id].held, amounts);
    }
  }

  void check_container(const PodFacts& pod, const ContainerFacts& container, const NodeFacts& node,
                       const std::map<std::string, std::set<int>>& named,
                       const std::set<int>& zones) {
    const std::string where = pod.name + " container " + container.name + " on " + node.name;
    if (!pod.guaranteed) return;
    for (const auto& [resource, amount] : pinned(container, node)) {
      const auto found = named.find(resource);
      if (found == named.end()) {
        fault(where + " is promised no zone for " + resource + ": " + pod.zones.dump());
      } else if (found->second.size() != 1 || !node.zones.contains(*found->second.begin())) {
        fault(where + " is not in one zone for " + resource + ": " + pod.zones.dump());
      }
    }
    if (zones.size() > 1) fault(where + " is spread over zones: " + pod.zones.dump());
  }

  void take_devices(const PodFacts& pod, NodeFacts& node) {
    const std::string where = pod.name + " on " + node.name;
    for (const auto& [type, entries] : pod.allocated.items()) {
      for (const json& entry : entries) {
        const auto device = node.devices.find({type, entry["minor"].get<int>()});
        if (device == node.devices.end()) {
          fault(where + " was given a device that is not there: " + entry.dump());
        } else {
          add(device->second.held, amounts_of(entry["resources"]));
        }
      }
    }
    if (node.devices.empty()) return;
    for (const DeviceNeed& need : pod.devices) {
      const json given = pod.allocated.value(need.type, json::array());
      std::set<int> minors;
      bool enough = std::ssize(given) == need.count;
      for (const json& entry : given) {
        minors.insert(entry["minor"].get<int>());
        enough = enough && fits(need.each, amounts_of(entry["resources"]));
      }
      if (!enough || minors.size() != given.size()) {
        fault(where + " asked for " + std::to_string(need.count) + " " + need.type + " of " +
              to_string(need.each) + " and was given " + pod.allocated.dump());
      }
    }
  }

  Recount& result_;
};

// Whether the kubelet of a single-numa-node node certainly admits the pod's containers one by one.
bool containers_align(const PodFacts& pod, const NodeFacts& node) {
  std::map<int, Amounts> free;
  for (const auto& [id, zone] : node.zones) free[id] = left_of(zone.all, zone.held);
  const auto first_fit = [&](const Amounts& wanted) {
    return std::ranges::find_if(free, [&](const auto& zone) { return fits(wanted, zone.second); });
  };
  if (has_init(pod)) {
    // What the init container held is used again by those after it, which binds them to its zone:
    // with room for all of them there, nothing can go wrong.
    if (std::ranges::count_if(pod.containers, &ContainerFacts::init) > 1) return false;
    const auto zone = first_fit(pinned(pod.containers.front(), node));
    if (zone == free.end()) return false;
    Amounts all;
    for (const ContainerFacts& container : pod.containers) {
      if (!container.init) add(all, pinned(container, node));
    }
    return fits(all, zone->second);
  }
  for (const ContainerFacts& container : pod.containers) {
    const Amounts wanted = pinned(container, node);
    const auto zone = first_fit(wanted);
    if (zone == free.end()) return false;
    for (const auto& [resource, amount] : wanted) zone->second[resource] -= amount;
  }
  return true;
}

bool zones_take(const PodFacts& pod, const NodeFacts& node) {
  if (node.zones.empty() || !pod.guaranteed) return true;
  if (!node.aligns()) return !node.leftovers && !has_init(pod);
  if (node.spread) return false;
  for (const ContainerFacts& container : pod.containers) {
    // Not pinned by the kubelet, but compared with the zones by the scheduling rule.
    if (get(container.requests, "cpu") % 1000 != 0) return false;
  }
  if (node.scope == "container") return containers_align(pod, node);
  ContainerFacts whole;
  whole.requests = pod.requests;
  const Amounts wanted = pinned(whole, node);
  return std::ranges::any_of(node.zones, [&](const auto& zone) {
    return fits(wanted, left_of(zone.second.all, zone.second.held));
  });
}

bool devices_take(const PodFacts& pod, const NodeFacts& node) {
  static const std::string kRatio = "koordinator.sh/gpu-memory-ratio";
  static const std::string kMemory = "koordinator.sh/gpu-memory";
  for (const DeviceNeed& need : pod.devices) {
    std::int64_t takers = 0;
    for (const auto& [key, device] : node.devices) {
      if (key.first != need.type || device.all.empty()) continue;
      Amounts wanted = need.each;
      const std::int64_t memory = get(device.all, kMemory);
      if (wanted.contains(kMemory) && memory > 0) {
        wanted[kRatio] = (wanted[kMemory] * 100 + memory - 1) / memory;
      } else if (wanted.contains(kRatio)) {
        wanted[kMemory] = wanted[kRatio] * memory / 100;
      }
      if (fits(wanted, left_of(device.all, device.held))) ++takers;
    }
    if (takers < need.count) return false;
  }
  return true;
}

bool node_takes(const PodFacts& pod, const NodeFacts& node) {
  if (node.unschedulable || node.pods + 1 > get(node.stock.all, "pods")) return false;
  for (const auto& [key, value] : pod.node_selector) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || label->second != value) return false;
  }
  return fits(pod.requests, left_of(node.stock.all, node.stock.held)) && zones_take(pod, node) &&
         devices_take(pod, node);
}

}  // namespace

std::size_t Recount::bound() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(pods, [](const PodFacts& pod) { return !pod.node.empty(); }));
}

Recount recount(const ClusterObjects& objects) {
  Recount result;
  result.nodes = node_facts(objects);
  for (const json& pod : objects.pods) result.pods.push_back(pod_facts(pod));
  Counter counter(result);
  for (const PodFacts& pod : result.pods) counter.take(pod);
  counter.check_totals();
  return result;
}

std::vector<std::string> held_back(const Recount& recount, const std::string& scheduler) {
  std::vector<std::string> result;
  for (const PodFacts& pod : recount.pods) {
    if (!pod.node.empty() || pod.scheduler != scheduler) continue;
    for (const auto& [name, node] : recount.nodes) {
      if (!node_takes(pod, node)) continue;
      result.push_back(pod.name + " (" + to_string(pod.requests) + ") fits " + name + " (" +
                       node.policy + ", scope " + node.scope + ")");
      break;
    }
  }
  return result;
}

std::string lines(const std::vector<std::string>& all, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i) text += "  " + all[i] + "\n";
  if (all.size() > most) text += "  ... and " + std::to_string(all.size() - most) + " more\n";
  return text;
}

}  // namespace plimsoll::test
