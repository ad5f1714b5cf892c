// The checks of a kubelet on its configuration and its machine before it starts.

#include <plimsoll/join.hpp>

#include <algorithm>
#include <set>

#include "lab/sandbox/machine/machine_description.hpp"

namespace plimsoll::sandbox {
namespace {

using Options = std::map<std::string, std::string>;

class Check {
 public:
  explicit Check(const node::Machine& machine) : machine_(machine), kubelet_(machine.kubelet) {}

  std::vector<std::string> run() {
    one_of("topologyManagerPolicy", kubelet_.topology_manager_policy,
           {"none", "best-effort", "restricted", "single-numa-node"});
    one_of("topologyManagerScope", kubelet_.topology_manager_scope, {"container", "pod"});
    one_of("cpuManagerPolicy", kubelet_.cpu_manager_policy, {"none", "static"});
    one_of("memoryManagerPolicy", kubelet_.memory_manager_policy, {"None", "Static"});
    known_options("topologyManagerPolicyOptions", kubelet_.topology_manager_options,
                  {"prefer-closest-numa-nodes", "max-allowable-numa-nodes"});
    known_options("cpuManagerPolicyOptions", kubelet_.cpu_manager_options,
                  {"full-pcpus-only", "distribute-cpus-across-numa", "align-by-socket",
                   "distribute-cpus-across-cores", "prefer-align-cpus-by-uncorecache",
                   "strict-cpu-reservation"});
    cpus();
    cpu_options();
    zones();
    reserved_memory();
    devices();
    return std::move(problems_);
  }

 private:
  void problem(const std::string& field, const std::string& text) {
    problems_.push_back("kubelet." + field + ": " + text);
  }

  void one_of(const char* field, const std::string& value,
              std::initializer_list<const char*> choices) {
    if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
    problem(field, "is \"" + value + "\"; a kubelet knows " + sdk::join(choices));
  }

  void known_options(const char* field, const Options& options,
                     std::initializer_list<const char*> known) {
    for (const auto& [name, value] : options) {
      const bool is_known = std::any_of(known.begin(), known.end(),
                                        [&, &key = name](const char* k) { return key == k; });
      if (!is_known) {
        problem(field, "unknown option " + name);
      } else if (name == "max-allowable-numa-nodes") {
        if (!kubelet_.max_numa_nodes()) problem(field, name + " must be 8 or more");
      } else if (value != "true" && value != "false") {
        problem(field, name + " must be \"true\" or \"false\"");
      }
    }
  }

  bool has(const char* option) const {
    const auto found = kubelet_.cpu_manager_options.find(option);
    return found != kubelet_.cpu_manager_options.end() && found->second == "true";
  }

  void cpus() {
    const auto& all = machine_.hardware.cpus;
    for (const int id : kubelet_.reserved_cpus) {
      const bool there = std::any_of(all.begin(), all.end(),
                                     [&](const node::MachineCpu& cpu) { return cpu.id == id; });
      if (!there) problem("reservedSystemCPUs", "the machine has no CPU " + std::to_string(id));
    }
    if (kubelet_.cpu_manager_policy == "static" && kubelet_.reserved_cpus.empty()) {
      problem("reservedSystemCPUs",
              "the static CPU manager policy wants at least one CPU to be reserved");
    }
  }

  void cpu_options() {
    const auto excludes = [&](const char* one, const char* other) {
      if (!has(one) || !has(other)) return;
      problem("cpuManagerPolicyOptions",
              std::string(one) + " and " + other + " exclude one another");
    };
    excludes("full-pcpus-only", "distribute-cpus-across-cores");
    excludes("distribute-cpus-across-numa", "distribute-cpus-across-cores");
    excludes("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores");
    excludes("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa");
    if (!has("align-by-socket")) return;
    std::set<int> sockets;
    std::set<std::size_t> zones;
    for (const node::MachineCpu& cpu : machine_.hardware.cpus) {
      sockets.insert(cpu.socket);
      zones.insert(cpu.zone);
    }
    if (kubelet_.topology_manager_policy == "single-numa-node") {
      problem("cpuManagerPolicyOptions",
              "align-by-socket goes with no topology manager policy single-numa-node");
    }
    if (sockets.size() > zones.size()) {
      problem("cpuManagerPolicyOptions", "align-by-socket wants no more sockets than NUMA nodes");
    }
  }

  void zones() {
    if (kubelet_.topology_manager_policy == "none") return;
    const auto most = kubelet_.max_numa_nodes();
    const auto& zones = machine_.hardware.zones;
    if (most && zones.size() > *most) {
      problem("topologyManagerPolicyOptions", "the machine has " + std::to_string(zones.size()) +
                                                  " NUMA nodes, and the topology manager takes " +
                                                  std::to_string(*most) +
                                                  "; set max-allowable-numa-nodes");
    }
  }

  void reserved_memory() {
    for (const node::MachineZone& zone : machine_.hardware.zones) {
      std::int64_t pages = 0;
      for (const auto& [type, bytes] : zone.hugepages) pages += bytes;
      const auto found = kubelet_.reserved_memory.find(zone.id);
      const std::int64_t reserved =
          found == kubelet_.reserved_memory.end() ? 0 : node::amount_of(found->second, "memory");
      if (pages <= zone.memory && reserved <= zone.memory - pages) continue;
      problem("reservedMemory", "NUMA node " + std::to_string(zone.id) +
                                    " has less memory than is reserved and taken by huge pages");
    }
  }

  void devices() {
    std::set<std::pair<std::string, std::string>> seen;
    for (const node::MachineDevice& device : machine_.devices) {
      if (seen.emplace(device.resource, device.id).second) continue;
      problems_.push_back("devices: " + device.resource + " has two devices \"" + device.id + "\"");
    }
  }

  const node::Machine& machine_;
  const node::KubeletSettings& kubelet_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> problems_of(const node::Machine& machine) {
  return Check(machine).run();
}

}  // namespace plimsoll::sandbox
