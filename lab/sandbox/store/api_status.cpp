#include "lab/sandbox/store/api_status.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll::sandbox {
namespace {

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

}  // namespace

ApiFailure not_found(std::string_view resource, std::string_view name) {
  return ApiFailure(
      ApiStatus{404, "NotFound", std::string(resource) + " " + quoted(name) + " not found"});
}

ApiFailure already_exists(std::string_view resource, std::string_view name) {
  return ApiFailure(ApiStatus{409, "AlreadyExists",
                              std::string(resource) + " " + quoted(name) + " already exists"});
}

ApiFailure conflict(std::string_view resource, std::string_view name, std::string_view why) {
  return ApiFailure(ApiStatus{409, "Conflict",
                              "Operation cannot be fulfilled on " + std::string(resource) + " " +
                                  quoted(name) + ": " + std::string(why)});
}

ApiFailure precondition_failed(std::string_view resource, std::string_view ns,
                               std::string_view name, std::string_view field,
                               std::string_view wanted, std::string_view found) {
  std::string why = "StorageError: invalid object, Code: 4, Key: /registry/";
  why.append(resource).append("/");
  if (!ns.empty()) why.append(ns).append("/");
  why.append(name).append(", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ");
  why.append(field).append(" in precondition: ").append(wanted);
  why.append(", ").append(field).append(" in object meta: ").append(found);
  return conflict(resource, name, why);
}

ApiFailure forbidden(std::string_view resource, std::string_view name, std::string_view why) {
  return ApiFailure(
      ApiStatus{403, "Forbidden",
                std::string(resource) + " " + quoted(name) + " is forbidden: " + std::string(why)});
}

ApiFailure bad_request(std::string message) {
  return ApiFailure(ApiStatus{400, "BadRequest", std::move(message)});
}

ApiFailure invalid(std::string_view kind, std::string_view name, std::string_view why) {
  return ApiFailure(ApiStatus{
      422, "Invalid", std::string(kind) + " " + quoted(name) + " is invalid: " + std::string(why)});
}

ApiFailure too_old_resource_version(std::uint64_t asked, std::uint64_t oldest) {
  return ApiFailure(ApiStatus{
      410, "Expired",
      "too old resource version: " + std::to_string(asked) + " (" + std::to_string(oldest) + ")"});
}

ApiFailure too_large_resource_version(std::uint64_t asked, std::uint64_t current) {
  return ApiFailure(ApiStatus{504, "Timeout",
                              "Timeout: Too large resource version: " + std::to_string(asked) +
                                  ", current: " + std::to_string(current),
                              1});
}

std::string to_status_json(const ApiStatus& status) {
  nlohmann::json object = {{"kind", "Status"},
                           {"apiVersion", "v1"},
                           {"metadata", nlohmann::json::object()},
                           {"status", status.code < 400 ? "Success" : "Failure"},
                           {"code", status.code}};
  if (!status.message.empty()) object["message"] = status.message;
  if (!status.reason.empty()) object["reason"] = status.reason;
  if (status.retry_after_seconds > 0) {
    object["details"]["retryAfterSeconds"] = status.retry_after_seconds;
  }
  if (status.code == 504) {
    object["details"]["causes"] = {
        {{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}}};
  }
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace plimsoll::sandbox
