// Credentials that change: token files that rotate, exec plugins, expiry, refusal.

#include "informer/http/credentials.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "informer/http/exec_plugin.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::informer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr char kV1[] = "client.authentication.k8s.io/v1";

class Credentials : public ::testing::Test {
 protected:
  // An exec plugin made of a shell script.
  ServerAccess script(const std::string& text) {
    const auto file = dir_ / "plugin";
    EXPECT_TRUE(test::write_file(file, "#!/bin/sh\n" + text, 0700));
    ServerAccess access;
    access.server = "https://api:6443";
    access.source = "the test";
    access.exec.emplace();
    access.exec->api_version = kV1;
    access.exec->command = file.string();
    return access;
  }

  static std::string credential(const std::string& status) {
    return "echo '{\"apiVersion\":\"" + std::string(kV1) +
           "\",\"kind\":\"ExecCredential\",\"status\":" + status + "}'\n";
  }

  test::TempDir dir_;
};

TEST_F(Credentials, AStaticTokenIsAlwaysThereAndCannotBeRenewed) {
  ServerAccess access;
  access.token = "t";
  CredentialSource source(access);
  ASSERT_NE(source.current(), nullptr);
  EXPECT_EQ(source.current()->bearer_token, "t");
  EXPECT_FALSE(source.reject(source.current()->generation));
}

TEST_F(Credentials, ATokenFileIsReadAgainWhenItChanges) {
  ServerAccess access;
  access.token_file = (dir_ / "token").string();
  ASSERT_TRUE(test::write_file(dir_ / "token", "one\n"));
  CredentialSource source(access);
  EXPECT_EQ(source.current()->bearer_token, "one");
  const auto generation = source.current()->generation;
  ASSERT_TRUE(test::write_file(dir_ / "token", "two!\n"));
  std::this_thread::sleep_for(1100ms);
  EXPECT_EQ(source.current()->bearer_token, "two!");
  EXPECT_GT(source.current()->generation, generation);

  // A file that vanishes for a moment takes nothing away.
  std::filesystem::remove(dir_ / "token");
  std::this_thread::sleep_for(1100ms);
  ASSERT_NE(source.current(), nullptr);
  EXPECT_EQ(source.current()->bearer_token, "two!");
}

TEST_F(Credentials, ARefusedTokenFileIsReadAtOnce) {
  ServerAccess access;
  access.token_file = (dir_ / "token").string();
  ASSERT_TRUE(test::write_file(dir_ / "token", "one"));
  CredentialSource source(access);
  const auto first = source.current();
  EXPECT_FALSE(source.reject(first->generation)) << "the file is still the same";
  ASSERT_TRUE(test::write_file(dir_ / "token", "two"));
  EXPECT_TRUE(source.reject(first->generation));
  EXPECT_EQ(source.current()->bearer_token, "two");
}

TEST_F(Credentials, AnEmptyOrMissingTokenFileIsAnError) {
  ServerAccess access;
  access.source = "the test";
  access.token_file = (dir_ / "token").string();
  CredentialSource source(access);
  EXPECT_EQ(source.current(), nullptr);
  auto refreshed = source.refresh({});
  ASSERT_FALSE(refreshed);
  EXPECT_EQ(refreshed.error().code, ErrorCode::kUnauthorized);
  ASSERT_TRUE(test::write_file(dir_ / "token", "\n"));
  refreshed = source.refresh({});
  ASSERT_FALSE(refreshed);
  EXPECT_THAT(refreshed.error().message, HasSubstr("is empty"));
  ASSERT_TRUE(test::write_file(dir_ / "token", "secret\r\nHost: elsewhere\n"));
  refreshed = source.refresh({});
  ASSERT_FALSE(refreshed) << "a line break would begin another header";
  EXPECT_THAT(refreshed.error().message, HasSubstr("control character"));
  EXPECT_THAT(refreshed.error().message, Not(HasSubstr("secret")));
}

TEST_F(Credentials, AnExecPluginRunsOnceUntilItIsRefused) {
  ServerAccess access = script("echo run >> " + (dir_ / "runs").string() + "\n" +
                               credential(R"({"token":"secret"})"));
  CredentialSource source(access);
  EXPECT_EQ(source.current(), nullptr);
  auto first = source.refresh({});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ((*first)->bearer_token, "secret");
  ASSERT_TRUE(source.refresh({}));
  EXPECT_EQ(*test::read_file(dir_ / "runs"), "run\n");
  EXPECT_TRUE(source.reject((*first)->generation));
  EXPECT_EQ(source.current(), nullptr);
  const auto second = source.refresh({});
  ASSERT_TRUE(second);
  EXPECT_EQ(*test::read_file(dir_ / "runs"), "run\nrun\n");
  EXPECT_TRUE(source.reject((*first)->generation)) << "an old refusal takes nothing away";
  EXPECT_NE(source.current(), nullptr);
}

