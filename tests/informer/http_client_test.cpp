// The HTTP client against a scripted server: answers, streams, failures, credentials, stopping.

#include "informer/http/http_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "tests/informer/full_request.hpp"
#include "tests/informer/http_fixture.hpp"
#include "tests/informer/scripted_server.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::informer {
namespace {

using test::client_for;
using test::Exchange;
using test::fetch;
using test::get;
using test::Journal;
using test::Received;
using test::ScriptedServer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(HttpClient, SendsWhatItIsGivenAndNothingElse) {
  ScriptedServer server([](const Received& request, Exchange& exchange) {
    exchange.reply(201, "got " + request.body, {{"Retry-After", "7"}});
  });
  ServerAccess access;
  access.server = server.url();
  Received seen;
  ASSERT_NO_FATAL_FAILURE(test::send_full_request(server, access, seen));
}

TEST(HttpClient, EveryMethodReachesTheServer) {
  ScriptedServer server([](const Received&, Exchange& exchange) { exchange.reply(200, "{}"); });
  auto client = client_for(server.url());
  for (const char* method : {"GET", "PUT", "PATCH", "DELETE", "POST", "GET"}) {
    HttpRequest request;
    request.method = method;
    request.path = "/x";
    if (request.method != "GET") request.body = "{}";
    ASSERT_TRUE(fetch(*client, request));
    EXPECT_EQ(server.received().back().method, method);
    EXPECT_EQ(server.received().back().body, request.body);
  }
  EXPECT_EQ(server.connections(), 1u) << "the connection is kept";
}

TEST(HttpClient, StreamsPiecesAsTheyArrive) {
  Journal journal;
  ScriptedServer server([&](const Received&, Exchange& exchange) {
    exchange.open_stream();
    exchange.chunk("one");
    if (!journal.wait_for("data one")) return;  // it came before the next was sent
    exchange.chunk("two");
    exchange.end_stream();
  });
  auto client = client_for(server.url());
  HttpHandlers handlers;
  handlers.on_open = [&] { journal.add("open"); };
  handlers.on_data = [&](std::string_view chunk) { journal.add("data " + std::string(chunk)); };
  handlers.on_done = [&](Result<HttpResponse> result) {
    journal.add(result ? "done " + std::to_string(result->status) : result.error().message);
  };
  client->submit({}, handlers);
  ASSERT_TRUE(journal.wait_for("done 200"));
  EXPECT_THAT(journal.lines(), ::testing::ElementsAre("open", "data one", "data two", "done 200"));
}

TEST(HttpClient, ARefusedStreamKeepsItsBody) {
  ScriptedServer server([](const Received&, Exchange& exchange) {
    exchange.reply(403,
                   R"({"kind":"Status","message":"pods is forbidden: User \"x\" cannot list"})");
  });
  auto client = client_for(server.url());
  std::atomic<bool> data{false};
  std::promise<Result<HttpResponse>> promise;
  HttpHandlers handlers;
  handlers.on_data = [&](std::string_view) { data = true; };
  handlers.on_done = [&](Result<HttpResponse> result) { promise.set_value(std::move(result)); };
  client->submit({}, handlers);
  const auto answer = promise.get_future().get();
  ASSERT_TRUE(answer);
  EXPECT_FALSE(data);
  const Error error = response_error("listing pods", *answer);
  EXPECT_EQ(error.code, ErrorCode::kUnauthorized);
  EXPECT_THAT(error.message, AllOf(HasSubstr("listing pods"), HasSubstr("403"),
                                   HasSubstr("pods is forbidden"), HasSubstr("RBAC")));
}

TEST(HttpClient, AnUnreachableServerIsNamed) {
  std::string url;
  {
    ScriptedServer gone([](const Received&, Exchange&) {});
    url = gone.url();
  }
  auto client = client_for(url);
  const auto answer = get(*client, "/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message,
              AllOf(HasSubstr("cannot reach"), HasSubstr(url), HasSubstr("the test")));
}

TEST(HttpClient, TimesOut) {
  ScriptedServer server([](const Received& request, Exchange& exchange) {
    if (request.asks("stream")) {
      exchange.open_stream();
      exchange.chunk("x");
    }
    exchange.hang();
  });
  auto client = client_for(server.url());
  HttpRequest request;
  request.path = "/unary";
  request.timeout = 100ms;
  auto answer = fetch(*client, request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("did not answer in time"));
  request.path = "/stream";
  request.timeout = 0ms;
  request.idle_timeout = 150ms;
  answer = fetch(*client, request);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("sent nothing for 150 ms"));
}

