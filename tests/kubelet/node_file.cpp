#include "tests/kubelet/node_file.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace plimsoll::test {
namespace {

using nlohmann::json;

// "hugepages-2Mi" -> the size in KiB, as cAdvisor counts it.
std::int64_t page_kib(const std::string& resource) {
  const auto bytes =
      node::parse_amount("memory", resource.substr(std::string("hugepages-").size()));
  return bytes ? *bytes / 1024 : 0;
}

json huge_pages(const node::Amounts& amounts) {
  json list = json::array();
  for (const auto& [resource, bytes] : amounts) {
    const std::int64_t kib = page_kib(resource);
    list.push_back({{"page_size", kib}, {"num_pages", kib == 0 ? 0 : bytes / (kib * 1024)}});
  }
  return list;
}

json cores_of(const node::Hardware& hardware, std::size_t zone) {
  std::map<int, json> cores;  // by the kubelet's id
  for (const node::MachineCpu& cpu : hardware.cpus) {
    if (cpu.zone != zone) continue;
    json& core = cores[cpu.core];
    core["core_id"] = cpu.core;
    core["socket_id"] = cpu.socket;
    core["uncore_caches"] = json::array({{{"id", cpu.uncore}, {"type", "Unified"}, {"level", 3}}});
    core["thread_ids"].push_back(cpu.id);
  }
  json list = json::array();
  for (auto& [id, core] : cores) list.push_back(std::move(core));
  return list;
}

// cAdvisor's MachineInfo.
json machine_info(const std::string& name, const node::Hardware& hardware) {
  json topology = json::array();
  node::Amounts pages;
  std::int64_t memory = 0;
  int sockets = 0;
  std::size_t cores = 0;
  for (std::size_t column = 0; column < hardware.zones.size(); ++column) {
    const node::MachineZone& zone = hardware.zones[column];
    topology.push_back({{"node_id", zone.id},
                        {"memory", zone.memory},
                        {"hugepages", huge_pages(zone.hugepages)},
                        {"distances", zone.distances},
                        {"cores", cores_of(hardware, column)}});
    cores += topology.back()["cores"].size();
    memory += zone.memory;
    node::add_amounts(pages, zone.hugepages);
  }
  for (const node::MachineCpu& cpu : hardware.cpus) sockets = std::max(sockets, cpu.socket + 1);
  return {{"num_cores", hardware.cpus.size()},
          {"num_physical_cores", cores},
          {"num_sockets", sockets},
          {"cpu_frequency_khz", 2000000},
          {"memory_capacity", memory},
          {"hugepages", huge_pages(pages)},
          {"machine_id", name},
          {"system_uuid", name},
          {"boot_id", name},
          {"topology", topology}};
}

json texts_of(const node::Amounts& amounts) {
  json list = json::object();
  for (const auto& [resource, amount] : amounts)
    list[resource] = node::format_amount(resource, amount);
  return list;
}

// A kubelet that manages resources as the machine says and changes nothing outside its folder.
json kubelet_configuration(const RealKubeletSettings& settings, const std::filesystem::path& dir,
                           std::uint16_t port) {
  const node::KubeletSettings& managers = settings.machine.kubelet;
  node::Amounts reserved;
  json reserved_memory = json::array();
  for (const auto& [zone, amounts] : managers.reserved_memory) {
    node::add_amounts(reserved, amounts);
    reserved_memory.push_back({{"numaNode", zone}, {"limits", texts_of(amounts)}});
  }
  std::string reserved_cpus;
  for (const int cpu : managers.reserved_cpus) {
    reserved_cpus += (reserved_cpus.empty() ? "" : ",") + std::to_string(cpu);
  }
  json configuration = {
      {"apiVersion", "kubelet.config.k8s.io/v1beta1"},
      {"kind", "KubeletConfiguration"},
      {"topologyManagerPolicy", managers.topology_manager_policy},
      {"topologyManagerScope", managers.topology_manager_scope},
      {"topologyManagerPolicyOptions", managers.topology_manager_options},
      {"cpuManagerPolicy", managers.cpu_manager_policy},
      {"cpuManagerPolicyOptions", managers.cpu_manager_options},
      {"memoryManagerPolicy", managers.memory_manager_policy},
      {"reservedSystemCPUs", reserved_cpus},
      {"kubeReserved", texts_of(reserved)},
      {"maxPods", managers.max_pods},
      {"featureGates",
       {{"CPUManagerPolicyAlphaOptions", true},
        {"TopologyManagerPolicyAlphaOptions", true},
        {"PodLevelResourceManagers", managers.pod_level_resource_managers}}},
      // What is reserved is what the machine says, and nothing is evicted.
      {"evictionHard", {{"memory.available", "0%"}}},
      // Only this machine's tests may ask it, without credentials.
      {"address", "127.0.0.1"},
      {"port", port},
      {"healthzPort", 0},
      {"authentication", {{"anonymous", {{"enabled", true}}}, {"webhook", {{"enabled", false}}}}},
      {"authorization", {{"mode", "AlwaysAllow"}}},
      // No cgroups, kernel settings, packet filters or disks.
      {"cgroupsPerQOS", false},
      {"enforceNodeAllocatable", json::array()},
      {"cgroupDriver", "cgroupfs"},
      {"failCgroupV1", false},
      {"failSwapOn", false},
      {"makeIPTablesUtilChains", false},
      {"protectKernelDefaults", true},
      {"oomScoreAdj", 0},
      {"resolvConf", ""},
      {"enableControllerAttachDetach", false},
      {"localStorageCapacityIsolation", true},
      {"volumePluginDir", (dir / "volume-plugins").string()},
      {"nodeStatusUpdateFrequency", "1s"},
  };
  if (!reserved_memory.empty()) configuration["reservedMemory"] = reserved_memory;
  configuration.update(settings.configuration);
  return configuration;
}

json plugins_of(const RealKubeletSettings& settings) {
  std::map<std::string, json> devices;
  for (const node::MachineDevice& device : settings.machine.devices) {
    devices[device.resource].push_back(
        {{"id", device.id}, {"zones", device.zones}, {"healthy", device.healthy}});
  }
  json plugins = json::array();
  for (auto& [resource, list] : devices) {
    plugins.push_back({{"resource", resource},
                       {"inOrder", settings.devices_in_order},
                       {"devices", std::move(list)}});
  }
  return plugins;
}

}  // namespace

json node_file(const RealKubeletSettings& settings, const std::filesystem::path& dir,
               const std::filesystem::path& kubeconfig, std::uint16_t port) {
  return {{"name", settings.name},
          {"dir", dir.string()},
          {"kubeconfig", kubeconfig.string()},
          {"machine", machine_info(settings.name, settings.machine.hardware)},
          {"kubelet", kubelet_configuration(settings, dir, port)},
          {"plugins", plugins_of(settings)},
          {"nri", settings.nri.string()}};
}

}  // namespace plimsoll::test
