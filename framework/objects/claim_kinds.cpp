// The kinds about resource claims: resource.k8s.io/v1. Kubernetes:
// staging/src/k8s.io/api/resource/v1/types.go.

#include <algorithm>
#include <plimsoll/kinds.hpp>

#include "framework/objects/kind_reader.hpp"

namespace plimsoll {
namespace {

bool by_name(const auto& a, const auto& b) {
  return view(a.name) < view(b.name);
}

// Reads a part of type T by `read(decoder, key, field, T&)`.
template <typename T, typename Read>
bool part(Decoder& decoder, WireValue& value, T* out, const Read& read) {
  return value.fields(
      [&](std::string_view key, WireValue& field) { return read(decoder, key, field, *out); });
}

template <typename T, typename Read>
bool parts(Decoder& decoder, WireValue& value, plimsoll_list* out, const Read& read) {
  return decoder.list<T>(
      value, out, [&](WireValue& item, T* element) { return part(decoder, item, element, read); });
}

// A map of T by name, each read by `read(decoder, value, T&)`; sorted by name.
template <typename T, typename Read>
bool named_parts(Decoder& decoder, WireValue& value, plimsoll_list* out, const Read& read) {
  std::vector<T> elements;
  const bool all = value.entries([&](std::string_view name, WireValue& item) {
    T element{};
    element.name = str(name);
    if (!read(decoder, item, element)) return false;
    elements.push_back(element);
    return true;
  });
  std::sort(elements.begin(), elements.end(), by_name<T, T>);
  *out = decoder.arena().list(elements);
  return all;
}

bool plain(Decoder& decoder, WireValue& value, plimsoll_str* out) {
  return decoder.text(value, out, Keep::kPlain);
}

bool byte_flag(WireValue& value, uint8_t* out) {
  bool set = *out != 0;
  if (!value.boolean(&set)) return false;
  *out = set ? 1 : 0;
  return true;
}

bool quantity_of(Decoder& decoder, WireValue& value, plimsoll_named_quantity& out) {
  return decoder.quantity(value, &out.value);
}

bool counter_of(Decoder& decoder, WireValue& value, plimsoll_named_quantity& out) {
  return value.fields([&](std::string_view key, WireValue& field) {
    return key != "value" || decoder.quantity(field, &out.value);
  });
}

// ---- devices

bool value_of(WireValue& value, uint32_t type, plimsoll_device_value* out) {
  if (type == PLIMSOLL_DEVICE_INT) return value.integer(&out->number);
  if (type == PLIMSOLL_DEVICE_BOOL) {
    bool set = false;
    if (!value.boolean(&set)) return false;
    out->number = set ? 1 : 0;
    return true;
  }
  std::string_view text;
  if (!value.text(&text)) return false;
  out->text = str(text);
  return true;
}

bool attribute(Decoder& decoder, WireValue& value, plimsoll_device_attribute& out) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (field.is_null()) return true;
    const bool list = key.ends_with('s');
    const std::string_view one = list ? key.substr(0, key.size() - 1) : key;
    const uint32_t type = one == "int"       ? PLIMSOLL_DEVICE_INT
                          : one == "bool"    ? PLIMSOLL_DEVICE_BOOL
                          : one == "string"  ? PLIMSOLL_DEVICE_STRING
                          : one == "version" ? PLIMSOLL_DEVICE_VERSION
                                             : PLIMSOLL_DEVICE_UNKNOWN;
    if (type == PLIMSOLL_DEVICE_UNKNOWN) return true;
    out.type = type;
    out.is_list = list ? 1 : 0;
    const auto read = [type](WireValue& item, plimsoll_device_value* element) {
      return value_of(item, type, element);
    };
    if (list) return decoder.list<plimsoll_device_value>(field, &out.values, read);
    plimsoll_device_value element{};
    if (!read(field, &element)) return false;
    out.values = decoder.arena().list(std::vector{element});
    return true;
  });
}

