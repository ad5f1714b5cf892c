// What answers and transport failures mean, in words.

#include <nlohmann/json.hpp>

#include "informer/http_client.hpp"

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

}  // namespace

Error response_error(std::string_view what, const HttpResponse& response) {
  std::string message;
  const auto body = nlohmann::json::parse(response.body, nullptr, false);
  if (body.is_object()) {
    const auto found = body.find("message");
    if (found != body.end() && found->is_string()) message = found->get<std::string>();
  }
  if (message.empty()) message = response.body.substr(0, 200);
  while (!message.empty() && (message.back() == '\n' || message.back() == '\r')) {
    message.pop_back();
  }
  return Error{code_of(response.status),
               std::string(what) + ": the API server answered " + std::to_string(response.status) +
                   (message.empty() ? "" : " (" + message + ")") + hint_of(response.status)};
}

std::optional<std::chrono::milliseconds> retry_after(const HttpResponse& response) {
  if (response.retry_after) return response.retry_after;
  const auto body = nlohmann::json::parse(response.body, nullptr, false);
  if (!body.is_object()) return std::nullopt;
  const auto details = body.find("details");
  if (details == body.end() || !details->is_object()) return std::nullopt;
  const auto seconds = details->find("retryAfterSeconds");
  if (seconds == details->end() || !seconds->is_number_integer()) return std::nullopt;
  const auto value = seconds->get<std::int64_t>();
  if (value <= 0 || value > 3600) return std::nullopt;
  return std::chrono::seconds(value);
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
