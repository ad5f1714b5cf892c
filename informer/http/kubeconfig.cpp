#include "informer/http/kubeconfig.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "framework/base/log.hpp"
#include "informer/http/yaml_check.hpp"

namespace plimsoll::informer {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// A named entry (cluster, context or user) and the file that it was found in.
struct Entry {
  YAML::Node body;
  std::string file;
};

// The merged view over all files of one load.
struct Merged {
  std::string current_context;
  std::vector<std::pair<std::string, Entry>> clusters, contexts, users;
  std::string files;  // for messages
};

std::string text_of(const YAML::Node& map, const char* key) {
  const YAML::Node value = map[key];
  return value.IsDefined() && value.IsScalar() ? value.Scalar() : std::string();
}

bool is_true(const YAML::Node& map, const char* key) {
  const std::string text = text_of(map, key);
  return text == "true" || text == "True" || text == "TRUE";
}

const Entry* find_entry(const std::vector<std::pair<std::string, Entry>>& entries,
                        const std::string& name) {
  for (const auto& [key, entry] : entries) {
    if (key == name) return &entry;
  }
  return nullptr;
}

std::string names_of(const std::vector<std::pair<std::string, Entry>>& entries) {
  if (entries.empty()) return "there are none";
  std::string names = "there are: ";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    names += (i == 0 ? "'" : ", '") + entries[i].first + "'";
  }
  return names;
}

// Appends the named entries of one list (`clusters`, ...). An entry of an earlier file wins.
Result<void> merge_list(const YAML::Node& root, const char* list, const char* body_key,
                        const std::string& file, std::vector<std::pair<std::string, Entry>>& into) {
  const YAML::Node entries = root[list];
  if (!entries.IsDefined() || entries.IsNull()) return {};
  if (!entries.IsSequence()) {
    return fail(ErrorCode::kInvalid, "kubeconfig " + file + ": '" + list + "' must be a list");
  }
  std::set<std::string> seen;
  for (const auto& entry : entries) {
    const std::string name = entry.IsMap() ? text_of(entry, "name") : std::string();
    if (name.empty()) {
      return fail(ErrorCode::kInvalid,
                  "kubeconfig " + file + ": an entry of '" + list + "' has no name");
    }
    if (!seen.insert(name).second) {
      return fail(ErrorCode::kInvalid, "kubeconfig " + file + ": '" + list + "' names '" + name +
                                           "' twice; remove one of the two");
    }
    const YAML::Node body = entry[body_key];
    if (body.IsDefined() && !body.IsNull() && !body.IsMap()) {
      return fail(ErrorCode::kInvalid, "kubeconfig " + file + ": '" + body_key + "' of '" + name +
                                           "' in '" + list + "' must be a map");
    }
    if (find_entry(into, name) == nullptr) {
      into.emplace_back(
          name,
          Entry{body.IsDefined() && body.IsMap() ? body : YAML::Node(YAML::NodeType::Map), file});
    }
  }
  return {};
}

Result<void> merge_file(const std::string& file, Merged& merged) {
  auto text = read_file(file, "kubeconfig");
  if (!text) return fail(text.error());
  YAML::Node root;
  const auto not_yaml = [&file](const std::string& why) {
    return fail(ErrorCode::kInvalid,
                "kubeconfig " + file + " is neither YAML nor JSON: " + why +
                    "; check it with: kubectl config view --kubeconfig=" + file);
  };
  if (auto sound = check_yaml(*text); !sound) return not_yaml(sound.error().message);
  try {
    root = YAML::Load(*text);
  } catch (const YAML::Exception& error) {
    return not_yaml(error.what());
  }
  if (root.IsNull()) root = YAML::Node(YAML::NodeType::Map);
  if (!root.IsMap()) {
    return fail(ErrorCode::kInvalid,
                "kubeconfig " + file +
                    " is not a kubeconfig: expected a map with clusters, users "
                    "and contexts");
  }
  const YAML::Node& view = root;  // operator[] of a non-const node would insert
  const std::string kind = text_of(view, "kind");
  if (!kind.empty() && kind != "Config") {
    return fail(ErrorCode::kInvalid, "kubeconfig " + file + ": kind is '" + kind +
                                         "', expected 'Config'; is this the right file?");
  }
  if (merged.current_context.empty()) merged.current_context = text_of(view, "current-context");
  merged.files += (merged.files.empty() ? "" : ", ") + file;
  if (auto done = merge_list(view, "clusters", "cluster", file, merged.clusters); !done)
    return done;
  if (auto done = merge_list(view, "contexts", "context", file, merged.contexts); !done)
    return done;
  return merge_list(view, "users", "user", file, merged.users);
}

