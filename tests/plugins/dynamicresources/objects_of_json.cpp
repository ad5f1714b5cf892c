#include "tests/plugins/dynamicresources/objects_of_json.hpp"

#include <algorithm>
#include <stdexcept>

namespace plimsoll::dra::test {

const Json& entries(const Json& object, const char* key) {
  static const Json kNone = Json::object();
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? kNone : *found;
}

namespace {

using Op = NodeRequirement::Op;
const std::vector<std::pair<std::string, Op>> kOps = {
    {"In", Op::kIn},         {"NotIn", Op::kNotIn},
    {"Exists", Op::kExists}, {"DoesNotExist", Op::kDoesNotExist},
    {"Gt", Op::kGt},         {"Lt", Op::kLt}};

std::string nanos_text(const Quantity& amount) {
  return Quantity(amount.nanos(), Quantity::Format::kExponent).text();
}

std::string text(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

const Json& list(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? kNone : *found;
}

std::vector<std::string> texts(const Json& object, const char* key) {
  return list(object, key).get<std::vector<std::string>>();
}

std::optional<std::string> optional_text(const Json& object, const char* key) {
  if (!object.contains(key)) return {};
  return object[key].get<std::string>();
}

std::vector<NodeRequirement> requirements(const Json& term, const char* key) {
  std::vector<NodeRequirement> made;
  for (const Json& one : list(term, key)) {
    NodeRequirement& requirement = made.emplace_back();
    requirement.key = text(one, "key");
    for (const auto& [name, op] : kOps) {
      if (one["operator"] == name) requirement.op = op;
    }
    requirement.values = texts(one, "values");
  }
  return made;
}

std::optional<NodeSelector> selector(const Json& object) {
  if (!object.contains("nodeSelector")) return {};
  NodeSelector made;
  for (const Json& term : list(object["nodeSelector"], "nodeSelectorTerms")) {
    made.terms.push_back(
        {requirements(term, "matchExpressions"), requirements(term, "matchFields")});
  }
  return made;
}

AttributeValue attribute(const Json& value) {
  if (value.contains("int")) return value["int"].get<int64_t>();
  if (value.contains("bool")) return value["bool"].get<bool>();
  if (value.contains("string")) return value["string"].get<std::string>();
  if (value.contains("version")) return Version{value["version"].get<std::string>()};
  if (value.contains("ints")) return value["ints"].get<std::vector<int64_t>>();
  if (value.contains("bools")) return value["bools"].get<std::vector<bool>>();
  if (value.contains("strings")) return value["strings"].get<std::vector<std::string>>();
  if (value.contains("versions")) {
    std::vector<Version> made;
    for (const Json& one : value["versions"]) made.push_back({one.get<std::string>()});
    return made;
  }
  return std::monostate();
}

std::map<std::string, Quantity> quantities(const Json& object) {
  std::map<std::string, Quantity> made;
  for (const auto& [name, value] : object.items()) made[name] = quantity_of(value);
  return made;
}

RequestPolicy policy_of(const Json& object) {
  RequestPolicy policy;
  const auto one = [](const Json& from, const char* key) -> std::optional<Quantity> {
    if (!from.contains(key)) return {};
    return quantity_of(from[key]);
  };
  policy.fallback = one(object, "default");
  for (const Json& value : list(object, "validValues")) {
    policy.valid_values.push_back(quantity_of(value));
  }
  if (object.contains("validRange")) {
    const Json& range = object["validRange"];
    policy.valid_range = {one(range, "min"), one(range, "max"), one(range, "step")};
  }
  return policy;
}

Device device_of(const Json& object) {
  Device device;
  device.name = text(object, "name");
  for (const auto& [name, value] : entries(object, "attributes").items()) {
    device.attributes[name] = attribute(value);
  }
  for (const auto& [name, value] : entries(object, "capacity").items()) {
    Capacity& capacity = device.capacity[name];
    capacity.value = quantity_of(value["value"]);
    if (value.contains("requestPolicy")) capacity.policy = policy_of(value["requestPolicy"]);
  }
  for (const Json& taint : list(object, "taints")) {
    device.taints.push_back({text(taint, "key"), text(taint, "value"), text(taint, "effect")});
  }
  for (const Json& use : list(object, "consumesCounters")) {
    CounterUse& made = device.consumes.emplace_back();
    made.set = text(use, "counterSet");
    for (const auto& [name, value] : entries(use, "counters").items()) {
      made.counters[name] = quantity_of(value["value"]);
    }
    made.has_compatibility_groups = !list(use, "compatibilityGroups").empty();
  }
  device.allow_multiple_allocations = object.value("allowMultipleAllocations", false);
  device.binds_to_node = object.value("bindsToNode", false);
  device.binding_conditions = texts(object, "bindingConditions");
  device.binding_failure_conditions = texts(object, "bindingFailureConditions");
  device.node_name = optional_text(object, "nodeName");
  device.node_selector = selector(object);
  device.all_nodes = object.value("allNodes", false);
  return device;
}

std::vector<Selector> selectors(const Json& object) {
  std::vector<Selector> made;
  for (const Json& one : list(object, "selectors")) {
    if (one.contains("cel")) {
      made.emplace_back(text(one["cel"], "expression"));
    } else {
      made.emplace_back();
    }
  }
  return made;
}

OpaqueConfig opaque(const Json& config) {
  if (!config.contains("opaque")) return {};
  const Json& from = config["opaque"];
  return {text(from, "driver"), from.contains("parameters") ? from["parameters"].dump() : ""};
}

DeviceRequest device_request(const Json& object, const std::string& name) {
  DeviceRequest made;
  made.name = name;
  made.class_name = text(object, "deviceClassName");
  made.selectors = selectors(object);
  made.mode = text(object, "allocationMode");
  made.count = object.value("count", int64_t{0});
  made.admin_access = object.value("adminAccess", false);
  for (const Json& one : list(object, "tolerations")) {
    Toleration& toleration = made.tolerations.emplace_back();
    toleration = {
        text(one, "key"), text(one, "operator"), text(one, "value"), text(one, "effect"), {}};
    if (one.contains("tolerationSeconds")) {
      toleration.seconds = one["tolerationSeconds"].get<int64_t>();
    }
  }
  if (object.contains("capacity") && object["capacity"].contains("requests")) {
    made.capacity = quantities(object["capacity"]["requests"]);
  }
  made.derives_attributes = !list(object, "derivedAttributes").empty();
  return made;
}

Json sorted_term(Json term) {
  for (const char* key : {"matchExpressions", "matchFields"}) {
    if (!term.contains(key)) continue;
    for (Json& one : term[key]) {
      if (one.contains("values")) std::sort(one["values"].begin(), one["values"].end());
    }
  }
  return term;
}

Json requirements_json(const std::vector<NodeRequirement>& requirements) {
  Json made = Json::array();
  for (const NodeRequirement& one : requirements) {
    Json requirement{{"key", one.key}};
    for (const auto& [name, op] : kOps) {
      if (op == one.op) requirement["operator"] = name;
    }
    if (!one.values.empty()) requirement["values"] = one.values;
    made.push_back(std::move(requirement));
  }
  return made;
}

}  // namespace

Quantity quantity_of(const Json& value) {
  const std::string written = value.is_string() ? value.get<std::string>() : value.dump();
  const auto parsed = Quantity::parse(written);
  if (!parsed) throw std::invalid_argument("not a quantity: " + written);
  return *parsed;
}

Slice slice_of(const Json& object) {
  const Json& spec = object["spec"];
  Slice slice;
  slice.name = text(object["metadata"], "name");
  slice.driver = text(spec, "driver");
  const Json pool = spec.value("pool", Json::object());
  slice.pool = text(pool, "name");
  slice.generation = pool.value("generation", int64_t{0});
  slice.slice_count = pool.value("resourceSliceCount", int64_t{0});
  slice.node_name = optional_text(spec, "nodeName");
  slice.node_selector = selector(spec);
  slice.all_nodes = spec.value("allNodes", false);
  slice.per_device_nodes = spec.value("perDeviceNodeSelection", false);
  for (const Json& device : list(spec, "devices")) slice.devices.push_back(device_of(device));
  for (const Json& set : list(spec, "sharedCounters")) {
    CounterSet& made = slice.counters.emplace_back();
    made.name = text(set, "name");
    for (const auto& [name, value] : entries(set, "counters").items()) {
      made.counters[name] = quantity_of(value["value"]);
    }
  }
  slice.skips_node_operations = !list(spec, "skipNodeOperations").empty();
  return slice;
}

Claim claim_of(const Json& object) {
  Claim claim;
  claim.space = text(object["metadata"], "namespace");
  claim.name = text(object["metadata"], "name");
  const Json devices = object["spec"].value("devices", Json::object());
  for (const Json& one : list(devices, "requests")) {
    Request& request = claim.requests.emplace_back();
    request.name = text(one, "name");
    request.first_available = !list(one, "firstAvailable").empty();
    for (const Json& sub : list(one, "firstAvailable")) {
      request.alternatives.push_back(device_request(sub, text(sub, "name")));
    }
    if (!request.first_available) {
      request.alternatives.push_back(
          device_request(one.value("exactly", Json::object()), request.name));
    }
  }
  for (const Json& one : list(devices, "constraints")) {
    claim.constraints.push_back(
        {texts(one, "requests"), text(one, "matchAttribute"), text(one, "distinctAttribute")});
  }
  for (const Json& one : list(devices, "config")) {
    claim.config.push_back({texts(one, "requests"), opaque(one)});
  }
  return claim;
}

DeviceClass class_of(const Json& object) {
  DeviceClass made;
  made.name = text(object["metadata"], "name");
  const Json spec = object.value("spec", Json::object());
  made.selectors = selectors(spec);
  for (const Json& one : list(spec, "config")) made.config.push_back(opaque(one));
  return made;
}

Json json_of(const Allocation& allocation) {
  Json results = Json::array();
  for (const DeviceResult& one : allocation.results) {
    Json result{{"request", one.request},
                {"driver", one.driver},
                {"pool", one.pool},
                {"device", one.device}};
    if (one.admin_access) result["adminAccess"] = true;
    for (const Toleration& toleration : one.tolerations) {
      Json made = Json::object();
      if (!toleration.key.empty()) made["key"] = toleration.key;
      if (!toleration.op.empty()) made["operator"] = toleration.op;
      if (!toleration.value.empty()) made["value"] = toleration.value;
      if (!toleration.effect.empty()) made["effect"] = toleration.effect;
      if (toleration.seconds) made["tolerationSeconds"] = *toleration.seconds;
      result["tolerations"].push_back(std::move(made));
    }
    if (!one.share_id.empty()) result["shareID"] = "share";
    for (const auto& [name, amount] : one.consumed_capacity) {
      result["consumedCapacity"][name] = nanos_text(amount);
    }
    if (!one.binding_conditions.empty()) result["bindingConditions"] = one.binding_conditions;
    if (!one.binding_failure_conditions.empty()) {
      result["bindingFailureConditions"] = one.binding_failure_conditions;
    }
    results.push_back(std::move(result));
  }
  Json config = Json::array();
  for (const AllocatedConfig& one : allocation.config) {
    Json made{{"source", one.from_class ? "FromClass" : "FromClaim"}};
    if (!one.requests.empty()) made["requests"] = one.requests;
    if (!one.opaque.driver.empty()) {
      made["opaque"]["driver"] = one.opaque.driver;
      if (!one.opaque.parameters.empty()) {
        made["opaque"]["parameters"] = Json::parse(one.opaque.parameters);
      }
    }
    config.push_back(std::move(made));
  }
  Json made{{"results", std::move(results)}, {"config", std::move(config)}};
  if (allocation.node_selector) {
    for (const NodeSelectorTerm& term : allocation.node_selector->terms) {
      Json one = Json::object();
      if (!term.expressions.empty()) one["matchExpressions"] = requirements_json(term.expressions);
      if (!term.fields.empty()) one["matchFields"] = requirements_json(term.fields);
      made["terms"].push_back(sorted_term(std::move(one)));
    }
  }
  return made;
}

Json comparable(const Json& allocation) {
  Json made{{"results", Json::array()}, {"config", Json::array()}};
  const Json devices = allocation.value("devices", Json::object());
  for (Json result : list(devices, "results")) {
    if (result.contains("shareID")) result["shareID"] = "share";
    if (result.contains("consumedCapacity")) {
      for (Json& amount : result["consumedCapacity"]) {
        amount = nanos_text(quantity_of(amount));
      }
    }
    made["results"].push_back(std::move(result));
  }
  for (const Json& config : list(devices, "config")) made["config"].push_back(config);
  if (allocation.contains("nodeSelector")) {
    for (const Json& term : allocation["nodeSelector"]["nodeSelectorTerms"]) {
      made["terms"].push_back(sorted_term(term));
    }
  }
  return made;
}

}  // namespace plimsoll::dra::test
