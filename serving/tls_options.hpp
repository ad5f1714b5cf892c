#pragma once
// The settings of the server's TLS, by the names of kube-scheduler's flags.

#include <chrono>
#include <string>
#include <vector>

namespace plimsoll::serving {

struct TlsOptions {
  // PEM files, the server's own certificate first. Both empty: a self-signed certificate is made.
  std::string cert_file = {};
  std::string private_key_file = {};
  // Where the self-signed certificate is kept, as plimsoll.crt and plimsoll.key. It is used again
  // until 30 days before its end. Empty: in memory, a new one at each start.
  std::string cert_dir = {};
  // Authorities (PEM) that vouch for client certificates; empty: clients are not asked for any.
  std::string client_ca_file = {};
  std::string min_version = "VersionTLS12";  // or VersionTLS13
  // IANA names. Empty: all of cipher_suite_names(). Those of a TLS version of which none is named
  // keep the default.
  std::vector<std::string> cipher_suites = {};
  // How often files are read again, at most; a new connection makes the server look.
  std::chrono::milliseconds look_every{1'000};
};

}  // namespace plimsoll::serving
