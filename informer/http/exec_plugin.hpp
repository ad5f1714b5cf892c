#pragma once
// Runs an exec credential plugin and parses its output (client.authentication.k8s.io
// ExecCredential).

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "framework/base/result.hpp"
#include "informer/http/kubeconfig.hpp"

namespace plimsoll::informer {

struct ExecCredential {
  std::string token;
  std::string client_certificate_pem;
  std::string client_key_pem;
  std::optional<std::chrono::system_clock::time_point> expires;  // unset: valid until rejected
};

// Runs the plugin of `access.exec` with KUBERNETES_EXEC_INFO set and standard input closed. Blocks
// until the plugin ends; it is killed at the deadline and when `stop` is requested. Fails with
// kUnauthorized (kCancelled after a stop). The message holds the command, its exit status, the end
// of its standard error, and the install hint if the command does not exist.
[[nodiscard]] Result<ExecCredential> run_exec_plugin(const ServerAccess& access,
                                                     std::stop_token stop,
                                                     std::chrono::milliseconds deadline);

// Parses the ExecCredential in a plugin's standard output. Any thread; does not block.
[[nodiscard]] Result<ExecCredential> parse_exec_credential(const std::string& text,
                                                           const std::string& api_version);

}  // namespace plimsoll::informer
