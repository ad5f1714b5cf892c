// Requests on links: HTTP/2 connections that libcurl makes and nghttp2 speaks on. What is answered,
// and what comes of requests that are refused, reset, late, or on a connection that goes away.
// Servers that do not speak HTTP/2 are in tls_test.cpp, a real API server in tests/kube.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <list>

#include "tests/informer/full_request.hpp"
#include "tests/informer/http2_server.hpp"
#include "tests/informer/http_fixture.hpp"

namespace plimsoll::informer {
namespace {

using test::begin;
using test::client_for;
using test::fetch;
using test::get;
using test::Http2Answer;
using test::Http2Server;
using test::Journal;
using test::Received;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using What = Http2Answer::What;
using namespace std::chrono_literals;

ServerAccess access_to(const Http2Server& server) {
  ServerAccess access;
  access.server = server.url();
  access.source = "the test";
  access.certificate_authority_pem = server.certificate();
  return access;
}

HttpRequest request_to(std::string path) {
  HttpRequest request;
  request.path = std::move(path);
  return request;
}

Http2Answer instead(What what) {
  Http2Answer answer;
  answer.what = what;
  return answer;
}

// Hangs for /hang, does `what` the first time it is asked for /odd, and says what it was sent.
Http2Server::Script script_with(What what, int times = 1) {
  auto left = std::make_shared<std::atomic<int>>(times);
  return [what, left](const Received& request) {
    if (request.asks("/hang")) return instead(What::kHang);
    if (request.asks("/odd") && left->fetch_sub(1) > 0) return instead(what);
    Http2Answer answer;
    answer.body = request.body;
    return answer;
  };
}

TEST(Http2Links, SendWhatTheyAreGivenAndNothingElse) {
  Http2Server server([](const Received& request) {
    Http2Answer answer;
    answer.status = 201;
    answer.body = "got " + request.body;
    answer.headers = {{"retry-after", "7"}};
    return answer;
  });
  Received seen;
  ASSERT_NO_FATAL_FAILURE(test::send_full_request(server, access_to(server), seen));
  EXPECT_EQ("https://" + seen.header("host"), server.url());
  EXPECT_EQ(seen.header("content-length"), "3000");
}

TEST(Http2Links, EveryMethodReachesTheServerOnOneConnection) {
  Http2Server server(script_with(What::kAnswer));
  auto client = client_for(access_to(server));
  for (const char* method : {"GET", "PUT", "PATCH", "DELETE", "POST", "GET"}) {
    for (const std::string body : {"{}", ""}) {
      HttpRequest request = request_to("/x");
      request.method = method;
      if (request.method != "GET") request.body = body;
      const auto answer = fetch(*client, request);
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(answer->body, request.body);
      EXPECT_EQ(server.received().back().method, method);
    }
  }
  EXPECT_EQ(server.connections(), 1u);
}

TEST(Http2Links, LargeBodiesGoBothWays) {
  Http2Server server(script_with(What::kAnswer));
  auto client = client_for(access_to(server));
  std::list<std::future<Result<HttpResponse>>> answers;
  std::string body;
  for (int i = 0; i < 300'000; ++i) body += std::to_string(i) + ",";
  for (int i = 0; i < 3; ++i) {
    HttpRequest request = request_to("/x");
    request.method = "POST";
    request.body = body;
    answers.push_back(begin(*client, request));
  }
  for (auto& each : answers) {
    const auto answer = each.get();
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_TRUE(answer->body == body);
  }
}

TEST(Http2Links, StreamedAnswersComeInOrder) {
  Http2Server server([](const Received&) {
    Http2Answer answer;
    answer.body = "one";
    return answer;
  });
  auto client = client_for(access_to(server));
  Journal journal;
  HttpHandlers handlers;
  handlers.on_open = [&] { journal.add("open"); };
  handlers.on_data = [&](std::string_view chunk) { journal.add("data " + std::string(chunk)); };
  handlers.on_done = [&](Result<HttpResponse> result) {
    journal.add(result ? "done " + std::to_string(result->status) : result.error().message);
  };
  client->submit({}, handlers);
  ASSERT_TRUE(journal.wait_for("done"));
  EXPECT_THAT(journal.lines(), ElementsAre("open", "data one", "done 200"));
}

TEST(Http2Links, ARefusedStreamKeepsItsBody) {
  Http2Server server([](const Received&) {
    Http2Answer answer;
    answer.status = 403;
    answer.body = "no";
    return answer;
  });
  auto client = client_for(access_to(server));
  Journal journal;
  HttpHandlers handlers;
  handlers.on_open = [&] { journal.add("open"); };
  handlers.on_data = [&](std::string_view) { journal.add("data"); };
  handlers.on_done = [&](Result<HttpResponse> result) { journal.add("done " + result->body); };
  client->submit({}, handlers);
  ASSERT_TRUE(journal.wait_for("done"));
  EXPECT_THAT(journal.lines(), ElementsAre("done no"));
}

TEST(Http2Links, ThereAreAsManyAsRequestsNeed) {
  Http2Server server(script_with(What::kAnswer));
  HttpClientOptions options;
  options.max_streams = 2;
  auto client = client_for(access_to(server), options);
  for (int i = 0; i < 5; ++i) client->submit(request_to("/hang"), {});
  ASSERT_TRUE(server.wait_for(5));
  EXPECT_EQ(server.connections(), 3u);
  EXPECT_TRUE(get(*client, "/x")) << "the third has room for one more";
  EXPECT_EQ(server.connections(), 3u);
}

TEST(Http2Links, NoMoreAreMadeThanMayBe) {
  for (const std::size_t own_limit : {2u, 100u}) {  // the client's; the server's is 2 in any case
    Http2Server server(script_with(What::kAnswer), 2);
    HttpClientOptions options;
    options.max_streams = own_limit;
    options.max_connections = 1;
    auto client = client_for(access_to(server), options);
    std::list<std::future<Result<HttpResponse>>> answers;
    ASSERT_TRUE(get(*client, "/x"));  // from here on the server's limit is known
    for (int i = 0; i < 40; ++i) answers.push_back(begin(*client, request_to("/x")));
    for (auto& each : answers) {
      const auto answer = each.get();
      ASSERT_TRUE(answer) << answer.error().message;
    }
    const std::size_t so_far = server.received().size();
    std::array<HttpClient::RequestId, 2> hanging{};
    for (auto& id : hanging) answers.push_back(begin(*client, request_to("/hang"), &id));
    ASSERT_TRUE(server.wait_for(so_far + 2));
    HttpRequest parked = request_to("/x");
    parked.timeout = 50ms;
    const auto late = fetch(*client, parked);
    ASSERT_FALSE(late);
    EXPECT_THAT(late.error().message, HasSubstr("did not answer in time"));
    client->cancel(hanging[0]);
    EXPECT_TRUE(get(*client, "/x"));
    EXPECT_EQ(server.connections(), 1u);
    EXPECT_EQ(server.received().size(), so_far + 3) << "what was parked was never sent";
  }
}

TEST(Http2Links, WhatTheServerDidNotLookAtIsSentAgain) {
  for (const What what : {What::kRefuse, What::kGoAway}) {
    Http2Server server(script_with(what));
    auto client = client_for(access_to(server));
    HttpRequest request = request_to("/odd");
    request.method = "POST";
    request.body = "once more";
    const auto answer = fetch(*client, request);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "once more");
    EXPECT_EQ(server.received().size(), 2u);
    EXPECT_EQ(server.connections(), what == What::kGoAway ? 2u : 1u);
  }
}

TEST(Http2Links, WhatIsAlwaysRefusedIsAnError) {
  Http2Server server(script_with(What::kRefuse, 1000));
  auto client = client_for(access_to(server));
  const auto answer = get(*client, "/odd");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, AllOf(HasSubstr(server.url()), HasSubstr("REFUSED_STREAM")));
  EXPECT_EQ(server.received().size(), 4u);
}

TEST(Http2Links, AResetIsAnErrorOfThatRequestOnly) {
  Http2Server server(script_with(What::kReset));
  auto client = client_for(access_to(server));
  const auto answer = get(*client, "/odd");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(get(*client, "/odd"));
  EXPECT_EQ(server.received().size(), 2u) << "it may have been carried out: not sent again";
  EXPECT_EQ(server.connections(), 1u);
}

TEST(Http2Links, ACutConnectionIsTheEndOfAllThatIsOnIt) {
  Http2Server server(script_with(What::kCut));
  auto client = client_for(access_to(server));
  auto first = begin(*client, request_to("/hang"));
  auto second = begin(*client, request_to("/hang"));
  ASSERT_TRUE(server.wait_for(2));
  auto third = begin(*client, request_to("/odd"));
  for (auto* each : {&first, &second, &third}) {
    const auto answer = each->get();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(answer.error().message, HasSubstr(server.url()));
  }
  EXPECT_TRUE(get(*client, "/x"));
  EXPECT_EQ(server.connections(), 2u);
}

TEST(Http2Links, ALateAnswerPutsASilentConnectionInDoubt) {
  Http2Server server(script_with(What::kAnswer));
  auto client = client_for(access_to(server));
  ASSERT_TRUE(get(*client, "/x"));
  HttpRequest late = request_to("/hang");
  late.timeout = 50ms;
  const auto answer = fetch(*client, late);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("did not answer in time"));
  EXPECT_TRUE(get(*client, "/x"));
  EXPECT_EQ(server.connections(), 2u) << "nothing was heard on the first one meanwhile";