bool request_policy(Decoder& decoder, std::string_view key, WireValue& value,
                    plimsoll_device_capacity& out) {
  if (key == "default") return decoder.quantity(value, &out.fallback);
  if (key == "validValues") {
    return decoder.list<plimsoll_str>(
        value, &out.valid_values,
        [&](WireValue& item, plimsoll_str* text) { return decoder.quantity(item, text); });
  }
  if (key != "validRange" || value.is_null()) return true;
  out.has_range = 1;
  return value.fields([&](std::string_view name, WireValue& field) {
    if (name == "min") return decoder.quantity(field, &out.min);
    if (name == "max") return decoder.quantity(field, &out.max);
    return name != "step" || decoder.quantity(field, &out.step);
  });
}

bool device_capacity(Decoder& decoder, WireValue& value, plimsoll_device_capacity& out) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "value") return decoder.quantity(field, &out.value);
    if (key != "requestPolicy" || field.is_null()) return true;
    out.has_policy = 1;
    return part(decoder, field, &out, request_policy);
  });
}

bool taint(Decoder& decoder, std::string_view key, WireValue& value, plimsoll_device_taint& out) {
  if (key == "key") return plain(decoder, value, &out.key);
  if (key == "value") return plain(decoder, value, &out.value);
  return key != "effect" || plain(decoder, value, &out.effect);
}

bool toleration(Decoder& decoder, std::string_view key, WireValue& value,
                plimsoll_device_toleration& out) {
  if (key == "key") return plain(decoder, value, &out.key);
  if (key == "operator") return plain(decoder, value, &out.op);
  if (key == "value") return plain(decoder, value, &out.value);
  if (key == "effect") return plain(decoder, value, &out.effect);
  return key != "tolerationSeconds" || value.integer(&out.seconds);
}

bool tolerations(Decoder& decoder, WireValue& value, plimsoll_list* out) {
  return decoder.list<plimsoll_device_toleration>(
      value, out, [&](WireValue& item, plimsoll_device_toleration* element) {
        element->op = str("Equal");
        element->seconds = -1;
        return part(decoder, item, element, toleration);
      });
}

// Whether a list has anything in it.
bool any_of(WireValue& value, uint32_t* out) {
  return value.items([out](WireValue&) {
    *out = 1;
    return true;
  });
}

bool counter_set(Decoder& decoder, std::string_view key, WireValue& value,
                 plimsoll_counter_set& out) {
  if (key == "name" || key == "counterSet") return plain(decoder, value, &out.name);
  if (key == "compatibilityGroups") return any_of(value, &out.has_compatibility_groups);
  return key != "counters" ||
         named_parts<plimsoll_named_quantity>(decoder, value, &out.counters, counter_of);
}

// The fields that say which nodes; true for all others.
bool place(Decoder& decoder, std::string_view key, WireValue& value, plimsoll_device_place& out) {
  if (key == "nodeName") return plain(decoder, value, &out.node_name);
  if (key == "allNodes") return decoder.flag(value, &out.all_nodes);
  if (key != "nodeSelector" || value.is_null()) return true;
  out.has_selector = 1;
  return decoder.node_selector_terms(value, &out.node_selector);
}

// An entry of the map nodeAllocatableResources.
bool allocatable(Decoder& decoder, WireValue& value, plimsoll_device_allocatable& out) {
  return value.fields([&](std::string_view part, WireValue& fields) {
    if (part != "mapping" && part != "overhead") return true;
    return fields.fields([&](std::string_view key, WireValue& field) {
      if (key == "capacityKey") return plain(decoder, field, &out.capacity_key);
      if (key == "capacityMultiplier") return decoder.quantity(field, &out.capacity_multiplier);
      if (key == "deviceMultiplier") return decoder.quantity(field, &out.device_multiplier);
      if (key == "perPod") return decoder.quantity(field, &out.per_pod);
      return key != "perContainer" || decoder.quantity(field, &out.per_container);
    });
  });
}

