#include "informer/http/kubeconfig_user.hpp"

namespace plimsoll::informer {
namespace {

Result<ExecPlugin> read_exec(const YAML::Node& exec, const std::string& where,
                             const std::string& file) {
  ExecPlugin plugin;
  if (!exec.IsMap()) return fail(ErrorCode::kInvalid, where + ": 'exec' must be a map");
  plugin.command = text_of(exec, "command");
  if (plugin.command.empty()) {
    return fail(ErrorCode::kInvalid, where + ": 'exec' has no 'command'");
  }
  if (plugin.command.find('/') != std::string::npos) plugin.command = resolve(plugin.command, file);
  plugin.api_version = text_of(exec, "apiVersion");
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    return fail(ErrorCode::kInvalid, where + ": exec.apiVersion is '" + plugin.api_version +
                                         "'; supported are client.authentication.k8s.io/v1 and "
                                         "client.authentication.k8s.io/v1beta1");
  }
  const std::string mode = text_of(exec, "interactiveMode");
  if (mode == "Always") {
    return fail(ErrorCode::kInvalid,
                where +
                    ": exec.interactiveMode is Always, but a scheduler has no terminal to ask "
                    "on; use Never or IfAvailable");
  }
  if (!mode.empty() && mode != "Never" && mode != "IfAvailable") {
    return fail(ErrorCode::kInvalid, where + ": exec.interactiveMode '" + mode +
                                         "' is unknown; use Never or IfAvailable");
  }
  if (mode.empty() && plugin.api_version.ends_with("/v1")) {
    return fail(ErrorCode::kInvalid,
                where + ": exec.interactiveMode must be set (Never or IfAvailable) with " +
                    plugin.api_version);
  }
  const YAML::Node args = exec["args"];
  if (args.IsDefined() && args.IsSequence()) {
    for (const auto& arg : args) plugin.args.push_back(arg.Scalar());
  }
  const YAML::Node env = exec["env"];
  if (env.IsDefined() && env.IsSequence()) {
    for (const auto& variable : env) {
      const std::string name = variable.IsMap() ? text_of(variable, "name") : std::string();
      if (name.empty()) {
        return fail(ErrorCode::kInvalid, where + ": an entry of exec.env has no name");
      }
      plugin.env.emplace_back(name, text_of(variable, "value"));
    }
  }
  plugin.install_hint = text_of(exec, "installHint");
  plugin.provide_cluster_info = is_true(exec, "provideClusterInfo");
  return plugin;
}

Result<void> read_impersonation(const YAML::Node& user, const std::string& where,
                                ServerAccess& access) {
  const std::string as = text_of(user, "as");
  if (!as.empty()) access.impersonation_headers.push_back("Impersonate-User: " + as);
  const std::string uid = text_of(user, "as-uid");
  if (!uid.empty()) access.impersonation_headers.push_back("Impersonate-Uid: " + uid);
  const YAML::Node groups = user["as-groups"];
  if (groups.IsDefined() && groups.IsSequence()) {
    for (const auto& group : groups) {
      access.impersonation_headers.push_back("Impersonate-Group: " + group.Scalar());
    }
  }
  for (const std::string& header : access.impersonation_headers) {
    if (auto sound = check_header_text(header, where + ": as, as-uid or as-groups"); !sound) {
      return sound;
    }
  }
  if (!access.impersonation_headers.empty() && as.empty()) {
    return fail(ErrorCode::kInvalid, where + " sets as-uid or as-groups without 'as'");
  }
  return {};
}

}  // namespace

Result<void> read_user(const KubeconfigEntry& entry, const std::string& name,
                       ServerAccess& access) {
  const std::string where = "user '" + name + "' in " + entry.file;
  const YAML::Node& user = entry.body;
  if (user["auth-provider"].IsDefined()) {
    return fail(ErrorCode::kInvalid, where +
                                         " uses auth-provider, which Kubernetes removed in 1.26; "
                                         "use an exec credential plugin");
  }
  auto certificate = load_pem(entry, "client-certificate", where);
  if (!certificate) return fail(certificate.error());
  auto key = load_pem(entry, "client-key", where);
  if (!key) return fail(key.error());
  if (certificate->text.empty() != key->text.empty()) {
    return fail(ErrorCode::kInvalid,
                where + " has a " + (key->text.empty() ? "client-certificate" : "client-key") +
                    " but no " + (key->text.empty() ? "client-key" : "client-certificate") +
                    "; both are needed");
  }
  access.client_certificate_pem = std::move(certificate->text);
  access.client_certificate_file = std::move(certificate->file);
  access.client_key_pem = std::move(key->text);
  access.client_key_file = std::move(key->file);
  access.token = text_of(user, "token");
  if (auto sound = check_header_text(access.token, where + ": token"); !sound) return sound;
  access.token_file = resolve(text_of(user, "tokenFile"), entry.file);
  access.username = text_of(user, "username");
  access.password = text_of(user, "password");
  const bool has_token = !access.token.empty() || !access.token_file.empty();
  if (has_token && !access.username.empty()) {
    return fail(ErrorCode::kInvalid,
                where + " has both a token and a username; a request can carry only one of them");
  }
  if (!access.token_file.empty()) {
    auto token = read_file(access.token_file, where + ": tokenFile");
    if (!token) return fail(token.error());
  }
  const YAML::Node exec = user["exec"];
  if (exec.IsDefined() && !exec.IsNull()) {
    auto plugin = read_exec(exec, where, entry.file);
    if (!plugin) return fail(plugin.error());
    if (has_token || !access.username.empty()) {
      return fail(ErrorCode::kInvalid,
                  where + " has 'exec' and also a token or username; remove one of the two");
    }
    access.exec = std::move(*plugin);
  }
  return read_impersonation(user, where, access);
}

}  // namespace plimsoll::informer
