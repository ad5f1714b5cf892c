#include "tests/kube/kube_certificates.hpp"

#include <string>
#include <utility>
#include <vector>

#include "tests/support/child_process.hpp"

namespace plimsoll::test {
namespace {

Result<void> openssl(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "openssl");
  ChildOptions options{.argv = std::move(arguments)};
  Result<Finished> finished = run(options);
  if (!finished) return fail(finished.error().within("making certificates"));
  if (finished->status != ExitStatus::exited(0)) {
    return fail(ErrorCode::kInternal,
                "making certificates: openssl " + options.argv[1] + ": " + finished->out);
  }
  return {};
}

// A new P-256 key and a certificate for it: signed by itself if no authority is given.
std::vector<std::string> new_certificate(const std::filesystem::path& cert,
                                         const std::filesystem::path& key,
                                         const std::string& subject,
                                         const std::vector<std::string>& extensions) {
  std::vector<std::string> arguments = {
      "req",    "-x509", "-newkey",    "ec",    "-pkeyopt", "ec_paramgen_curve:prime256v1",
      "-nodes", "-days", "2",          "-subj", subject,    "-keyout",
      key,      "-out",  cert.string()};
  for (const std::string& extension : extensions) {
    arguments.insert(arguments.end(), {"-addext", extension});
  }
  return arguments;
}

}  // namespace

Result<KubeCertificates> make_certificates(const std::filesystem::path& folder) {
  const KubeCertificates made{folder / "ca.crt",    folder / "server.crt", folder / "server.key",
                              folder / "admin.crt", folder / "admin.key",  folder / "sa.key"};
  const std::filesystem::path ca_key = folder / "ca.key";
  const auto signed_by_ca = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"-CA", made.ca, "-CAkey", ca_key});
    return openssl(std::move(arguments));
  };
  // `openssl req -x509` marks what it makes as a CA by itself; the others say that they are none.
  return openssl(new_certificate(made.ca, ca_key, "/CN=plimsoll-test-ca", {}))
      .and_then([&] {
        return signed_by_ca(
            new_certificate(made.server_cert, made.server_key, "/CN=kube-apiserver",
                            {"basicConstraints=critical,CA:FALSE", "extendedKeyUsage=serverAuth",
                             "subjectAltName=IP:127.0.0.1,DNS:localhost"}));
      })
      .and_then([&] {
        return signed_by_ca(
            new_certificate(made.admin_cert, made.admin_key, "/O=system:masters/CN=plimsoll-admin",
                            {"basicConstraints=critical,CA:FALSE", "extendedKeyUsage=clientAuth"}));
      })
      .and_then([&] {
        // ecparam writes the "EC PRIVATE KEY" form: a server reads the public key out of that one
        // only.
        return openssl({"ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out",
                        made.service_account_key});
      })
      .map([&] { return made; });
}

}  // namespace plimsoll::test
