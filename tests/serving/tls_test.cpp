// The server over TLS: its certificate, given or self-signed, changed while it serves; versions and
// cipher suites; client certificates.

#include "serving/tls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "serving/read_file.hpp"
#include "serving/self_signed.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/prometheus_text.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/web_client.hpp"

namespace plimsoll::serving {
namespace {

using namespace std::chrono_literals;
using plimsoll::test::web_get;
using plimsoll::test::web_request;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kAnybody = "";

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    make_pair("cert.pem", "key.pem", "/CN=plimsoll", {"subjectAltName=IP:127.0.0.1"});
  }
  // Signed by itself, or by `authority`.
  void make_pair(const std::string& cert, const std::string& key, const std::string& subject,
                 const std::vector<std::string>& extensions = {},
                 const std::string& authority = {}) {
    std::vector<std::string> argv{"openssl",
                                  "req",
                                  "-x509",
                                  "-newkey",
                                  "ec",
                                  "-pkeyopt",
                                  "ec_paramgen_curve:P-256",
                                  "-nodes",
                                  "-keyout",
                                  file(key),
                                  "-out",
                                  file(cert),
                                  "-days",
                                  "2",
                                  "-subj",
                                  subject};
    for (const std::string& extension : extensions) {
      argv.insert(argv.end(), {"-addext", extension});
    }
    if (!authority.empty()) {
      argv.insert(argv.end(),
                  {"-CA", file(authority + ".pem"), "-CAkey", file(authority + "-key.pem")});
    }
    const auto made = plimsoll::test::run({.argv = argv});
    if (!made) GTEST_SKIP() << "SKIPPED: no openssl program, TLS is not tested here";
    ASSERT_EQ(made->status, plimsoll::test::ExitStatus::exited(0)) << made->out;
  }
  std::string file(const std::string& name) { return (folder_ / name).string(); }

  void serve(TlsOptions tls, std::string address = "127.0.0.1") {
    ServerOptions options;
    options.address = std::move(address);
    options.tls = std::move(tls);
    options.metrics = ServingMetrics(registry_);
    auto started = HttpServer::start(options, [this](const Request& request) {
      const std::lock_guard lock(mutex_);
      asked_.push_back(request.certificate_user);
      return Response{200, request.method + " " + request.path};
    });
    ASSERT_TRUE(started.has_value()) << started.error().message;
    server_ = std::move(*started);
  }
  std::string refusal(TlsOptions tls) {
    ServerOptions options;
    options.tls = std::move(tls);
    const auto started = HttpServer::start(options, [](const Request&) { return Response{}; });
    return started ? "it starts" : started.error().message;
  }
  TlsOptions given() {
    return {.cert_file = file("cert.pem"), .private_key_file = file("key.pem"), .look_every = 0ms};
  }
  int get(const std::string& ca_file) { return web_get(server_->url() + "/a", ca_file).status; }
  double loads(const std::string& result) {
    return plimsoll::test::parse_metrics(registry_.text())
        .sum("plimsoll_serving_certificate_loads_total", {{"result", result}});
  }
  // What `openssl s_client` says, which knows all versions and suites.
  std::string connect(const std::vector<std::string>& flags) {
    std::vector<std::string> argv{"openssl", "s_client", "-connect",
                                  "127.0.0.1:" + std::to_string(server_->port())};
    argv.insert(argv.end(), flags.begin(), flags.end());
    const auto ran = plimsoll::test::run({.argv = argv});
    return ran ? ran->out : ran.error().message;
  }

