#include "lab/sandbox/apiserver/api_handler.hpp"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "framework/base/json_field.hpp"
#include "lab/sandbox/admission/object_defaults.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/store/field_rules.hpp"
#include "lab/sandbox/store/object_shape.hpp"
#include "lab/sandbox/store/patch.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

json metadata_of(const json& object) {
  const auto found = object.find("metadata");
  return found != object.end() && found->is_object() ? *found : json::object();
}

// Whether Kubernetes itself defines the kind: no dot in the group, or one word before .k8s.io.
bool is_builtin(const ResourceName& resource) {
  const size_t dot = resource.group.find('.');
  return dot == std::string::npos || resource.group.substr(dot) == ".k8s.io";
}

ObjectKey key_of(const Endpoint& endpoint, const Route& route) {
  return {endpoint.kind.namespaced ? route.ns : "", route.name};
}

// The object that a request leaves, or why it failed.
ApiResult<ApiResponse> answer(const Endpoint& endpoint, const ApiResult<ObjectPtr>& object,
                              int code = 200) {
  if (!object) return ApiFailure(object.error());
  return ApiResponse{code, endpoint.render(**object)};
}

}  // namespace

std::string Endpoint::render(const StoredObject& object, std::uint64_t version) const {
  const bool stamped = version != 0 && version != object.resource_version;
  if (api_version == kind.storage_api_version()) {
    return stamped ? object.text_at(version) : object.text;
  }
  json converted = json::parse(stamped ? object.text_at(version) : object.text);
  convert_object(converted, api_version);
  return json_text(converted);
}

ApiResponse ApiHandler::failure(const ApiStatus& status) {
  if (status.code == 404 && status.reason.empty()) {
    return {404, "404 page not found\n", "text/plain; charset=utf-8"};
  }
  return {status.code, to_status_json(status), "application/json", status.retry_after_seconds};
}

std::vector<ApiHandler::PendingRemoval> ApiHandler::take_pending_removals() {
  const std::lock_guard lock(removals_mutex_);
  return std::exchange(removals_, {});
}

std::variant<ApiResponse, WatchPlan> ApiHandler::handle(const Route& route,
                                                        const ApiRequest& request) {
  switch (route.area) {
    case Route::Area::kHealth:
      return ApiResponse{200, "ok", "text/plain; charset=utf-8"};
    case Route::Area::kVersion:
      return ApiResponse{200,
                         R"({"major":"1","minor":"37","gitVersion":"v1.37.0-plimsoll-sandbox"})"};
    case Route::Area::kDiscovery:
      return discovery(route);
    case Route::Area::kUnknown:
      return failure({404, "", ""});
    case Route::Area::kResource:
      break;
  }
  const bool creates = route.verb == "create" && route.name.empty();
  const auto endpoint = resolve(route, creates);
  if (!endpoint) return failure(endpoint.error());
  if (route.verb == "watch") {
    auto plan = plan_watch(*endpoint, route);
    if (!plan) return failure(plan.error());
    return std::move(*plan);
  }
  auto response = dispatch(*endpoint, route, request);
  return response ? std::move(*response) : failure(response.error());
}

ApiResult<Endpoint> ApiHandler::resolve(const Route& route, bool may_create) {
  ResourceName name{route.group, route.plural};
  if (name == ResourceName{"events.k8s.io", "events"} && route.version == "v1") name = kEvents;
  auto kind = store_.kind(name);
  const bool versioned =
      kind && (name == kEvents || std::find(kind->versions.begin(), kind->versions.end(),
                                            route.version) != kind->versions.end());
  if (!versioned && may_create) {
    KindInfo fresh{name, "", {route.version}, !route.ns.empty(), false};
    if (kind) fresh = *kind, fresh.versions = {route.version};
    store_.serve_kind(fresh);
    kind = store_.kind(name);
  } else if (!versioned) {
    return ApiFailure(ApiStatus{404, "", ""});
  }
  return Endpoint{std::move(*kind), api_version(route.group, route.version)};
}

ApiResult<ApiResponse> ApiHandler::dispatch(const Endpoint& endpoint, const Route& route,
                                            const ApiRequest& request) {
  if (endpoint.kind.namespaced && route.ns.empty() && route.verb != "list") {
    return ApiFailure(ApiStatus{404, "", ""});
  }
  const bool status = route.subresource == "status" && endpoint.kind.has_status;
  const bool binding =
      route.subresource == "binding" && endpoint.kind.resource == kPods && route.verb == "create";
  if (!route.subresource.empty() && !status && !binding) {
    return ApiFailure(ApiStatus{404, "", ""});
  }
  if (route.verb == "list") return list(endpoint, route);
  if (route.verb == "get") {
    return answer(endpoint, store_.get(endpoint.kind.resource, key_of(endpoint, route)));
  }
  json body = json::object();
  if (request.content_type.starts_with("application/vnd.kubernetes.protobuf")) {
    return ApiFailure(ApiStatus{415, "UnsupportedMediaType",
                                "the body of the request was in an unknown format - accepted media "
                                "types include: application/json"});
  }
  if (!request.body.empty()) {
    body = json::parse(request.body, nullptr, /*allow_exceptions=*/false);
    if (body.is_discarded()) {
      return bad_request("the body of the request is not valid JSON (only JSON is served here)");
    }
  }
  if (route.verb != "patch" && !body.is_object()) {
    return bad_request("the body of the request is not a JSON object");
  }
  if (binding) return bind(route, body);
  if (route.verb == "create" && route.name.empty()) return create(endpoint, route, std::move(body));
  if (route.verb == "update") return update(endpoint, route, body);
  if (route.verb == "patch" && !route.name.empty()) return patch(endpoint, route, request, body);
  if (route.verb == "delete" && !status) return remove(endpoint, route, body);
  if (route.verb == "deletecollection") return remove_collection(endpoint, route);
  return ApiFailure(ApiStatus{405, "MethodNotAllowed",
                              "the server does not allow this method on the requested resource"});
}