TEST_F(Credentials, AnExecCredentialExpires) {
  ServerAccess access =
      script(credential(R"({"token":"t","expirationTimestamp":"2001-02-03T04:05:06Z"})"));
  CredentialSource source(access, {.first_pause = 1ms, .longest_pause = 1ms});
  ASSERT_TRUE(source.refresh({}));
  while (source.current() != nullptr) std::this_thread::sleep_for(1ms);
  access = script(credential(R"({"token":"t","expirationTimestamp":"2999-02-03T04:05:06+01:00"})"));
  CredentialSource lasting(access);
  ASSERT_TRUE(lasting.refresh({}));
  EXPECT_NE(lasting.current(), nullptr);
}

TEST_F(Credentials, APluginThatIsOfNoUsePauses) {
  const auto runs = dir_ / "runs";
  const std::string note = "echo run >> " + runs.string() + "\n";
  const std::string useless[] = {
      credential(R"({"token":"t","expirationTimestamp":"2001-02-03T04:05:06Z"})"), "exit 1\n"};
  for (const std::string& text : useless) {
    CredentialSource source(script(note + text), {.first_pause = 1h, .longest_pause = 1h});
    std::filesystem::remove(runs);
    const bool first = source.refresh({}).has_value();
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(source.current() != nullptr, first) << "what has expired is used for the while";
      EXPECT_EQ(source.refresh({}).has_value(), first);
    }
    EXPECT_EQ(*test::read_file(runs), "run\n") << text;
  }
  for (const std::string& text : useless) {
    CredentialSource source(script(note + text), {.first_pause = 1ms, .longest_pause = 1ms});
    std::filesystem::remove(runs);
    do {
      static_cast<void>(source.refresh({}));
    } while (*test::read_file(runs) != "run\nrun\nrun\n");
  }
}

TEST_F(Credentials, ARefusedCredentialIsNotFetchedAgainAndAgain) {
  const auto runs = dir_ / "runs";
  CredentialSource source(
      script("echo run >> " + runs.string() + "\n" + credential(R"({"token":"t"})")),
      {.first_pause = 1h, .longest_pause = 1h});
  ASSERT_TRUE(source.refresh({}));
  EXPECT_TRUE(source.reject(source.current()->generation)) << "the plugin may have another one";
  ASSERT_TRUE(source.refresh({}));
  for (int i = 0; i < 20; ++i) {
    ASSERT_NE(source.current(), nullptr);
    EXPECT_FALSE(source.reject(source.current()->generation)) << "it had not";
  }
  EXPECT_EQ(*test::read_file(runs), "run\nrun\n");
}

TEST_F(Credentials, TheAuthorityIsReadAgainWhenItChanges) {
  const auto file = dir_ / "ca.crt";
  const std::string one = "-----BEGIN CERTIFICATE-----\none\n";
  const std::string two = "-----BEGIN CERTIFICATE-----\nand two\n";
  const auto becomes = [](CredentialSource& source, const std::string& wanted) {
    const auto begun = std::chrono::steady_clock::now();
    while (source.current()->certificate_authority_pem != wanted) {
      if (std::chrono::steady_clock::now() - begun > 30s) return false;
      std::this_thread::sleep_for(10ms);
    }
    return true;
  };
  ServerAccess with_plugin = script(credential(R"({"token":"t"})"));
  ServerAccess with_token;
  with_token.token = "t";
  for (ServerAccess access : {with_token, with_plugin}) {
    ASSERT_TRUE(test::write_file(file, one));
    access.certificate_authority_file = file.string();
    CredentialSource source(access);
    ASSERT_TRUE(source.refresh({}));
    const CredentialRef first = source.current();
    EXPECT_EQ(first->certificate_authority_pem, one);
    ASSERT_TRUE(test::write_file(file, "not a certificate"));
    std::this_thread::sleep_for(1100ms);
    EXPECT_EQ(source.current(), first) << "what makes no sense takes nothing away";
    ASSERT_TRUE(test::write_file(file, two));
    EXPECT_TRUE(becomes(source, two));
    EXPECT_EQ(source.current()->bearer_token, "t");
    EXPECT_GT(source.current()->generation, first->generation);
  }
}

