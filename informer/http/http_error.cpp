// Turns answers and transport failures into errors.

#include <curl/curl.h>

#include <memory>
#include <new>

#include "informer/http/http_client.hpp"
#include "informer/wire/protobuf_wire.hpp"

namespace plimsoll::informer {
namespace {

ErrorCode code_of(int status) {
  switch (status) {
    case 401:
    case 403:
      return ErrorCode::kUnauthorized;
    case 404:
      return ErrorCode::kNotFound;
    case 409:
      return ErrorCode::kConflict;
    case 410:
      return ErrorCode::kGone;
    case 429:
      return ErrorCode::kThrottled;
    case 408:
      return ErrorCode::kUnavailable;
    default:
      return status >= 500 || status < 400 ? ErrorCode::kUnavailable : ErrorCode::kInvalid;
  }
}

std::string hint_of(int status) {
  switch (status) {
    case 401:
      return "; the credential is missing, expired or revoked: renew the token or certificate of "
             "the kubeconfig's user";
    case 403:
      return "; grant it with RBAC (a ClusterRole and ClusterRoleBinding for this user)";
    default:
      return {};
  }
}

// The server's own message. Requests that accept protobuf also get their errors in protobuf.
std::string message_of(const HttpResponse& response) {
  const auto status = read_status(response.body);
  if (!status) return "in protobuf that cannot be read";
  if (!status->message.empty() || is_protobuf(response.body)) return status->message;
  return response.body.substr(0, 200);
}

}  // namespace

Error response_error(std::string_view what, const HttpResponse& response) {
  std::string message = message_of(response);
  while (!message.empty() && (message.back() == '\n' || message.back() == '\r')) {
    message.pop_back();
  }
  return Error{code_of(response.status),
               std::string(what) + ": the API server answered " + std::to_string(response.status) +
                   (message.empty() ? "" : " (" + message + ")") + hint_of(response.status)};
}

std::optional<std::chrono::milliseconds> retry_after(const HttpResponse& response) {
  if (response.retry_after) return response.retry_after;
  const auto status = read_status(response.body);
  if (!status || status->retry_after_seconds <= 0 || status->retry_after_seconds > 3600) {
    return std::nullopt;
  }
  return std::chrono::seconds(status->retry_after_seconds);
}

std::string url_encode(std::string_view text) {
  if (text.empty()) return {};
  const std::unique_ptr<char, decltype(&curl_free)> encoded(
      curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), curl_free);
  if (encoded == nullptr) throw std::bad_alloc();
  return encoded.get();
}

}  // namespace plimsoll::informer
