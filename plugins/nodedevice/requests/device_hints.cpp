#include "plugins/nodedevice/requests/device_hints.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plugins/nodedevice/requests/annotation_fields.hpp"

namespace plimsoll::devices {
namespace {

using fields::choice_of;
using fields::member;
using fields::text_of;
using fields::wrong;
using Json = nlohmann::json;
using Op = Selector::Requirement::Op;

std::vector<std::string> strings_of(const Json& object, const std::string& key) {
  std::vector<std::string> texts;
  const Json* list = member(object, key.c_str());
  if (list == nullptr) return texts;
  if (!list->is_array()) wrong("", key + " must be a list");
  for (const Json& item : *list) {
    if (!item.is_string()) wrong("", key + " must be a list of strings");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

Selector::Requirement parse_requirement(const Json& value) {
  if (!value.is_object()) wrong("", "matchExpressions must be a list of objects");
  Selector::Requirement requirement;
  requirement.key = text_of(value, "key");
  const int op = choice_of(value, "operator", {"In", "NotIn", "Exists", "DoesNotExist"});
  if (op == 0) wrong("", "\"\" is not a valid label selector operator");
  requirement.op = static_cast<Op>(op - 1);
  requirement.values = strings_of(value, "values");
  const bool needs_values = requirement.op == Op::kIn || requirement.op == Op::kNotIn;
  if (needs_values == requirement.values.empty())
    wrong("", "values: must " + std::string(needs_values ? "" : "not ") +
                  "be given with this operator");
  return requirement;
}

Selector parse_selector(const Json& value) {
  if (!value.is_object()) wrong("", "must be an object");
  Selector selector;
  if (const Json* labels = member(value, "matchLabels")) {
    if (!labels->is_object()) wrong("", "matchLabels must be an object");
    for (const auto& [key, text] : labels->items()) {
      if (!text.is_string()) wrong("", "matchLabels must have string values");
      selector.requirements.push_back({key, Op::kIn, {text.get<std::string>()}});
    }
  }
  if (const Json* expressions = member(value, "matchExpressions")) {
    if (!expressions->is_array()) wrong("", "matchExpressions must be a list");
    for (const Json& expression : *expressions)
      selector.requirements.push_back(parse_requirement(expression));
  }
  return selector;
}

std::optional<Selector> read_selector(const Json& hint, const char* key, const std::string& kind,
                                      const std::string& type) {
  const Json* value = member(hint, key);
  if (value == nullptr) return std::nullopt;
  try {
    return parse_selector(*value);
  } catch (const fields::WrongField& error) {
    wrong("invalid " + kind + " of DeviceHint, deviceType: " + type, error.problem);
  }
}

TypeHint parse_type_hint(const std::string& type, const Json& value) {
  if (!value.is_object()) wrong("", type + " must be an object");
  const std::string where = type + ": ";
  TypeHint hint;
  hint.selector = read_selector(value, "selector", "Selector", type);
  hint.vf_selector = read_selector(value, "vfSelector", "VFSelector", type);
  hint.strategy = static_cast<TypeHint::Strategy>(
      choice_of(value, "allocateStrategy", {"ApplyForAll", "RequestsAsCount"}, where));
  hint.required_scope = static_cast<Scope>(
      choice_of(value, "requiredTopologyScope", {"Device", "PCIe", "NUMANode", "Node"}, where));
  hint.exclusive = static_cast<TypeHint::Exclusive>(
      choice_of(value, "exclusivePolicy", {"DeviceLevel", "PCIeLevel"}, where));
  return hint;
}

void read_hints(const DeviceTypes& types, const Json& object, DeviceHints& hints) {
  for (const auto& [name, value] : object.items()) {
    const int type = types.find_type(name);
    if (type < 0 || value.is_null()) continue;
    TypeHint hint = parse_type_hint(name, value);
    const DeviceType& known = types.type(type);
    const bool counts = hint.strategy == TypeHint::Strategy::kRequestsAsCount;
    if (counts && !known.is_topology_aware && known.dims.size() > 1)
      wrong("", name + ": allocateStrategy RequestsAsCount is for types with one resource");
    hints.by_type[static_cast<size_t>(type)] = std::move(hint);
  }
}

JointAllocate read_joint(const DeviceTypes& types, const Json& object) {
  JointAllocate joint;
  for (const std::string& name : strings_of(object, "deviceTypes")) {
    const int type = types.find_type(name);
    if (type >= 0 && std::find(joint.types.begin(), joint.types.end(), type) == joint.types.end())
      joint.types.push_back(type);
  }
  joint.same_pcie = choice_of(object, "requiredScope", {"SamePCIe"}) == 1;
  return joint;
}

PartitionSpec read_partition(const Json& object) {
  PartitionSpec spec;
  spec.restricted = choice_of(object, "allocatePolicy", {"Restricted", "BestEffort"}) == 1;
  if (const Json* bandwidth = member(object, "ringBusBandwidth")) {
    const auto amount = fields::quantity_of(*bandwidth);
    if (!amount) wrong("", "ringBusBandwidth is not a quantity");
    spec.ring_bandwidth = *amount;
  }
  return spec;
}

}  // namespace

bool Selector::matches(const Labels& labels) const {
  return std::all_of(requirements.begin(), requirements.end(), [&](const Requirement& wanted) {
    const auto it = labels.find(wanted.key);
    const bool exists = it != labels.end();
    const auto listed = [&] {
      return std::find(wanted.values.begin(), wanted.values.end(), it->second) !=
             wanted.values.end();
    };
    switch (wanted.op) {
      case Op::kIn:
        return exists && listed();
      case Op::kNotIn:
        return !exists || !listed();
      case Op::kExists:
        return exists;
      case Op::kDoesNotExist:
        return !exists;
    }
    return false;
  });
}

bool DeviceHints::empty() const {
  return !joint && !partition &&
         std::none_of(by_type.begin(), by_type.end(), [](const auto& hint) { return hint; });
}

Result<DeviceHints> parse_device_hints(const DeviceTypes& types, std::string_view hint,
                                       std::string_view joint, std::string_view partition) {
  DeviceHints hints;
  auto read = fields::read_annotation(
      hint, "DeviceAllocateHint", [&](const Json& object) { read_hints(types, object, hints); });
  if (read)
    read = fields::read_annotation(joint, "DeviceJointAllocate", [&](const Json& object) {
      hints.joint = read_joint(types, object);
    });
  if (read)
    read = fields::read_annotation(partition, "GPUPartitionSpec", [&](const Json& object) {
      hints.partition = read_partition(object);
    });
  if (!read) return fail(read.error());
  return hints;
}

}  // namespace plimsoll::devices