  plimsoll::test::TempDir folder_;
  metrics::Registry registry_;
  std::mutex mutex_;
  std::vector<std::optional<User>> asked_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(TlsTest, ServesUnderItsCertificate) {
  serve(given());
  EXPECT_THAT(server_->url(), StartsWith("https://"));
  const auto answer = web_get(server_->url() + "/a", file("cert.pem"));
  EXPECT_EQ(answer.status, 200) << answer.error;
  EXPECT_EQ(answer.body, "GET /a");
  EXPECT_EQ(web_get("http://127.0.0.1:" + std::to_string(server_->port()) + "/").status, 0);
  EXPECT_EQ(get(file("cert.pem")), 200);
  const auto end = plimsoll::test::parse_metrics(registry_.text())
                       .value("plimsoll_serving_certificate_expiration_seconds");
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_NEAR(end.value_or(0) - now, 2 * 24 * 3600, 3600);
  EXPECT_THAT(registry_.text(), HasSubstr("certificate_loads_total{result=\"failed\"} 0\n"))
      << "an alert sees the first of them";
}

TEST_F(TlsTest, SaysWhatIsWrong) {
  std::ofstream(file("broken.pem")) << "no certificate";
  make_pair("other.pem", "other-key.pem", "/CN=other");
  const auto files = [this](const std::string& cert, const std::string& key) {
    return refusal({.cert_file = file(cert), .private_key_file = key.empty() ? "" : file(key)});
  };
  EXPECT_THAT(files("cert.pem", ""), HasSubstr("--tls-private-key-file go together"));
  EXPECT_THAT(files("missing.pem", "key.pem"),
              HasSubstr("the certificate " + file("missing.pem") +
                        " cannot be used: No such file or directory"));
  EXPECT_THAT(files("broken.pem", "key.pem"), HasSubstr("the certificate " + file("broken.pem")));
  EXPECT_THAT(files("cert.pem", "broken.pem"), HasSubstr("the private key " + file("broken.pem")));
  EXPECT_THAT(files("cert.pem", "other-key.pem"), HasSubstr("key values mismatch"));
  const auto made =
      plimsoll::test::run({.argv = {"openssl", "genrsa", "-out", file("rsa-key.pem"), "2048"}});
  ASSERT_TRUE(made && made->status == plimsoll::test::ExitStatus::exited(0));
  EXPECT_THAT(files("cert.pem", "rsa-key.pem"), HasSubstr("it is not the certificate's own"));
  EXPECT_THAT(files(".", "key.pem"), HasSubstr("it is no regular file"));
  TlsOptions tls = given();
  tls.client_ca_file = file("broken.pem");
  EXPECT_THAT(refusal(tls), HasSubstr("--client-ca-file: the authority " + file("broken.pem")));
  tls = given();
  tls.min_version = "VersionTLS10";
  EXPECT_THAT(refusal(tls), HasSubstr("\"VersionTLS10\" is not VersionTLS12 or VersionTLS13"));
  tls = given();
  tls.cipher_suites = {"TLS_RSA_WITH_3DES_EDE_CBC_SHA"};
  EXPECT_THAT(refusal(tls), HasSubstr("TLS_RSA_WITH_3DES_EDE_CBC_SHA\" is not known or not safe; "
                                      "choose among TLS_AES_128_GCM_SHA256, "));
  EXPECT_THAT(refusal({.cert_dir = "/proc/nowhere"}),
              HasSubstr("--cert-dir /proc/nowhere cannot be written"));
}

// Both ways in which Kubernetes changes files: a rename, and a symbolic link to another folder.
TEST_F(TlsTest, TakesANewCertificateWhileItServes) {
  namespace fs = std::filesystem;
  fs::create_directories(file("one"));
  fs::create_directories(file("two"));
  make_pair("one/c.pem", "one/k.pem", "/CN=one", {"subjectAltName=IP:127.0.0.1"});
  make_pair("two/c.pem", "two/k.pem", "/CN=two", {"subjectAltName=IP:127.0.0.1"});
  fs::create_symlink("one", file("..data"));
  serve({.cert_file = file("..data/c.pem"),
         .private_key_file = file("..data/k.pem"),
         .look_every = 0ms});
  EXPECT_EQ(get(file("one/c.pem")), 200);
  fs::create_symlink("two", file("..fresh"));
  fs::rename(file("..fresh"), file("..data"));
  EXPECT_EQ(get(file("two/c.pem")), 200);
  EXPECT_EQ(get(file("one/c.pem")), 0);

  // Between the two renames there is no pair: the old one stays.
  make_pair("c.pem", "k.pem", "/CN=three", {"subjectAltName=IP:127.0.0.1"});
  fs::copy_file(file("two/c.pem"), file("two.pem"));
  fs::copy_file(file("c.pem"), file("three.pem"));
  fs::rename(file("c.pem"), file("two/c.pem"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get(file("two.pem")), 200);
  EXPECT_EQ(loads("failed"), 1);
  fs::rename(file("k.pem"), file("two/k.pem"));
  EXPECT_EQ(get(file("three.pem")), 200);
  EXPECT_EQ(loads("loaded"), 3);

  // Garbage, nothing at all, and the same pair again.
  std::ofstream(file("two/k.pem")) << "garbage";
  EXPECT_EQ(get(file("three.pem")), 200);
  fs::remove(file("two/k.pem"));
  EXPECT_EQ(get(file("three.pem")), 200);
  EXPECT_EQ(loads("failed"), 3);
  EXPECT_EQ(loads("loaded"), 3);
}

TEST_F(TlsTest, SignsItsOwnCertificate) {
  serve({});
  EXPECT_EQ(get(kAnybody), 0) << "nobody vouches for it";
  const auto answer = web_request("GET", server_->url() + "/a", {}, {}, {.trusts_anybody = true});
  EXPECT_EQ(answer.status, 200) << answer.error;
  EXPECT_EQ(loads("loaded"), 1);
}

TEST_F(TlsTest, KeepsItsOwnCertificateInAFolder) {
  namespace fs = std::filesystem;
  const TlsOptions tls{.cert_dir = file("kept/here")};
  serve(tls);
  const std::string cert = file("kept/here/plimsoll.crt");
  const std::string key = file("kept/here/plimsoll.key");
  EXPECT_EQ(get(cert), 200) << "by its file, for 127.0.0.1";
  struct stat info {};
  ASSERT_EQ(stat(key.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const auto text = [&] { return read_file(cert).value_or("unreadable"); };
  const std::string first = text();
  serve(tls);
  EXPECT_EQ(get(cert), 200);
  EXPECT_EQ(text(), first) << "used again";
  // One that ends soon, or whose key is another's, is replaced.
  make_pair("kept/here/plimsoll.crt", "kept/here/plimsoll.key", "/CN=soon");
  serve(tls);
  EXPECT_EQ(get(cert), 200);
  const std::string second = text();
  EXPECT_NE(second, first);
  std::ofstream(key) << "torn";
  serve(tls);
  EXPECT_EQ(get(cert), 200);
  EXPECT_NE(text(), second);
  EXPECT_THAT(std::vector(fs::directory_iterator(file("kept/here")), fs::directory_iterator()),
              SizeIs(2));
}

TEST_F(TlsTest, ItsOwnCertificateNamesTheAddress) {
  const auto names = [this](const std::string& address) {
    const auto pair = make_self_signed(address);
    if (!pair) return pair.error().message;
    std::ofstream(file("own.pem")) << pair->certificate_pem;
    return plimsoll::test::run({.argv = {"openssl", "x509", "-in", file("own.pem"), "-noout",
                                         "-ext", "subjectAltName,extendedKeyUsage"}})
        ->out;
  };
  EXPECT_THAT(names("10.1.2.3"), HasSubstr("IP Address:10.1.2.3"));
  EXPECT_THAT(names("fd00::7"), HasSubstr("IP Address:FD00:0:0:0:0:0:0:7"));
  EXPECT_THAT(names("0.0.0.0"), Not(HasSubstr("0.0.0.0")));
  EXPECT_THAT(names("::"), HasSubstr("DNS:localhost"));
  EXPECT_THAT(names("x,DNS:evil"), Not(HasSubstr("evil")));
  EXPECT_THAT(names("::"), HasSubstr("TLS Web Server Authentication"));
}

TEST_F(TlsTest, SpeaksOnlyWhatIsSafe) {
  serve(given());
  EXPECT_THAT(connect({"-tls1_2"}), HasSubstr("TLSv1.2, Cipher is ECDHE-"));
  EXPECT_THAT(connect({"-tls1_3"}), HasSubstr("TLSv1.3, Cipher is TLS_"));
  EXPECT_THAT(connect({"-tls1_1", "-cipher", "ALL:@SECLEVEL=0"}), HasSubstr("Cipher is (NONE)"));
  EXPECT_THAT(connect({"-tls1_2", "-cipher", "AES128-SHA:ECDHE-ECDSA-AES128-SHA"}),
              HasSubstr("Cipher is (NONE)"));
  TlsOptions tls = given();
  tls.min_version = "VersionTLS13";
  serve(tls);
  EXPECT_THAT(connect({"-tls1_2"}), HasSubstr("Cipher is (NONE)"));
  EXPECT_THAT(connect({"-tls1_3"}), HasSubstr("TLSv1.3, Cipher is TLS_"));
  tls = given();
  tls.cipher_suites = {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"};
  serve(tls);
  EXPECT_THAT(connect({"-tls1_2"}), HasSubstr("Cipher is ECDHE-ECDSA-AES256-GCM-SHA384"));
  EXPECT_THAT(connect({"-tls1_3"}), HasSubstr("Cipher is TLS_CHACHA20_POLY1305_SHA256"));
  for (const std::string& name : cipher_suite_names()) {
    tls.cipher_suites = {name};
    EXPECT_EQ(refusal(tls), "it starts") << name;
  }
}

TEST_F(TlsTest, ClientCertificatesNameUsers) {
  const std::vector<std::string> leaf{"basicConstraints=critical,CA:FALSE"};
  make_pair("ca.pem", "ca-key.pem", "/CN=authority");
  make_pair("stranger.pem", "stranger-key.pem", "/CN=stranger");
  make_pair("jane.pem", "jane-key.pem", "/O=ops/O=dev/CN=jane", leaf, "ca");
  make_pair("mallory.pem", "mallory-key.pem", "/O=system:masters/CN=jane", leaf, "stranger");
  make_pair("nameless.pem", "nameless-key.pem", "/O=ops", leaf, "ca");
  std::vector<std::string> for_servers = leaf;
  for_servers.emplace_back("extendedKeyUsage=serverAuth");
  make_pair("server.pem", "server-key.pem", "/CN=jane", for_servers, "ca");
  TlsOptions tls = given();
  tls.client_ca_file = file("ca.pem");
  serve(tls);
  const auto user_of = [&](const std::string& name) -> std::optional<User> {
    plimsoll::test::WebCaller caller;
    if (!name.empty()) {
      caller.cert_file = file(name + ".pem");
      caller.key_file = file(name + "-key.pem");
    }
    const auto answer = web_request("GET", server_->url() + "/", {}, file("cert.pem"), caller);
    EXPECT_EQ(answer.status, 200) << name << ": " << answer.error;
    const std::lock_guard lock(mutex_);
    return asked_.empty() ? std::nullopt : std::exchange(asked_, {}).back();
  };
  const auto jane = user_of("jane");
  ASSERT_TRUE(jane.has_value());
  EXPECT_EQ(jane->name, "jane");
  EXPECT_THAT(jane->groups, ElementsAre("ops", "dev"));
  for (const char* name : {"", "mallory", "stranger", "nameless", "server"}) {
    EXPECT_FALSE(user_of(name).has_value()) << name;
  }
  // Another authority: it is read again too.
  std::filesystem::rename(file("stranger.pem"), file("ca.pem"));
  EXPECT_FALSE(user_of("jane").has_value());
  EXPECT_TRUE(user_of("mallory").has_value());
}

TEST_F(TlsTest, IsNotHeldByHandshakesThatHang) {
  serve(given());
  std::vector<std::unique_ptr<plimsoll::test::RawConnection>> hanging;
  for (int i = 0; i < 80; ++i) {
    hanging.push_back(std::make_unique<plimsoll::test::RawConnection>(server_->port()));
    hanging.back()->send(i % 2 == 0 ? "" : "\x16\x03\x01");
  }
  EXPECT_EQ(get(file("cert.pem")), 200);
}

}  // namespace
}  // namespace plimsoll::serving
