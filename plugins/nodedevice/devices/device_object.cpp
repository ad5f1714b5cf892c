#include "plugins/nodedevice/devices/device_object.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <tuple>

#include "plugins/nodedevice/devices/json_fields.hpp"
#include "plugins/nodedevice/text/problem_list.hpp"

namespace plimsoll::devices {
namespace {

using Json = nlohmann::json;

// Each is compared with all others; a board of sixteen devices has thirty-one.
constexpr size_t kMaxPartitions = 256;
constexpr const char* kPartitions = "scheduling.koordinator.sh/gpu-partitions";
constexpr const char* kCheckpoints[] = {"node.koordinator.sh/devices-checkpoints",
                                        "node.koordinator.sh/gpu-checkpoints"};

using fields::array_member;
using fields::int_member;
using fields::int_value;
using fields::member;
using fields::object_member;
using fields::parsed;
using fields::quantity_value;
using fields::string_member;
using fields::wrong;
using fields::WrongField;

Labels labels_of(const Json& object, const char* key, const std::string& field) {
  Labels labels;
  const std::string where = field + "." + key;
  const Json* values = object_member(object, key, where);
  if (values == nullptr) return labels;
  for (const auto& [name, value] : values->items()) {
    if (!value.is_string()) wrong(where + "[" + name + "]", "must be a string");
    labels.emplace(name, value.get<std::string>());
  }
  return labels;
}

Amounts resources_of(const DeviceTypes& types, int type, const Json& device,
                     const std::string& field) {
  Amounts amounts;
  const std::string where = field + ".resources";
  const Json* resources = object_member(device, "resources", where);
  if (resources == nullptr) return amounts;
  for (const auto& [name, value] : resources->items()) {
    const int64_t amount = quantity_value(value, where + "[" + name + "]");
    const int dim = types.find_dim(type, name);
    if (dim >= 0) amounts.set(dim, amount);
  }
  return amounts;
}

void read_topology(const Json& device, const std::string& field, DeviceInfo& info) {
  const std::string where = field + ".topology";
  const Json* topology = object_member(device, "topology", where);
  if (topology == nullptr) return;
  info.has_topology = true;
  info.socket = int_member(*topology, "socketID", where, -1);
  info.numa = std::max(int_member(*topology, "nodeID", where, -1), -1);
  info.pcie_id = string_member(*topology, "pcieID", where);
  info.bus_id = string_member(*topology, "busID", where);
  info.bus = bus_key(info.bus_id);
}

void read_virtual_functions(const Json& device, const std::string& field, DeviceInfo& info) {
  const Json* groups = array_member(device, "vfGroups", field + ".vfGroups");
  if (groups == nullptr) return;
  for (size_t g = 0; g < groups->size(); ++g) {
    const std::string group_field = field + ".vfGroups[" + std::to_string(g) + "]";
    const Json& group = (*groups)[g];
    if (!group.is_object()) wrong(group_field, "must be an object");
    info.vf_groups.push_back(labels_of(group, "labels", group_field));
    const Json* vfs = array_member(group, "vfs", group_field + ".vfs");
    for (size_t v = 0; vfs != nullptr && v < vfs->size(); ++v) {
      const std::string vf_field = group_field + ".vfs[" + std::to_string(v) + "]";
      const Json& vf = (*vfs)[v];
      if (!vf.is_object()) wrong(vf_field, "must be an object");
      std::string bus_id = string_member(vf, "busID", vf_field);
      if (bus_id.empty()) wrong(vf_field + ".busID", "missing: nothing else tells it from others");
      std::string key = bus_key(bus_id);
      info.vfs.push_back({int_member(vf, "minor", vf_field, 0), std::move(bus_id),
                          static_cast<uint32_t>(g), std::move(key)});
    }
  }
  std::stable_sort(info.vfs.begin(), info.vfs.end(),
                   [](const auto& a, const auto& b) { return a.bus_id < b.bus_id; });
}

int32_t read_minor(const Json& device, const std::string& field) {
  const Json* value = member(device, "minor");
  if (value == nullptr) wrong(field + ".minor", "missing");
  const int32_t minor = int_value(*value, field + ".minor");
  if (minor < 0) wrong(field + ".minor", "must not be negative");
  return minor;
}

void read_device(const DeviceTypes& types, int type, const Json& device, const std::string& field,
                 DeviceInfo& info) {
  if (const Json* health = member(device, "health")) {
    if (!health->is_boolean()) wrong(field + ".health", "must be true or false");
    info.is_healthy = health->get<bool>();
  }
  info.id = string_member(device, "id", field);
  info.module_id = int_member(device, "moduleID", field, -1);
  info.labels = labels_of(device, "labels", field);
  info.total = resources_of(types, type, device, field);
  read_topology(device, field, info);
  if (info.bus.empty() && is_bus_id(info.id)) info.bus = bus_key(info.id);
  read_virtual_functions(device, field, info);
}

DeviceInfo unreadable_device(int32_t minor, std::string problem) {
  DeviceInfo info;
  info.minor = minor;
  info.problem = std::move(problem);
  return info;
}

constexpr std::string_view kNotGiven = " is not given until it is right";

// The devices of an object. What is wrong with an entry costs that device and no other. An entry
// without a minor is no device that could be given; if its id is another device's, nobody knows
// which entry is right about that one.
class DeviceReader {
 public:
  DeviceReader(const DeviceTypes& types, NodeDevices& node) : types_(types), node_(node) {}