ApiResult<ApiResponse> ApiHandler::create(const Endpoint& endpoint, const Route& route,
                                          json object) {
  const std::string given = text_at(object, "kind");
  const std::string version = text_at(object, "apiVersion");
  if (!version.empty() && version != endpoint.api_version) {
    return bad_request("the API version in the data (" + version +
                       ") does not match the expected API version (" + endpoint.api_version + ")");
  }
  if (!endpoint.kind.kind.empty()) set_default(object, "kind", endpoint.kind.kind);
  if (endpoint.kind.kind.empty() && !given.empty()) {
    store_.name_kind(endpoint.kind.resource, given);
  } else if (!given.empty() && given != endpoint.kind.kind) {
    return bad_request("the object's kind \"" + given + "\" is not the kind of this URL, \"" +
                       endpoint.kind.kind + "\"");
  }
  json& metadata = object["metadata"];
  if (metadata.is_null()) metadata = json::object();
  if (auto shape = check_shape(object); !shape) return ApiFailure(shape.error());
  if (endpoint.kind.namespaced) {
    const std::string ns = text_at(metadata, "namespace");
    if (!ns.empty() && ns != route.ns) {
      return bad_request(
          "the namespace of the provided object does not match the namespace sent "
          "on the request");
    }
  }
  const auto fields = check_fields(endpoint.kind, object, Missing::kRefused);
  if (!fields && fields.error().code == 400) return ApiFailure(fields.error());
  if (endpoint.kind.namespaced) {
    metadata["namespace"] = route.ns;
    const auto there =
        check_namespace(store_, endpoint.kind.resource, text_at(metadata, "name"), route.ns);
    if (!there) return ApiFailure(there.error());
  }
  if (!fields) return ApiFailure(fields.error());
  if (!text_at(metadata, "resourceVersion").empty()) {
    return bad_request("resourceVersion should not be set on objects to be created");
  }
  for (const char* field : {"uid", "deletionTimestamp", "generation"}) metadata.erase(field);
  // Status is what controllers write; nodes write their own.
  if (endpoint.kind.has_status && endpoint.kind.resource != kNodes) object.erase("status");
  if (auto admitted = admit_object(store_, endpoint.kind.resource, object); !admitted) {
    return ApiFailure(admitted.error());
  }
  object["apiVersion"] = endpoint.api_version;
  if (endpoint.kind.resource == kPods) {
    if (auto admitted = admission_.admit(object); !admitted) return ApiFailure(admitted.error());
  }
  return answer(endpoint, store_.create(endpoint.kind.resource, std::move(object)), 201);
}

ApiResult<ApiResponse> ApiHandler::bind(const Route& route, const json& binding) {
  const json metadata = metadata_of(binding);
  const std::string named = text_at(metadata, "name");
  if (!named.empty() && named != route.name) {
    return bad_request("name in URL does not match name in Binding object");
  }
  const Preconditions preconditions{text_at(metadata, "uid"), text_at(metadata, "resourceVersion")};
  json labelled = binding;
  labelled["metadata"] = metadata;
  const auto target = binding.find("target");
  if (target != binding.end()) {
    add_topology_labels(store_, text_at(*target, "name"), labelled["metadata"]);
  }
  const auto bound =
      store_.modify(kPods, {route.ns, route.name}, preconditions,
                    [&](json& pod) -> ApiResult<void> { return apply_binding(pod, labelled); });
  if (!bound) return ApiFailure(bound.error());
  return ApiResponse{201, to_status_json({201, "", ""})};
}

