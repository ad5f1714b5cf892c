#include "plugins/dynamicresources/objects/reading.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <plimsoll/lists.hpp>
#include <plimsoll/views.hpp>
#include <type_traits>
#include <utility>

namespace plimsoll::dra {
namespace {

using sdk::List;
using sdk::view;

std::string text(const plimsoll_str& from) {
  return std::string(view(from));
}

std::vector<std::string> texts(const plimsoll_list& from) {
  std::vector<std::string> all;
  for (const plimsoll_str& each : List<plimsoll_str>(from)) all.push_back(text(each));
  return all;
}

Quantity amount(const plimsoll_str& from) {
  return Quantity::parse(view(from)).value_or(Quantity());
}

std::optional<Quantity> set_amount(const plimsoll_str& from) {
  if (from.len == 0) return std::nullopt;
  return amount(from);
}

std::map<std::string, Quantity> amounts(const plimsoll_list& from) {
  std::map<std::string, Quantity> all;
  for (const auto& each : List<plimsoll_named_quantity>(from)) {
    all.emplace(text(each.name), amount(each.value));
  }
  return all;
}

NodeRequirement requirement(const plimsoll_requirement& from) {
  using Op = NodeRequirement::Op;
  static constexpr std::pair<uint32_t, Op> kOps[] = {
      {PLIMSOLL_OP_IN, Op::kIn},         {PLIMSOLL_OP_NOT_IN, Op::kNotIn},
      {PLIMSOLL_OP_EXISTS, Op::kExists}, {PLIMSOLL_OP_DOES_NOT_EXIST, Op::kDoesNotExist},
      {PLIMSOLL_OP_GT, Op::kGt},         {PLIMSOLL_OP_LT, Op::kLt}};
  Op op = Op::kInvalid;
  for (const auto& [theirs, ours] : kOps) {
    if (theirs == from.op) op = ours;
  }
  return {text(from.key), op, texts(from.values)};
}

std::vector<NodeRequirement> requirements(const plimsoll_list& from) {
  std::vector<NodeRequirement> all;
  for (const auto& each : List<plimsoll_requirement>(from)) all.push_back(requirement(each));
  return all;
}

std::optional<NodeSelector> selector_of(const plimsoll_device_place& place) {
  if (place.has_selector == 0) return std::nullopt;
  return read_selector(place.node_selector);
}

std::optional<std::string> name_of(const plimsoll_device_place& place) {
  if (place.node_name.len == 0) return std::nullopt;
  return text(place.node_name);
}

// Nothing: a type that this version does not know, as if the attribute were not there.
std::optional<AttributeValue> value_of(const plimsoll_device_attribute& from) {
  const List<plimsoll_device_value> values(from.values);
  const auto made = [&](const auto& one) -> AttributeValue {
    using T = std::decay_t<decltype(one(plimsoll_device_value{}))>;
    if (from.is_list == 0) return values.size() == 0 ? T{} : one(values[0]);
    std::vector<T> all;
    for (const plimsoll_device_value& each : values) all.push_back(one(each));
    return all;
  };
  switch (from.type) {
    case PLIMSOLL_DEVICE_INT:
      return made([](const plimsoll_device_value& value) -> int64_t { return value.number; });
    case PLIMSOLL_DEVICE_BOOL:
      return made([](const plimsoll_device_value& value) -> bool { return value.number != 0; });
    case PLIMSOLL_DEVICE_STRING:
      return made([](const plimsoll_device_value& value) { return text(value.text); });
    case PLIMSOLL_DEVICE_VERSION:
      return made([](const plimsoll_device_value& value) { return Version{text(value.text)}; });
    default:
      return std::nullopt;
  }
}

Capacity capacity_of(const plimsoll_device_capacity& from) {
  Capacity capacity{amount(from.value), std::nullopt};
  if (from.has_policy == 0) return capacity;
  RequestPolicy& policy = capacity.policy.emplace();
  policy.fallback = set_amount(from.fallback);
  for (const plimsoll_str& each : List<plimsoll_str>(from.valid_values)) {
    policy.valid_values.push_back(amount(each));
  }
  if (from.has_range != 0) {
    policy.valid_range = {set_amount(from.min), set_amount(from.max), set_amount(from.step)};
  }
  return capacity;
}

// The standard attribute (KEP-6072), or what drivers called it before, in any domain. Of a list the
// first is the device's own.
int zone_of(const std::map<std::string, AttributeValue>& attributes) {
  const auto zone_in = [](const AttributeValue& value) -> int64_t {
    if (const auto* number = std::get_if<int64_t>(&value)) return *number;
    const auto* list = std::get_if<std::vector<int64_t>>(&value);
    return list == nullptr || list->empty() ? -1 : list->front();
  };
  constexpr int64_t kMostZones = 64;
  const auto valid = [](int64_t zone) { return zone >= 0 && zone < kMostZones; };
  const auto standard = attributes.find("resource.kubernetes.io/numaNode");
  if (standard != attributes.end() && valid(zone_in(standard->second)))
    return static_cast<int>(zone_in(standard->second));
  for (const std::string_view wanted : {"numaNode", "numaNodeID", "numa"}) {
    for (const auto& [name, value] : attributes) {
      const std::string_view id = std::string_view(name).substr(name.rfind('/') + 1);
      if (id == wanted && valid(zone_in(value))) return static_cast<int>(zone_in(value));
    }
  }
  return -1;
}

Device device_of(const plimsoll_device& from) {
  Device device;
  device.name = text(from.name);
  for (const auto& each : List<plimsoll_device_attribute>(from.attributes)) {
    if (auto value = value_of(each)) device.attributes.emplace(text(each.name), std::move(*value));
  }
  device.zone = zone_of(device.attributes);
  for (const auto& each : List<plimsoll_device_capacity>(from.capacity)) {
    device.capacity.emplace(text(each.name), capacity_of(each));
  }
  for (const auto& each : List<plimsoll_device_taint>(from.taints)) {
    device.taints.push_back({text(each.key), text(each.value), text(each.effect)});
  }
  for (const auto& each : List<plimsoll_counter_set>(from.consumes)) {
    device.consumes.push_back(
        {text(each.name), amounts(each.counters), each.has_compatibility_groups != 0});
  }
  for (const auto& each : List<plimsoll_device_allocatable>(from.allocatable)) {
    device.allocatable.push_back({text(each.name), text(each.capacity_key),
                                  set_amount(each.capacity_multiplier),
                                  set_amount(each.device_multiplier), set_amount(each.per_pod),
                                  set_amount(each.per_container)});
  }
  device.allow_multiple_allocations = from.allow_multiple_allocations != 0;
  device.binds_to_node = from.binds_to_node != 0;
  device.binding_conditions = texts(from.binding_conditions);
  device.binding_failure_conditions = texts(from.binding_failure_conditions);
  device.node_name = name_of(from.place);
  device.node_selector = selector_of(from.place);
  device.all_nodes = from.place.all_nodes != 0;
  return device;
}

std::vector<Selector> selectors(const plimsoll_list& from) {
  std::vector<Selector> all;
  for (const plimsoll_str& each : List<plimsoll_str>(from)) {
    all.push_back(each.len == 0 ? Selector() : Selector(text(each)));
  }
  return all;
}

// The object {"driver": ..., "parameters": ...}. It came through the API server, which read it.
OpaqueConfig opaque_of(const plimsoll_str& from) {
  const auto json = nlohmann::json::parse(view(from), nullptr, false);
  OpaqueConfig config;
  if (!json.is_object()) return config;
  if (const auto driver = json.find("driver"); driver != json.end() && driver->is_string()) {
    config.driver = driver->get<std::string>();
  }
  if (const auto given = json.find("parameters"); given != json.end()) {
    config.parameters = given->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return config;
}

std::vector<Toleration> tolerations(const plimsoll_list& from) {
  std::vector<Toleration> all;
  for (const auto& each : List<plimsoll_device_toleration>(from)) {
    all.push_back({text(each.key), text(each.op), text(each.value), text(each.effect),
                   each.seconds < 0 ? std::nullopt : std::optional(each.seconds)});
  }
  return all;
}

DeviceRequest ask_of(const plimsoll_device_ask& from, const plimsoll_str& name) {
  DeviceRequest ask;
  ask.name = text(name);
  ask.class_name = text(from.device_class);
  ask.selectors = selectors(from.selectors);
  ask.mode = text(from.mode);
  ask.count = from.count;
  ask.admin_access = from.admin_access != 0;
  ask.tolerations = tolerations(from.tolerations);
  ask.capacity = amounts(from.capacity);
  ask.derives_attributes = from.has_derived_attributes != 0;
  return ask;
}

// v1.ExtendedResourceClaimAnnotation
constexpr std::string_view kForExtended = "resource.kubernetes.io/extended-resource-claim";

}  // namespace

std::string_view controller_uid(const plimsoll_meta& meta) {
  for (const plimsoll_owner& owner : List<plimsoll_owner>(meta.owners)) {
    if (owner.controller != 0) return view(owner.uid);
  }
  return {};
}

std::string_view pod_of_extended(const plimsoll_meta& meta) {
  const bool is_one = sdk::Labels(meta.annotations).get(kForExtended) == "true";
  return is_one ? controller_uid(meta) : std::string_view();
}

NodeSelector read_selector(const plimsoll_list& terms) {
  NodeSelector selector;
  for (const auto& each : List<plimsoll_node_selector_term>(terms)) {
    selector.terms.push_back({requirements(each.expressions), requirements(each.fields)});
  }
  return selector;
}

Slice read_slice(const plimsoll_resource_slice& object) {
  Slice slice;
  slice.name = text(object.object.meta.name);
  slice.driver = text(object.driver);
  slice.pool = text(object.pool);
  slice.generation = object.generation;
  slice.slice_count = object.slice_count;
  slice.node_name = name_of(object.place);
  slice.node_selector = selector_of(object.place);
  slice.all_nodes = object.place.all_nodes != 0;
  slice.per_device_nodes = object.per_device_node_selection != 0;
  for (const auto& each : List<plimsoll_device>(object.devices)) {
    slice.devices.push_back(device_of(each));
  }
  for (const auto& each : List<plimsoll_counter_set>(object.shared_counters)) {
    slice.counters.push_back({text(each.name), amounts(each.counters)});
  }
  slice.skips_node_operations = object.skip_node_operations != 0;
  return slice;
}

DeviceClass read_class(const plimsoll_device_class& object) {
  DeviceClass made{text(object.object.meta.name), selectors(object.selectors), {}};
  for (const auto& each : List<plimsoll_device_config>(object.config)) {
    made.config.push_back(opaque_of(each.opaque));
  }
  return made;
}

Claim read_claim(const plimsoll_resource_claim& object) {
  Claim claim;
  claim.space = text(object.object.meta.ns);
  claim.name = text(object.object.meta.name);
  for (const auto& each : List<plimsoll_device_request>(object.requests)) {
    Request request{text(each.name), each.first_available != 0, {}};
    for (const auto& ask : List<plimsoll_device_ask>(each.asks)) {
      request.alternatives.push_back(ask_of(ask, request.first_available ? ask.name : each.name));
    }
    // Of a kind that this version does not know: as upstream, a request without a class.
    if (request.alternatives.empty()) request.alternatives.push_back(ask_of({}, each.name));
    claim.requests.push_back(std::move(request));
  }
  for (const auto& each : List<plimsoll_device_constraint>(object.constraints)) {
    claim.constraints.push_back(
        {texts(each.requests), text(each.match_attribute), text(each.distinct_attribute)});
  }
  for (const auto& each : List<plimsoll_device_config>(object.config)) {
    claim.config.push_back({texts(each.requests), opaque_of(each.opaque)});
  }
  return claim;
}

std::vector<DeviceResult> read_results(const plimsoll_resource_claim& object) {
  std::vector<DeviceResult> results;
  for (const auto& each : List<plimsoll_device_result>(object.results)) {
    DeviceResult result;
    result.request = text(each.request);
    result.driver = text(each.driver);
    result.pool = text(each.pool);
    result.device = text(each.device);
    result.admin_access = each.admin_access != 0;
    result.tolerations = tolerations(each.tolerations);
    result.share_id = text(each.share_id);
    result.consumed_capacity = amounts(each.consumed_capacity);
    result.binding_conditions = texts(each.binding_conditions);
    result.binding_failure_conditions = texts(each.binding_failure_conditions);
    results.push_back(std::move(result));
  }
  return results;
}

bool same_status(const plimsoll_resource_claim& a, const plimsoll_resource_claim& b) {
  if (a.allocated != b.allocated || a.allocation_ms != b.allocation_ms) return false;
  const auto same = []<typename T>(std::type_identity<T>, const plimsoll_list& x,
                                   const plimsoll_list& y, const auto& equal) {
    const List<T> left(x), right(y);
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), equal);
  };
  const auto condition = [](const plimsoll_condition& x, const plimsoll_condition& y) {
    return view(x.type) == view(y.type) && view(x.status) == view(y.status);
  };
  const auto device = [&](const plimsoll_device_status& x, const plimsoll_device_status& y) {
    return view(x.driver) == view(y.driver) && view(x.pool) == view(y.pool) &&
           view(x.device) == view(y.device) && view(x.share_id) == view(y.share_id) &&
           same(std::type_identity<plimsoll_condition>(), x.conditions, y.conditions, condition);
  };
  const auto user = [](const plimsoll_claim_user& x, const plimsoll_claim_user& y) {
    return view(x.uid) == view(y.uid);
  };
  return same(std::type_identity<plimsoll_claim_user>(), a.reserved_for, b.reserved_for, user) &&
         same(std::type_identity<plimsoll_device_status>(), a.devices, b.devices, device);
}

}  // namespace plimsoll::dra