bool device(Decoder& decoder, std::string_view key, WireValue& value, plimsoll_device& out) {
  out.size = sizeof(plimsoll_device);
  if (key == "name") return plain(decoder, value, &out.name);
  if (key == "attributes")
    return named_parts<plimsoll_device_attribute>(decoder, value, &out.attributes, attribute);
  if (key == "capacity")
    return named_parts<plimsoll_device_capacity>(decoder, value, &out.capacity, device_capacity);
  if (key == "taints") return parts<plimsoll_device_taint>(decoder, value, &out.taints, taint);
  if (key == "consumesCounters")
    return parts<plimsoll_counter_set>(decoder, value, &out.consumes, counter_set);
  if (key == "allowMultipleAllocations") return byte_flag(value, &out.allow_multiple_allocations);
  if (key == "bindsToNode") return byte_flag(value, &out.binds_to_node);
  if (key == "bindingConditions")
    return decoder.texts(value, &out.binding_conditions, Keep::kPlain);
  if (key == "bindingFailureConditions")
    return decoder.texts(value, &out.binding_failure_conditions, Keep::kPlain);
  if (key == "nodeAllocatableResources")
    return named_parts<plimsoll_device_allocatable>(decoder, value, &out.allocatable, allocatable);
  return place(decoder, key, value, out.place);
}

bool slice_spec(Decoder& decoder, std::string_view key, WireValue& value,
                plimsoll_resource_slice& out) {
  if (key == "driver") return plain(decoder, value, &out.driver);
  if (key == "pool") {
    return value.fields([&](std::string_view name, WireValue& field) {
      if (name == "name") return plain(decoder, field, &out.pool);
      if (name == "generation") return field.integer(&out.generation);
      return name != "resourceSliceCount" || field.integer(&out.slice_count);
    });
  }
  if (key == "perDeviceNodeSelection") return decoder.flag(value, &out.per_device_node_selection);
  if (key == "skipNodeOperations") return any_of(value, &out.skip_node_operations);
  if (key == "devices") return parts<plimsoll_device>(decoder, value, &out.devices, device);
  if (key == "sharedCounters")
    return parts<plimsoll_counter_set>(decoder, value, &out.shared_counters, counter_set);
  return place(decoder, key, value, out.place);
}

bool slice(Decoder& decoder, std::string_view key, WireValue& value, plimsoll_resource_slice& out) {
  return key != "spec" || part(decoder, value, &out, slice_spec);
}

// ---- classes

bool selectors(Decoder& decoder, WireValue& value, plimsoll_list* out) {
  return decoder.list<plimsoll_str>(value, out, [&](WireValue& item, plimsoll_str* expression) {
    return item.fields([&](std::string_view key, WireValue& field) {
      if (key != "cel") return true;
      return field.fields([&](std::string_view name, WireValue& text) {
        return name != "expression" || plain(decoder, text, expression);
      });
    });
  });
}

bool config(Decoder& decoder, std::string_view key, WireValue& value, plimsoll_device_config& out) {
  if (key == "source") return plain(decoder, value, &out.source);
  if (key == "requests") return decoder.texts(value, &out.requests, Keep::kPlain);
  if (key != "opaque") return true;
  std::string_view text;
  if (!value.raw(&text)) return false;
  out.opaque = str(text);
  return true;
}

bool class_spec(Decoder& decoder, std::string_view key, WireValue& value,
                plimsoll_device_class& out) {
  if (key == "selectors") return selectors(decoder, value, &out.selectors);
  if (key == "config") return parts<plimsoll_device_config>(decoder, value, &out.config, config);
  return key != "extendedResourceName" || plain(decoder, value, &out.extended_resource_name);
}

bool device_class(Decoder& decoder, std::string_view key, WireValue& value,
                  plimsoll_device_class& out) {
  return key != "spec" || part(decoder, value, &out, class_spec);
}

