#include "plugins/nodedevice/accounts/accounts_json.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll::devices {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr size_t kMaxLines = 10;  // of one kind, in a text for people

// For a key that is not there: ordered_json looks for it from the beginning.
Ordered& append(Ordered& object, std::string key, Ordered value = Ordered()) {
  auto& members = object.get_ref<Ordered::object_t&>();
  members.push_back({std::move(key), std::move(value)});
  return members.back().second;
}

Ordered amounts_json(const DeviceType& type, const Amounts& amounts) {
  Ordered json = Ordered::object();
  for (size_t dim = 0; dim < type.dims.size(); ++dim)
    if (amounts.has(static_cast<int>(dim)) || amounts.value[dim] != 0)
      json[type.dims[dim]] = amounts.value[dim];
  return json;
}

Ordered device_json(const DeviceType& type, const DeviceState& device) {
  Ordered json{{"present", device.present}, {"healthy", device.healthy}};
  if (device.withheld) json["setAside"] = true;
  if (device.whole_users != 0) json["heldAsAWhole"] = device.whole_users;
  json["total"] = amounts_json(type, device.total);
  json["used"] = amounts_json(type, device.used);
  if (!device.follows.is_zero()) json["follows"] = amounts_json(type, device.follows);
  json["free"] = amounts_json(type, device.free);
  if (!device.vfs_in_use.empty()) json["virtualFunctions"] = device.vfs_in_use;
  return json;
}

Ordered types_json(const DeviceTypes& types, const NodeState& node) {
  Ordered json = Ordered::object();
  for (int t = 0; t < types.count(); ++t) {
    const TypeState& state = node.type(t);
    if (state.devices.empty() && state.unknown_whole == 0 && state.blocked == 0) continue;
    Ordered& type = json[types.type(t).name];
    type = {{"heldUnknown", state.unknown_whole}, {"unbounded", state.blocked}};
    int64_t unused = 0;
    for (const DeviceState& device : state.devices) unused += device.unused() ? 1 : 0;
    type["wholeFree"] = unused;
    type["wholeNames"] = Ordered::array();
    for (const RequestName& name : types.type(t).names)
      if (name.by_device_plugin) type["wholeNames"].push_back(name.name);
    type["minors"] = Ordered::object();
    for (const DeviceState& device : state.devices)
      append(type["minors"], std::to_string(device.minor), device_json(types.type(t), device));
  }
  return json;
}

Ordered pod_json(const DeviceTypes& types, const PodRecord& pod) {
  Ordered json{{"pod", pod.name}};
  if (pod.assumed) json["assumed"] = true;
  Ordered& devices = json["devices"] = Ordered::object();
  for (const DeviceShare& share : pod.shares) {
    const DeviceType& type = types.type(share.type);
    Ordered entry{{"minor", share.minor}};
    if (share.whole) entry["whole"] = true;
    entry["used"] = amounts_json(type, share.amounts);
    for (const VirtualFunction& vf : share.vfs) entry["virtualFunctions"].push_back(vf.bus_id);
    devices[type.name].push_back(std::move(entry));
  }
  for (int t = 0; t < types.count(); ++t) {
    const int64_t unknown = pod.unknown[static_cast<size_t>(t)];
    if (unknown != 0) json["heldUnknown"][types.type(t).name] = unknown;
    if ((pod.blocked >> t & 1U) != 0) json["unbounded"].push_back(types.type(t).name);
  }
  if (!pod.problems.empty()) json["problems"] = pod.problems;
  return json;
}

// Of devices of which it is not known which the pod has, in the words of a sentence about it.
std::string doubt(const DeviceTypes& types, const PodRecord& pod, uint32_t wanted) {
  std::string text;
  size_t shares = 0;
  for (int t = 0; t < types.count(); ++t) {
    if ((wanted >> t & 1U) == 0) continue;
    const std::string& type = types.type(t).name;
    const int64_t unknown = pod.unknown[static_cast<size_t>(t)];
    if ((pod.blocked >> t & 1U) != 0)
      text += ", all " + type + " devices count as used";
    else if (unknown > 0)
      text += ", " + std::to_string(unknown) + " " + type + " set aside for it";
    for (const DeviceShare& share : pod.shares)
      if (share.type == t && !pod.problems.empty() && ++shares <= kMaxLines)
        text += ", " + type + " " + std::to_string(share.minor) +
                (share.whole ? " counts as used" : " counts with what the pod asks for");
  }
  return text;
}

}  // namespace

std::string accounts_json(const Accounts& accounts) {
  const DeviceTypes& types = accounts.types();
  Ordered nodes = Ordered::object();
  accounts.each_node([&](const NodeState& state, const Accounts::PodsOfNode& on_node) {
    Ordered& node = append(nodes, state.name);
    node["deviceObject"] = state.malformed ? "unreadable"
                           : state.object  ? "read"
                           : state.gone    ? "gone"
                                           : "none";
    if (state.malformed) node["problem"] = state.problem;
    if (state.object != nullptr && !state.object->unreadable.empty())
      node["unreadable"] = state.object->unreadable;
    if (state.object != nullptr && !state.object->warnings.empty())
      node["ignored"] = state.object->warnings;
    node["devices"] = types_json(types, state);
    node["pods"] = Ordered::object();
    for (const auto& [uid, pod] : on_node)
      append(node["pods"], std::string(uid), pod_json(types, *pod));
  });
  return Ordered{{"nodes", std::move(nodes)}}.dump(-1, ' ', false,
                                                   Ordered::error_handler_t::replace);
}

std::string explain_doubts(const Accounts& accounts, const NodeState& node, uint32_t types) {
  std::string text;
  size_t lines = 0;
  for (const auto& [uid, pod] : accounts.pods_on(node)) {
    const std::string what = doubt(accounts.types(), *pod, types);
    if (what.empty() || ++lines > kMaxLines) continue;
    text += "  pod " + (pod->name.empty() ? std::string(uid) : pod->name) +
            (pod->problems.empty() ? " does not say which devices it has"
                                   : ": its device-allocated annotation cannot be right (" +
                                         pod->problems.front() + ")") +
            what + "\n";
  }
  if (lines > kMaxLines) text += "  and " + std::to_string(lines - kMaxLines) + " pods more\n";
  if (node.object != nullptr)
    for (const std::string& unreadable : node.object->unreadable)
      text += "  of the Device object cannot be read: " + unreadable + "\n";
  if (node.object != nullptr)
    for (const std::string& warning : node.object->warnings)
      text += "  of the Device object is ignored: " + warning + "\n";
  if (!node.links_problem.empty())
    text += "  of the Node object is ignored: " + node.links_problem + "\n";
  return text;
}

}  // namespace plimsoll::devices