TEST(HttpClient, ABrokenAnswerIsAnError) {
  ScriptedServer server([](const Received&, Exchange& exchange) {
    exchange.open_stream();
    exchange.chunk("half");
    exchange.cut();
  });
  auto client = client_for(server.url());
  const auto answer = get(*client, "/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
}

TEST(HttpClient, AnAnswerThatIsTooLargeIsRefused) {
  ScriptedServer server(
      [](const Received&, Exchange& exchange) { exchange.reply(200, std::string(5000, 'x')); });
  ServerAccess access;
  access.server = server.url();
  HttpClientOptions options;
  options.max_body = 1000;
  auto client = client_for(access, options);
  const auto answer = get(*client, "/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(answer.error().message, HasSubstr("more than 1000 bytes"));
}

TEST(HttpClient, AnExpiredCredentialIsFetchedAgainOnce) {
  plimsoll::test::TempDir dir;
  ASSERT_TRUE(plimsoll::test::write_file(
      dir / "plugin",
      "#!/bin/sh\necho x >> " + (dir / "runs").string() +
          "\necho '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
          "\"status\":{\"token\":\"t'$(wc -l < " +
          (dir / "runs").string() + ")'\"}}'\n",
      0700));
  std::atomic<bool> refuse_all{false};
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    const bool good = request.header("Authorization") == "Bearer t2" && !refuse_all;
    exchange.reply(good ? 200 : 401, good ? "{}" : R"({"message":"Unauthorized"})");
  });
  ServerAccess access;
  access.server = server.url();
  access.exec.emplace();
  access.exec->api_version = "client.authentication.k8s.io/v1";
  access.exec->command = (dir / "plugin").string();
  auto client = client_for(access);
  auto answer = get(*client, "/");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(server.count("GET"), 2u);
  refuse_all = true;
  answer = get(*client, "/");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 401);
  EXPECT_EQ(server.count("GET"), 3u) << "the plugin has only just run";
  EXPECT_THAT(response_error("asking", *answer).message,
              AllOf(HasSubstr("Unauthorized"), HasSubstr("renew the token")));
}

TEST(HttpClient, ACredentialThatHasExpiredWhenItIsFetchedIsUsed) {
  plimsoll::test::TempDir dir;
  const std::string runs = (dir / "runs").string();
  ASSERT_TRUE(plimsoll::test::write_file(
      dir / "plugin",
      "#!/bin/sh\necho x >> " + runs +
          "\necho '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
          "\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"2001-02-03T04:05:06Z\"}}'\n",
      0700));
  ScriptedServer server([](const Received& request, Exchange& exchange) {
    exchange.reply(request.header("Authorization") == "Bearer t" ? 200 : 401, "{}");
  });
  ServerAccess access;
  access.server = server.url();
  access.exec.emplace();
  access.exec->api_version = "client.authentication.k8s.io/v1";
  access.exec->command = (dir / "plugin").string();
  for (const auto& [pause, most] : {std::pair(3'600'000ms, 1), std::pair(0ms, 3)}) {
    std::filesystem::remove(runs);
    CredentialOptions options;
    options.first_pause = options.longest_pause = pause;
    auto client = HttpClient::create(access, std::make_shared<CredentialSource>(access, options));
    ASSERT_TRUE(client);
    for (int i = 0; i < 3; ++i) {
      HttpRequest request;
      request.path = "/";
      const auto answer = fetch(**client, request);
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(answer->status, 200);
    }
    const std::string seen = *plimsoll::test::read_file(runs);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 'x'), most);
  }
}

// What a link would find out by asking (http2_links_test.cpp).
TEST(HttpClient, AWatchThatFallsSilentOnAConnectionThatCannotBeAskedIsEnded) {
  ScriptedServer server([](const Received& request, Exchange& exchange) {
    if (request.asks("watch")) {
      exchange.open_stream();
      exchange.chunk("{}");
      exchange.hang();
    } else {
      exchange.reply(200, "{}");
    }
  });
  auto client = client_for(server.url());
  HttpRequest watch;
  watch.path = "/?watch=true";
  watch.timeout = 0ms;
  watch.idle_timeout = 1h;
  watch.beat = 50ms;
  auto ended = test::begin(*client, watch);
  ASSERT_EQ(ended.wait_for(60s), std::future_status::ready);
  const auto answer = ended.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("sent nothing for 50 ms"));
  EXPECT_TRUE(get(*client, "/"));
  EXPECT_EQ(server.connections(), 2u) << "the connection goes with its watch";
}