bool rule_spec(Decoder& decoder, std::string_view key, WireValue& value,
               plimsoll_device_taint_rule& out) {
  if (key == "taint") return part(decoder, value, &out.taint, taint);
  if (key != "deviceSelector" || value.is_null()) return true;
  out.has_selector = 1;
  return value.fields([&](std::string_view name, WireValue& field) {
    if (name == "driver") return plain(decoder, field, &out.driver);
    if (name == "pool") return plain(decoder, field, &out.pool);
    return name != "device" || plain(decoder, field, &out.device);
  });
}

bool taint_rule(Decoder& decoder, std::string_view key, WireValue& value,
                plimsoll_device_taint_rule& out) {
  return key != "spec" || part(decoder, value, &out, rule_spec);
}

// ---- claims

bool ask(Decoder& decoder, std::string_view key, WireValue& value, plimsoll_device_ask& out) {
  if (key == "name") return plain(decoder, value, &out.name);
  if (key == "deviceClassName") return plain(decoder, value, &out.device_class);
  if (key == "selectors") return selectors(decoder, value, &out.selectors);
  if (key == "allocationMode") return plain(decoder, value, &out.mode);
  if (key == "count") return value.integer(&out.count);
  if (key == "adminAccess") return byte_flag(value, &out.admin_access);
  if (key == "tolerations") return tolerations(decoder, value, &out.tolerations);
  if (key == "derivedAttributes") {
    uint32_t any = 0;
    const bool read = any_of(value, &any);
    out.has_derived_attributes = static_cast<uint8_t>(any);
    return read;
  }
  if (key != "capacity") return true;
  return value.fields([&](std::string_view name, WireValue& field) {
    return name != "requests" ||
           named_parts<plimsoll_named_quantity>(decoder, field, &out.capacity, quantity_of);
  });
}

bool read_ask(Decoder& decoder, WireValue& item, plimsoll_device_ask* out) {
  out->size = sizeof(plimsoll_device_ask);
  out->mode = str("ExactCount");
  out->count = 1;
  return part(decoder, item, out, ask);
}

bool request(Decoder& decoder, std::string_view key, WireValue& value,
             plimsoll_device_request& out) {
  if (key == "name") return plain(decoder, value, &out.name);
  if (value.is_null()) return true;
  if (key == "exactly") {
    plimsoll_device_ask exactly{};
    if (!read_ask(decoder, value, &exactly)) return false;
    out.asks = decoder.arena().list(std::vector{exactly});
    return true;
  }
  if (key != "firstAvailable") return true;
  out.first_available = 1;
  return decoder.list<plimsoll_device_ask>(value, &out.asks,
                                           [&](WireValue& item, plimsoll_device_ask* element) {
                                             return read_ask(decoder, item, element);
                                           });
}

bool constraint(Decoder& decoder, std::string_view key, WireValue& value,
                plimsoll_device_constraint& out) {
  if (key == "requests") return decoder.texts(value, &out.requests, Keep::kPlain);
  if (key == "matchAttribute") return plain(decoder, value, &out.match_attribute);
  return key != "distinctAttribute" || plain(decoder, value, &out.distinct_attribute);
}

bool resource_claim_spec(Decoder& decoder, std::string_view key, WireValue& value,
                         plimsoll_resource_claim& out) {
  if (key == "requests")
    return parts<plimsoll_device_request>(decoder, value, &out.requests, request);
  if (key == "constraints")
    return parts<plimsoll_device_constraint>(decoder, value, &out.constraints, constraint);
  return key != "config" || parts<plimsoll_device_config>(decoder, value, &out.config, config);
}

bool result(Decoder& decoder, std::string_view key, WireValue& value, plimsoll_device_result& out) {
  out.size = sizeof(plimsoll_device_result);
  if (key == "request") return plain(decoder, value, &out.request);
  if (key == "driver") return plain(decoder, value, &out.driver);
  if (key == "pool") return plain(decoder, value, &out.pool);
  if (key == "device") return plain(decoder, value, &out.device);
  if (key == "shareID") return plain(decoder, value, &out.share_id);
  if (key == "adminAccess") return decoder.flag(value, &out.admin_access);
  if (key == "tolerations") return tolerations(decoder, value, &out.tolerations);
  if (key == "consumedCapacity") {
    return named_parts<plimsoll_named_quantity>(decoder, value, &out.consumed_capacity,
                                                quantity_of);
  }
  if (key == "bindingConditions")
    return decoder.texts(value, &out.binding_conditions, Keep::kPlain);
  return key != "bindingFailureConditions" ||
         decoder.texts(value, &out.binding_failure_conditions, Keep::kPlain);
}