TEST_F(Credentials, ThePluginLearnsWhoAsks) {
  ServerAccess access =
      script("echo \"$KUBERNETES_EXEC_INFO $REGION $1\" > " + (dir_ / "seen").string() + "\n" +
             credential(R"({"clientCertificateData":"C","clientKeyData":"K"})"));
  access.exec->args = {"two words"};
  access.exec->env = {{"REGION", "eu"}};
  access.exec->provide_cluster_info = true;
  access.exec->cluster_config_json = R"({"a":1})";
  access.certificate_authority_pem = "ab";
  const auto got = run_exec_plugin(access, {}, 10s);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->client_certificate_pem, "C");
  EXPECT_EQ(got->client_key_pem, "K");
  EXPECT_THAT(
      *test::read_file(dir_ / "seen"),
      AllOf(HasSubstr("eu two words"), HasSubstr(R"("server":"https://api:6443")"),
            HasSubstr(R"("certificate-authority-data":"YWI=")"), HasSubstr(R"("config":{"a":1})"),
            HasSubstr(R"("interactive":false)"), HasSubstr(kV1)));
}

TEST_F(Credentials, SaysWhatIsWrongWithAPlugin) {
  struct Case {
    std::string text;
    const char* error;
  };
  const Case cases[] = {
      {"echo 'no session, log in first' >&2; exit 3\n", "exit status 3: no session, log in first"},
      {"kill -9 $$\n", "killed by signal 9"},
      {"echo hello\n", "no JSON object"},
      {"echo '{\"kind\":\"Other\"}'\n", "kind 'Other'"},
      {credential("null"), "has no status"},
      {credential("{}"), "neither status.token"},
      {credential(R"({"clientCertificateData":"C"})"), "both are needed"},
      {credential(R"({"token":"t\\u000aHost: elsewhere"})"), "control character"},
      {credential(R"({"token":"t","expirationTimestamp":"soon"})"), "not an RFC 3339 time"},
      {"head -c 2000000 /dev/zero\n", "more than 1 MiB"},
      {"missing-program-of-plugin\n", "get it from example.org"},
  };
  for (const Case& c : cases) {
    ServerAccess access = script(c.text);
    access.exec->install_hint = "get it from example.org";
    const auto got = run_exec_plugin(access, {}, 10s);
    ASSERT_FALSE(got) << c.text;
    EXPECT_EQ(got.error().code, ErrorCode::kUnauthorized);
    EXPECT_THAT(got.error().message, AllOf(HasSubstr(c.error), HasSubstr("plugin"))) << c.text;
  }
  ServerAccess absent = script("");
  absent.exec->command = "no-such-credential-plugin";
  absent.exec->install_hint = "get it from example.org";
  EXPECT_THAT(run_exec_plugin(absent, {}, 10s).error().message,
              AllOf(HasSubstr("No such file"), HasSubstr("get it from example.org")));
}

TEST_F(Credentials, AHangingPluginIsKilled) {
  const ServerAccess access = script("sleep 100 & sleep 100\n");
  const auto before = std::chrono::steady_clock::now();
  const auto late = run_exec_plugin(access, {}, 300ms);
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("did not finish"));
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = run_exec_plugin(access, stop.get_token(), 60s);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 20s);
}

TEST_F(Credentials, WhoWaitsForAnothersPluginMayGiveUp) {
  const auto started = dir_ / "started";
  CredentialSource source(script("touch " + started.string() + "\nsleep 100\n"));
  const auto begun = std::chrono::steady_clock::now();
  std::jthread other([&](const std::stop_token& stop) {
    const auto got = source.refresh(stop);
    EXPECT_EQ(got.error().code, ErrorCode::kCancelled);
  });
  while (!std::filesystem::exists(started)) {
    ASSERT_LT(std::chrono::steady_clock::now() - begun, 10s);
    std::this_thread::sleep_for(1ms);
  }
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  const auto waited = source.refresh(stop.get_token());
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, ErrorCode::kCancelled);
  other.request_stop();
  other.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 20s);
}

TEST_F(Credentials, ThePluginDoesNotInheritAnIgnoredSigpipe) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);  // as the program does
  const ServerAccess access = script("kill -PIPE $$\n" + credential(R"({"token":"t"})"));
  const auto got = run_exec_plugin(access, {}, 10s);
  std::signal(SIGPIPE, before);
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("signal " + std::to_string(SIGPIPE)));
}

// A clock of 64 bits of nanoseconds begins in 1677 and ends in 2262.
TEST(ExecCredential, IsLongExpiredWhereTheClockCannotSayWhen) {
  const auto expires = [](const std::string& year) {
    const auto read = parse_exec_credential(
        R"({"kind":"ExecCredential","apiVersion":")" + std::string(kV1) +
            R"(","status":{"token":"t","expirationTimestamp":")" + year + "-02-03T04:05:06Z\"}}",
        kV1);
    return read.value().expires.value();
  };
  const auto now = std::chrono::system_clock::now();
  for (const char* year : {"0000", "0001", "1000", "1400", "1676", "1970"}) {
    EXPECT_LT(expires(year), now) << year;
  }
  for (const char* year : {"2199", "2263", "9999"}) EXPECT_GT(expires(year), now) << year;
}

}  // namespace
}  // namespace plimsoll::informer
