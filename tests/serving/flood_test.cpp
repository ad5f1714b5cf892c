// Strangers open connections as fast as they can while probes are made. No probe may fail: not
// because its connection was cut, and not because it was never answered.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <string>
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
    sockaddr_in from{}, to{};
    from.sin_family = to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::inet_pton(AF_INET, flood.from, &from.sin_addr);
    while (!ending_) {
      const int one = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const int yes = 1;
      ::setsockopt(one, SOL_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
      // No port is used up: the end of a connection is a reset.
      const linger none{.l_onoff = 1, .l_linger = 0};
      ::setsockopt(one, SOL_SOCKET, SO_LINGER, &none, sizeof none);
      if (::bind(one, reinterpret_cast<sockaddr*>(&from), sizeof from) == 0 &&
          ::connect(one, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
        ++connections_;
        (void)::send(one, flood.sends.data(), flood.sends.size(), MSG_NOSIGNAL);
      }
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
    ::testing::Values(
        Flood{"PlainOpenedAndClosed", "127.0.0.1", false, "", false},
        Flood{"PlainHeld", "127.0.0.1", false, "", true},
        Flood{"PlainHalfARequest", "127.0.0.2", false, "GET / HTTP/1.1\r\nHost:", true},
        Flood{"PlainHalfARequestFromHere", "127.0.0.1", false, "GET / HTTP/1.1\r\nHost:", true},
        Flood{"PlainRequestsFromHere", "127.0.0.1", false, "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
              true},
        Flood{"TlsOpenedAndClosed", "127.0.0.1", true, "", false},
        Flood{"TlsHeld", "127.0.0.1", true, "", true},
        Flood{"TlsNoise", "127.0.0.1", true, "GET / HTTP/1.1\r\nHost:", true},
        Flood{"TlsHalfAHello", "127.0.0.1", true, client_hello().substr(0, 20), true},
        Flood{"TlsHello", "127.0.0.2", true, client_hello(), true},
        Flood{"TlsHelloFromHere", "127.0.0.1", true, client_hello(), true}),
    [](const auto& which) { return std::string(which.param.what); });

}  // namespace
}  // namespace plimsoll::serving
