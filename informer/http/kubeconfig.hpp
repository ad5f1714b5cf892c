#pragma once
// Reads where the API server is and how to authenticate to it, from kubeconfig files or from the
// files that Kubernetes mounts into a pod.
//
// Everything here only reads files; nothing uses the network and nothing is cached. Parts that may
// change while the scheduler runs (files of tokens, certificates and authorities, exec credential
// plugins) are only described here; CredentialSource reads them again.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::informer {

// An exec credential plugin (client.authentication.k8s.io): a command that prints an
// ExecCredential.
struct ExecPlugin {
  std::string api_version;
  std::string command;  // a path, or a name looked up in PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // added to our own environment
  std::string install_hint;                              // shown when the command does not exist
  bool provide_cluster_info = false;
  std::string cluster_config_json;  // the cluster's client.authentication.k8s.io/exec extension
};

// One API server and one way to authenticate to it.
struct ServerAccess {
  std::string server;                   // scheme://host[:port][/prefix], no trailing slash
  std::string peer = "the API server";  // what error messages call it
  std::string source;                   // for error messages: "context 'dev' of /home/me/config"
  std::string default_namespace = "default";

  std::string certificate_authority_pem;   // empty: the system's roots
  std::string certificate_authority_file;  // set if it came from a file: read again when it changes
  std::string tls_server_name;             // empty: the host of `server`
  std::string proxy_url;
  std::string unix_socket;  // the path of a local socket to connect to; empty: over the network
  bool insecure_skip_tls_verify = false;  // never of a kubeconfig

  std::string client_certificate_pem;
  std::string client_key_pem;
  std::string
      client_certificate_file;  // set if the PEM came from a file: read again when it changes
  std::string client_key_file;
  std::string token;
  std::string token_file;  // takes precedence over token
  std::string username;
  std::string password;
  std::vector<std::string> impersonation_headers;  // "Impersonate-User: jane"
  std::optional<ExecPlugin> exec;
};

struct KubeconfigOptions {
  // An explicit file. Empty: the files of $KUBECONFIG (merged, the first file that sets a value
  // wins); otherwise the pod's service account if KUBERNETES_SERVICE_HOST is set; otherwise
  // ~/.kube/config.
  std::string path;
  // A context by name. Empty: current-context.
  std::string context;
  // Where Kubernetes mounts the service account.
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// Reads what `options` describe. As in client-go, a server without a scheme is accessed over TLS if
// any TLS setting is present (an authority, a client certificate). `insecure-skip-tls-verify: true`
// is refused. Without TLS no credential is sent, and a warning is logged. Blocks on small files
// only. Errors (kInvalid, kNotFound) name the file, the entry in it, and the remedy.
[[nodiscard]] Result<ServerAccess> load_server_access(const KubeconfigOptions& options);

// Reads the service account of the pod we run in: KUBERNETES_SERVICE_HOST and _PORT, ca.crt, token,
// namespace.
[[nodiscard]] Result<ServerAccess> load_in_cluster_access(const std::string& service_account_dir);

// Fails with kInvalid if `text` cannot be part of an HTTP header because it has a control
// character, for example a line break, which would begin another header (RFC 9110, section 5.5).
// The error names `what`, not the text, which may be secret.
[[nodiscard]] Result<void> check_header_text(std::string_view text, const std::string& what);

// Reads a whole file; the error says with `what` what the file was needed for.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::string_view what);

}  // namespace plimsoll::informer
