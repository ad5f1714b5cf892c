#include "lab/sandbox/admission/limit_ranges.hpp"

#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <plimsoll/join.hpp>
#include <set>

#include "framework/api/symbols.hpp"
#include "framework/base/json_field.hpp"
#include "lab/sandbox/store/object_shape.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

// The limits of this type in the namespace of `object`, by the names of their LimitRanges.
std::vector<std::vector<json>> limits_for(const ObjectStore& store, const json& object,
                                          const std::set<std::string_view>& types) {
  std::vector<std::vector<json>> ranges;
  const auto listed = store.list(kLimitRanges, text_at(object.at("metadata"), "namespace"));
  if (!listed) return ranges;
  for (const ObjectPtr& each : listed->objects) {
    const json range = each->parse();
    const json& spec = object_in(range, "spec");
    const auto limits = spec.find("limits");
    if (limits == spec.end() || !limits->is_array()) continue;
    ranges.emplace_back();
    for (const json& limit : *limits) {
      if (types.contains(text_at(limit, "type"))) ranges.back().push_back(limit);
    }
  }
  return ranges;
}

// Adds what is missing in the resource list `into` of `owner`.
std::string add_missing(json& owner, const char* into, const json& defaults) {
  std::vector<std::string> added;
  json& list = owner[into];
  if (!list.is_object()) list = json::object();
  for (const auto& [name, quantity] : defaults.items()) {
    if (list.contains(name)) continue;
    list[name] = quantity;
    added.push_back(name);
  }
  if (list.empty()) owner.erase(into);
  return sdk::join(added, ", ");
}

struct Checked {
  const std::string& type;
  const ResourceList& requests;
  const ResourceList& limits;
};

Quantity quantity_of(const json& value) {
  return Quantity::parse_json(value.dump()).value_or(Quantity());
}

// In thousandths if all of them fit, in units otherwise (requestLimitEnforcedValues).
struct Compared {
  Compared(const Quantity* asked, const Quantity* limited, const Quantity& bound) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1000;
    const auto units = [](const Quantity* of) { return of == nullptr ? 0 : of->value(); };
    const bool fine = units(asked) <= kMost && units(limited) <= kMost && bound.value() <= kMost;
    const auto value = [&](const Quantity* of) {
      return fine && of != nullptr ? of->milli_value() : units(of);
    };
    request = value(asked);
    limit = value(limited);
    enforced = value(&bound);
  }
  std::int64_t request = 0;
  std::int64_t limit = 0;
  std::int64_t enforced = 0;
};

// The failures of one list of bounds; `kind`: min, max or maxLimitRequestRatio.
void check_bounds(const json& item, const std::string& kind, const Checked& checked, bool claim,
                  std::set<std::string>& failures) {
  for (const auto& [name, value] : object_in(item, kind.c_str()).items()) {
    const Quantity bound = quantity_of(value);
    const Quantity* request = find_amount(checked.requests, name);
    const Quantity* limit = find_amount(checked.limits, name);
    const Compared is(request, limit, bound);
    const auto fails = [&](const std::string& why) {
      const std::string what = kind == "min"   ? "minimum " + name + " usage"
                               : kind == "max" ? "maximum " + name + " usage"
                                               : name + " max limit to request ratio";
      failures.insert(what + " per " + checked.type + " is " + bound.text() + why);
    };
    if (kind == "min") {
      if (request == nullptr) {
        fails(".  No request is specified");
      } else if (is.request < is.enforced) {
        fails(", but request is " + request->text());
      } else if (limit != nullptr && is.limit < is.enforced) {
        fails(", but limit is " + limit->text());
      }
    } else if (kind == "max") {
      if (claim ? request == nullptr : limit == nullptr) {
        fails(std::string(".  No ") + (claim ? "request" : "limit") + " is specified");
      } else if (limit != nullptr && is.limit > is.enforced) {
        fails(", but limit is " + limit->text());
      } else if (request != nullptr && is.request > is.enforced) {
        fails(", but request is " + request->text());
      }
    } else if (request == nullptr || is.request == 0) {
      fails(", but no request is specified or request is 0");
    } else if (limit == nullptr || is.limit == 0) {
      fails(", but no limit is specified or limit is 0");
    } else {
      const double ratio = static_cast<double>(is.limit) / static_cast<double>(is.request);
      if (ratio * 1000 > static_cast<double>(bound.milli_value())) {
        char shown[64];
        std::snprintf(shown, sizeof shown, "%f", ratio);
        fails(std::string(", but provided ratio is ") + shown);
      }
    }
  }
}

