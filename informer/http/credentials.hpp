#pragma once
// Provides the current credential. Sources: static tokens and certificates; files that rotate
// (tokens, client certificates, the authority that verifies the server's certificate); exec
// credential plugins whose output expires.
//
// One CredentialSource serves all HttpClients of an API server. Every function may be called from
// any thread.

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "framework/base/result.hpp"
#include "informer/http/kubeconfig.hpp"

namespace plimsoll::informer {

// How we authenticate, and which authority we trust. Immutable.
struct Credential {
  std::string bearer_token;
  std::string username;
  std::string password;
  std::string client_certificate_pem;
  std::string client_key_pem;
  std::string certificate_authority_pem;  // empty: the system's roots
  std::uint64_t generation = 0;           // grows with every new credential
};
using CredentialRef = std::shared_ptr<const Credential>;

struct CredentialOptions {
  // The pause between runs of an exec plugin that does not help: it fails, or its credential has
  // expired or is rejected. The pause doubles from run to run.
  std::chrono::milliseconds first_pause{1'000};
  std::chrono::milliseconds longest_pause{60'000};
};

class CredentialSource {
 public:
  explicit CredentialSource(const ServerAccess& access, const CredentialOptions& options = {});
  ~CredentialSource();
  CredentialSource(const CredentialSource&) = delete;
  CredentialSource& operator=(const CredentialSource&) = delete;

  // Returns the credential if one is available. Returns null if refresh() has to fetch it first: an
  // exec plugin has not run yet, or its credential expired. A credential that had already expired
  // when it was fetched is used until the plugin may run again, because our own clock may be wrong.
  // Never blocks for long. Files are checked once a second and read again when they have changed,
  // and at least once a minute.
  [[nodiscard]] CredentialRef current();

  // Fetches a new credential: runs the exec plugin, or reads the files again. Blocks until the
  // plugin has ended (at most one minute) or `stop` is requested (kCancelled). Callers that wait
  // for the same run share its result. On failure returns kUnauthorized with the plugin's output.
  [[nodiscard]] Result<CredentialRef> refresh(std::stop_token stop);

  // Reports that the server answered 401 to the credential of this generation. The credential is
  // dropped, so that refresh() fetches another. Returns false if no other credential is available
  // now (a static token or certificate, a plugin that has to pause).
  [[nodiscard]] bool reject(std::uint64_t generation);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::informer
