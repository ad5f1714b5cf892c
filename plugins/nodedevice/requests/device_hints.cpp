#include "plugins/nodedevice/requests/device_hints.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plugins/nodedevice/text/bounded_json.hpp"
#include "plugins/nodedevice/text/quantity_text.hpp"

namespace plimsoll::devices {
namespace {

using Json = nlohmann::json;
using Op = Selector::Requirement::Op;

Result<Json> parse_object(std::string_view text) {
  Json value = parse_bounded_json(text);
  if (value.is_discarded()) return fail("it is not JSON");
  if (value.is_null()) return Json::object();
  if (!value.is_object()) return fail("it must be a JSON object");
  return value;
}

Result<std::string> text_member(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || it->is_null()) return std::string();
  if (!it->is_string()) return fail(std::string(key) + " must be a string");
  return it->get<std::string>();
}

// The position of `value` in `known`, counted from 1; 0: empty.
Result<int> choice(const Json& object, const char* key,
                   std::initializer_list<std::string_view> known) {
  auto value = text_member(object, key);
  if (!value) return fail(value.error());
  if (value->empty()) return 0;
  int position = 1;
  std::string list;
  for (std::string_view name : known) {
    if (*value == name) return position;
    ++position;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  return fail(std::string(key) + " must be one of " + list);
}

Result<std::vector<std::string>> string_list(const Json& value, const std::string& what) {
  std::vector<std::string> texts;
  if (value.is_null()) return texts;
  if (!value.is_array()) return fail(what + " must be a list");
  for (const Json& item : value) {
    if (!item.is_string()) return fail(what + " must be a list of strings");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

Result<Selector::Requirement> parse_requirement(const Json& value) {
  if (!value.is_object()) return fail("matchExpressions must be a list of objects");
  Selector::Requirement requirement;
  auto key = text_member(value, "key");
  if (!key) return fail(key.error());
  requirement.key = *key;
  auto op = choice(value, "operator", {"In", "NotIn", "Exists", "DoesNotExist"});
  if (!op) return fail(op.error());
  if (*op == 0) return fail("\"\" is not a valid label selector operator");
  requirement.op = static_cast<Op>(*op - 1);
  auto values = string_list(value.value("values", Json()), "values");
  if (!values) return fail(values.error());
  requirement.values = *std::move(values);
  const bool needs_values = requirement.op == Op::kIn || requirement.op == Op::kNotIn;
  if (needs_values == requirement.values.empty())
    return fail("values: must " + std::string(needs_values ? "" : "not ") +
                "be given with this operator");
  return requirement;
}

Result<Selector> parse_selector(const Json& value) {
  if (!value.is_object()) return fail("must be an object");
  Selector selector;
  const Json labels = value.value("matchLabels", Json());
  if (!labels.is_null() && !labels.is_object()) return fail("matchLabels must be an object");
  for (const auto& [key, text] : labels.items()) {
    if (!text.is_string()) return fail("matchLabels must have string values");
    selector.requirements.push_back({key, Op::kIn, {text.get<std::string>()}});
  }
  const Json expressions = value.value("matchExpressions", Json());
  if (!expressions.is_null() && !expressions.is_array())
    return fail("matchExpressions must be a list");
  for (const Json& expression : expressions) {
    auto requirement = parse_requirement(expression);
    if (!requirement) return fail(requirement.error());
    selector.requirements.push_back(*std::move(requirement));
  }
  return selector;
}

Result<void> read_selector(const Json& hint, const char* key, const std::string& kind,
                           const std::string& type, std::optional<Selector>& into) {
  const auto it = hint.find(key);
  if (it == hint.end() || it->is_null()) return {};
  auto selector = parse_selector(*it);
  if (!selector)
    return fail("invalid " + kind + " of DeviceHint, deviceType: " + type +
                ", err: " + selector.error());
  into = *std::move(selector);
  return {};
}

Result<TypeHint> parse_type_hint(const std::string& type, const Json& value) {
  const std::string prefix = "invalid DeviceAllocateHint annotation, err: ";
  if (!value.is_object()) return fail(prefix + type + " must be an object");
  TypeHint hint;
  if (auto read = read_selector(value, "selector", "Selector", type, hint.selector); !read)
    return fail(read.error());
  if (auto read = read_selector(value, "vfSelector", "VFSelector", type, hint.vf_selector); !read)
    return fail(read.error());
  const auto strategy = choice(value, "allocateStrategy", {"ApplyForAll", "RequestsAsCount"});
  const auto scope = choice(value, "requiredTopologyScope", {"Device", "PCIe", "NUMANode", "Node"});
  const auto exclusive = choice(value, "exclusivePolicy", {"DeviceLevel", "PCIeLevel"});
  for (const auto* read : {&strategy, &scope, &exclusive})
    if (!*read) return fail(prefix + type + ": " + read->error());
  hint.strategy = static_cast<TypeHint::Strategy>(*strategy);
  hint.required_scope = static_cast<Scope>(*scope);
  hint.exclusive = static_cast<TypeHint::Exclusive>(*exclusive);
  return hint;
}

Result<void> read_hints(const DeviceTypes& types, std::string_view text, DeviceHints& hints) {
  auto object = parse_object(text);
  if (!object) return fail("invalid DeviceAllocateHint annotation, err: " + object.error());
  for (const auto& [name, value] : object->items()) {
    const int type = types.find_type(name);
    if (type < 0 || value.is_null()) continue;
    auto hint = parse_type_hint(name, value);
    if (!hint) return fail(hint.error());
    const DeviceType& known = types.type(type);
    const bool counts = hint->strategy == TypeHint::Strategy::kRequestsAsCount;
    if (counts && !known.is_topology_aware && known.dims.size() > 1)
      return fail("invalid DeviceAllocateHint annotation, err: " + name +
                  ": allocateStrategy RequestsAsCount is for types with one resource");
    hints.by_type[static_cast<size_t>(type)] = *std::move(hint);
  }
  return {};
}

Result<void> read_joint(const DeviceTypes& types, std::string_view text, DeviceHints& hints) {
  const std::string prefix = "invalid DeviceJointAllocate annotation, err: ";
  auto object = parse_object(text);
  if (!object) return fail(prefix + object.error());
  auto names = string_list(object->value("deviceTypes", Json()), "deviceTypes");
  if (!names) return fail(prefix + names.error());
  const auto scope = choice(*object, "requiredScope", {"SamePCIe"});
  if (!scope) return fail(prefix + scope.error());
  JointAllocate joint;
  for (const std::string& name : *names) {
    const int type = types.find_type(name);
    if (type >= 0 && std::find(joint.types.begin(), joint.types.end(), type) == joint.types.end())
      joint.types.push_back(type);
  }
  joint.same_pcie = *scope == 1;
  hints.joint = std::move(joint);
  return {};
}

Result<void> read_partition(std::string_view text, DeviceHints& hints) {
  const std::string prefix = "invalid GPUPartitionSpec annotation, err: ";
  auto object = parse_object(text);
  if (!object) return fail(prefix + object.error());
  const auto policy = choice(*object, "allocatePolicy", {"Restricted", "BestEffort"});
  if (!policy) return fail(prefix + policy.error());
  PartitionSpec spec;
  spec.restricted = *policy == 1;
  const auto bandwidth = object->find("ringBusBandwidth");
  if (bandwidth != object->end() && !bandwidth->is_null()) {
    const auto amount =
        parse_quantity(bandwidth->is_string() ? bandwidth->get<std::string>() : bandwidth->dump());
    if (!amount) return fail(prefix + "ringBusBandwidth is not a quantity");
    spec.ring_bandwidth = *amount;
  }
  hints.partition = spec;
  return {};
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
  if (!hint.empty())
    if (auto read = read_hints(types, hint, hints); !read) return fail(read.error());
  if (!joint.empty())
    if (auto read = read_joint(types, joint, hints); !read) return fail(read.error());
  if (!partition.empty())
    if (auto read = read_partition(partition, hints); !read) return fail(read.error());
  return hints;
}

}  // namespace plimsoll::devices
