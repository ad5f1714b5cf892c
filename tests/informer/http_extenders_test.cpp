// HttpExtenders over TLS: who is trusted, and how. What extenders say is tested with the loop
// (tests/cycle/extenders_test.cpp).
#include "informer/http/http_extenders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/informer/http2_server.hpp"
#include "tests/informer/scripted_server.hpp"

namespace plimsoll::informer {
namespace {

using ::testing::HasSubstr;

Result<std::string> ask(const ExtenderSpec& extender) {
  auto made = HttpExtenders::create({extender});
  if (!made) return fail(made.error());
  std::promise<Result<std::string>> answer;
  (*made)->call(0, "filter", "{}", 100,
                [&](Result<std::string> result) { answer.set_value(std::move(result)); });
  return answer.get_future().get();
}

class TlsExtender : public ::testing::Test {
 protected:
  Result<std::string> call() { return ask(extender_); }
  void trust(const std::string& pem) {
    extender_.tls.given = true;
    extender_.tls.ca_pem = pem;
  }

  test::Http2Server server_{[](const test::Received& request) {
    test::Http2Answer answer;
    answer.body = request.method + " " + request.target;
    return answer;
  }};
  ExtenderSpec extender_ = [this] {
    ExtenderSpec made;
    made.url_prefix = server_.url() + "/some/prefix/";
    return made;
  }();
};

TEST_F(TlsExtender, TheGivenAuthorityIsTrusted) {
  trust(server_.certificate());
  const auto answer = call();
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(*answer, "POST /some/prefix/filter");
}

TEST_F(TlsExtender, NobodyElseIs) {
  const auto answer = call();
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().message, HasSubstr("POST " + server_.url() + "/some/prefix/filter"));
  EXPECT_TRUE(server_.received().empty());
}

TEST_F(TlsExtender, AnotherNameIsRefused) {
  trust(server_.certificate());
  extender_.tls.server_name = "elsewhere";
  EXPECT_FALSE(call().has_value());
}

// kube-scheduler: enableHTTPS without an authority.
TEST_F(TlsExtender, WithoutAnAuthorityHttpsIsNotVerified) {
  extender_.enable_https = true;
  EXPECT_TRUE(call().has_value());
}

TEST_F(TlsExtender, InsecureWithAnAuthorityIsAnError) {
  trust(server_.certificate());
  extender_.tls.insecure = true;
  const auto answer = call();
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().message, HasSubstr("both insecure and a certificate authority"));
}

TEST_F(TlsExtender, AFileThatIsNotThereIsNamed) {
  extender_.tls.ca_file = "/nowhere/ca.crt";
  const auto answer = call();
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().message, HasSubstr("/nowhere/ca.crt"));
}

TEST_F(TlsExtender, ALargeAnswerIsRefused) {
  trust(server_.certificate());
  extender_.url_prefix += std::string(200, 'x');
  const auto answer = call();
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().message, HasSubstr("an answer of more than 100 bytes"));
}

// It is cut off while it arrives: the end of it would never come.
TEST(Extender, AnAnswerWithoutEndIsCutOff) {
  for (const int status : {200, 500}) {
    std::promise<bool> gone;
    test::ScriptedServer server([&](const test::Received&, test::Exchange& exchange) {
      const std::string piece(1 << 16, 'x');
      bool there = status == 200 ? exchange.open_stream()
                                 : exchange.reply(status, piece, {{"Connection", "close"}});
      for (int sent = 0; there && sent < 1024; ++sent) there = exchange.chunk(piece);
      gone.set_value(!there);
      if (there) exchange.hang();
    });
    ExtenderSpec extender;
    extender.url_prefix = server.url();
    const auto answer = ask(extender);
    ASSERT_FALSE(answer.has_value());
    EXPECT_THAT(answer.error().message, HasSubstr("POST " + server.url() + "/filter: "));
    EXPECT_THAT(answer.error().message, HasSubstr("an answer of more than 100 bytes"));
    EXPECT_TRUE(gone.get_future().get()) << "64 MiB were taken";
  }
}

}  // namespace
}  // namespace plimsoll::informer
