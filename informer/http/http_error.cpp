// Turns answers and transport failures into errors.

#include <nlohmann/json.hpp>

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
             "the "
             "kubeconfig's user";
    case 403:
      return "; grant it with RBAC (a ClusterRole and ClusterRoleBinding for this user)";
    default:
      return {};
  }
}

// The server's own message. Requests that accept protobuf also get their errors in protobuf.
std::string message_of(const HttpResponse& response) {
  if (is_protobuf(response.body)) {
    const auto status = read_protobuf_status(response.body);
    return status ? std::string(status->message) : "in protobuf that cannot be read";
  }
  const auto body = nlohmann::json::parse(response.body, nullptr, false);
  if (body.is_object()) {
    const auto found = body.find("message");
    if (found != body.end() && found->is_string() &&
        !found->get_ref<const std::string&>().empty()) {
      return found->get<std::string>();
    }
  }
  return response.body.substr(0, 200);
}

std::optional<std::chrono::milliseconds> within_an_hour(std::int64_t seconds) {
  if (seconds <= 0 || seconds > 3600) return std::nullopt;
  return std::chrono::seconds(seconds);
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
  if (is_protobuf(response.body)) {
    const auto status = read_protobuf_status(response.body);
    if (!status) return std::nullopt;
    return within_an_hour(static_cast<std::int64_t>(status->retry_after_seconds));
  }
  const auto body = nlohmann::json::parse(response.body, nullptr, false);
  if (!body.is_object()) return std::nullopt;
  const auto details = body.find("details");
  if (details == body.end() || !details->is_object()) return std::nullopt;
  const auto seconds = details->find("retryAfterSeconds");
  if (seconds == details->end() || !seconds->is_number_integer()) return std::nullopt;
  return within_an_hour(seconds->get<std::int64_t>());
}

std::string url_encode(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

}  // namespace plimsoll::informer
