#include "plugins/nodedevice/accounts/accounts_json.hpp"

#include "plugins/topology/base/json_text.hpp"

namespace plimsoll::devices {
namespace {

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

// A list of texts behind other members; nothing if it is empty.
template <typename Texts>
void append_texts(std::string& out, const char* name, const Texts& texts) {
  if (texts.empty()) return;
  out.append(",\"").append(name).append("\":[");
  for (const std::string& text : texts) {
    append_comma(out);
    append_quoted(out, text);
  }
  out += ']';
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
  append_texts(out, "virtualFunctions", device.vfs_in_use);
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
  for (int t = 0; t < types.count(); ++t) append_shares(out, types.type(t), t, pod);
  out += '}';
  std::string unknown;
  std::vector<std::string> unbounded;
  for (int t = 0; t < types.count(); ++t) {
    const std::string& type = types.type(t).name;
    if ((pod.blocked >> t & 1U) != 0) unbounded.push_back(type);
    const int64_t count = pod.unknown[static_cast<size_t>(t)];
    if (count == 0) continue;
    unknown += unknown.empty() ? "" : ",";
    append_quoted(unknown, type);
    unknown += ":" + std::to_string(count);
  }
  if (!unknown.empty()) out += R"(,"heldUnknown":{)" + unknown + "}";
  append_texts(out, "unbounded", unbounded);
  append_texts(out, "problems", pod.problems);
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

KeptAccounts::KeptAccounts(const Accounts& accounts) : types_(accounts.types()) {
  accounts.each_node(
      [this](const NodeState& state, const Accounts::PodsOfNode& pods) { keep(state, pods); });
}

KeptAccounts::KeptAccounts(const Accounts& accounts, std::span<const uint32_t> slots)
    : types_(accounts.types()) {
  nodes_.reserve(slots.size());
  for (const uint32_t slot : slots) {
    const NodeState* state = accounts.at_slot(slot);
    if (state != nullptr) keep(*state, accounts.pods_on(slot));
  }
}

void KeptAccounts::keep(const NodeState& state, const Accounts::PodsOfNode& pods) {
  Node& node = nodes_.emplace_back(
      Node{state.name, state.problem, state.malformed, state.gone, state.object, {}, {}});
  for (int t = 0; t < types_.count(); ++t) {
    const TypeState& type = state.type(t);
    if (type.devices.empty() && type.unknown_whole == 0 && type.blocked == 0) continue;
    node.types.push_back({t, type.devices, type.unknown_whole, type.blocked});
  }
  node.pods.reserve(pods.size());
  for (const auto& [uid, pod] : pods) node.pods.emplace_back(uid, *pod);
}

void KeptAccounts::append(std::string& out, const Type& state) const {
  const DeviceType& type = types_.type(state.index);
  int64_t unused = 0;
  for (const DeviceState& device : state.devices) unused += device.unused() ? 1 : 0;
  append_comma(out);
  append_quoted(out, type.name);
  out += R"(:{"heldUnknown":)" + std::to_string(state.unknown_whole) + R"(,"unbounded":)" +
         std::to_string(state.blocked) + R"(,"wholeFree":)" + std::to_string(unused) +
         R"(,"wholeNames":[)";
  for (const RequestName& name : type.names) {
    if (!name.by_device_plugin) continue;
    append_comma(out);
    append_quoted(out, name.name);
  }
  out += R"(],"minors":{)";
  for (const DeviceState& device : state.devices) {
    append_comma(out);
    append_quoted(out, std::to_string(device.minor));
    out += ':';
    append_device(out, type, device);
  }
  out += "}}";
}

void KeptAccounts::append(std::string& out, const Node& node) const {
  append_comma(out);
  append_quoted(out, node.name);
  out += R"(:{"deviceObject":)";
  append_quoted(out, node.malformed ? "unreadable"
                     : node.object  ? "read"
                     : node.gone    ? "gone"
                                    : "none");
  if (node.malformed) {
    out += R"(,"problem":)";
    append_quoted(out, node.problem);
  }
  if (node.object != nullptr) {
    append_texts(out, "unreadable", node.object->unreadable);
    append_texts(out, "ignored", node.object->warnings);
  }
  out += R"(,"devices":{)";
  for (const Type& type : node.types) append(out, type);
  out += R"(},"pods":{)";
  for (const auto& [uid, pod] : node.pods) {
    append_comma(out);
    append_quoted(out, uid);
    out += ':';
    append_pod(out, types_, pod);
  }
  out += "}}";
}

std::string KeptAccounts::text() const {
  std::string nodes = "{";
  for (const Node& node : nodes_) append(nodes, node);
  return "{\"nodes\":" + nodes + "}}";
}

std::string accounts_json(const Accounts& accounts) {
  return KeptAccounts(accounts).text();
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