  late.timeout = 300ms;
  auto slow = begin(*client, late);
  EXPECT_TRUE(get(*client, "/x"));
  EXPECT_FALSE(slow.get());
  EXPECT_TRUE(get(*client, "/x"));
  EXPECT_EQ(server.connections(), 2u) << "the second one was seen to live";

  HttpRequest idle = request_to("/hang");
  idle.timeout = 0ms;
  idle.idle_timeout = 50ms;
  const auto silent = fetch(*client, idle);
  ASSERT_FALSE(silent);
  EXPECT_THAT(silent.error().message, HasSubstr("sent nothing for 50 ms"));
  EXPECT_TRUE(get(*client, "/x"));
  EXPECT_EQ(server.connections(), 3u);
}

TEST(Http2Links, WhatIsCancelledLeavesTheConnectionToOthers) {
  Http2Server server(script_with(What::kAnswer));
  auto client = client_for(access_to(server));
  HttpClient::RequestId id = 0;
  auto cancelled = begin(*client, request_to("/hang"), &id);
  ASSERT_TRUE(server.wait_for(1));
  client->cancel(id);
  EXPECT_EQ(cancelled.get().error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(get(*client, "/x"));
  EXPECT_EQ(server.connections(), 1u);
  auto left = begin(*client, request_to("/hang"));
  ASSERT_TRUE(server.wait_for(3));
  client->stop();
  EXPECT_EQ(left.get().error().code, ErrorCode::kCancelled);
}

TEST(Http2Links, AnAnswerThatIsTooLargeIsRefused) {
  Http2Server server([](const Received& request) {
    Http2Answer answer;
    answer.body = std::string(request.asks("/large") ? 500'000 : 10, 'x');
    return answer;
  });
  HttpClientOptions options;
  options.max_body = 1000;
  auto client = client_for(access_to(server), options);
  const auto answer = get(*client, "/large");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(answer.error().message, HasSubstr("more than 1000 bytes"));
  EXPECT_TRUE(get(*client, "/small"));
  EXPECT_EQ(server.connections(), 1u);
}

TEST(Http2Links, AnUnreachableOrUntrustedServerIsNamed) {
  ServerAccess access;
  {
    Http2Server gone(script_with(What::kAnswer));
    access = access_to(gone);
    ServerAccess stranger = access;
    stranger.certificate_authority_pem.clear();
    const auto client = client_for(stranger);
    const auto answer = get(*client, "/");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kUnauthorized);
    EXPECT_THAT(answer.error().message, HasSubstr("is not trusted"));
  }
  auto client = client_for(access);
  const auto answer = get(*client, "/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, AllOf(HasSubstr("cannot reach"), HasSubstr(access.server)));
}

// ---- silence

HttpClientOptions pinging() {
  HttpClientOptions options;
  options.ping_after = 50ms;
  options.ping_timeout = 50ms;
  return options;
}

// The connection lives, as far as TCP can tell; who speaks on it does not.
TEST(Http2Links, AServerThatFallsSilentIsNoticedAndItsConnectionGivenUp) {
  Http2Server server(script_with(What::kStall));
  auto client = client_for(access_to(server), pinging());
  HttpRequest watch = request_to("/odd?watch=true");
  watch.timeout = 0ms;
  auto first = begin(*client, watch);
  ASSERT_TRUE(server.wait_for(1));
  auto second = begin(*client, watch);  // on the same connection, and never read
  for (auto* each : {&first, &second}) {
    ASSERT_EQ(each->wait_for(60s), std::future_status::ready);
    const auto answer = each->get();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(answer.error().message, HasSubstr("not even an answer to a PING"));
  }
  const auto next = get(*client, "/x");
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(server.connections(), 2u);
}

TEST(Http2Links, ASilentWatchOnAConnectionThatAnswersPingsGoesOn) {
  Http2Server server(script_with(What::kOpen));
  HttpClientOptions options = pinging();
  options.ping_timeout = 60s;
  auto client = client_for(access_to(server), options);
  HttpRequest watch = request_to("/odd?watch=true");
  watch.timeout = 0ms;
  watch.beat = 1ms;  // for connections that cannot be asked
  auto answer = begin(*client, watch);
  ASSERT_TRUE(server.wait_for_pings(5));
  EXPECT_EQ(answer.wait_for(0s), std::future_status::timeout);
  EXPECT_EQ(server.connections(), 1u);
}

}  // namespace
}  // namespace plimsoll::informer
