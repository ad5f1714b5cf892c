// TLS as kubeconfigs describe it, against openssl's own server: who is trusted, under which name,
// and who asks. HTTP/2 and a real API server's TLS are covered by the tests under tests/kube.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "tests/informer/http_fixture.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::informer {
namespace {

using plimsoll::test::ChildOptions;
using plimsoll::test::ChildProcess;
using plimsoll::test::ExitStatus;
using plimsoll::test::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// Runs a program to its end; false with its output reported if it fails.
bool run(std::vector<std::string> argv) {
  auto child = ChildProcess::start({.argv = std::move(argv)});
  if (!child) return false;
  const bool good = child->wait(60s) == ExitStatus::exited(0);
  EXPECT_TRUE(good) << child->output();
  return good;
}

// A certificate authority, a server certificate for the name "kubernetes" and 127.0.0.1 it signed,
// a client's, and another authority that signed nothing.
class Tls : public ::testing::Test {
 protected:
  void SetUp() override {
    auto found = ChildProcess::start({.argv = {"openssl", "version"}});
    if (!found) GTEST_SKIP() << "SKIPPED: no openssl program, TLS is not tested here";
    ASSERT_TRUE(authority("ca"));
    ASSERT_TRUE(authority("other"));
    ASSERT_TRUE(signed_by_ca("server", "subjectAltName=DNS:kubernetes,IP:127.0.0.1"));
    ASSERT_TRUE(signed_by_ca("client", "extendedKeyUsage=clientAuth"));
  }

  bool authority(const std::string& name) {
    return run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-keyout", file(name + ".key"), "-out", file(name + ".crt"), "-days", "2",
                "-subj", "/CN=" + name});
  }

  bool signed_by_ca(const std::string& name, const std::string& extension) {
    EXPECT_TRUE(plimsoll::test::write_file(dir_ / (name + ".ext"), extension + "\n"));
    return run({"openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", file(name + ".key"), "-out", file(name + ".csr"), "-subj",
                "/CN=" + name}) &&
           run({"openssl", "x509", "-req", "-in", file(name + ".csr"), "-CA", file("ca.crt"),
                "-CAkey", file("ca.key"), "-CAcreateserial", "-days", "2", "-extfile",
                file(name + ".ext"), "-out", file(name + ".crt")});
  }

  // Starts the server and fills in where it is.
  void serve(const std::vector<std::string>& more = {}) {
    ChildOptions options;
    options.argv = {"openssl", "s_server",         "-accept", "127.0.0.1:0",     "-www",
                    "-cert",   file("server.crt"), "-key",    file("server.key")};
    options.argv.insert(options.argv.end(), more.begin(), more.end());
    auto started = ChildProcess::start(options);
    ASSERT_TRUE(started) << started.error().message;
    server_.emplace(std::move(*started));
    ASSERT_TRUE(server_->wait_for_output("ACCEPT", 20s)) << server_->output();
    const std::string output = server_->output();
    const std::string_view before = "127.0.0.1:";
    const std::size_t at = output.find(before, output.find("ACCEPT"));
    ASSERT_NE(at, std::string::npos) << output;
    port_ = std::to_string(std::stoi(output.substr(at + before.size())));
    access_.server = "https://127.0.0.1:" + port_;
    access_.source = "the test";
    access_.certificate_authority_pem = read("ca.crt");
  }

  [[nodiscard]] Result<HttpResponse> get() const {
    auto client = test::client_for(access_);
    return test::get(*client, "/");
  }

  [[nodiscard]] std::string file(const std::string& name) const { return (dir_ / name).string(); }
  [[nodiscard]] std::string read(const std::string& name) const {
    return plimsoll::test::read_file(dir_ / name).value();
  }

  TempDir dir_;
  std::optional<ChildProcess> server_;
  std::string port_;
  ServerAccess access_;
};

TEST_F(Tls, TheAuthorityOfTheClusterIsTrustedAndNobodyElse) {
  serve();
  auto answer = get();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);

  access_.certificate_authority_pem = read("other.crt");
  answer = get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnauthorized);
  EXPECT_THAT(answer.error().message,
              AllOf(HasSubstr("is not trusted"), HasSubstr(access_.server),
                    HasSubstr("certificate-authority"), HasSubstr("the test")));

  access_.certificate_authority_pem.clear();  // the system's roots do not know it either
  EXPECT_FALSE(get());

  access_.certificate_authority_pem = "-----BEGIN CERTIFICATE-----\nbroken\n";
  EXPECT_FALSE(get());

  access_.insecure_skip_tls_verify = true;
  access_.certificate_authority_pem.clear();
  EXPECT_TRUE(get()) << "only where it was allowed explicitly";
}

TEST_F(Tls, TheNameIsVerified) {
  serve();
  access_.server = "https://localhost:" + port_;  // not in the certificate
  auto answer = get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnauthorized);
  EXPECT_THAT(answer.error().message, HasSubstr("is not trusted"));

  access_.server = "https://127.0.0.1:" + port_;
  access_.tls_server_name = "kubernetes";
  answer = get();
  EXPECT_TRUE(answer) << answer.error().message;
  access_.tls_server_name = "elsewhere";
  EXPECT_FALSE(get());
}

TEST_F(Tls, AClientCertificateIsPresented) {
  serve({"-Verify", "1", "-verify_return_error", "-CAfile", file("ca.crt")});
  EXPECT_FALSE(get()) << "the server insists on a certificate";
  access_.client_certificate_pem = read("client.crt");
  access_.client_key_pem = read("client.key");
  auto answer = get();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);

  access_.client_key_pem = read("other.key");
  answer = get();
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("client certificate or key cannot be used"));
}

TEST_F(Tls, WhoIsTrustedAndWhoAsksIsReadAgainWhenTheFilesChange) {
  ASSERT_TRUE(signed_by_ca("later", "extendedKeyUsage=clientAuth"));
  serve({"-Verify", "1", "-CAfile", file("ca.crt"), "-verify_return_error"});
  const auto put = [this](const std::string& name, const std::string& from) {
    ASSERT_TRUE(plimsoll::test::write_file(dir_ / name, read(from)));
  };
  put("trusted.crt", "other.crt");
  put("my.crt", "client.crt");
  put("my.key", "client.key");
  access_.certificate_authority_file = file("trusted.crt");
  access_.client_certificate_file = file("my.crt");
  access_.client_key_file = file("my.key");
  const auto credentials = std::make_shared<CredentialSource>(access_);
  auto client = HttpClient::create(access_, credentials);
  ASSERT_TRUE(client);
  EXPECT_EQ(test::get(**client, "/").error().code, ErrorCode::kUnauthorized);
  put("trusted.crt", "ca.crt");
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (!test::get(**client, "/") && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(50ms);
  }
  auto answer = test::get(**client, "/");
  ASSERT_TRUE(answer) << answer.error().message;

  // A certificate is of no use before its key is there.
  const CredentialRef before = credentials->current();
  put("my.crt", "later.crt");
  std::this_thread::sleep_for(1100ms);
  EXPECT_EQ(credentials->current(), before);
  answer = test::get(**client, "/");
  EXPECT_TRUE(answer) << answer.error().message;
  put("my.key", "later.key");
  while (credentials->current() == before && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(credentials->current()->client_certificate_pem, read("later.crt"));
  answer = test::get(**client, "/");
  EXPECT_TRUE(answer) << answer.error().message;
}

}  // namespace
}  // namespace plimsoll::informer
