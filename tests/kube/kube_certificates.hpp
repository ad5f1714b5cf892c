#pragma once
// The keys and certificates of a test's API server, made anew for each one with the openssl program
// (3.0 or later).

#include <filesystem>

#include "framework/base/result.hpp"

namespace plimsoll::test {

// All are PEM files in one folder, with mode 0600.
struct KubeCertificates {
  std::filesystem::path ca;           // signs the others; clients verify the server with it
  std::filesystem::path server_cert;  // for 127.0.0.1 and localhost
  std::filesystem::path server_key;
  std::filesystem::path admin_cert;  // user "plimsoll-admin" in group system:masters
  std::filesystem::path admin_key;
  std::filesystem::path service_account_key;  // signs service account tokens
};

// Makes them in an existing folder; kNotFound if there is no openssl, kInternal with its output if
// it fails.
[[nodiscard]] Result<KubeCertificates> make_certificates(const std::filesystem::path& folder);

}  // namespace plimsoll::test
