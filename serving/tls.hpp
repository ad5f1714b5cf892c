#pragma once
// The server's side of TLS: the certificate in use, read again when its files change.
//
// Files may be replaced in any way: written anew, renamed over, or a symbolic link swapped, as
// Secrets in pods and cert-manager do. A pair that cannot be used, such as a certificate whose key
// is not there yet, leaves the one before in force; the log and a metric tell. Connections keep the
// certificate that they began with.

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "serving/http_server.hpp"
#include "serving/tls_options.hpp"

namespace plimsoll::serving {

// The cipher suites that may be chosen, by their IANA names: forward secret, with authenticated
// encryption. What else kube-scheduler's --tls-cipher-suites accepts is not safe.
[[nodiscard]] std::vector<std::string> cipher_suite_names();

// For one thread.
class ServerTls {
 public:
  using Context = std::shared_ptr<boost::asio::ssl::context>;

  // Reads or makes the certificate. `address`: what a self-signed one is for. The error names the
  // flag or file and says what is wrong with it.
  [[nodiscard]] static Result<ServerTls> create(TlsOptions options, std::string address,
                                                ServingMetrics metrics = {});

  // For a new connection. Looks at the files first, if that is due; reads at most 3 MiB then.
  [[nodiscard]] Context current();

 private:
  struct Material {
    std::string certificate, private_key, client_ca;
    bool operator==(const Material&) const = default;
  };

  ServerTls(TlsOptions options, std::string address, ServingMetrics metrics)
      : options_(std::move(options)), address_(std::move(address)), metrics_(metrics) {}
  [[nodiscard]] Result<Material> read() const;
  [[nodiscard]] Result<Context> make_context(const Material& from) const;
  Result<void> load();
  void load_again();

  TlsOptions options_;
  std::string address_;
  ServingMetrics metrics_;
  Material material_;  // of context_
  Context context_;
  std::string complaint_;  // the last one, so that it is made once
  std::optional<Material> refused_;
  std::chrono::system_clock::time_point renew_at_{};  // a self-signed one
  std::chrono::steady_clock::time_point looked_{};
};

// The user that a connection's client certificate names: CN is the name, every O a group, as
// kube-apiserver has it. Nothing if there is no certificate, or none that --client-ca-file vouches
// for.
[[nodiscard]] std::optional<User> certificate_user(SSL* connection);

}  // namespace plimsoll::serving
