#include "sandbox/apiserver/api_handler.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>

#include "framework/base/json_field.hpp"
#include "sandbox/apiserver/object_shape.hpp"
#include "sandbox/apiserver/patch.hpp"
#include "sandbox/apiserver/pod_rules.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxOpenLists = 32;  // snapshots of paged lists kept at a time

std::string query_text(const Route& route, const char* key) {
  const auto found = route.query.find(key);
  return found == route.query.end() ? std::string() : found->second;
}

bool query_flag(const Route& route, const char* key) {
  const std::string text = query_text(route, key);
  return text == "true" || text == "1";
}

ApiResult<std::uint64_t> query_number(const Route& route, const char* key) {
  const std::string text = query_text(route, key);
  std::uint64_t number = 0;
  if (text.empty()) return number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return bad_request(std::string(key) + ": Invalid value: \"" + text +
                       "\": expected a non-negative integer");
  }
  return number;
}

json metadata_of(const json& object) {
  const auto found = object.find("metadata");
  return found != object.end() && found->is_object() ? *found : json::object();
}

// Whether Kubernetes itself defines the kind (no dot in the group, or a built-in *.k8s.io).
bool is_builtin(const ResourceName& resource) {
  return resource.group.empty() || resource.group.find('.') == std::string::npos ||
         resource == kLeases || resource.group == "events.k8s.io";
}

ObjectKey key_of(const Endpoint& endpoint, const Route& route) {
  return {endpoint.kind.namespaced ? route.ns : "", route.name};
}

ApiResponse success(const std::string& message = {}) {
  ApiStatus status{200, "", message};
  return {200, to_status_json(status)};
}

}  // namespace

// The remaining pages of paged lists, by continue token.
struct ApiHandler::ListPages {
  struct Page {
    std::string token;
    std::vector<ObjectPtr> rest;
    std::uint64_t version;
  };
  std::mutex mutex;
  std::uint64_t next_token = 1;
  std::deque<Page> pages;
  std::vector<PendingRemoval> removals;
};

ApiHandler::ApiHandler(ObjectStore& store, HandlerOptions options)
    : store_(store), options_(options), pages_(std::make_unique<ListPages>()) {}

ApiHandler::~ApiHandler() = default;

bool Selection::matches(const StoredObject& object) const {
  if (!ns.empty() && object.key.ns != ns) return false;
  return labels.matches(object.labels) && fields.matches(object.fields);
}

std::string Endpoint::render(const StoredObject& object, std::uint64_t version) const {
  const bool stamped = version != 0 && version != object.resource_version;
  if (api_version == kind.storage_api_version()) {
    return stamped ? object.text_at(version) : object.text;
  }
  json converted = json::parse(stamped ? object.text_at(version) : object.text);
  convert_object(converted, api_version);
  return converted.dump(-1, ' ', false, json::error_handler_t::replace);
}

ApiResponse ApiHandler::failure(const ApiStatus& status) {
  if (status.code == 404 && status.reason.empty()) {
    return {404, "404 page not found\n", "text/plain; charset=utf-8"};
  }
  return {status.code, to_status_json(status), "application/json", status.retry_after_seconds};
}

std::vector<ApiHandler::PendingRemoval> ApiHandler::take_pending_removals() {
  const std::lock_guard lock(pages_->mutex);
  return std::exchange(pages_->removals, {});
}