namespace {

// Limits what a write may change: the status subresource cannot change spec and owners, the main
// resource cannot change status.
ApiResult<void> confine(const Endpoint& endpoint, bool status, const json& before, json& after) {
  if (auto shape = check_shape(after); !shape) return shape;
  if (!after["metadata"].is_object()) return bad_request("metadata is not a JSON object");
  settle_texts(after["metadata"]);
  const auto restore = [](json& target, const json& source, const char* key) {
    if (source.contains(key))
      target[key] = source[key];
    else
      target.erase(key);
  };
  after["apiVersion"] = before.at("apiVersion");
  after["kind"] = before.value("kind", endpoint.kind.kind);
  if (status) {
    restore(after, before, "spec");
    restore(after["metadata"], before.at("metadata"), "ownerReferences");
  } else if (endpoint.kind.has_status) {
    restore(after, before, "status");
  }
  restore(after["metadata"], before.at("metadata"), "deletionTimestamp");
  restore(after["metadata"], before.at("metadata"), "deletionGracePeriodSeconds");
  if (endpoint.kind.resource == kPods) return check_pod_update(before, after);
  return {};
}

}  // namespace

ApiResult<ApiResponse> ApiHandler::replace(const Endpoint& endpoint, const Route& route,
                                           const json& metadata, const Next& next) {
  const std::string version = text_at(metadata, "resourceVersion");
  const bool status = route.subresource == "status";
  const auto change = [&](json& stored) -> ApiResult<void> {
    if (!version.empty() && text_at(stored["metadata"], "resourceVersion") != version) {
      return conflict(endpoint.kind.resource.qualified(), route.name,
                      "the object has been modified; please apply your changes to the latest "
                      "version and try again");
    }
    auto changed = next(stored);
    if (!changed) return ApiFailure(changed.error());
    convert_object(*changed, endpoint.kind.storage_api_version());
    auto confined = confine(endpoint, status, stored, *changed);
    if (confined) stored = std::move(*changed);
    return confined;
  };
  return answer(endpoint, store_.modify(endpoint.kind.resource, key_of(endpoint, route),
                                        {text_at(metadata, "uid"), ""}, change));
}

ApiResult<ApiResponse> ApiHandler::update(const Endpoint& endpoint, const Route& route,
                                          const json& object) {
  const json metadata = metadata_of(object);
  if (text_at(metadata, "name") != route.name) {
    return bad_request("the name of the object (" + text_at(metadata, "name") +
                       ") does not match the name on the URL (" + route.name + ")");
  }
  return replace(endpoint, route, metadata, [&](const json&) -> ApiResult<json> {
    json next = object;
    next["apiVersion"] = endpoint.api_version;
    return next;
  });
}

ApiResult<ApiResponse> ApiHandler::patch(const Endpoint& endpoint, const Route& route,
                                         const ApiRequest& request, const json& patch) {
  const json metadata = patch.is_object() ? metadata_of(patch) : json::object();
  return replace(endpoint, route, metadata, [&](const json& stored) -> ApiResult<json> {
    json next = stored;
    convert_object(next, endpoint.api_version);
    auto applied =
        apply_patch(next, request.content_type, patch, is_builtin(endpoint.kind.resource));
    if (!applied) return ApiFailure(applied.error());
    return next;
  });
}

ApiResult<ApiResponse> ApiHandler::remove(const Endpoint& endpoint, const Route& route,
                                          const json& options) {
  Preconditions preconditions;
  if (const auto found = options.find("preconditions"); found != options.end()) {
    preconditions = {text_at(*found, "uid"), text_at(*found, "resourceVersion")};
  }
  if (endpoint.kind.resource == kPods && options_.graceful_pod_deletion) {
    return remove_pod_gracefully(endpoint, route, preconditions, options);
  }
  auto removed = answer(
      endpoint, store_.remove(endpoint.kind.resource, key_of(endpoint, route), preconditions));
  if (!removed || endpoint.kind.resource == kPods) return removed;
  return ApiResponse{200, to_status_json({200, "", ""})};
}

ApiResult<ApiResponse> ApiHandler::remove_pod_gracefully(const Endpoint& endpoint,
                                                         const Route& route,
                                                         const Preconditions& preconditions,
                                                         const json& options) {
  const ObjectKey key = key_of(endpoint, route);
  const auto current = store_.get(kPods, key);
  if (!current) return ApiFailure(current.error());
  const json pod = (*current)->parse();
  const json spec = pod.value("spec", json::object());
  std::int64_t grace = spec.value("terminationGracePeriodSeconds", std::int64_t{30});
  if (const auto found = options.find("gracePeriodSeconds");
      found != options.end() && found->is_number_integer()) {
    grace = found->get<std::int64_t>();
  }
  const auto asked = route.number("gracePeriodSeconds");
  if (!asked) return ApiFailure(asked.error());
  if (!route.text("gracePeriodSeconds").empty()) grace = static_cast<std::int64_t>(*asked);
  if (grace <= 0 || text_at(spec, "nodeName").empty() || is_terminal(pod)) {
    return answer(endpoint, store_.remove(kPods, key, preconditions));
  }
  const auto marked = store_.mark_deleted(kPods, key, preconditions, std::chrono::seconds(grace));
  if (marked) {
    const std::lock_guard lock(removals_mutex_);
    removals_.push_back({key, (*marked)->uid, std::chrono::seconds(grace)});
  }
  return answer(endpoint, marked);
}

}  // namespace plimsoll::sandbox