// Access by a credential plugin that runs this script and then prints a token.
ServerAccess access_by_plugin(const std::string& url, const std::filesystem::path& dir,
                              const std::string& script) {
  EXPECT_TRUE(plimsoll::test::write_file(
      dir / "plugin",
      "#!/bin/sh\n" + script +
          "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":"
          "\"ExecCredential\",\"status\":{\"token\":\"t\"}}'\n",
      0700));
  ServerAccess access;
  access.server = url;
  access.exec.emplace();
  access.exec->api_version = "client.authentication.k8s.io/v1";
  access.exec->command = (dir / "plugin").string();
  return access;
}

// For what another process does.
bool appears(const std::filesystem::path& file) {
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (!std::filesystem::exists(file)) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

TEST(HttpClient, TheTimeRunsWhileACredentialIsFetched) {
  plimsoll::test::TempDir dir;
  ScriptedServer server([](const Received&, Exchange& exchange) { exchange.reply(200, "{}"); });
  auto client = client_for(access_by_plugin(server.url(), dir.path(), "sleep 50\n"));
  const auto begun = std::chrono::steady_clock::now();
  HttpRequest request;
  request.timeout = 100ms;
  const auto answer = fetch(*client, request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("no credential in time"));
  client->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 20s);
  EXPECT_TRUE(server.received().empty());
}

TEST(HttpClient, AFenceThatClosesBarsWhatWaitsForACredential) {
  plimsoll::test::TempDir dir;
  const std::string started = (dir / "started").string(), go = (dir / "go").string();
  ScriptedServer server([](const Received&, Exchange& exchange) { exchange.reply(201, "{}"); });
  auto client = client_for(
      access_by_plugin(server.url(), dir.path(),
                       "touch " + started + "\nwhile ! test -e " + go + "; do sleep 0.01; done\n"));
  WriteFence fence(10s);
  fence.extend(BootClock::now() + 1h);
  HttpRequest request;
  request.method = "POST";
  request.path = "/write";
  request.fence = &fence;
  std::promise<Result<HttpResponse>> promise;
  HttpHandlers handlers;
  handlers.on_done = [&](Result<HttpResponse> result) { promise.set_value(std::move(result)); };
  client->submit(request, handlers);
  ASSERT_TRUE(appears(started));
  fence.close();
  ASSERT_TRUE(plimsoll::test::write_file(go, ""));
  const auto answer = promise.get_future().get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kCancelled);
  EXPECT_THAT(answer.error().message, HasSubstr("does not lead"));
  EXPECT_TRUE(get(*client, "/read")) << "what has no fence goes on";
  EXPECT_EQ(server.count("POST"), 0u);
}

TEST(HttpClient, AFenceThatClosesBarsTheSecondTryAfterA401) {
  plimsoll::test::TempDir dir;
  WriteFence fence(10s);
  fence.extend(BootClock::now() + 1h);
  ScriptedServer server([&](const Received&, Exchange& exchange) {
    fence.close();
    exchange.reply(401, R"({"message":"Unauthorized"})");
  });
  auto client = client_for(access_by_plugin(server.url(), dir.path(), ""));
  HttpRequest request;
  request.method = "POST";
  request.fence = &fence;
  const auto answer = fetch(*client, request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(server.count("POST"), 1u);
}

TEST(HttpClient, AFenceLimitsTheTimeOfWhatItLetsThrough) {
  ScriptedServer server([](const Received&, Exchange& exchange) { exchange.hang(); });
  auto client = client_for(server.url());
  WriteFence fence(100ms);
  fence.extend(BootClock::now() + 200ms);
  HttpRequest request;
  request.method = "POST";
  request.timeout = 0ms;
  request.fence = &fence;
  const auto answer = fetch(*client, request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
}

// Whether this process has a socket with that option.
bool has_user_timeout(unsigned wanted) {
  for (int fd = 0; fd < 1024; ++fd) {
    unsigned timeout = 0;
    socklen_t size = sizeof timeout;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, &size) == 0 && timeout == wanted)
      return true;
  }
  return false;
}

