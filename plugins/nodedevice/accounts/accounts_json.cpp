#include "plugins/nodedevice/accounts/accounts_json.hpp"

#include <nlohmann/json.hpp>

#include "plugins/topology/base/json_text.hpp"

namespace plimsoll::devices {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr size_t kMaxLines = 10;  // of one kind, in a text for people

void append_amounts(std::string& out, const char* name, const DeviceType& type,
                    const Amounts& amounts) {
  out.append(",\"").append(name).append("\":{");
  for (size_t dim = 0; dim < type.dims.size(); ++dim) {
    if (!amounts.has(static_cast<int>(dim)) && amounts.value[dim] == 0) continue;
    append_comma(out);
    append_quoted(out, type.dims[dim]);
    out += ":" + std::to_string(amounts.value[dim]);
  }
  out += '}';
}

void append_device(std::string& out, const DeviceType& type, const DeviceState& device) {
  out += device.present ? R"({"present":true,)" : R"({"present":false,)";
  out += device.healthy ? R"("healthy":true)" : R"("healthy":false)";
  if (device.withheld) out += R"(,"setAside":true)";
  if (device.whole_users != 0) out += R"(,"heldAsAWhole":)" + std::to_string(device.whole_users);
  append_amounts(out, "total", type, device.total);
  append_amounts(out, "used", type, device.used);
  if (!device.follows.is_zero()) append_amounts(out, "follows", type, device.follows);
  append_amounts(out, "free", type, device.free);
  if (!device.vfs_in_use.empty()) {
    out += R"(,"virtualFunctions":[)";
    for (const std::string& id : device.vfs_in_use) {
      append_comma(out);
      append_quoted(out, id);
    }
    out += ']';
  }
  out += '}';
}

void append_types(std::string& out, const DeviceTypes& types, const NodeState& node) {
  out += '{';
  for (int t = 0; t < types.count(); ++t) {
    const TypeState& state = node.type(t);
    if (state.devices.empty() && state.unknown_whole == 0 && state.blocked == 0) continue;
    int64_t unused = 0;
    for (const DeviceState& device : state.devices) unused += device.unused() ? 1 : 0;
    append_comma(out);
    append_quoted(out, types.type(t).name);
    out += R"(:{"heldUnknown":)" + std::to_string(state.unknown_whole) + R"(,"unbounded":)" +
           std::to_string(state.blocked) + R"(,"wholeFree":)" + std::to_string(unused) +
           R"(,"wholeNames":[)";
    for (const RequestName& name : types.type(t).names) {
      if (!name.by_device_plugin) continue;
      append_comma(out);
      append_quoted(out, name.name);
    }
    out += R"(],"minors":{)";
    for (const DeviceState& device : state.devices) {
      append_comma(out);
      append_quoted(out, std::to_string(device.minor));
      out += ':';
      append_device(out, types.type(t), device);
    }
    out += "}}";
  }
  out += '}';
}

// What the pod has of the devices of a type, if it has any.
void append_shares(std::string& out, const DeviceType& type, int t, const PodRecord& pod) {
  bool some = false;
  for (const DeviceShare& share : pod.shares) {
    if (share.type != t) continue;
    if (!some) {
      append_comma(out);
      append_quoted(out, type.name);
      out += ":[";
    }
    some = true;
    append_comma(out);
    out += "{\"minor\":" + std::to_string(share.minor);
    if (share.whole) out += ",\"whole\":true";
    append_amounts(out, "used", type, share.amounts);
    if (!share.vfs.empty()) {
      out += R"(,"virtualFunctions":[)";
      for (const VirtualFunction& vf : share.vfs) {
        append_comma(out);
        append_quoted(out, vf.bus_id);
      }
      out += ']';
    }
    out += '}';
  }
  if (some) out += ']';
}

void append_pod(std::string& out, const DeviceTypes& types, const PodRecord& pod) {
  out += R"({"pod":)";
  append_quoted(out, pod.name);
  if (pod.assumed) out += R"(,"assumed":true)";
  out += R"(,"devices":{)";
  Ordered more = Ordered::object();
  for (int t = 0; t < types.count(); ++t) {
    append_shares(out, types.type(t), t, pod);
    const int64_t unknown = pod.unknown[static_cast<size_t>(t)];
    if (unknown != 0) more["heldUnknown"][types.type(t).name] = unknown;
    if ((pod.blocked >> t & 1U) != 0) more["unbounded"].push_back(types.type(t).name);
  }
  if (!pod.problems.empty()) more["problems"] = pod.problems;
  out += '}';
  if (!more.empty())
    out += "," + more.dump(-1, ' ', false, Ordered::error_handler_t::replace).substr(1);
  else
    out += '}';
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
  std::string nodes = "{";
  accounts.each_node([&](const NodeState& state, const Accounts::PodsOfNode& on_node) {
    Ordered node{{"deviceObject", state.malformed ? "unreadable"
                                  : state.object  ? "read"
                                  : state.gone    ? "gone"
                                                  : "none"}};
    if (state.malformed) node["problem"] = state.problem;
    if (state.object != nullptr && !state.object->unreadable.empty())
      node["unreadable"] = state.object->unreadable;
    if (state.object != nullptr && !state.object->warnings.empty())
      node["ignored"] = state.object->warnings;
    append_comma(nodes);
    append_quoted(nodes, state.name);
    nodes += ":" + node.dump(-1, ' ', false, Ordered::error_handler_t::replace);
    nodes.back() = ',';  // instead of its end
    nodes += "\"devices\":";
    append_types(nodes, types, state);
    nodes += ",\"pods\":{";
    for (const auto& [uid, pod] : on_node) {
      append_comma(nodes);
      append_quoted(nodes, uid);
      nodes += ':';
      append_pod(nodes, types, *pod);
    }
    nodes += "}}";
  });
  return "{\"nodes\":" + nodes + "}}";
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
