#pragma once
// Where the API server is and how to prove who we are: kubeconfig files and the files that
// Kubernetes mounts into a pod, turned into one value.
//
// Everything here reads files and returns; nothing talks to the network and nothing is kept. What
// may change while the scheduler runs (files of tokens, certificates and authorities, exec
// credential plugins) is only described here and looked after by CredentialSource.

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
  std::string install_hint;                              // shown when the command is not there
  bool provide_cluster_info = false;
  std::string cluster_config_json;  // the cluster's client.authentication.k8s.io/exec extension
};

// One API server and one way to authenticate to it.
struct ServerAccess {
  std::string server;  // scheme://host[:port][/prefix], no trailing slash
  std::string
      source;  // where this was read, for error messages: "context 'dev' of /home/me/config"
  std::string default_namespace = "default";

  std::string certificate_authority_pem;   // empty: the system's roots
  std::string certificate_authority_file;  // set if it came from a file: read again when it changes
  std::string tls_server_name;             // empty: the host of `server`
  std::string proxy_url;
  bool insecure_skip_tls_verify = false;  // only ever true if the caller allowed it

  std::string client_certificate_pem;
  std::string client_key_pem;
  std::string
      client_certificate_file;  // set if the PEM came from a file: read again when it changes
  std::string client_key_file;
  std::string token;
  std::string token_file;  // wins over token
  std::string username;
  std::string password;
  std::vector<std::string> impersonation_headers;  // "Impersonate-User: jane"
  std::optional<ExecPlugin> exec;
};

struct KubeconfigOptions {
  // An explicit file. Empty: the files of $KUBECONFIG (merged, the first that sets a value wins),
  // else the pod's service account if KUBERNETES_SERVICE_HOST is set, else ~/.kube/config.
  std::string path;
  // A context by name. Empty: current-context.
  std::string context;
  // `insecure-skip-tls-verify: true` is refused unless this is set too: whoever can answer in the
  // server's place would receive the token and decide where pods run.
  bool allow_insecure_skip_tls_verify = false;
  // Where Kubernetes mounts the service account.
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// Reads what KubeconfigOptions describe. As in client-go, a server without a scheme is spoken to
// over TLS if there is anything to do with TLS (an authority, a client certificate, leave to skip
// the check), and without TLS no credential is sent: that is warned of. Blocks on small files only.
// Errors (kInvalid, kNotFound)
// say which file, which entry in it, and what to do.
[[nodiscard]] Result<ServerAccess> load_server_access(const KubeconfigOptions& options);

// The service account of the pod we run in: KUBERNETES_SERVICE_HOST and _PORT, ca.crt, token,
// namespace.
[[nodiscard]] Result<ServerAccess> load_in_cluster_access(const std::string& service_account_dir);

// Reads a whole file; the error names `what` it was wanted for.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::string_view what);

}  // namespace plimsoll::informer
