#include "node/kubelet/state_files.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "node/kubelet/json_at.hpp"

namespace plimsoll::node {
namespace {

using topology::kubelet::CpuSet;

int zone_id(std::int64_t id, const std::string& path) {
  if (id < 0 || id > INT32_MAX) throw WrongField(path + ": is no id of a NUMA node");
  return static_cast<int>(id);
}

// The key of a JSON object that stands for a number.
std::int64_t number_of(const std::string& key, const std::string& path) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (error != std::errc() || end != key.data() + key.size()) {
    throw WrongField(path + ": is no number");
  }
  return number;
}

CpuSet cpus(const At& at) {
  auto set = CpuSet::parse(at.text());
  if (!set) throw WrongField(at.path + ": " + set.error());
  return *set;
}

std::vector<int> zones(const At& at) {
  std::vector<int> ids;
  at.elements([&](const At& id) { ids.push_back(zone_id(id.number(), id.path)); });
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<MemoryBlock> blocks(const At& at) {
  std::vector<MemoryBlock> all;
  at.elements([&](const At& block) {
    all.push_back({zones(block["numaAffinity"]), block["type"].text(), block["size"].number()});
  });
  return all;
}

std::vector<std::string> ids(const At& at) {
  std::vector<std::string> all;
  at.elements([&](const At& id) { all.push_back(id.text()); });
  std::sort(all.begin(), all.end());
  return all;
}

// Kubelets from 1.37 on repeat all of a file as a text in `data`, for kubelets before them beside
// it. Only there it is whole (the rest lacks podEntries), and only that they read themselves.
template <typename State, typename Read>
Result<State> read_checkpoint(std::string_view json, const Read& read) {
  std::optional<std::string> data;
  auto state = read_json<State>(json, [&](const At& file, State& into) {
    const At inner = file["data"];
    if (inner.absent()) return read(file, into);
    data = inner.text();
  });
  if (!state || !data) return state;
  state = read_json<State>(*data, read);
  if (!state) return fail(state.error().within("data"));
  return state;
}

}  // namespace

Result<CpuState> parse_cpu_state(std::string_view json) {
  return read_checkpoint<CpuState>(json, [](const At& file, CpuState& state) {
    state.policy = file["policyName"].text();
    state.default_cpus = cpus(file["defaultCpuSet"]);
    file["entries"].members([&](const std::string& pod, const At& containers) {
      containers.members(
          [&](const std::string& name, const At& set) { state.held[pod][name] = cpus(set); });
    });
    file["podEntries"].members([&](const std::string& pod, const At& entry) {
      state.held_by_pods[pod] = cpus(entry["cpuSet"]);
    });
  });
}

Result<MemoryState> parse_memory_state(std::string_view json) {
  return read_checkpoint<MemoryState>(json, [](const At& file, MemoryState& state) {
    state.policy = file["policyName"].text();
    file["machineState"].members([&](const std::string& id, const At& node) {
      MemoryZone& zone = state.zones[zone_id(number_of(id, node.path), node.path)];
      zone.assignments = node["numberOfAssignments"].number();
      zone.group = zones(node["cells"]);
      node["memoryMap"].members([&](const std::string& type, const At& table) {
        zone.amounts[type] = {table["allocatable"].number(), table["free"].number()};
      });
    });
    file["entries"].members([&](const std::string& pod, const At& containers) {
      containers.members(
          [&](const std::string& name, const At& list) { state.held[pod][name] = blocks(list); });
    });
    file["podEntries"].members([&](const std::string& pod, const At& entry) {
      state.held_by_pods[pod] = blocks(entry["memoryBlocks"]);
    });
  });
}

Result<DeviceState> parse_device_state(std::string_view json) {
  return read_json<DeviceState>(json, [](const At& file, DeviceState& state) {
    const At data = file["Data"];
    data["PodDeviceEntries"].elements([&](const At& given) {
      DeviceState::Entry& entry = state.entries.emplace_back();
      entry.pod_uid = given["PodUID"].text();
      entry.container = given["ContainerName"].text();
      entry.resource = given["ResourceName"].text();
      // By zone; a device near two zones is in both lists.
      given["DeviceIDs"].members([&](const std::string&, const At& list) {
        for (std::string& id : ids(list)) entry.ids.push_back(std::move(id));
      });
      std::sort(entry.ids.begin(), entry.ids.end());
      entry.ids.erase(std::unique(entry.ids.begin(), entry.ids.end()), entry.ids.end());
    });
    data["RegisteredDevices"].members(
        [&](const std::string& resource, const At& list) { state.healthy[resource] = ids(list); });
  });
}

}  // namespace plimsoll::node
