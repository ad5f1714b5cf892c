#pragma once
// The credential of the moment: static tokens and certificates, files that rotate (tokens, client
// certificates, the authority that the server's certificate is checked against), exec credential
// plugins whose output expires.
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

// What is sent to prove who we are, and whom we trust. Immutable.
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
  // Between runs of an exec plugin that is of no use: it fails, or what it gives has expired or is
  // refused. Doubled from run to run.
  std::chrono::milliseconds first_pause{1'000};
  std::chrono::milliseconds longest_pause{60'000};
};

class CredentialSource {
 public:
  explicit CredentialSource(const ServerAccess& access, const CredentialOptions& options = {});
  ~CredentialSource();
  CredentialSource(const CredentialSource&) = delete;
  CredentialSource& operator=(const CredentialSource&) = delete;

  // The credential if one is at hand; null if refresh() has to fetch it first (an exec plugin that
  // has not run yet or whose credential expired). One that had expired when it was fetched serves
  // until the plugin may run again: our clock may be the one that is wrong. Never blocks for long:
  // files are looked at once a second and read again when they changed, and once a minute in any
  // case.
  [[nodiscard]] CredentialRef current();

  // Fetches a new credential: runs the exec plugin, or reads the files again. Blocks until the
  // plugin is done (one minute at most) or `stop` is requested (kCancelled). Callers that wait for
  // the same run share its result. Fails with kUnauthorized and what the plugin printed.
  [[nodiscard]] Result<CredentialRef> refresh(std::stop_token stop);

  // The server answered 401 to the credential of this generation: it is forgotten, so that
  // refresh() fetches another. False if there is no way to get another one now (a static token or
  // certificate, a plugin that has to pause).
  [[nodiscard]] bool reject(std::uint64_t generation);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::informer