  void read(const Json& devices) {
    for (size_t i = 0; i < devices.size(); ++i)
      read_entry(devices[i], "spec.devices[" + std::to_string(i) + "]", i);
    for (int type = 0; type < types_.count(); ++type) finish(type);
    node_.unreadable = problems_.texts();
  }

 private:
  // A device and where in spec.devices it is.
  using Placed = std::pair<DeviceInfo, size_t>;

  void read_entry(const Json& device, const std::string& field, size_t position) {
    int type = -1;
    int32_t minor = -1;
    DeviceInfo info;
    try {
      if (!device.is_object()) wrong(field, "must be an object");
      const std::string name = string_member(device, "type", field);
      if (name.empty()) wrong(field + ".type", "missing");
      type = types_.find_type(name);
      if (type < 0) return;
      info.minor = minor = read_minor(device, field);
      read_device(types_, type, device, field, info);
    } catch (const WrongField& error) {
      const std::string text = error.text();
      if (type < 0) return problems_.add(text + "; it counts as no device");
      const std::string& name = types_.type(type).name;
      if (minor < 0) {
        problems_.add(text + "; this " + name + std::string(kNotGiven));
        ++node_.without_minor[static_cast<size_t>(type)];
        if (const std::string id = id_of(device); !id.empty())
          nameless_[static_cast<size_t>(type)].emplace(id, text);
        return;
      }
      problems_.add(text + "; " + name + " " + std::to_string(minor) + std::string(kNotGiven));
      info = unreadable_device(minor, text);
    }
    read_[static_cast<size_t>(type)].emplace_back(std::move(info), position);
  }

  void finish(int type) {
    const std::string& name = types_.type(type).name;
    std::vector<Placed>& found = read_[static_cast<size_t>(type)];
    std::sort(found.begin(), found.end(), [](const Placed& a, const Placed& b) {
      return std::tie(a.first.minor, a.second) < std::tie(b.first.minor, b.second);
    });
    auto& devices = node_.by_type[static_cast<size_t>(type)];
    bool said = false;
    for (auto& [info, position] : found) {
      if (devices.empty() || devices.back().minor != info.minor) {
        devices.push_back(std::move(info));
        said = false;
        continue;
      }
      if (std::exchange(said, true)) continue;
      const std::string text = "spec.devices[" + std::to_string(position) +
                               "].minor: " + std::to_string(info.minor) +
                               " is already the minor of another " + name;
      problems_.add(text + "; " + name + " " + std::to_string(info.minor) + std::string(kNotGiven));
      devices.back() = unreadable_device(info.minor, text);
    }
    const auto& nameless = nameless_[static_cast<size_t>(type)];
    if (nameless.empty()) return;
    for (DeviceInfo& info : devices) {
      const auto same = nameless.find(info.id);
      if (same == nameless.end()) continue;
      const std::string text = same->second + ", and its id is that of another entry";
      problems_.add(text + "; " + name + " " + std::to_string(info.minor) + std::string(kNotGiven));
      info = unreadable_device(info.minor, text);
    }
  }

