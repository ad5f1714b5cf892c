#pragma once
// A certificate that the server signs itself, as kube-scheduler makes one where none is given.

#include <chrono>
#include <string>

#include "framework/base/result.hpp"

namespace plimsoll::serving {

struct KeyPair {
  std::string certificate_pem = {};
  std::string private_key_pem = {};
};

// A new P-256 key and a certificate of a year for localhost, this machine's host name, 127.0.0.1,
// ::1 and `address` (unless that means all addresses). Fails only if OpenSSL does.
[[nodiscard]] Result<KeyPair> make_self_signed(const std::string& address);

// The pair in `folder`, plimsoll.crt and plimsoll.key. If there is none that can be used for
// another 30 days, a new one is made and written there; the key is readable by its owner only. The
// error says that the folder cannot be written and what to do.
[[nodiscard]] Result<KeyPair> kept_self_signed(const std::string& folder,
                                               const std::string& address);

// When the (first) certificate ends; the epoch if it cannot be read.
[[nodiscard]] std::chrono::system_clock::time_point certificate_end(const std::string& pem);

// How long before its end a self-signed certificate is replaced.
inline constexpr std::chrono::hours kRenewBefore{30 * 24};

}  // namespace plimsoll::serving
