#include "informer/write/pod_answer.hpp"

#include <nlohmann/json.hpp>

#include "framework/base/json_field.hpp"

namespace plimsoll::informer {
namespace {

using nlohmann::json;

const json& child(const json& object, const char* key) {
  static const json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found != object.end() ? *found : kNothing;
}

}  // namespace

std::string pod_path(const std::string& ns, const std::string& name) {
  return "/api/v1/namespaces/" + url_encode(ns) + "/pods/" + url_encode(name);
}

std::optional<PodAnswer> read_pod_answer(std::string_view body) {
  const auto pod = json::parse(body, nullptr, false);
  const json& metadata = child(pod, "metadata");
  PodAnswer answer;
  answer.uid = text_at(metadata, "uid");
  if (answer.uid.empty()) return std::nullopt;
  answer.resource_version = text_at(metadata, "resourceVersion");
  answer.node = text_at(child(pod, "spec"), "nodeName");
  answer.deleting = !text_at(metadata, "deletionTimestamp").empty();
  for (const auto& [key, value] : child(metadata, "annotations").items()) {
    if (value.is_string()) answer.annotations[key] = value.get<std::string>();
  }
  return answer;
}

bool answers_pod(const HttpResponse& response) {
  return response.status == 404 || (response.ok() && read_pod_answer(response.body));
}

}  // namespace plimsoll::informer
