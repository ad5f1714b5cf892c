// Requests about many objects: lists, watches, deletions of collections.

#include <algorithm>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>

#include "lab/sandbox/apiserver/api_handler.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxOpenLists = 32;  // snapshots of paged lists kept at a time

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
};

ApiHandler::ApiHandler(ObjectStore& store, HandlerOptions options)
    : store_(store), admission_(store), options_(options), pages_(std::make_unique<ListPages>()) {}

ApiHandler::~ApiHandler() = default;

bool Selection::matches(const StoredObject& object) const {
  if (!ns.empty() && object.key.ns != ns) return false;
  return labels.matches(object.labels) && fields.matches(object.fields);
}

ApiResult<Selection> ApiHandler::selection_of(const Endpoint& endpoint, const Route& route) const {
  Selection selection;
  if (endpoint.kind.namespaced) selection.ns = route.ns;
  auto labels = LabelSelector::parse(route.text("labelSelector"));
  if (!labels) return ApiFailure(labels.error());
  auto fields = FieldSelector::parse(route.text("fieldSelector"));
  if (!fields) return ApiFailure(fields.error());
  const std::string unknown = fields->first_unsupported(selectable_fields(endpoint.kind.resource));
  if (!unknown.empty()) return bad_request("field label not supported: " + unknown);
  selection.labels = std::move(*labels);
  selection.fields = std::move(*fields);
  return selection;
}

ApiResult<ApiHandler::Snapshot> ApiHandler::snapshot(const Endpoint& endpoint,
                                                     const Selection& selection,
                                                     std::uint64_t version) const {
  const auto all = selection.ns.empty() ? store_.list(endpoint.kind.resource)
                                        : store_.list(endpoint.kind.resource, selection.ns);
  if (!all) return ApiFailure(all.error());
  if (version > all->resource_version) {
    return too_large_resource_version(version, all->resource_version);
  }
  Snapshot selected;
  selected.version = all->resource_version;
  for (const ObjectPtr& object : all->objects) {
    if (selection.matches(*object)) selected.objects.push_back(object);
  }
  return selected;
}

ApiResult<ApiResponse> ApiHandler::list(const Endpoint& endpoint, const Route& route) {
  const auto selection = selection_of(endpoint, route);
  if (!selection) return ApiFailure(selection.error());
  const auto limit = route.number("limit");
  if (!limit) return ApiFailure(limit.error());
  const auto version = route.number("resourceVersion");
  if (!version) return ApiFailure(version.error());
  const std::string token = route.text("continue");
  // The watch cache answers resourceVersion=0 without paging.
  const bool paged = *limit > 0 && (!token.empty() || route.text("resourceVersion") != "0");

  ListPages::Page page;
  if (token.empty()) {
    auto all = snapshot(endpoint, *selection, *version);
    if (!all) return ApiFailure(all.error());
    page.version = all->version;
    page.rest = std::move(all->objects);
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
  const auto version = route.number("resourceVersion");
  if (!version) return ApiFailure(version.error());
  const auto timeout = route.number("timeoutSeconds");
  if (!timeout) return ApiFailure(timeout.error());
  WatchPlan plan;
  plan.endpoint = endpoint;
  plan.selection = *selection;
  plan.bookmarks = route.flag("allowWatchBookmarks");
  plan.timeout = std::chrono::seconds(*timeout > 0 ? *timeout : 1800);
  plan.from = *version;
  const bool streaming = route.flag("sendInitialEvents");
  if (streaming && !options_.watch_list) {
    return invalid("ListOptions.meta.k8s.io", "",
                   "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless "
                   "the WatchList feature gate is enabled");
  }
  if (streaming && route.text("resourceVersionMatch") != "NotOlderThan") {
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
  auto all = snapshot(endpoint, *selection, *version);
  if (!all) return ApiFailure(all.error());
  plan.initial = std::move(all->objects);
  plan.from = all->version;
  plan.initial_events_end = streaming && plan.bookmarks;
  return plan;
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
  return ApiResponse{200, to_status_json({200, "", ""})};
}

}  // namespace plimsoll::sandbox
