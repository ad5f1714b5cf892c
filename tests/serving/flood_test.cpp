// Strangers open connections as fast as they can while probes are made. No probe may fail: not
// because its connection was cut, and not because it was never answered.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "serving/http_server.hpp"
#include "tests/support/web_client.hpp"

namespace plimsoll::serving {
namespace {

using namespace std::chrono_literals;

constexpr int kStrangers = 3;
constexpr std::size_t kHeld = 100;  // connections that one of them keeps open
constexpr int kProbes = 100;
constexpr std::size_t kAmong = 1000;  // connections of strangers, at least

// What a client of TLS says first. Strangers never say the rest, and the server has done its part
// of the cryptography.
std::string client_hello() {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL* client = SSL_new(context);
  BIO* out = BIO_new(BIO_s_mem());
  SSL_set_bio(client, BIO_new(BIO_s_mem()), out);
  SSL_connect(client);
  const char* bytes = nullptr;
  const long size = BIO_get_mem_data(out, &bytes);
  std::string hello(bytes, static_cast<std::size_t>(size));
  SSL_free(client);
  SSL_CTX_free(context);
  return hello;
}

const std::string kHalfARequest = "GET / HTTP/1.1\r\nHost:";

struct Flood {
  const char* what;
  const char* from;
  bool tls;
  std::string sends;
  bool holds;  // otherwise it closes each connection at once
};

void PrintTo(const Flood& flood, std::ostream* to) {
  *to << flood.what;
}

sockaddr_in address(const char* of, std::uint16_t port) {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_port = htons(port);
  ::inet_pton(AF_INET, of, &made.sin_addr);
  return made;
}

// A connection to 127.0.0.1; -1: it could not be made. Its end is a reset, so it uses up no port.
int connect_from(const char* from, std::uint16_t port) {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(made, SOL_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
  const linger none{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(made, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  const sockaddr_in here = address(from, 0);
  const sockaddr_in there = address("127.0.0.1", port);
  if (::bind(made, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0 &&
      ::connect(made, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0) {
    return made;
  }
  ::close(made);
  return -1;
}

bool say(int socket, std::string_view text) {
  return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

// What comes until the other side ends it.
std::string hear(int socket) {
  std::string all;
  std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = ::recv(socket, buffer.data(), buffer.size(), 0)) > 0) {
    all.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return all;
}

class Strangers {
 public:
  Strangers(const Flood& flood, std::uint16_t port) {
    for (int i = 0; i < kStrangers; ++i) {
      threads_.emplace_back([this, &flood, port] { run(flood, port); });
    }
  }
  ~Strangers() { stop(); }
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;
  void stop() {
    ending_ = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  [[nodiscard]] std::size_t connections() const { return connections_; }

 private:
  void run(const Flood& flood, std::uint16_t port) {
    std::deque<int> held;
    while (!ending_) {
      const int one = connect_from(flood.from, port);
      if (one < 0) continue;
      ++connections_;
      (void)say(one, flood.sends);
      held.push_back(one);
      if (flood.holds && held.size() < kHeld) continue;
      ::close(held.front());
      held.pop_front();
    }
    for (const int one : held) ::close(one);
  }

  std::atomic<bool> ending_{false};
  std::atomic<std::size_t> connections_{0};
  std::vector<std::thread> threads_;
};

class InAFlood : public ::testing::TestWithParam<Flood> {};

TEST_P(InAFlood, NoProbeFails) {
  const Flood& flood = GetParam();
  ServerOptions options;
  options.max_waiting = 1000;  // whatever this process may open
  options.header_timeout = options.read_timeout = 1h;
  if (flood.tls) options.tls = TlsOptions{};
  const auto server = std::move(*HttpServer::start(options, [](const Request&) {
    return Response{200, "ok"};
  }));
  Strangers strangers(flood, server->port());
  while (strangers.connections() < 2 * kHeld * kStrangers) std::this_thread::yield();
  const std::size_t before = strangers.connections();
  int failed = 0;
  std::string why;
  int probes = 0;
  for (; probes < kProbes || strangers.connections() - before < kAmong; ++probes) {
    const auto answer = plimsoll::test::web_request("GET", server->url() + "/livez", {}, {},
                                                    {.trusts_anybody = true});
    if (answer.status == 200) continue;
    ++failed;
    why = answer.error;
  }
  EXPECT_EQ(failed, 0) << "of " << probes << " probes, among " << strangers.connections() - before
                       << " connections: " << why;
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, InAFlood,
    ::testing::Values(Flood{"PlainHeld", "127.0.0.1", false, "", true},
                      Flood{"PlainHalfARequest", "127.0.0.1", false, kHalfARequest, true},
                      Flood{"PlainRequests", "127.0.0.1", false,
                            "GET / HTTP/1.1\r\nHost: x\r\n\r\n", true},
                      Flood{"TlsOpenedAndClosed", "127.0.0.1", true, "", false},
                      Flood{"TlsHeld", "127.0.0.1", true, "", true},
                      Flood{"TlsNoise", "127.0.0.2", true, kHalfARequest, true},
                      Flood{"TlsHello", "127.0.0.1", true, client_hello(), true}),
    [](const auto& which) { return std::string(which.param.what); });

// The probe comes first and says something last; between the two come many others. The last of them
// is answered, so all have been taken in.
void expect_answered_after(int many, const char* from, const std::string& first_words) {
  ServerOptions options;
  options.header_timeout = 1h;
  const auto server = std::move(*HttpServer::start(options, [](const Request& request) {
    return Response{200, request.path};
  }));
  const int probe = connect_from("127.0.0.1", server->port());
  const std::string request = "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  std::string_view rest = request;
  ASSERT_TRUE(say(probe, rest.substr(0, first_words.size())));
  rest.remove_prefix(first_words.size());
  std::vector<int> others;
  for (int i = 0; i < many; ++i) {
    others.push_back(connect_from(from, server->port()));
    ASSERT_GE(others.back(), 0);
    ASSERT_TRUE(say(others.back(), first_words));
  }
  ASSERT_TRUE(say(others.back(), rest));
  EXPECT_TRUE(hear(others.back()).ends_with("/livez"));
  EXPECT_TRUE(say(probe, rest));
  EXPECT_TRUE(hear(probe).ends_with("/livez"));
  ::close(probe);
  for (const int one : others) ::close(one);
}

TEST(Connections, ThoseThatSayNothingTakeNobodysPlace) {
  expect_answered_after(200, "127.0.0.1", "");
}

TEST(Connections, APeerWithManyOfThemLosesItsOwn) {
  expect_answered_after(300, "127.0.0.2", "GET /livez HTTP/1.1\r\n");
}

}  // namespace
}  // namespace plimsoll::serving
