#include "informer/http/kubeconfig.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "framework/base/log.hpp"
#include "informer/http/kubeconfig_files.hpp"
#include "informer/http/kubeconfig_user.hpp"

namespace plimsoll::informer {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

nlohmann::json yaml_to_json(const YAML::Node& node) {
  if (node.IsMap()) {
    auto object = nlohmann::json::object();
    for (const auto& field : node) object[field.first.Scalar()] = yaml_to_json(field.second);
    return object;
  }
  if (node.IsSequence()) {
    auto array = nlohmann::json::array();
    for (const auto& element : node) array.push_back(yaml_to_json(element));
    return array;
  }
  if (!node.IsScalar()) return nullptr;
  if (node.Tag() != "!") {  // "!" marks a quoted scalar
    auto plain = nlohmann::json::parse(node.Scalar(), nullptr, false);
    if (!plain.is_discarded() && plain.is_primitive()) return plain;
  }
  return node.Scalar();
}

// The cluster's extension that is passed to exec plugins.
std::string exec_cluster_config(const YAML::Node& cluster) {
  const YAML::Node extensions = cluster["extensions"];
  if (!extensions.IsDefined() || !extensions.IsSequence()) return {};
  for (const auto& extension : extensions) {
    if (!extension.IsMap()) continue;
    const YAML::Node& view = extension;
    if (text_of(view, "name") != "client.authentication.k8s.io/exec") continue;
    const YAML::Node body = view["extension"];
    if (body.IsDefined()) return yaml_to_json(body).dump();
  }
  return {};
}

Result<void> read_cluster(const KubeconfigEntry& entry, const std::string& name,
                          ServerAccess& access) {
  const std::string where = "cluster '" + name + "' in " + entry.file;
  access.server = text_of(entry.body, "server");
  while (!access.server.empty() && access.server.back() == '/') access.server.pop_back();
  if (access.server.empty()) {
    return fail(ErrorCode::kInvalid,
                where +
                    " has no 'server'; set it to the API server's URL, for example "
                    "https://10.0.0.1:6443");
  }
  const bool has_scheme = access.server.find("://") != std::string::npos;
  const bool is_url = access.server.starts_with("https://") || access.server.starts_with("http://");
  if (has_scheme ? !is_url : access.server.find('/') != std::string::npos) {
    return fail(ErrorCode::kInvalid, where + ": server '" + access.server +
                                         "' must be a URL that starts with https:// or http://, or "
                                         "host:port");
  }
  auto authority = load_pem(entry, "certificate-authority", where);
  if (!authority) return fail(authority.error());
  access.certificate_authority_pem = std::move(authority->text);
  access.certificate_authority_file = std::move(authority->file);
  access.tls_server_name = text_of(entry.body, "tls-server-name");
  access.proxy_url = text_of(entry.body, "proxy-url");
  if (is_true(entry.body, "insecure-skip-tls-verify")) {
    return fail(ErrorCode::kInvalid,
                where +
                    " sets insecure-skip-tls-verify: true, so anybody could pose as the API "
                    "server, receive the credential and decide where pods run; remove it and set "
                    "certificate-authority");
  }
  return {};
}

// Credentials sent without TLS could be read and used by anybody on the way.
void drop_credentials(ServerAccess& access) {
  ServerAccess kept;
  kept.server = access.server;
  kept.source = access.source;
  kept.default_namespace = access.default_namespace;
  kept.proxy_url = access.proxy_url;
  kept.impersonation_headers = access.impersonation_headers;
  const bool had_any = access.exec || !access.client_certificate_pem.empty() ||
                       !access.token.empty() || !access.token_file.empty() ||
                       !access.username.empty();
  if (had_any) {
    log_warn("the API server is spoken to without TLS, so no credential is sent",
             {{"server", access.server},
              {"source", access.source},
              {"advice", "set 'server' to a URL that starts with https://"}});
  }
  access = std::move(kept);
}

Result<ServerAccess> select_context(const Kubeconfig& merged, const KubeconfigOptions& options) {
  const std::string name = options.context.empty() ? merged.current_context : options.context;
  if (name.empty()) {
    return fail(ErrorCode::kInvalid, "kubeconfig " + merged.files +
                                         " has no current-context; choose one with: kubectl config "
                                         "use-context NAME (" +
                                         names_of(merged.contexts) + ")");
  }
  const KubeconfigEntry* context = find_entry(merged.contexts, name);
  if (context == nullptr) {
    return fail(ErrorCode::kNotFound, "kubeconfig " + merged.files + " has no context '" + name +
                                          "'; " + names_of(merged.contexts));
  }
  const std::string cluster_name = text_of(context->body, "cluster");
  const std::string user_name = text_of(context->body, "user");
  const KubeconfigEntry* cluster = find_entry(merged.clusters, cluster_name);
  if (cluster == nullptr) {
    return fail(ErrorCode::kNotFound, "context '" + name + "' in " + context->file +
                                          " names the cluster '" + cluster_name +
                                          "', which is not defined; " + names_of(merged.clusters));
  }
  ServerAccess access;
  access.source = "context '" + name + "' of kubeconfig " + context->file;
  if (auto read = read_cluster(*cluster, cluster_name, access); !read) {
    return fail(read.error());
  }
  if (!user_name.empty()) {
    const KubeconfigEntry* user = find_entry(merged.users, user_name);
    if (user == nullptr) {
      return fail(ErrorCode::kNotFound, "context '" + name + "' in " + context->file +
                                            " names the user '" + user_name +
                                            "', which is not defined; " + names_of(merged.users));
    }
    if (auto read = read_user(*user, user_name, access); !read) return fail(read.error());
    if (access.exec) access.exec->cluster_config_json = exec_cluster_config(cluster->body);
  }
  const std::string ns = text_of(context->body, "namespace");
  if (!ns.empty()) access.default_namespace = ns;
  if (access.server.find("://") == std::string::npos) {
    const bool tls =
        !access.certificate_authority_pem.empty() || !access.client_certificate_pem.empty();
    access.server = (tls ? "https://" : "http://") + access.server;
  }
  if (!access.server.starts_with("https://")) drop_credentials(access);
  return access;
}

}  // namespace

