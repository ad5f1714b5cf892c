#include "cli/ask/what_if.hpp"

#include <nlohmann/json.hpp>

#include "config/manifest.hpp"
#include "framework/api/decode/decode.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;

constexpr const char* kUid = "plimsoll.io/what-if";

std::string text_or(const json& object, const char* field, const char* otherwise) {
  const auto found = object.find(field);
  const bool there = found != object.end() && found->is_string() && *found != "";
  return there ? found->get<std::string>() : otherwise;
}

// As the API server does (SetDefaults_Pod): a container requests what it is limited to, unless it
// says otherwise. What has another shape than it should is left to the decoder.
void default_requests(json& spec) {
  for (const char* list : {"initContainers", "containers"}) {
    const auto containers = spec.find(list);
    if (containers == spec.end() || !containers->is_array()) continue;
    for (json& container : *containers) {
      if (!container.is_object() || !container.contains("resources")) continue;
      json& resources = container["resources"];
      if (!resources.is_object() || !resources.contains("limits")) continue;
      const json limits = resources["limits"];
      json& requests = resources["requests"];
      if (!limits.is_object() || !(requests.is_null() || requests.is_object())) continue;
      for (const auto& [name, amount] : limits.items()) {
        if (!requests.contains(name)) requests[name] = amount;
      }
    }
  }
}

}  // namespace

Result<PodRef> pod_of_manifest(std::string_view text, SymbolTable& symbols) {
  const auto objects = config::parse_manifests(text, "pod");
  if (!objects) return fail(ErrorCode::kInvalid, objects.error().message);
  if (objects->size() != 1)
    return fail(ErrorCode::kInvalid,
                "one object is wanted: a Pod, or a Deployment or the like that makes pods");
  json object = json::parse(objects->front().json, nullptr, false);
  const json::json_pointer pod_template("/spec/template");
  const std::string ns =
      object.is_object() && object.contains("metadata") && object["metadata"].is_object()
          ? text_or(object["metadata"], "namespace", "default")
          : "default";
  if (objects->front().kind != "Pod") {
    if (!object.contains(pod_template) || !object[pod_template].is_object())
      return fail(ErrorCode::kInvalid,
                  "a " + objects->front().kind + " makes no pods: a Pod is wanted");
    object = json(object[pod_template]);
  }
  json& metadata = object["metadata"];
  json& spec = object["spec"];
  if (metadata.is_null()) metadata = json::object();
  if (!metadata.is_object() || !spec.is_object())
    return fail(ErrorCode::kInvalid, "metadata and spec must be objects");
  metadata["name"] = text_or(metadata, "name", "what-if");
  metadata["namespace"] = ns;
  metadata["uid"] = kUid;
  for (const char* field : {"deletionTimestamp", "ownerReferences", "managedFields"})
    metadata.erase(field);
  spec.erase("nodeName");
  default_requests(spec);
  spec["schedulerName"] = text_or(spec, "schedulerName", "default-scheduler");
  object.erase("status");
  return decode_pod(object.dump(-1, ' ', false, json::error_handler_t::replace), symbols);
}

}  // namespace plimsoll::cli