bool allocation(Decoder& decoder, std::string_view key, WireValue& value,
                plimsoll_resource_claim& out) {
  if (key == "allocationTimestamp") return value.time(&out.allocation_ms);
  if (key == "nodeSelector") {
    out.has_selector = value.is_null() ? 0 : 1;
    return decoder.node_selector_terms(value, &out.node_selector);
  }
  if (key != "devices") return true;
  return value.fields([&](std::string_view name, WireValue& field) {
    if (name == "results")
      return parts<plimsoll_device_result>(decoder, field, &out.results, result);
    return name != "config" ||
           parts<plimsoll_device_config>(decoder, field, &out.allocation_config, config);
  });
}

bool user(Decoder& decoder, std::string_view key, WireValue& value, plimsoll_claim_user& out) {
  if (key == "apiGroup") return plain(decoder, value, &out.api_group);
  if (key == "resource") return plain(decoder, value, &out.resource);
  if (key == "name") return plain(decoder, value, &out.name);
  return key != "uid" || plain(decoder, value, &out.uid);
}

bool condition(Decoder& decoder, std::string_view key, WireValue& value, plimsoll_condition& out) {
  if (key == "type") return plain(decoder, value, &out.type);
  return key != "status" || plain(decoder, value, &out.status);
}

bool device_status(Decoder& decoder, std::string_view key, WireValue& value,
                   plimsoll_device_status& out) {
  if (key == "driver") return plain(decoder, value, &out.driver);
  if (key == "pool") return plain(decoder, value, &out.pool);
  if (key == "device") return plain(decoder, value, &out.device);
  if (key == "shareID") return plain(decoder, value, &out.share_id);
  return key != "conditions" ||
         parts<plimsoll_condition>(decoder, value, &out.conditions, condition);
}

bool claim_status(Decoder& decoder, std::string_view key, WireValue& value,
                  plimsoll_resource_claim& out) {
  if (key == "reservedFor")
    return parts<plimsoll_claim_user>(decoder, value, &out.reserved_for, user);
  if (key == "devices")
    return parts<plimsoll_device_status>(decoder, value, &out.devices, device_status);
  if (key != "allocation" || value.is_null()) return true;
  out.allocated = 1;
  return part(decoder, value, &out, allocation);
}

bool resource_claim(Decoder& decoder, std::string_view key, WireValue& value,
                    plimsoll_resource_claim& out) {
  if (key == "finalizers") return decoder.texts(value, &out.finalizers, Keep::kPlain);
  if (key == "status") return part(decoder, value, &out, claim_status);
  if (key != "spec") return true;
  return value.fields([&](std::string_view name, WireValue& field) {
    return name != "devices" || part(decoder, field, &out, resource_claim_spec);
  });
}

}  // namespace

ObjectRef decode_claim_object(std::string_view resource, std::string_view ns, std::string_view name,
                              std::string_view json) {
  const auto read_as = [&](const auto& absent, const auto& read) {
    return decode(ns, name, json, Annotations::kKept, absent, read);
  };
  if (resource == sdk::kResourceClaims.resource)
    return read_as(plimsoll_resource_claim{}, resource_claim);
  if (resource == sdk::kResourceSlices.resource) return read_as(plimsoll_resource_slice{}, slice);
  if (resource == sdk::kDeviceClasses.resource)
    return read_as(plimsoll_device_class{}, device_class);
  if (resource == sdk::kDeviceTaintRules.resource)
    return read_as(plimsoll_device_taint_rule{}, taint_rule);
  return nullptr;
}

}  // namespace plimsoll
