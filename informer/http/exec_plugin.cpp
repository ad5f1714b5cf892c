#include "informer/http/exec_plugin.hpp"

#include <plimsoll/time_text.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "framework/api/decode/decoder.hpp"
#include "framework/base/json_field.hpp"
#include "framework/base/run_program.hpp"
#include "informer/http/base64.hpp"

namespace plimsoll::informer {
namespace {

using nlohmann::json;

// KUBERNETES_EXEC_INFO: the ExecCredential that tells the plugin about its caller.
std::string exec_info(const ServerAccess& access) {
  const ExecPlugin& plugin = *access.exec;
  json spec = {{"interactive", false}};
  if (plugin.provide_cluster_info) {
    json cluster = {{"server", access.server}};
    if (!access.tls_server_name.empty()) cluster["tls-server-name"] = access.tls_server_name;
    if (!access.proxy_url.empty()) cluster["proxy-url"] = access.proxy_url;
    if (!access.certificate_authority_pem.empty()) {
      cluster["certificate-authority-data"] = encode_base64(access.certificate_authority_pem);
    }
    auto config = json::parse(plugin.cluster_config_json, nullptr, false);
    if (!config.is_discarded()) cluster["config"] = config;
    spec["cluster"] = cluster;
  }
  return json{{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", spec}}
      .dump();
}

// Our environment, the plugin's additions, and KUBERNETES_EXEC_INFO.
std::vector<std::string> exec_environment(const ServerAccess& access) {
  std::vector<std::string> added;
  for (const auto& [name, value] : access.exec->env) added.push_back(name + "=" + value);
  added.push_back("KUBERNETES_EXEC_INFO=" + exec_info(access));
  std::vector<std::string> all = own_environment();
  std::erase_if(all, [&added](const std::string& entry) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    return std::ranges::any_of(added,
                               [&](const std::string& other) { return other.starts_with(name); });
  });
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

std::string tail(const std::string& text) {
  std::string end = text.size() > 500 ? "..." + text.substr(text.size() - 500) : text;
  while (!end.empty() && (end.back() == '\n' || end.back() == ' ')) end.pop_back();
  return end;
}

// How a run that failed is told.
std::string problem_of(const ProgramEnd& end, const ServerAccess& access,
                       std::chrono::milliseconds limit) {
  const std::string& hint = access.exec->install_hint;
  switch (end.how) {
    case ProgramEnd::How::kNotStarted: {
      std::string text =
          ": cannot run it: " + std::string(std::strerror(end.code)) + " (" + access.source + ")";
      if (end.code == ENOENT)
        text += "; " + (hint.empty() ? "install it or correct exec.command" : hint);
      return text;
    }
    case ProgramEnd::How::kTimedOut:
      return " did not finish within " + std::to_string(limit.count() / 1000) + " s; it was killed";
    case ProgramEnd::How::kPrintedTooMuch:
      return " printed more than 1 MiB; it was killed";
    case ProgramEnd::How::kKilled:
      return " was killed by signal " + std::to_string(end.code) + ": " + tail(end.err);
    default:
      break;
  }
  return " failed with exit status " + std::to_string(end.code) + ": " + tail(end.err) +
         (end.code == 127 && !hint.empty() ? "; " + hint : "");
}

// A time outside of the clock's range becomes the clock's first or last moment: the year 1 is long
// ago.
std::optional<std::chrono::system_clock::time_point> parse_expiry(const std::string& text) {
  using Point = std::chrono::system_clock::time_point;
  using std::chrono::milliseconds;
  const auto ms = sdk::parse_time(text);
  if (!ms) return std::nullopt;
  const auto in_ms = [](Point point) {
    return std::chrono::duration_cast<milliseconds>(point.time_since_epoch());
  };
  return Point(std::clamp(milliseconds(*ms), in_ms(Point::min()), in_ms(Point::max())));
}

}  // namespace

Result<ExecCredential> parse_exec_credential(const std::string& text,
                                             const std::string& api_version) {
  const json root = json::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object()) {
    return fail(ErrorCode::kUnauthorized,
                "it printed no JSON object; expected an ExecCredential on standard output");
  }
  if (text_at(root, "kind") != "ExecCredential" || text_at(root, "apiVersion") != api_version) {
    return fail(ErrorCode::kUnauthorized, "it printed kind '" + text_at(root, "kind") + "' of '" +
                                              text_at(root, "apiVersion") +
                                              "'; expected ExecCredential of '" + api_version +
                                              "', as exec.apiVersion says");
  }
  const auto status = root.find("status");
  if (status == root.end() || !status->is_object()) {
    return fail(ErrorCode::kUnauthorized, "its ExecCredential has no status");
  }
  ExecCredential credential;
  credential.token = text_at(*status, "token");
  credential.client_certificate_pem = text_at(*status, "clientCertificateData");
  credential.client_key_pem = text_at(*status, "clientKeyData");
  if (credential.token.empty() && credential.client_certificate_pem.empty()) {
    return fail(ErrorCode::kUnauthorized,
                "its ExecCredential has neither status.token nor status.clientCertificateData");
  }
  if (auto sound = check_header_text(credential.token, "status.token of its ExecCredential");
      !sound) {
    return fail(ErrorCode::kUnauthorized, sound.error().message);
  }
  if (credential.client_certificate_pem.empty() != credential.client_key_pem.empty()) {
    return fail(ErrorCode::kUnauthorized,
                "its ExecCredential has only one of status.clientCertificateData and "
                "status.clientKeyData; both are needed");
  }
  const std::string expires = text_at(*status, "expirationTimestamp");
  if (!expires.empty()) {
    credential.expires = parse_expiry(expires);
    if (!credential.expires) {
      return fail(ErrorCode::kUnauthorized,
                  "status.expirationTimestamp '" + expires + "' is not an RFC 3339 time");
    }
  }
  return credential;
}

Result<ExecCredential> run_exec_plugin(const ServerAccess& access, std::stop_token stop,
                                       std::chrono::milliseconds limit) {
  const std::string context = "exec credential plugin '" + access.exec->command + "'";
  const ExecPlugin& plugin = *access.exec;
  const ProgramEnd end =
      run_program({plugin.command, plugin.args, exec_environment(access), limit}, stop);
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, context + ": stopped");
  if (end.how != ProgramEnd::How::kExited || end.code != 0) {
    return fail(ErrorCode::kUnauthorized, context + problem_of(end, access, limit));
  }
  auto credential = parse_exec_credential(end.out, access.exec->api_version);
  if (!credential) return fail(credential.error().within(context));
  return credential;
}

}  // namespace plimsoll::informer
