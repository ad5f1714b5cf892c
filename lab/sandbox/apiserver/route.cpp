// Request targets: routes, queries, and the discovery documents.

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "framework/base/split.hpp"
#include "lab/sandbox/apiserver/api_handler.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

std::string percent_decode(std::string_view part, bool plus_is_space) {
  std::string text(part);
  if (text.empty()) return text;
  if (plus_is_space) std::replace(text.begin(), text.end(), '+', ' ');
  int size = 0;
  const std::unique_ptr<char, decltype(&curl_free)> decoded(
      curl_easy_unescape(nullptr, text.data(), static_cast<int>(text.size()), &size), curl_free);
  if (decoded == nullptr) throw std::bad_alloc();
  return {decoded.get(), static_cast<std::size_t>(size)};
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  for (const std::string& part : split(path, "/")) {
    if (!part.empty()) parts.push_back(percent_decode(part, false));
  }
  return parts;
}

std::map<std::string, std::string> parse_query(std::string_view text) {
  std::map<std::string, std::string> query;
  for (const std::string_view pair : split(text, "&")) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto value = pair.substr(std::min(equals + 1, pair.size()));
    query[percent_decode(pair.substr(0, equals), true)] = percent_decode(value, true);
  }
  return query;
}

std::string verb_of(std::string_view method, const Route& route) {
  if (method == "GET") {
    if (!route.name.empty()) return "get";
    return route.flag("watch") ? "watch" : "list";
  }
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return route.name.empty() ? "deletecollection" : "delete";
  return {};
}

}  // namespace

std::string Route::resource_and_subresource() const {
  return subresource.empty() ? plural : plural + "/" + subresource;
}

std::string Route::text(const char* key) const {
  const auto found = query.find(key);
  return found == query.end() ? std::string() : found->second;
}

bool Route::flag(const char* key) const {
  const std::string value = text(key);
  return value == "true" || value == "1";
}

ApiResult<std::uint64_t> Route::number(const char* key) const {
  const std::string value = text(key);
  std::uint64_t number = 0;
  if (value.empty()) return number;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) {
    return bad_request(std::string(key) + ": Invalid value: \"" + value +
                       "\": expected a non-negative integer");
  }
  return number;
}

Route parse_route(std::string_view method, std::string_view target) {
  Route route;
  const std::size_t mark = target.find('?');
  route.path = std::string(target.substr(0, mark));
  if (mark != std::string_view::npos) route.query = parse_query(target.substr(mark + 1));
  std::vector<std::string> parts = split_path(route.path);
  if (parts.empty()) return route;
  const std::string& root = parts[0];
  if (root == "healthz" || root == "livez" || root == "readyz") route.area = Route::Area::kHealth;
  if (root == "version") route.area = Route::Area::kVersion;
  if (root != "api" && root != "apis") return route;
  const std::size_t prefix = root == "api" ? 2 : 3;
  if (parts.size() <= prefix) {
    route.area = Route::Area::kDiscovery;
    if (root == "apis" && parts.size() > 1) route.group = parts[1];
    if (parts.size() == prefix) route.version = parts[prefix - 1];
    return route;
  }
  route.area = Route::Area::kResource;
  if (root == "apis") route.group = parts[1];
  route.version = parts[prefix - 1];
  std::size_t at = prefix;
  // /namespaces/NAME/PLURAL...; /namespaces/NAME and its status are the Namespace object itself.
  if (parts[at] == "namespaces" && parts.size() > at + 2 && parts[at + 2] != "status" &&
      parts[at + 2] != "finalize") {
    route.ns = parts[at + 1];
    at += 2;
  }
  route.plural = parts[at];
  if (parts.size() > at + 1) route.name = parts[at + 1];
  if (parts.size() > at + 2) route.subresource = parts[at + 2];
  if (parts.size() > at + 3) route.area = Route::Area::kUnknown;
  route.verb = verb_of(method, route);
  return route;
}

ApiResponse ApiHandler::discovery(const Route& route) const {
  const std::vector<KindInfo> kinds = store_.kinds();
  const bool core = route.path.starts_with("/api/") || route.path == "/api";
  json document;
  if (core && route.version.empty()) {
    document = {{"kind", "APIVersions"}, {"versions", {"v1"}}};
  } else if (!route.version.empty()) {
    document = {{"kind", "APIResourceList"},
                {"apiVersion", "v1"},
                {"groupVersion", api_version(route.group, route.version)},
                {"resources", json::array()}};
    const std::string stored_group = route.group == "events.k8s.io" ? "" : route.group;
    for (const KindInfo& kind : kinds) {
      const bool events = kind.resource == kEvents;
      if (kind.resource.group != stored_group || (route.group == "events.k8s.io" && !events))
        continue;
      document["resources"].push_back(
          {{"name", kind.resource.plural},
           {"singularName", ""},
           {"kind", kind.kind},
           {"namespaced", kind.namespaced},
           {"verbs",
            {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}}});
    }
    if (document["resources"].empty()) {
      return failure({404, "", ""});
    }
  } else {
    std::map<std::string, json> groups;
    groups["events.k8s.io"] = json::array({"v1"});
    for (const KindInfo& kind : kinds) {
      if (kind.resource.group.empty()) continue;
      json& versions = groups[kind.resource.group];
      for (const std::string& version : kind.versions) {
        if (std::find(versions.begin(), versions.end(), json(version)) == versions.end()) {
          versions.push_back(version);
        }
      }
    }
    document = {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", json::array()}};
    for (const auto& [group, versions] : groups) {
      if (!route.group.empty() && route.group != group) continue;
      json entry = {{"name", group}, {"versions", json::array()}};
      for (const json& version : versions) {
        entry["versions"].push_back(
            {{"groupVersion", group + "/" + version.get<std::string>()}, {"version", version}});
      }
      entry["preferredVersion"] = entry["versions"].front();
      document["groups"].push_back(std::move(entry));
    }
    if (!route.group.empty()) {
      if (document["groups"].empty()) return failure({404, "", ""});
      json group = std::move(document["groups"].front());
      group.update({{"kind", "APIGroup"}, {"apiVersion", "v1"}});
      document = std::move(group);
    }
  }
  return {200, document.dump()};
}

}  // namespace plimsoll::sandbox
