#pragma once
// An HTTP/2 server over TLS on 127.0.0.1 that answers by a script, for what a well-behaved API
// server never does when a test wants it: refuse, reset, go away, vanish. Its certificate is its
// own, for 127.0.0.1.
//
// The script is called on the thread of the connection that the request came on.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/informer/scripted_server.hpp"

namespace plimsoll::informer::test {

struct Http2Answer {
  enum class What {
    kAnswer,
    kHang,    // never answered
    kRefuse,  // REFUSED_STREAM
    kReset,   // INTERNAL_ERROR, after the answer's headers
    kGoAway,  // GOAWAY that says that this request was not looked at
    kCut,     // the connection is closed
    kStall,   // the answer begins and never ends; from here on nothing is read or sent
    kOpen,    // the answer begins and never ends
  };
  What what = What::kAnswer;
  int status = 200;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // besides content-type
};

class Http2Server {
 public:
  using Script = std::function<Http2Answer(const Received&)>;
  // `max_streams` is what it says it takes at a time; more is an error that ends the connection.
  explicit Http2Server(Script script, std::uint32_t max_streams = 100);
  ~Http2Server();
  Http2Server(const Http2Server&) = delete;
  Http2Server& operator=(const Http2Server&) = delete;

  [[nodiscard]] std::string url() const;          // "https://127.0.0.1:PORT"
  [[nodiscard]] std::string certificate() const;  // PEM; signed by itself
  // The pseudo header :authority is received as "host".
  [[nodiscard]] std::vector<Received> received() const;
  // Waits until `n` requests have come; false after half a minute.
  [[nodiscard]] bool wait_for(std::size_t n) const;
  [[nodiscard]] std::size_t connections() const;  // so far
  // Waits until `n` PINGs have come; false after half a minute.
  [[nodiscard]] bool wait_for_pings(std::size_t n) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::informer::test