// NewAggregate: one alone as it is, several in brackets.
ApiResult<void> result_of(const std::set<std::string>& failures, const char* resource,
                          const json& object) {
  if (failures.empty()) return {};
  const std::string all = sdk::join(failures, ", ");
  return forbidden(resource, text_at(object.at("metadata"), "name"),
                   failures.size() == 1 ? all : "[" + all + "]");
}

}  // namespace

void set_limit_range_defaults(json& range) {
  const auto spec = range.find("spec");
  if (spec == range.end() || !spec->is_object()) return;
  const auto limits = spec->find("limits");
  if (limits == spec->end() || !limits->is_array()) return;
  for (json& limit : *limits) {
    if (!limit.is_object()) continue;
    for (const char* list : {"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"})
      settle_amounts(limit, list);
    if (text_at(limit, "type") != "Container") continue;
    add_missing(limit, "default", json(object_in(limit, "max")));
    add_missing(limit, "defaultRequest", json(object_in(limit, "default")));
    add_missing(limit, "defaultRequest", json(object_in(limit, "min")));
  }
}

void add_limit_range_defaults(const ObjectStore& store, json& pod) {
  for (const auto& range : limits_for(store, pod, {"Container"})) {
    json requests = json::object();
    json limits = json::object();
    for (const json& item : range) {
      requests.update(object_in(item, "defaultRequest"));
      limits.update(object_in(item, "default"));
    }
    std::vector<std::string> said;
    for (const char* list : {"containers", "initContainers"}) {
      const auto containers = pod["spec"].find(list);
      if (containers == pod["spec"].end() || !containers->is_array()) continue;
      const std::string kind = list == std::string("containers") ? "container" : "init container";
      for (json& container : *containers) {
        if (!container.is_object()) continue;
        json& resources = container["resources"];
        if (!resources.is_object()) resources = json::object();
        const std::string name = text_at(container, "name");
        const std::string limited = add_missing(resources, "limits", limits);
        const std::string requested = add_missing(resources, "requests", requests);
        if (!requested.empty()) said.push_back(requested + " request for " + kind + " " + name);
        if (!limited.empty()) said.push_back(limited + " limit for " + kind + " " + name);
      }
    }
    if (said.empty()) continue;
    json& annotations = pod["metadata"]["annotations"];
    if (!annotations.is_object()) annotations = json::object();
    annotations["kubernetes.io/limit-ranger"] = "LimitRanger plugin set: " + sdk::join(said, "; ");
  }
}

ApiResult<void> check_pod_limits(const ObjectStore& store, const json& pod,
                                 const PodResources& resources) {
  const auto ranges = limits_for(store, pod, {"Container", "Pod"});
  if (ranges.empty()) return {};
  ResourceOptions options;
  options.exclude_overhead = true;
  const ResourceList requests = pod_requests(resources, options);
  const ResourceList limits = pod_limits(resources, options);
  for (const auto& range : ranges) {
    std::set<std::string> failures;
    for (const json& item : range) {
      const std::string type = text_at(item, "type");
      for (const char* kind : {"min", "max", "maxLimitRequestRatio"}) {
        if (type == "Pod") {
          check_bounds(item, kind, {type, requests, limits}, false, failures);
          continue;
        }
        for (const auto* list : {&resources.containers, &resources.init_containers}) {
          for (const ContainerResources& each : *list) {
            check_bounds(item, kind, {type, each.requests, each.limits}, false, failures);
          }
        }
      }
    }
    if (auto within = result_of(failures, "pods", pod); !within) return within;
  }
  return {};
}

ApiResult<void> check_claim_limits(const ObjectStore& store, const json& claim) {
  const auto ranges = limits_for(store, claim, {"PersistentVolumeClaim"});
  if (ranges.empty()) return {};
  SymbolTable symbols;
  ResourceList requests;
  const json& asked = object_in(object_in(object_in(claim, "spec"), "resources"), "requests");
  for (const auto& [name, quantity] : asked.items()) {
    requests.push_back({symbols.intern(name), quantity_of(quantity)});
  }
  for (const auto& range : ranges) {
    std::set<std::string> failures;
    for (const json& item : range) {
      for (const char* kind : {"min", "max"}) {
        check_bounds(item, kind, {text_at(item, "type"), requests, {}}, true, failures);
      }
    }
    if (auto within = result_of(failures, "persistentvolumeclaims", claim); !within) return within;
  }
  return {};
}

}  // namespace plimsoll::sandbox