Result<void> check_header_text(std::string_view text, const std::string& what) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::none_of(text.begin(), text.end(), is_control)) return {};
  return fail(ErrorCode::kInvalid,
              what +
                  " has a line break or another control character, so no HTTP request can carry "
                  "it; is it cut from the right place?");
}

Result<std::string> read_file(const std::string& path, std::string_view what) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return fail(ErrorCode::kInvalid,
                std::string(what) + ": " + path + " is a directory, expected a file");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    const int reason = errno;
    return fail(reason == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid,
                std::string(what) + ": cannot read " + path + ": " + std::strerror(reason) +
                    (reason == ENOENT ? "; check the path" : "; check who may read it"));
  }
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) {
    return fail(ErrorCode::kInvalid, std::string(what) + ": reading " + path + " failed half way");
  }
  return text;
}

Result<ServerAccess> load_in_cluster_access(const std::string& service_account_dir) {
  const std::string host = environment("KUBERNETES_SERVICE_HOST");
  const std::string port = environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return fail(ErrorCode::kNotFound,
                "not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not "
                "both set; name a kubeconfig file");
  }
  ServerAccess access;
  access.source = "service account in " + service_account_dir;
  const bool v6 = host.find(':') != std::string::npos;
  access.server = "https://" + (v6 ? "[" + host + "]" : host) + ":" + port;
  access.certificate_authority_file = service_account_dir + "/ca.crt";
  auto authority = read_file(access.certificate_authority_file, "service account certificate");
  if (!authority) return fail(authority.error());
  access.certificate_authority_pem = std::move(*authority);
  access.token_file = service_account_dir + "/token";
  auto token = read_file(access.token_file, "service account token");
  if (!token) {
    return fail(token.error().code,
                token.error().message + "; does the pod set automountServiceAccountToken: false?");
  }
  if (auto ns = read_file(service_account_dir + "/namespace", "namespace"); ns && !ns->empty()) {
    access.default_namespace = *ns;
  }
  return access;
}

Result<ServerAccess> load_server_access(const KubeconfigOptions& options) {
  Kubeconfig merged;
  try {
    if (!options.path.empty()) {
      if (auto read = merge_file(options.path, merged); !read) return fail(read.error());
      return select_context(merged, options);
    }
    const std::string listed = environment("KUBECONFIG");
    if (!listed.empty()) {
      std::istringstream files(listed);
      for (std::string file; std::getline(files, file, ':');) {
        if (file.empty() || !fs::exists(file))
          continue;  // like kubectl: a missing file counts as empty
        if (auto read = merge_file(file, merged); !read) return fail(read.error());
      }
      if (merged.files.empty()) {
        return fail(ErrorCode::kNotFound, "none of the files in KUBECONFIG exists: " + listed +
                                              "; correct the variable or name a kubeconfig file");
      }
      return select_context(merged, options);
    }
    if (!environment("KUBERNETES_SERVICE_HOST").empty()) {
      return load_in_cluster_access(options.service_account_dir);
    }
    const std::string home = environment("HOME") + "/.kube/config";
    if (!fs::exists(home)) {
      return fail(
          ErrorCode::kNotFound,
          "no kubeconfig: none was named, KUBECONFIG is not set, " + home +
              " does not exist, and this is not a pod (KUBERNETES_SERVICE_HOST is not set)");
    }
    if (auto read = merge_file(home, merged); !read) return fail(read.error());
    return select_context(merged, options);
  } catch (const YAML::Exception& error) {
    return fail(ErrorCode::kInvalid,
                "kubeconfig " + merged.files + " cannot be understood: " + error.what());
  }
}

}  // namespace plimsoll::informer
