#include "plugins/dynamicresources/objects/writing.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll::dra {
namespace {

using Json = nlohmann::json;

// Texts and lists only if they have anything: what is absent is not written.
void put(Json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}
void put(Json& object, const char* key, const std::vector<std::string>& texts) {
  if (!texts.empty()) object[key] = texts;
}

Json requirement_json(const NodeRequirement& from) {
  using Op = NodeRequirement::Op;
  static constexpr std::pair<Op, const char*> kOps[] = {
      {Op::kIn, "In"},         {Op::kNotIn, "NotIn"},
      {Op::kExists, "Exists"}, {Op::kDoesNotExist, "DoesNotExist"},
      {Op::kGt, "Gt"},         {Op::kLt, "Lt"}};
  Json json{{"key", from.key}};
  for (const auto& [op, name] : kOps) {
    if (op == from.op) json["operator"] = name;
  }
  put(json, "values", from.values);
  return json;
}

Json selector_json(const NodeSelector& from) {
  Json terms = Json::array();
  for (const NodeSelectorTerm& term : from.terms) {
    Json& json = terms.emplace_back(Json::object());
    for (const NodeRequirement& each : term.expressions) {
      json["matchExpressions"].push_back(requirement_json(each));
    }
    for (const NodeRequirement& each : term.fields) {
      json["matchFields"].push_back(requirement_json(each));
    }
  }
  return {{"nodeSelectorTerms", terms}};
}

Json toleration_json(const Toleration& from) {
  Json json = Json::object();
  put(json, "key", from.key);
  put(json, "operator", from.op);
  put(json, "value", from.value);
  put(json, "effect", from.effect);
  if (from.seconds) json["tolerationSeconds"] = *from.seconds;
  return json;
}

Json result_json(const DeviceResult& from) {
  Json json{{"request", from.request},
            {"driver", from.driver},
            {"pool", from.pool},
            {"device", from.device}};
  if (from.admin_access) json["adminAccess"] = true;
  for (const Toleration& each : from.tolerations) {
    json["tolerations"].push_back(toleration_json(each));
  }
  put(json, "shareID", from.share_id);
  for (const auto& [name, amount] : from.consumed_capacity) {
    json["consumedCapacity"][name] = amount.text();
  }
  put(json, "bindingConditions", from.binding_conditions);
  put(json, "bindingFailureConditions", from.binding_failure_conditions);
  return json;
}

Json config_json(const AllocatedConfig& from) {
  Json json{{"source", from.from_class ? "FromClass" : "FromClaim"},
            {"opaque", {{"driver", from.opaque.driver}}}};
  put(json, "requests", from.requests);
  if (!from.opaque.parameters.empty()) {
    json["opaque"]["parameters"] = Json::parse(from.opaque.parameters, nullptr, false);
  }
  return json;
}

}  // namespace

Json allocation_json(const Allocation& allocation) {
  Json devices = Json::object();
  for (const DeviceResult& each : allocation.results) {
    devices["results"].push_back(result_json(each));
  }
  for (const AllocatedConfig& each : allocation.config) {
    devices["config"].push_back(config_json(each));
  }
  Json json{{"devices", devices}};
  if (allocation.node_selector) json["nodeSelector"] = selector_json(*allocation.node_selector);
  return json;
}

Json extended_claim_json(const ExtendedAsk& ask, const std::string& pod_name,
                         const std::string& pod_uid) {
  Json requests = Json::array();
  for (const Request& each : ask.requests) {
    const DeviceRequest& exactly = each.alternatives.front();
    requests.push_back({{"name", each.name},
                        {"exactly",
                         {{"deviceClassName", exactly.class_name},
                          {"allocationMode", exactly.mode},
                          {"count", exactly.count}}}});
  }
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceClaim"},
          {"metadata",
           {{"generateName", pod_name + "-extended-resources-"},
            {"annotations", {{"resource.kubernetes.io/extended-resource-claim", "true"}}},
            {"finalizers", {kFinalizer}},
            {"ownerReferences",
             {{{"apiVersion", "v1"},
               {"kind", "Pod"},
               {"name", pod_name},
               {"uid", pod_uid},
               {"controller", true}}}}}},
          {"spec", {{"devices", {{"requests", requests}}}}}};
}

Json mappings_json(const ExtendedAsk& ask, const std::string& claim_name) {
  Json mappings = Json::array();
  for (const ExtendedMapping& each : ask.mappings) {
    mappings.push_back({{"containerName", each.container},
                        {"resourceName", each.resource},
                        {"requestName", each.request}});
  }
  return {{"resourceClaimName", claim_name}, {"requestMappings", mappings}};
}

Json footprint_json(const Footprint& footprint) {
  Json all = Json::array();
  for (const ClaimFootprint& claim : footprint) {
    Json& entry = all.emplace_back(Json{{"resourceClaimName", claim.claim}});
    put(entry, "containers", claim.containers);
    for (const auto& [resource, amount] : claim.mapped) {
      entry["mapping"].push_back({{"name", resource}, {"quantity", amount.text()}});
    }
    for (const auto& [resource, overhead] : claim.overhead) {
      Json& one = entry["overhead"].emplace_back(Json{{"name", resource}});
      if (overhead.per_pod) one["perPod"] = overhead.per_pod->text();
      if (overhead.per_container) one["perContainer"] = overhead.per_container->text();
    }
  }
  return all;
}

std::string claims_path(std::string_view ns) {
  return "/apis/resource.k8s.io/v1/namespaces/" + std::string(ns) + "/resourceclaims";
}

std::string claim_path(std::string_view ns, std::string_view name) {
  return claims_path(ns) + "/" + std::string(name);
}

}  // namespace plimsoll::dra
