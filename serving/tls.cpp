#include "serving/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <plimsoll/join.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/base/quote.hpp"
#include "serving/read_file.hpp"
#include "serving/self_signed.hpp"

namespace plimsoll::serving {
namespace {

namespace net = boost::asio;
using boost::system::error_code;

constexpr std::array<const char*, 3> kSuites13{"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
                                               "TLS_CHACHA20_POLY1305_SHA256"};
constexpr std::array<const char*, 6> kSuites12{
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",       "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",       "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"};
constexpr int kLongestChain = 8;  // of a client's certificates

bool contains(const auto& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

// The chosen ones of `known`; all if none is chosen.
template <typename Known>
std::string chosen(const std::vector<std::string>& names, const Known& known, bool openssl_names) {
  const auto is_wanted = [&](std::string_view name) { return contains(names, name); };
  const bool all = std::ranges::none_of(known, is_wanted);
  std::string list;
  for (const char* name : known) {
    if (!all && !is_wanted(name)) continue;
    if (!list.empty()) list += ':';
    list += openssl_names ? OPENSSL_cipher_name(name) : name;
  }
  return list;
}

Result<void> check_suites(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (contains(kSuites12, name) || contains(kSuites13, name)) continue;
    return fail(ErrorCode::kInvalid, "--tls-cipher-suites: " + go_quoted(name) +
                                         " is not known or not safe; choose among " +
                                         sdk::join(cipher_suite_names(), ", "));
  }
  return {};
}

Result<int> lowest_version(const std::string& name) {
  if (name == "VersionTLS12") return TLS1_2_VERSION;
  if (name == "VersionTLS13") return TLS1_3_VERSION;
  return fail(ErrorCode::kInvalid, "--tls-min-version: " + go_quoted(name) +
                                       " is not VersionTLS12 or VersionTLS13; older versions are "
                                       "not safe and not spoken");
}

Result<void> set_rules(SSL_CTX* context, const TlsOptions& options) {
  const auto lowest = lowest_version(options.min_version);
  if (!lowest) return fail(lowest.error());
  if (auto known = check_suites(options.cipher_suites); !known) return known;
  const std::string suites13 = chosen(options.cipher_suites, kSuites13, false);
  const std::string suites12 = chosen(options.cipher_suites, kSuites12, true);
  // No resumption: a resumed session would not be held against a new --client-ca-file.
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  if (SSL_CTX_set_min_proto_version(context, *lowest) != 1 ||
      SSL_CTX_set_ciphersuites(context, suites13.c_str()) != 1 ||
      SSL_CTX_set_cipher_list(context, suites12.c_str()) != 1 ||
      SSL_CTX_set_num_tickets(context, 0) != 1) {
    return fail(ErrorCode::kInternal, "OpenSSL does not take the settings of TLS");
  }
  return {};
}

tl::unexpected<Error> bad_file(const char* flag, const std::string& what, const std::string& file,
                               const std::string& why) {
  return fail(ErrorCode::kInvalid, std::string(flag) + ": the " + what + " " + file +
                                       " cannot be used: " + why +
                                       "; it must be a readable PEM file");
}

Result<void> read_into(std::string& into, const char* flag, const char* what,
                       const std::string& file) {
  auto text = read_file(file);
  if (!text) return bad_file(flag, what, file, text.error().message);
  into = std::move(*text);
  return {};
}

std::string text_of(const ASN1_STRING* from) {
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, from);
  if (size < 0) return {};
  std::string text(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return text;
}

std::vector<std::string> entries(const X509_NAME* name, int nid) {
  std::vector<std::string> found;
  for (int at = X509_NAME_get_index_by_NID(name, nid, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(name, nid, at)) {
    found.push_back(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at))));
  }
  return found;
}

}  // namespace

std::vector<std::string> cipher_suite_names() {
  std::vector<std::string> names(kSuites13.begin(), kSuites13.end());
  names.insert(names.end(), kSuites12.begin(), kSuites12.end());
  return names;
}

Result<ServerTls> ServerTls::create(TlsOptions options, std::string address,
                                    ServingMetrics metrics) {
  if (options.cert_file.empty() != options.private_key_file.empty()) {
    return fail(ErrorCode::kInvalid,
                "--tls-cert-file and --tls-private-key-file go together: give both or neither");
  }
  ServerTls made(std::move(options), std::move(address), metrics);
  if (auto loaded = made.load(); !loaded) return fail(loaded.error());
  return made;
}

