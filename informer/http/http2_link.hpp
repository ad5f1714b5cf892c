#pragma once
// One HTTP/2 connection that carries many transfers: libcurl connects it (proxies, TLS, names,
// certificates are its affair), nghttp2 speaks on it. libcurl looks at the socket and at the clock
// once for each transfer under way whenever anything arrives, and sends every frame in a record of
// its own; a link reads what is there once and sends all that waits in one piece.
//
// A server that says nothing for long is asked whether it is there: TCP's acknowledgements come
// from a kernel, or from whatever is between us and the server, and prove less.
//
// Belongs to the I/O thread; nothing here blocks. Callbacks of transfers are called from read() and
// look() only, and must not call the link.

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "informer/http/http_transfer.hpp"

struct nghttp2_session;

namespace plimsoll::informer {

// A transfer that a link is done with; a failure's words are in its error_text.
struct LinkEnd {
  HttpClient::RequestId id = 0;
  CURLcode code = CURLE_OK;
  bool untouched = false;  // the server says that it did not look at it: send it again
};

class Http2Link {
 public:
  enum class State {
    kConnecting,
    kOpen,
    kOtherProtocol,  // connected, but the server does not speak HTTP/2
    kDead,           // all its transfers have ended
  };
  using Clock = std::chrono::steady_clock;

  // Begins to connect with a handle that is prepared for its credential, as one of `multi`, which
  // must be driven until connected() was called. What ends is appended to `ended`.
  Http2Link(const TransferSetup& setup, CURLM* multi, Handle handle, std::vector<LinkEnd>& ended);
  ~Http2Link();  // without a transfer
  Http2Link(const Http2Link&) = delete;
  Http2Link& operator=(const Http2Link&) = delete;

  // libcurl's connecting has ended. If it failed, so have the transfers.
  void connected(CURLcode code);

  // Takes a transfer, which must stay where it is until it ends or is given up; with headers and
  // limits set. Only while takes_more().
  void carry(Transfer& transfer);
  // No word of it any more; the server is told.
  void give_up(Transfer& transfer);
  // All transfers, for another way to carry them; kOtherProtocol only.
  [[nodiscard]] std::vector<HttpClient::RequestId> hand_over();

  // Reads what has arrived; true if there is more at once.
  bool read();
  // Sends what waits to be sent, as far as the socket takes it.
  void flush();

  // Sends a PING if it is time for one; if nothing was heard since the last one for too long, the
  // connection is dead. next_look(): when there is something to do, max() if not open.
  void look(Clock::time_point now);
  [[nodiscard]] Clock::time_point next_look() const;

  // Nothing new is given to it, and once it carries nothing it is of no use.
  void retire() { retired_ = true; }
  // A request that was sent at `sent` was not answered. If nothing else was heard since, the
  // connection may be dead without anybody knowing.
  void doubt(Clock::time_point sent) { retired_ = retired_ || heard_at_ <= sent; }

  [[nodiscard]] bool takes_more() const;
  [[nodiscard]] bool is_useless() const;
  [[nodiscard]] bool is_retired() const { return retired_; }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is_of(const Credential& credential) const;
  [[nodiscard]] const CURL* easy() const { return handle_.easy; }
  [[nodiscard]] curl_socket_t socket() const { return socket_; }
  // Whether flush() waits for the socket to take more.
  [[nodiscard]] bool wants_to_write() const { return blocked_ > 0; }

 private:
  struct Callbacks;

  bool begin_session();
  void submit(Transfer& transfer);
  void end(Transfer& transfer, CURLcode code, std::string_view text, bool untouched = false);
  void stream_closed(std::int32_t stream, std::uint32_t error);
  void die(CURLcode code, std::string_view text);
  [[nodiscard]] Transfer* find(std::int32_t stream) const;

  const TransferSetup& setup_;
  CURLM* const multi_;
  Handle handle_;
  std::vector<LinkEnd>& ended_;
  State state_ = State::kConnecting;
  bool retired_ = false;
  curl_socket_t socket_ = CURL_SOCKET_BAD;
  void* tls_ = nullptr;  // OpenSSL's SSL, of the handle
  nghttp2_session* session_ = nullptr;
  Clock::time_point heard_at_{};
  Clock::time_point asked_at_{};    // a PING was sent; answered by whatever is heard after it
  std::vector<Transfer*> waiting_;  // for the connection
  std::unordered_map<std::int32_t, Transfer*> streams_;
  std::string out_;          // frames that are made, of which
  std::size_t sent_ = 0;     // the first so many are sent
  std::size_t blocked_ = 0;  // so many after them the socket did not take when they were sent last
  std::string content_size_;
  std::string path_;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
};

}  // namespace plimsoll::informer