Result<std::string> decode_base64(std::string_view text) {
  std::string out;
  unsigned bits = 0;
  int count = 0;
  bool padding = false;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    if (c == '=') {
      padding = true;
      continue;
    }
    unsigned value = 0;
    if (c >= 'A' && c <= 'Z') {
      value = static_cast<unsigned>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      value = static_cast<unsigned>(c - 'a') + 26;
    } else if (c >= '0' && c <= '9') {
      value = static_cast<unsigned>(c - '0') + 52;
    } else if (c == '+') {
      value = 62;
    } else if (c == '/') {
      value = 63;
    } else {
      return fail(ErrorCode::kInvalid,
                  std::string("it holds the character '") + c + "', which is not part of base64");
    }
    if (padding) return fail(ErrorCode::kInvalid, "it goes on after its padding");
    bits = (bits << 6) | value;
    if (++count == 4) {
      out += static_cast<char>(bits >> 16);
      out += static_cast<char>((bits >> 8) & 0xff);
      out += static_cast<char>(bits & 0xff);
      bits = 0;
      count = 0;
    }
  }
  if (count == 1) return fail(ErrorCode::kInvalid, "it is cut off");
  if (count == 2) out += static_cast<char>((bits >> 4) & 0xff);
  if (count == 3) {
    out += static_cast<char>((bits >> 10) & 0xff);
    out += static_cast<char>((bits >> 2) & 0xff);
  }
  return out;
}

// Paths in a kubeconfig are relative to the file that holds them.
std::string resolve(const std::string& path, const std::string& file) {
  if (path.empty() || fs::path(path).is_absolute()) return path;
  return (fs::path(file).parent_path() / path).lexically_normal().string();
}

struct Pem {
  std::string text;
  std::string file;  // empty if it is inline
};

// Reads `key`-data (base64) or, without it, `key` (a file).
Result<Pem> load_pem(const Entry& entry, const std::string& key, const std::string& where) {
  Pem pem;
  const std::string data = text_of(entry.body, (key + "-data").c_str());
  std::string what = where + ": " + key;
  if (!data.empty()) {
    what += "-data";
    auto decoded = decode_base64(data);
    if (!decoded) {
      return fail(ErrorCode::kInvalid, what + " is not base64: " + decoded.error().message);
    }
    pem.text = std::move(*decoded);
  } else {
    pem.file = resolve(text_of(entry.body, key.c_str()), entry.file);
    if (pem.file.empty()) return pem;
    auto text = read_file(pem.file, what);
    if (!text) return fail(text.error());
    pem.text = std::move(*text);
    what += " " + pem.file;
  }
  if (pem.text.find("-----BEGIN ") == std::string::npos) {
    return fail(ErrorCode::kInvalid,
                what + " is not in PEM format: expected a line that starts with -----BEGIN");
  }
  return pem;
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

Result<void> read_cluster(const Entry& entry, const std::string& name,
                          const KubeconfigOptions& options, ServerAccess& access) {
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
    if (!options.allow_insecure_skip_tls_verify) {
      return fail(ErrorCode::kInvalid,
                  where +
                      " sets insecure-skip-tls-verify: true, so anybody could pose as the API "
                      "server; set certificate-authority instead, or allow it explicitly");
    }
    if (!access.certificate_authority_pem.empty()) {
      return fail(ErrorCode::kInvalid, where +
                                           " sets both insecure-skip-tls-verify and "
                                           "certificate-authority; remove one of the two");
    }
    access.insecure_skip_tls_verify = true;
  }
  return {};
}

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

Result<void> read_user(const Entry& entry, const std::string& name, ServerAccess& access) {
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

Result<ServerAccess> select_context(const Merged& merged, const KubeconfigOptions& options) {
  const std::string name = options.context.empty() ? merged.current_context : options.context;
  if (name.empty()) {
    return fail(ErrorCode::kInvalid, "kubeconfig " + merged.files +
                                         " has no current-context; choose one with: kubectl config "
                                         "use-context NAME (" +
                                         names_of(merged.contexts) + ")");
  }
  const Entry* context = find_entry(merged.contexts, name);
  if (context == nullptr) {
    return fail(ErrorCode::kNotFound, "kubeconfig " + merged.files + " has no context '" + name +
                                          "'; " + names_of(merged.contexts));
  }
  const std::string cluster_name = text_of(context->body, "cluster");
  const std::string user_name = text_of(context->body, "user");
  const Entry* cluster = find_entry(merged.clusters, cluster_name);
  if (cluster == nullptr) {
    return fail(ErrorCode::kNotFound, "context '" + name + "' in " + context->file +
                                          " names the cluster '" + cluster_name +
                                          "', which is not defined; " + names_of(merged.clusters));
  }
  ServerAccess access;
  access.source = "context '" + name + "' of kubeconfig " + context->file;
  if (auto read = read_cluster(*cluster, cluster_name, options, access); !read) {
    return fail(read.error());
  }
  if (!user_name.empty()) {
    const Entry* user = find_entry(merged.users, user_name);
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
    const bool tls = !access.certificate_authority_pem.empty() ||
                     !access.client_certificate_pem.empty() || access.insecure_skip_tls_verify;
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
  Merged merged;
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