TEST(HttpClient, AConnectionThatAcknowledgesNothingIsGivenUp) {
  ScriptedServer server([](const Received&, Exchange& exchange) { exchange.reply(200, "{}"); });
  ServerAccess access;
  access.server = server.url();
  HttpClientOptions options;
  options.unacknowledged_timeout = 12'345ms;
  EXPECT_FALSE(has_user_timeout(12'345));
  auto client = client_for(access, options);
  ASSERT_TRUE(get(*client, "/"));
  EXPECT_TRUE(has_user_timeout(12'345));
}

// Where one connection is silently dead, the others to the same place are, too.
TEST(HttpClient, AfterATimeoutTheNextTryHasANewConnection) {
  std::atomic<int> at_once{0};
  ScriptedServer server([&](const Received& request, Exchange& exchange) {
    if (request.asks("never")) exchange.hang();
    if (request.asks("pair")) {
      ++at_once;
      while (at_once < 2) std::this_thread::sleep_for(1ms);
    }
    exchange.reply(200, "{}");
  });
  auto client = client_for(server.url());
  {
    std::jthread other([&] { EXPECT_TRUE(get(*client, "/pair")); });
    EXPECT_TRUE(get(*client, "/pair"));
  }
  EXPECT_EQ(server.connections(), 2u);
  HttpRequest request;
  request.path = "/never";
  request.timeout = 100ms;
  EXPECT_FALSE(fetch(*client, request));
  EXPECT_EQ(server.connections(), 2u);
  EXPECT_TRUE(get(*client, "/again"));
  EXPECT_EQ(server.connections(), 3u);
  EXPECT_TRUE(get(*client, "/and-again"));
  EXPECT_EQ(server.connections(), 3u) << "once";
}

TEST(HttpClient, APluginThatFailsIsTheAnswer) {
  ServerAccess access;
  access.server = "http://127.0.0.1:9";
  access.exec.emplace();
  access.exec->api_version = "client.authentication.k8s.io/v1";
  access.exec->command = "false";
  auto client = client_for(access);
  const auto answer = get(*client, "/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnauthorized);
  EXPECT_THAT(answer.error().message, HasSubstr("exit status 1"));
}

TEST(HttpClient, CancelEndsARequest) {
  ScriptedServer server([](const Received&, Exchange& exchange) { exchange.hang(); });
  auto client = client_for(server.url());
  Journal journal;
  HttpHandlers handlers;
  handlers.on_done = [&](Result<HttpResponse> result) {
    journal.add(!result && result.error().code == ErrorCode::kCancelled ? "cancelled" : "other");
  };
  const auto id = client->submit({}, handlers);
  ASSERT_TRUE(server.wait_for("GET", 1));
  client->cancel(id);
  ASSERT_TRUE(journal.wait_for("cancelled"));
  client->cancel(id);
  client->run([] {});
  EXPECT_EQ(journal.lines().size(), 1u);
}

TEST(HttpClient, StopEndsEverything) {
  ScriptedServer server([](const Received&, Exchange& exchange) { exchange.hang(); });
  auto client = client_for(server.url());
  std::atomic<int> cancelled{0};
  HttpHandlers handlers;
  handlers.on_done = [&](Result<HttpResponse> result) {
    if (!result && result.error().code == ErrorCode::kCancelled) ++cancelled;
  };
  for (int i = 0; i < 5; ++i) client->submit({}, handlers);
  client->after(1h, [] { FAIL() << "a timer after the stop"; });
  ASSERT_TRUE(server.wait_for("GET", 5));
  client->stop();
  EXPECT_EQ(cancelled, 5);
  client->submit({}, handlers);
  EXPECT_EQ(cancelled, 6) << "a stopped client answers at once";
  EXPECT_FALSE(client->post([] {}));
  bool ran = false;
  client->run([&] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST(HttpClient, TimersAndFunctionsRunInOrderOnOneThread) {
  auto client = client_for("http://127.0.0.1:9");
  Journal journal;
  std::thread::id thread;
  client->run([&] { thread = std::this_thread::get_id(); });
  client->after(60ms,
                [&] { journal.add(std::this_thread::get_id() == thread ? "late" : "astray"); });
  client->after(20ms,
                [&] { journal.add(std::this_thread::get_id() == thread ? "early" : "astray"); });
  const auto dropped = client->after(40ms, [&] { journal.add("dropped"); });
  client->run([&] { client->cancel_timer(dropped); });
  client->post([] { throw std::runtime_error("a callback that throws costs only itself"); });
  ASSERT_TRUE(journal.wait_for("late"));
  EXPECT_THAT(journal.lines(), ::testing::ElementsAre("early", "late"));
}

TEST(HttpClient, ManyThreadsMaySubmit) {
  ScriptedServer server([](const Received&, Exchange& exchange) { exchange.reply(200, "{}"); });
  ServerAccess access;
  access.server = server.url();
  HttpClientOptions options;
  options.max_connections = 4;
  auto client = client_for(access, options);
  std::atomic<int> good{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto answer = get(*client, "/x");
        if (answer && answer->ok()) ++good;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(good, 200);
  EXPECT_LE(server.connections(), 4u);
}

}  // namespace
}  // namespace plimsoll::informer