  // Of an entry that may be anything.
  static std::string id_of(const Json& device) {
    const auto id = device.find("id");
    return id != device.end() && id->is_string() ? id->get<std::string>() : std::string();
  }

  const DeviceTypes& types_;
  NodeDevices& node_;
  std::array<std::vector<Placed>, kMaxTypes> read_;
  // By id: what is wrong with an entry without a minor.
  std::array<std::map<std::string, std::string>, kMaxTypes> nameless_;
  ProblemList problems_;
};

void read_devices(const DeviceTypes& types, const Json& object, NodeDevices& node) {
  const Json* spec = object_member(object, "spec", "spec");
  if (spec == nullptr) return;
  if (const Json* devices = array_member(*spec, "devices", "spec.devices"))
    DeviceReader(types, node).read(*devices);
}

// Replicas of a device that is shared in time are called like it, and "::" with a number.
std::string_view device_of(std::string_view id) {
  return id.substr(0, id.find("::"));
}

void resolve_checkpoints(const DeviceTypes& types, NodeDevices& node) {
  if (node.checkpoints.empty()) return;
  std::multimap<std::string_view, std::pair<int, int32_t>> by_id;
  for (int type = 0; type < types.count(); ++type)
    for (const DeviceInfo& info : node.devices(type))
      if (!info.id.empty()) by_id.emplace(info.id, std::pair(type, info.minor));
  for (const CheckpointEntry& entry : node.checkpoints) {
    auto& held = node.held_by_pod[entry.pod_uid];
    for (const std::string& id : entry.device_ids) {
      const auto [first, last] = by_id.equal_range(device_of(id));
      // Of several devices of one name nobody knows which is meant.
      if (first != last && std::next(first) == last) held.push_back(first->second);
    }
  }
  for (auto& [uid, held] : node.held_by_pod) {
    std::sort(held.begin(), held.end());
    held.erase(std::unique(held.begin(), held.end()), held.end());
  }
}

int64_t parse_count(const std::string& key, const std::string& field) {
  const bool is_number =
      !key.empty() && key.size() <= 6 &&
      std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) wrong(field, "the key \"" + key + "\" is not a number of devices");
  return std::stoll(key);
}

Partition read_partition(const Json& value, const std::string& field) {
  if (!value.is_object()) wrong(field, "must be an object");
  Partition partition;
  const Json* minors = array_member(value, "minors", field + ".minors");
  for (size_t i = 0; minors != nullptr && i < minors->size(); ++i)
    partition.minors.push_back(
        int_value((*minors)[i], field + ".minors[" + std::to_string(i) + "]"));
  std::sort(partition.minors.begin(), partition.minors.end());
  const auto twice = std::adjacent_find(partition.minors.begin(), partition.minors.end());
  if (twice != partition.minors.end())
    wrong(field + ".minors", std::to_string(*twice) + " is listed more than once");
  partition.link_type = string_member(value, "gpuLinkType", field);
  if (const Json* bandwidth = member(value, "ringBusBandwidth"))
    partition.ring_bandwidth = quantity_value(*bandwidth, field + ".ringBusBandwidth");
  partition.score = int_member(value, "allocationScore", field, 0);
  return partition;
}

PartitionTable read_partitions(const std::string& text) {
  const Json table = parsed(text);
  if (!table.is_object()) wrong("", "must be an object by number of devices");
  PartitionTable partitions;
  size_t count = 0;
  for (const auto& [key, values] : table.items()) {
    const std::string field = "[" + key + "]";
    auto& of_count = partitions[parse_count(key, field)];
    if (values.is_null()) continue;
    if (!values.is_array()) wrong(field, "must be a list");
    count += values.size();
    if (count > kMaxPartitions)
      wrong(field, "is beyond the " + std::to_string(kMaxPartitions) + " partitions of a table");
    for (size_t i = 0; i < values.size(); ++i)
      of_count.push_back(read_partition(values[i], field + "[" + std::to_string(i) + "]"));
  }
  return partitions;
}

std::vector<CheckpointEntry> read_checkpoints(const std::string& text) {
  const Json list = parsed(text);
  if (!list.is_array()) wrong("", "must be a list");
  std::vector<CheckpointEntry> entries;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string field = "[" + std::to_string(i) + "]";
    if (!list[i].is_object()) wrong(field, "must be an object");
    CheckpointEntry entry{
        string_member(list[i], "podUID", field), string_member(list[i], "resourceName", field), {}};
    const Json* ids = array_member(list[i], "deviceIDs", field + ".deviceIDs");
    for (size_t d = 0; ids != nullptr && d < ids->size(); ++d) {
      if (!(*ids)[d].is_string()) wrong(field + ".deviceIDs", "must be strings");
      entry.device_ids.push_back((*ids)[d].get<std::string>());
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

// Runs `read` on an annotation's text; what is wrong with it becomes a warning.
template <typename Read>
void try_annotation(const Labels& annotations, const char* key, NodeDevices& node, Read read) {
  const auto it = annotations.find(key);
  if (it == annotations.end()) return;
  const std::string where = "annotation " + std::string(key);
  try {
    read(it->second);
  } catch (const WrongField& error) {
    node.warnings.push_back(where + error.field + ": " + error.problem);
  } catch (const Json::exception& error) {
    node.warnings.push_back(where + ": " + error.what());
  }
}

void read_meta(const DeviceTypes& types, const Json& object, NodeDevices& node) {
  const Json* meta = object_member(object, "metadata", "metadata");
  if (meta == nullptr) wrong("metadata", "missing");
  node.name = string_member(*meta, "name", "metadata");
  if (node.name.empty()) wrong("metadata.name", "missing");
  const Labels labels = labels_of(*meta, "labels", "metadata");
  const auto label = [&](const char* key) {
    const auto it = labels.find(key);
    return it == labels.end() ? std::string() : it->second;
  };
  node.gpu_vendor = label("node.koordinator.sh/gpu-vendor");
  node.gpu_model = label("node.koordinator.sh/gpu-model");
  node.partition_policy = label("node.koordinator.sh/gpu-partition-policy");
  node.secondary_well_planned =
      label("node.koordinator.sh/secondary-device-well-planned") == "true";
  const Labels annotations = labels_of(*meta, "annotations", "metadata");
  if (const auto hook = annotations.find(kHookAnnotation); hook != annotations.end())
    node.hook = hook->second;
  node.has_partitions = annotations.count(kPartitions) != 0;
  try_annotation(annotations, kPartitions, node,
                 [&](const std::string& text) { node.partitions = read_partitions(text); });
  for (const char* key : kCheckpoints)
    try_annotation(annotations, key, node, [&](const std::string& text) {
      for (auto& entry : read_checkpoints(text)) node.checkpoints.push_back(std::move(entry));
    });
  if (const auto links = annotations.find(kLinksAnnotation); links != annotations.end()) {
    auto table = parse_links(types, links->second);
    if (!table)
      node.warnings.push_back("annotation " + std::string(kLinksAnnotation) + ": " + table.error());
    node.links = table ? *std::move(table) : LinkTable{};
  }
}

}  // namespace

std::string bus_key(std::string_view text) {
  std::string key(text);
  std::transform(key.begin(), key.end(), key.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (key.size() == 16 && key.starts_with("0000")) key.erase(0, 4);
  return key;
}

bool is_bus_id(std::string_view text) {
  const std::string key = bus_key(text);
  constexpr std::string_view kShape = "dddd:bb:dd.f";
  return key.size() == kShape.size() && key[4] == ':' && key[7] == ':' && key[10] == '.';
}

Result<NodeDevices> parse_device_object(const DeviceTypes& types, std::string_view json) {
  NodeDevices node;
  const auto where = [&] { return node.name.empty() ? "Device: " : "Device " + node.name + ": "; };
  try {
    const Json object = parsed(json);
    if (!object.is_object()) return fail("Device: must be a JSON object");
    read_meta(types, object, node);
    read_devices(types, object, node);
    resolve_checkpoints(types, node);
  } catch (const WrongField& error) {
    return fail(where() + error.text());
  } catch (const Json::exception& error) {
    return fail(where() + error.what());
  }
  return node;
}

}  // namespace plimsoll::devices