std::variant<ApiResponse, WatchPlan> ApiHandler::handle(const Route& route,
                                                        const ApiRequest& request) {
  switch (route.area) {
    case Route::Area::kHealth:
      return ApiResponse{200, "ok", "text/plain; charset=utf-8"};
    case Route::Area::kVersion:
      return ApiResponse{200,
                         R"({"major":"1","minor":"36","gitVersion":"v1.36.0-plimsoll-sandbox"})"};
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
    const auto object = store_.get(endpoint.kind.resource, key_of(endpoint, route));
    if (!object) return ApiFailure(object.error());
    return ApiResponse{200, endpoint.render(**object)};
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

ApiResult<Selection> ApiHandler::selection_of(const Endpoint& endpoint, const Route& route) const {
  Selection selection;
  if (endpoint.kind.namespaced) selection.ns = route.ns;
  auto labels = LabelSelector::parse(query_text(route, "labelSelector"));
  if (!labels) return ApiFailure(labels.error());
  auto fields = FieldSelector::parse(query_text(route, "fieldSelector"));
  if (!fields) return ApiFailure(fields.error());
  const std::string unknown = fields->first_unsupported(selectable_fields(endpoint.kind.resource));
  if (!unknown.empty()) return bad_request("field label not supported: " + unknown);
  selection.labels = std::move(*labels);
  selection.fields = std::move(*fields);
  return selection;
}

ApiResult<ApiResponse> ApiHandler::list(const Endpoint& endpoint, const Route& route) {
  const auto selection = selection_of(endpoint, route);
  if (!selection) return ApiFailure(selection.error());
  const auto limit = query_number(route, "limit");
  if (!limit) return ApiFailure(limit.error());
  const auto version = query_number(route, "resourceVersion");
  if (!version) return ApiFailure(version.error());
  const std::string token = query_text(route, "continue");
  // The watch cache answers resourceVersion=0 without paging.
  const bool paged = *limit > 0 && (!token.empty() || query_text(route, "resourceVersion") != "0");

  ListPages::Page page;
  if (token.empty()) {
    const auto all = selection->ns.empty() ? store_.list(endpoint.kind.resource)
                                           : store_.list(endpoint.kind.resource, selection->ns);
    if (!all) return ApiFailure(all.error());
    if (*version > all->resource_version) {
      return too_large_resource_version(*version, all->resource_version);
    }
    page.version = all->resource_version;
    for (const ObjectPtr& object : all->objects) {
      if (selection->matches(*object)) page.rest.push_back(object);
    }
  } else {
    const std::lock_guard lock(pages_->mutex);
    const auto found = std::find_if(pages_->pages.begin(), pages_->pages.end(),
                                    [&](const auto& open) { return open.token == token; });
    if (found == pages_->pages.end()) {
      return ApiFailure(ApiStatus{410, "Expired",
                                  "The provided continue parameter is too old to display a "
                                  "consistent list result. You can start a new list without the "
                                  "continue parameter."});
    }
    page = *found;
  }

  const std::size_t take =
      paged ? std::min<std::size_t>(*limit, page.rest.size()) : page.rest.size();
  json metadata = {{"resourceVersion", std::to_string(page.version)}};
  std::string body = R"({"kind":)" + json(endpoint.kind.kind + "List").dump() +
                     R"(,"apiVersion":)" + json(endpoint.api_version).dump();
  if (take < page.rest.size()) {
    const std::lock_guard lock(pages_->mutex);
    ListPages::Page rest{"plimsoll-" + std::to_string(pages_->next_token++),
                         {page.rest.begin() + static_cast<std::ptrdiff_t>(take), page.rest.end()},
                         page.version};
    metadata["continue"] = rest.token;
    metadata["remainingItemCount"] = rest.rest.size();
    pages_->pages.push_back(std::move(rest));
    if (pages_->pages.size() > kMaxOpenLists) pages_->pages.pop_front();
  }
  std::size_t size = body.size() + 256;
  for (std::size_t i = 0; i < take; ++i) size += page.rest[i]->text.size() + 1;
  body.reserve(size);
  body += R"(,"metadata":)" + metadata.dump() + R"(,"items":[)";
  for (std::size_t i = 0; i < take; ++i) {
    if (i > 0) body += ',';
    body += endpoint.render(*page.rest[i]);
  }
  body += "]}";
  return ApiResponse{200, std::move(body)};
}

ApiResult<WatchPlan> ApiHandler::plan_watch(const Endpoint& endpoint, const Route& route) const {
  const auto selection = selection_of(endpoint, route);
  if (!selection) return ApiFailure(selection.error());
  const auto version = query_number(route, "resourceVersion");
  if (!version) return ApiFailure(version.error());
  const auto timeout = query_number(route, "timeoutSeconds");
  if (!timeout) return ApiFailure(timeout.error());
  WatchPlan plan;
  plan.endpoint = endpoint;
  plan.selection = *selection;
  plan.bookmarks = query_flag(route, "allowWatchBookmarks");
  plan.timeout = std::chrono::seconds(*timeout > 0 ? *timeout : 1800);
  plan.from = *version;
  const bool streaming = query_flag(route, "sendInitialEvents");
  if (streaming && !options_.watch_list) {
    return invalid("ListOptions.meta.k8s.io", "",
                   "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless "
                   "the WatchList feature gate is enabled");
  }
  if (streaming && query_text(route, "resourceVersionMatch") != "NotOlderThan") {
    return invalid("ListOptions.meta.k8s.io", "",
                   "resourceVersionMatch: Forbidden: sendInitialEvents requires setting "
                   "resourceVersionMatch to NotOlderThan");
  }
  if (!streaming && *version > 0) {
    // Refuse invalid watches at once, as kube-apiserver does before it sends a header.
    const auto reachable = store_.events_after(endpoint.kind.resource, *version, 0);
    if (!reachable) return ApiFailure(reachable.error());
    return plan;
  }
  const auto all = selection->ns.empty() ? store_.list(endpoint.kind.resource)
                                         : store_.list(endpoint.kind.resource, selection->ns);
  if (!all) return ApiFailure(all.error());
  if (*version > all->resource_version) {
    return too_large_resource_version(*version, all->resource_version);
  }
  for (const ObjectPtr& object : all->objects) {
    if (selection->matches(*object)) plan.initial.push_back(object);
  }
  plan.from = all->resource_version;
  plan.initial_events_end = streaming && plan.bookmarks;
  return plan;
}

void ApiHandler::ensure_namespace(const std::string& name) {
  if (store_.get(kNamespaces, {"", name})) return;
  // Two requests may both get here; the second one finds that it already exists, which is fine.
  (void)store_.create(
      kNamespaces,
      {{"metadata", {{"name", name}, {"labels", {{"kubernetes.io/metadata.name", name}}}}},
       {"status", {{"phase", "Active"}}}});
}

ApiResult<ApiResponse> ApiHandler::create(const Endpoint& endpoint, const Route& route,
                                          json object) {
  const std::string given = text_at(object, "kind");
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
    metadata["namespace"] = route.ns;
    ensure_namespace(route.ns);
  }
  if (!text_at(metadata, "resourceVersion").empty()) {
    return bad_request("resourceVersion should not be set on objects to be created");
  }
  metadata.erase("deletionTimestamp");
  metadata.erase("generation");
  object["apiVersion"] = endpoint.api_version;
  if (endpoint.kind.resource == kPods) {
    if (!object["spec"].is_object() || !object["spec"].value("containers", json()).is_array()) {
      return invalid("Pod", text_at(metadata, "name"), "spec.containers: Required value");
    }
    object.erase("status");
    set_pod_defaults(object);
  }
  const auto created = store_.create(endpoint.kind.resource, std::move(object));
  if (!created) return ApiFailure(created.error());
  return ApiResponse{201, endpoint.render(**created)};
}

ApiResult<ApiResponse> ApiHandler::bind(const Route& route, const json& binding) {
  const json metadata = metadata_of(binding);
  const std::string named = text_at(metadata, "name");
  if (!named.empty() && named != route.name) {
    return bad_request("name in URL does not match name in Binding object");
  }
  const Preconditions preconditions{text_at(metadata, "uid"), text_at(metadata, "resourceVersion")};
  const auto bound =
      store_.modify(kPods, {route.ns, route.name}, preconditions,
                    [&](json& pod) -> ApiResult<void> { return apply_binding(pod, binding); });
  if (!bound) return ApiFailure(bound.error());
  return ApiResponse{201, to_status_json({201, "", ""})};
}

namespace {

// Limits what a write may change: the status subresource cannot change spec and owners, the main
// resource cannot change status.
ApiResult<void> confine(const Endpoint& endpoint, bool status, const json& before, json& after) {
  if (auto shape = check_shape(after); !shape) return shape;
  if (!after["metadata"].is_object()) return bad_request("metadata is not a JSON object");
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

ApiResult<ApiResponse> ApiHandler::update(const Endpoint& endpoint, const Route& route,
                                          const json& object) {
  const json metadata = metadata_of(object);
  if (text_at(metadata, "name") != route.name) {
    return bad_request("the name of the object (" + text_at(metadata, "name") +
                       ") does not match the name on the URL (" + route.name + ")");
  }
  const std::string uid = text_at(metadata, "uid");
  const std::string version = text_at(metadata, "resourceVersion");
  const std::string resource = endpoint.kind.resource.qualified();
  const bool status = route.subresource == "status";
  const auto updated = store_.modify(
      endpoint.kind.resource, key_of(endpoint, route), {uid, ""},
      [&](json& stored) -> ApiResult<void> {
        if (!version.empty() && text_at(stored["metadata"], "resourceVersion") != version) {
          return conflict(resource, route.name,
                          "the object has been modified; please apply your changes to the latest "
                          "version and try again");
        }
        json next = object;
        next["apiVersion"] = endpoint.api_version;
        convert_object(next, endpoint.kind.storage_api_version());
        auto confined = confine(endpoint, status, stored, next);
        if (confined) stored = std::move(next);
        return confined;
      });
  if (!updated) return ApiFailure(updated.error());
  return ApiResponse{200, endpoint.render(**updated)};
}

ApiResult<ApiResponse> ApiHandler::patch(const Endpoint& endpoint, const Route& route,
                                         const ApiRequest& request, const json& patch) {
  const json metadata = patch.is_object() ? metadata_of(patch) : json::object();
  const std::string version = text_at(metadata, "resourceVersion");
  const bool status = route.subresource == "status";
  const auto patched = store_.modify(
      endpoint.kind.resource, key_of(endpoint, route), {text_at(metadata, "uid"), ""},
      [&](json& stored) -> ApiResult<void> {
        if (!version.empty() && text_at(stored["metadata"], "resourceVersion") != version) {
          return conflict(endpoint.kind.resource.qualified(), route.name,
                          "the object has been modified; please apply your changes to the latest "
                          "version and try again");
        }
        json next = stored;
        convert_object(next, endpoint.api_version);
        auto applied =
            apply_patch(next, request.content_type, patch, is_builtin(endpoint.kind.resource));
        if (!applied) return applied;
        convert_object(next, endpoint.kind.storage_api_version());
        auto confined = confine(endpoint, status, stored, next);
        if (confined) stored = std::move(next);
        return confined;
      });
  if (!patched) return ApiFailure(patched.error());
  return ApiResponse{200, endpoint.render(**patched)};
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
  const auto removed =
      store_.remove(endpoint.kind.resource, key_of(endpoint, route), preconditions);
  if (!removed) return ApiFailure(removed.error());
  return endpoint.kind.resource == kPods ? ApiResponse{200, endpoint.render(**removed)} : success();
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
  const auto asked = query_number(route, "gracePeriodSeconds");
  if (!asked) return ApiFailure(asked.error());
  if (!query_text(route, "gracePeriodSeconds").empty()) grace = static_cast<std::int64_t>(*asked);
  if (grace <= 0 || text_at(spec, "nodeName").empty() || is_terminal(pod)) {
    const auto removed = store_.remove(kPods, key, preconditions);
    if (!removed) return ApiFailure(removed.error());
    return ApiResponse{200, endpoint.render(**removed)};
  }
  const auto marked =
      store_.modify(kPods, key, preconditions, [grace](json& object) -> ApiResult<void> {
        json& metadata = object["metadata"];
        if (!metadata.contains("deletionTimestamp")) {
          metadata["deletionTimestamp"] = timestamp_now();
          metadata["deletionGracePeriodSeconds"] = grace;
        }
        return {};
      });
  if (!marked) return ApiFailure(marked.error());
  const std::lock_guard lock(pages_->mutex);
  pages_->removals.push_back({key, (*marked)->uid, std::chrono::seconds(grace)});
  return ApiResponse{200, endpoint.render(**marked)};
}

ApiResult<ApiResponse> ApiHandler::remove_collection(const Endpoint& endpoint, const Route& route) {
  const auto selection = selection_of(endpoint, route);
  if (!selection) return ApiFailure(selection.error());
  const auto all = store_.list(endpoint.kind.resource);
  if (!all) return ApiFailure(all.error());
  for (const ObjectPtr& object : all->objects) {
    if (!selection->matches(*object)) continue;
    const auto removed = store_.remove(endpoint.kind.resource, object->key);
    if (!removed && removed.error().code != 404) return ApiFailure(removed.error());
  }
  return success();
}

}  // namespace plimsoll::sandbox
