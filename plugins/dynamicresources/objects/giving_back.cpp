#include "plugins/dynamicresources/objects/giving_back.hpp"

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "plugins/dynamicresources/objects/writing.hpp"

namespace plimsoll::dra {
namespace {

using Json = nlohmann::json;

constexpr const char* kStrategicPatch = "application/strategic-merge-patch+json";
// As often as a claim that others change at the same time is tried again.
constexpr int kMostTries = 10;
// After so long what could not be taken back is tried again: a queue's longest backoff.
constexpr int64_t kTriedAgainMs = 10'000;
constexpr int kConflict = 409;
constexpr int kNotFound = 404;

bool is_done(int status) {
  return status >= 200 && status <= 299;
}

// `otherwise`: "claim ns/name keeps its devices"
std::function<void(int, std::string_view)> warn_of(const sdk::Host& host, std::string otherwise) {
  return [host, otherwise = std::move(otherwise)](int status, std::string_view body) {
    if (!is_done(status)) host.warn(otherwise + ": " + failure_text(status, body));
  };
}

// No event does it.
void try_again_later(const sdk::Host& host, const std::string& pod_uid) {
  if (pod_uid.empty()) return;
  host.run_on_loop(kTriedAgainMs, [host, pod_uid] { host.activate(pod_uid); });
}

}  // namespace

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json preconditions(const std::string& uid, const std::string& version) {
  return {{"uid", uid}, {"resourceVersion", version}};
}

sdk::Host::ApiRequest pod_status_request(std::string_view ns, std::string_view name,
                                         std::string_view uid, Json status) {
  const Json body{{"metadata", {{"uid", std::string(uid)}}}, {"status", std::move(status)}};
  return {"PATCH",
          "/api/v1/namespaces/" + std::string(ns) + "/pods/" + std::string(name) + "/status",
          kMergePatch, text_of(body)};
}

void forget_amounts(const sdk::Host& host, std::string_view ns, std::string_view name,
                    std::string_view uid) {
  host.api_request(
      pod_status_request(ns, name, uid, {{"nodeAllocatableResourceClaimStatuses", Json::array()}}),
      [warn = warn_of(host, "pod " + std::string(ns) + "/" + std::string(name) +
                                " keeps amounts of claims in its status")](int status,
                                                                           std::string_view body) {
        if (status != kNotFound) warn(status, body);
      });
}

void release(const sdk::Host& host, const ClaimId& claim, std::string_view pod_uid) {
  const Json body{
      {"metadata", {{"uid", claim.uid}}},
      {"status", {{"reservedFor", {{{"$patch", "delete"}, {"uid", std::string(pod_uid)}}}}}}};
  host.api_request(
      {"PATCH", claim_path(claim.ns, claim.name) + "/status", kStrategicPatch, text_of(body)},
      warn_of(host, "claim " + claim.text() + " stays reserved for a pod that was not bound"));
}

void deallocate(const sdk::Host& host, const ClaimId& claim, const std::string& version,
                const std::string& why, std::string_view waiting) {
  const Json without{
      {"metadata", preconditions(claim.uid, version)},
      {"status", {{"allocation", nullptr}, {"reservedFor", nullptr}, {"devices", nullptr}}}};
  host.api_request(
      {"PATCH", claim_path(claim.ns, claim.name) + "/status", kMergePatch, text_of(without)},
      [host, warn = warn_of(host, "claim " + claim.text() + " keeps devices " + why),
       pod = std::string(waiting)](int status, std::string_view body) {
        warn(status, body);
        if (!is_done(status)) try_again_later(host, pod);
      });
}

void delete_claim(const sdk::Host& host, const ClaimId& claim, std::string_view waiting,
                  int tries) {
  const std::string path = claim_path(claim.ns, claim.name);
  // Whether it is over; a conflict is tried again from the beginning.
  const auto over = [host, claim, tries, pod = std::string(waiting)](int status,
                                                                     std::string_view body) {
    if (is_done(status)) return false;
    if (status == kConflict && tries < kMostTries) {
      host.run_on_loop(0, [host, claim, pod, tries] { delete_claim(host, claim, pod, tries + 1); });
    } else if (status != kNotFound) {
      try_again_later(host, pod);
      host.warn("claim " + claim.text() +
                " for extended resources cannot be removed: " + failure_text(status, body));
    }
    return true;
  };
  const Json unprotected{{"metadata", {{"uid", claim.uid}, {"finalizers", nullptr}}}};
  host.api_request({"PATCH", path, kMergePatch, text_of(unprotected)},
                   [host, path, over, uid = claim.uid](int status, std::string_view body) {
                     if (over(status, body)) return;
                     const Json options{{"preconditions", {{"uid", uid}}}};
                     host.api_request({"DELETE", path, "application/json", text_of(options)}, over);
                   });
}

std::string failure_text(int status, std::string_view body) {
  if (status == 0) return std::string(body);
  const Json answer = Json::parse(body, nullptr, false);
  if (answer.is_object() && answer.contains("message") && answer["message"].is_string()) {
    return answer["message"].get<std::string>();  // of a Status of Kubernetes
  }
  return "the API server answered " + std::to_string(status);
}

}  // namespace plimsoll::dra
