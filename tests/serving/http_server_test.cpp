#include "serving/http_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/web_client.hpp"

namespace plimsoll::serving {
namespace {

using namespace std::chrono_literals;
using plimsoll::test::RawConnection;
using plimsoll::test::web_get;
using plimsoll::test::web_request;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Says what it was asked.
Response echo(const Request& request) {
  if (request.path == "/throws") throw std::runtime_error("a secret");
  return {200, request.method + " " + request.path + " " + request.query + " " + request.body};
}

std::unique_ptr<HttpServer> serve(ServerOptions options = {}, Handler handler = echo) {
  auto server = HttpServer::start(std::move(options), std::move(handler));
  if (!server) throw std::runtime_error(server.error().message);
  return std::move(*server);
}

TEST(HttpServer, Answers) {
  const auto server = serve();
  EXPECT_THAT(server->url(), StartsWith("http://127.0.0.1:"));
  const auto answer = web_request("PUT", server->url() + "/a%20b/c?x=1&y", "body");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "PUT /a b/c x=1&y body");
  EXPECT_EQ(answer.content_type, "text/plain; charset=utf-8");
}

// As kube-scheduler's --bind-address: a pod may have an IPv6 address only.
TEST(HttpServer, AnyAddressIsOneOfIPv6Too) {
  ServerOptions options;
  options.address = "0.0.0.0";
  const auto server = serve(options);
  const std::string port = std::to_string(server->port());
  EXPECT_EQ(web_get("http://127.0.0.1:" + port + "/").status, 200);
  std::ifstream addresses("/proc/net/if_inet6");
  std::string first;
  if (!std::getline(addresses, first)) GTEST_SKIP() << "this machine has no IPv6";
  EXPECT_EQ(web_get("http://[::1]:" + port + "/").status, 200);
}

TEST(HttpServer, SendsFurtherHeaders) {
  const auto server = serve({}, [](const Request&) {
    return Response{200, "", "text/html", {{"Content-Security-Policy", "default-src 'none'"}}};
  });
  RawConnection connection(server->port());
  ASSERT_TRUE(connection.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  bool closed = false;
  EXPECT_THAT(connection.read_to_end(10'000, closed),
              HasSubstr("\r\nContent-Security-Policy: default-src 'none'\r\n"));
}

TEST(HttpServer, DecodesParameters) {
  const Request request{"GET", "/", "verbose&exclude=a%2Fb&exclude=c+d&x=", ""};
  EXPECT_THAT(request.parameters("exclude"), ElementsAre("a/b", "c d"));
  EXPECT_TRUE(request.has("verbose"));
  EXPECT_TRUE(request.has("x"));
  EXPECT_FALSE(request.has("y"));
  EXPECT_THAT((Request{"GET", "/", "&&=&%", ""}).parameters("y"), IsEmpty());
}

TEST(HttpServer, KnowsWhatOnlyThisMachineReaches) {
  for (const char* here : {"127.0.0.1", "127.9.8.7", "::1"}) EXPECT_TRUE(is_loopback(here)) << here;
  for (const char* anywhere : {"0.0.0.0", "::", "10.0.0.1", "fe80::1", "localhost", "", "127.1"}) {
    EXPECT_FALSE(is_loopback(anywhere)) << anywhere;
  }
}

TEST(HttpServer, KeepsConnectionsAndAnswersHeadWithoutABody) {
  const auto server = serve();
  RawConnection connection(server->port());
  ASSERT_TRUE(
      connection.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"
                      "HEAD /2 HTTP/1.1\r\nHost: x\r\n\r\n"
                      "GET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  bool closed = false;
  const std::string all = connection.read_to_end(10'000, closed);
  EXPECT_TRUE(closed);
  EXPECT_THAT(all, HasSubstr("GET /1  "));
  EXPECT_THAT(all, HasSubstr("GET /3  "));
  EXPECT_THAT(all, ::testing::Not(HasSubstr("/2")));
}

// Somebody else has the answer, and says so later, from another thread; the text of it is made on
// the server's.
TEST(HttpServer, AnswersWhatTheGateHasTheAnswerTo) {
  std::promise<Reply> asked;
  ServerOptions options;
  options.gate = [&asked](const Request& request, Reply done) {
    if (request.path != "/elsewhere") return done({});
    asked.set_value(std::move(done));
  };
  const auto server = serve(std::move(options));
  std::promise<std::thread::id> made_on;
  std::thread somebody([&] {
    const Reply done = asked.get_future().get();
    done([&made_on]() -> Response {
      made_on.set_value(std::this_thread::get_id());
      return {203, "from elsewhere"};
    });
  });
  const auto answer = web_get(server->url() + "/elsewhere");
  const std::thread::id other = somebody.get_id();
  somebody.join();
  EXPECT_EQ(answer.status, 203);
  EXPECT_EQ(answer.body, "from elsewhere");
  const std::thread::id made = made_on.get_future().get();
  EXPECT_NE(made, other);
  EXPECT_NE(made, std::this_thread::get_id());
  EXPECT_EQ(web_get(server->url() + "/here").body, "GET /here  ");
}

TEST(HttpServer, TellsNobodyWhyAHandlerFailed) {
  const auto server = serve();
  const auto answer = web_get(server->url() + "/throws");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "internal server error\n");
  EXPECT_EQ(web_get(server->url() + "/next").status, 200);
}

TEST(HttpServer, RefusesWhatIsTooLargeOrNotHttp) {
  const auto server = serve();
  EXPECT_EQ(web_request("PUT", server->url() + "/", std::string(17 * 1024, 'x')).status, 413);
  bool closed = false;
  RawConnection header(server->port());
  header.send("GET / HTTP/1.1\r\nX: " + std::string(17 * 1024, 'x') + "\r\n\r\n");
  header.read_to_end(10'000, closed);
  EXPECT_TRUE(closed);
  RawConnection garbage(server->port());
  garbage.send("\x16\x03\x01 this is TLS, say\r\n\r\n");
  EXPECT_THAT(garbage.read_to_end(10'000, closed), HasSubstr("400 Bad Request"));
  EXPECT_TRUE(closed);
  EXPECT_EQ(web_get(server->url() + "/").status, 200);
}

TEST(HttpServer, IsNotHeldBySlowClients) {
  ServerOptions options;
  options.header_timeout = 200ms;
  options.read_timeout = 300ms;
  const auto server = serve(options);
  std::vector<std::unique_ptr<RawConnection>> slow;
  for (const char* begin : {"", "GET / HTTP/1.1\r\nHost:",
                            "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nbod"}) {
    slow.push_back(std::make_unique<RawConnection>(server->port()));
    ASSERT_TRUE(slow.back()->send(begin));
  }
  for (const auto& connection : slow) {
    bool closed = false;
    EXPECT_THAT(connection->read_to_end(10'000, closed), IsEmpty());
    EXPECT_TRUE(closed);
  }
  EXPECT_EQ(web_get(server->url() + "/").status, 200);
}

// However many hold a connection without asking for anything more, a probe is answered.
TEST(HttpServer, OneThatIsIdleMakesRoom) {
  ServerOptions options;
  options.header_timeout = options.read_timeout = 1h;
  options.max_connections = 4;
  std::atomic<std::size_t> greeted{0};
  const auto server = serve(options, [&greeted](const Request& request) {
    if (request.path == "/greeting") ++greeted;
    return Response{200, "ok"};
  });
  std::vector<std::unique_ptr<RawConnection>> idle;
  for (const char* begin : {"", "GET / HTTP/1.1\r\nHost:",
                            "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "", "", ""}) {
    idle.push_back(std::make_unique<RawConnection>(server->port()));
    ASSERT_TRUE(
        idle.back()->send("GET /greeting HTTP/1.1\r\nHost: x\r\n\r\n" + std::string(begin)));
    while (greeted < idle.size()) std::this_thread::yield();
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(web_get(server->url() + "/").status, 200);
  bool closed = false;
  for (int i = 0; i < 3; ++i) {
    idle[i]->read_to_end(10'000, closed);
    EXPECT_TRUE(closed) << "the oldest went first: " << i;
  }
  idle.back()->read_to_end(20, closed);
  EXPECT_FALSE(closed) << "no more than needed";
}

// Who sends nothing takes nobody's place, and goes when too many do.
TEST(HttpServer, TooManySilentOnesLoseTheirOldest) {
  ServerOptions options;
  options.header_timeout = 1h;
  options.max_connections = 1;
  options.max_waiting = 3;
  const auto server = serve(options);
  std::vector<std::unique_ptr<RawConnection>> silent;
  for (int i = 0; i < 5; ++i) silent.push_back(std::make_unique<RawConnection>(server->port()));
  bool closed = false;
  for (int i = 0; i < 2; ++i) {
    silent[i]->read_to_end(10'000, closed);
    EXPECT_TRUE(closed) << i;
  }
  ASSERT_TRUE(silent.back()->send("GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(silent.back()->read_to_end(10'000, closed), HasSubstr("GET /last"));
}

TEST(HttpServer, IsNotHeldByClientsThatDoNotRead) {
  ServerOptions options;
  options.write_timeout = 300ms;
  const std::string large(64 << 20, 'x');  // more than the sockets' buffers hold
  const auto server = serve(options, [&large](const Request& request) {
    return request.path == "/large" ? Response{200, large} : Response{200, "ok"};
  });
  RawConnection connection(server->port());
  ASSERT_TRUE(connection.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(web_get(server->url() + "/").body, "ok");  // others are served meanwhile
  std::this_thread::sleep_for(2s);                     // beyond the time of the server's own limit
  bool closed = false;
  EXPECT_LT(connection.read_to_end(20'000, closed).size(), large.size());
  EXPECT_TRUE(closed);
}

TEST(HttpServer, AnswersOthersThoughAllItsConnectionsDoNotRead) {
  ServerOptions options;
  options.max_connections = 4;
  options.write_timeout = 600s;
  const std::string large(16 << 20, 'x');
  const auto server = serve(options, [&large](const Request& request) {
    return request.path == "/large" ? Response{200, large} : Response{200, "ok"};
  });
  std::vector<std::unique_ptr<RawConnection>> silent;
  for (int i = 0; i < 8; ++i) {
    silent.push_back(std::make_unique<RawConnection>(server->port()));
    ASSERT_TRUE(silent.back()->send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_EQ(web_get(server->url() + "/").body, "ok") << i;
  }
}

// A chunk's size is no header and no body.
TEST(HttpServer, KeepsNoChunkSizeThatNeverEnds) {
  const auto server = serve();
  RawConnection connection(server->port());
  ASSERT_TRUE(connection.send("PUT /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string ones(1 << 20, '1');
  int sent = 0;
  while (sent < 256 && connection.send(ones)) ++sent;
  EXPECT_LT(sent, 64) << "MiB were taken";
}

TEST(HttpServer, SaysWhatToDoAboutAnAddressThatCannotBeHad) {
  const auto first = serve();
  ServerOptions options;
  options.port = first->port();
  const auto second = HttpServer::start(options, echo);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().message,
            "cannot serve metrics and health on 127.0.0.1:" + std::to_string(first->port()) +
                ": Address already in use; choose another --port, or 0 to "
                "serve nothing");
  options.address = "localhost";
  const auto third = HttpServer::start(options, echo);
  ASSERT_FALSE(third.has_value());
  EXPECT_THAT(third.error().message, HasSubstr("--bind-address localhost is not an IP address"));
}

TEST(HttpServer, StopsWithConnectionsOpen) {
  auto server = serve();
  RawConnection idle(server->port());
  idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::uint16_t port = server->port();
  server->stop();
  server->stop();
  bool closed = false;
  idle.read_to_end(10'000, closed);
  EXPECT_TRUE(closed);
  EXPECT_EQ(web_get("http://127.0.0.1:" + std::to_string(port) + "/").status, 0);
}

// Holds the server's thread in the middle of a request.
struct Hold {
  std::promise<void> entered, released;
  void wait() {
    entered.set_value();
    released.get_future().wait();
  }
};

// Connections that are accepted while the server is told to stop are neither served nor waited for.
// The first hold lets the second request and two connections arrive together, in this order; the
// second one lets stop() come between the two connections.
TEST(HttpServer, StopsWhileConnectionsArrive) {
  std::promise<void> ready;
  Hold first, second;
  const auto server = serve({}, [&](const Request& request) {
    if (request.path == "/ready") ready.set_value();
    if (request.path == "/first") first.wait();
    if (request.path == "/second") second.wait();
    return Response{};
  });
  const auto ask = [](RawConnection& from, const std::string& path) {
    return from.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
  };
  RawConnection later(server->port());
  ASSERT_TRUE(ask(later, "/ready"));
  ready.get_future().wait();
  RawConnection earlier(server->port());
  ASSERT_TRUE(ask(earlier, "/first"));
  first.entered.get_future().wait();
  ASSERT_TRUE(ask(later, "/second"));
  const RawConnection one(server->port());
  const RawConnection another(server->port());
  first.released.set_value();
  second.entered.get_future().wait();
  auto stopped = std::async(std::launch::async, [&] { server->stop(); });
  EXPECT_EQ(stopped.wait_for(50ms), std::future_status::timeout) << "it waits for the handler";
  second.released.set_value();
  const auto end = stopped.wait_for(10s);
  ASSERT_EQ(end, std::future_status::ready);
}

TEST(HttpServer, AnswersManyAtOnce) {
  const auto server = serve();
  std::atomic<int> answered{0};
  std::vector<std::thread> clients;
  clients.reserve(8);
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      for (int n = 0; n < 20; ++n) answered += web_get(server->url() + "/").status == 200 ? 1 : 0;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 160);
}

}  // namespace
}  // namespace plimsoll::serving
