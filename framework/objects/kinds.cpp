#include "framework/objects/kinds.hpp"

#include <algorithm>
#include <cstdint>
#include <plimsoll/kinds.hpp>
#include <utility>
#include <vector>

#include "framework/objects/kind_reader.hpp"
#include "framework/objects/pod_group.hpp"

namespace plimsoll {
namespace {

bool ignored(Decoder&, std::string_view, WireValue&, plimsoll_object&) {
  return true;
}

// A map of labels in the place of a selector.
bool selector_map(Decoder& decoder, WireValue& value, plimsoll_label_selector* out) {
  out->size = sizeof(plimsoll_label_selector);
  if (value.is_null()) return true;
  out->present = 1;
  return decoder.labels(value, &out->match_labels, Keep::kPlain);
}

bool label_selector(Decoder& decoder, WireValue& value, plimsoll_label_selector* out) {
  return decoder.label_selector(value, out);
}

// spec.selector, by `read`.
template <auto read>
bool selecting(Decoder& decoder, std::string_view key, WireValue& value,
               plimsoll_pod_selector& out) {
  if (key != "spec") return true;
  return value.fields([&](std::string_view name, WireValue& field) {
    return name != "selector" || read(decoder, field, &out.selector);
  });
}

// The keys of an object, sorted.
bool keys(Decoder& decoder, WireValue& value, plimsoll_list* out) {
  std::vector<plimsoll_str> names;
  const bool read = value.entries([&](std::string_view key, WireValue&) {
    names.push_back(str(key));
    return true;
  });
  std::sort(names.begin(), names.end(),
            [](const plimsoll_str& a, const plimsoll_str& b) { return view(a) < view(b); });
  *out = decoder.arena().list(names);
  return read;
}

bool budget(Decoder& decoder, std::string_view key, WireValue& value,
            plimsoll_disruption_budget& out) {
  if (key != "spec" && key != "status") return true;
  const bool is_spec = key == "spec";
  return value.fields([&, is_spec](std::string_view name, WireValue& field) {
    if (is_spec) return name != "selector" || decoder.label_selector(field, &out.selector);
    if (name == "disruptionsAllowed")
      return field.integer(&out.disruptions_allowed, INT32_MIN, INT32_MAX);
    if (name == "disruptedPods") return keys(decoder, field, &out.disrupted_pods);
    return true;
  });
}

}  // namespace

ObjectRef decode_object(std::string_view resource, std::string_view ns, std::string_view name,
                        std::string_view json) {
  const auto read_as = [&](const auto& absent, const auto& read) {
    return decode(ns, name, json, Annotations::kDropped, absent, read);
  };
  if (resource == sdk::kNamespaces.resource) return read_as(plimsoll_object{}, ignored);
  if (resource == sdk::kServices.resource || resource == sdk::kReplicationControllers.resource) {
    return read_as(plimsoll_pod_selector{}, selecting<selector_map>);
  }
  if (resource == sdk::kReplicaSets.resource || resource == sdk::kStatefulSets.resource) {
    return read_as(plimsoll_pod_selector{}, selecting<label_selector>);
  }
  if (resource == sdk::kDisruptionBudgets.resource) {
    return read_as(plimsoll_disruption_budget{}, budget);
  }
  if (auto object = decode_claim_object(resource, ns, name, json)) return object;
  if (auto object = decode_pod_group(resource, ns, name, json)) return object;
  return decode_storage_object(resource, ns, name, json);
}

RawRef decoded(RawObject object) {
  object.decoded = decode_object(object.resource, object.ns, object.name, object.json);
  return std::make_shared<const RawObject>(std::move(object));
}

}  // namespace plimsoll