Result<ServerTls::Material> ServerTls::read() const {
  Material now;
  if (!options_.cert_file.empty()) {
    auto done = read_into(now.certificate, "--tls-cert-file", "certificate", options_.cert_file)
                    .and_then([&] {
                      return read_into(now.private_key, "--tls-private-key-file", "private key",
                                       options_.private_key_file);
                    });
    if (!done) return fail(done.error());
  } else if (std::chrono::system_clock::now() < renew_at_) {
    now = material_;
  } else {
    auto pair = options_.cert_dir.empty() ? make_self_signed(address_)
                                          : kept_self_signed(options_.cert_dir, address_);
    if (!pair) return fail(pair.error());
    now.certificate = std::move(pair->certificate_pem);
    now.private_key = std::move(pair->private_key_pem);
  }
  if (options_.client_ca_file.empty()) return now;
  auto done = read_into(now.client_ca, "--client-ca-file", "authority", options_.client_ca_file);
  if (!done) return fail(done.error());
  return now;
}

Result<ServerTls::Context> ServerTls::make_context(const Material& from) const {
  auto context = std::make_shared<net::ssl::context>(net::ssl::context::tls_server);
  if (auto set = set_rules(context->native_handle(), options_); !set) return fail(set.error());
  // OpenSSL would ask for the password of an encrypted key on the terminal.
  context->set_password_callback([](std::size_t, auto) { return std::string(); });
  error_code error;
  context->use_certificate_chain(net::buffer(from.certificate), error);
  if (error) {
    return bad_file("--tls-cert-file", "certificate", options_.cert_file, error.message());
  }
  context->use_private_key(net::buffer(from.private_key), net::ssl::context::pem, error);
  if (error) {
    return bad_file("--tls-private-key-file", "private key", options_.private_key_file,
                    error.message() + " (it must be the certificate's own, without a password)");
  }
  // OpenSSL compares a key only with a certificate of its own type.
  if (SSL_CTX_check_private_key(context->native_handle()) != 1) {
    return bad_file("--tls-private-key-file", "private key", options_.private_key_file,
                    "it is not the certificate's own");
  }
  if (options_.client_ca_file.empty()) return context;
  context->add_certificate_authority(net::buffer(from.client_ca), error);
  if (error) {
    return bad_file("--client-ca-file", "authority", options_.client_ca_file, error.message());
  }
  // A certificate that nobody vouches for is as good as none: the client may still have a token.
  SSL_CTX_set_verify(
      context->native_handle(), SSL_VERIFY_PEER, +[](int, X509_STORE_CTX*) { return 1; });
  SSL_CTX_set_verify_depth(context->native_handle(), kLongestChain);
  return context;
}

// Throws nothing away before the new one is complete.
Result<void> ServerTls::load() {
  looked_ = std::chrono::steady_clock::now();
  auto now = read();
  if (!now) return fail(now.error());
  if (context_ != nullptr && *now == material_) {
    refused_.reset();
    return {};
  }
  if (refused_ && *now == *refused_) return {};
  auto context = make_context(*now);
  ERR_clear_error();
  if (!context) {
    refused_ = std::move(*now);
    return fail(context.error());
  }
  material_ = std::move(*now);
  context_ = std::move(*context);
  refused_.reset();
  const auto end = certificate_end(material_.certificate);
  if (options_.cert_file.empty()) renew_at_ = end - kRenewBefore;
  metrics_.certificate_loads.with({"loaded"}).add();
  metrics_.certificate_end.with({}).set(
      std::chrono::duration<double>(end.time_since_epoch()).count());
  return {};
}

void ServerTls::load_again() {
  const Context before = context_;
  const auto loaded = load();
  if (!loaded && loaded.error().message != complaint_) {
    complaint_ = loaded.error().message;
    metrics_.certificate_loads.with({"failed"}).add();
    log_warn("serving with the certificate from before", {{"error", complaint_}});
  }
  if (loaded && !refused_) complaint_.clear();
  if (context_ != before)
    log_info("serving with a new certificate", {{"file", options_.cert_file}});
}

ServerTls::Context ServerTls::current() {
  if (std::chrono::steady_clock::now() - looked_ >= options_.look_every) load_again();
  return context_;
}

std::optional<User> certificate_user(SSL* connection) {
  if (SSL_get_verify_result(connection) != X509_V_OK) return std::nullopt;
  const X509* certificate = SSL_get0_peer_certificate(connection);
  if (certificate == nullptr) return std::nullopt;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const std::vector<std::string> names = entries(subject, NID_commonName);
  if (names.empty() || names.back().empty()) return std::nullopt;
  return User{.name = names.back(), .groups = entries(subject, NID_organizationName)};
}

}  // namespace plimsoll::serving
