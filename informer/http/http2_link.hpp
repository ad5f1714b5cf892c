#pragma once
// One HTTP/2 connection that carries many transfers. libcurl establishes the connection (proxies,
// TLS, names, certificates); nghttp2 speaks HTTP/2 on it. With libcurl alone, any arriving data
// makes it check the socket and the clock once for each transfer under way, and each frame is sent
// in a TLS record of its own. A link reads all available data once and sends all pending frames
// together.
//
// A server that has been silent for long is sent a PING. TCP acknowledgements prove less: they come
// from a kernel, or from a middlebox between us and the server.
//
// Belongs to the I/O thread; nothing here blocks. Callbacks of transfers are called only from
// read() and look(), and must not call the link.

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

// A transfer that has ended on a link; a failure's message is in its error_text.
struct LinkEnd {
  HttpClient::RequestId id = 0;
  CURLcode code = CURLE_OK;
  bool untouched = false;  // the server says that it did not process the request: send it again
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

  // Starts to connect with a handle that is prepared for its credential. The handle is added to
  // `multi`, which must be driven until connected() was called. Transfers that end are appended to
  // `ended`.
  Http2Link(const TransferSetup& setup, CURLM* multi, Handle handle, std::vector<LinkEnd>& ended);
  ~Http2Link();  // must carry no transfer
  Http2Link(const Http2Link&) = delete;
  Http2Link& operator=(const Http2Link&) = delete;

  // libcurl has finished connecting. If that failed, the transfers fail too.
  void connected(CURLcode code);

  // Takes a transfer, which must keep its address until it ends or is given up; its headers and
  // limits are set. Call it only while takes_more().
  void carry(Transfer& transfer);
  // Cancels the transfer: no more callbacks for it; its stream is reset.
  void give_up(Transfer& transfer);
  // Returns all transfers, to be carried in another way; kOtherProtocol only.
  [[nodiscard]] std::vector<HttpClient::RequestId> hand_over();

  // Reads what has arrived; returns true if more is available at once.
  bool read();
  // Sends pending data, as far as the socket accepts it.
  void flush();

  // Sends a PING if one is due. Declares the connection dead if nothing arrived for too long after
  // the last PING. next_look() is the time of the next such action, max() if the link is not open.
  void look(Clock::time_point now);
  [[nodiscard]] Clock::time_point next_look() const;

  // Takes no new transfers from now on; the link is useless once it carries none.
  void retire() { retired_ = true; }
  // A request that was sent at `sent` was not answered. If nothing has arrived since, the
  // connection may be dead unnoticed, so the link is retired.
  void doubt(Clock::time_point sent) { retired_ = retired_ || heard_at_ <= sent; }

  [[nodiscard]] bool takes_more() const;
  [[nodiscard]] bool is_useless() const;
  [[nodiscard]] bool is_retired() const { return retired_; }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is_of(const Credential& credential) const;
  [[nodiscard]] const CURL* easy() const { return handle_.easy; }
  [[nodiscard]] curl_socket_t socket() const { return socket_; }
  // Whether flush() waits until the socket accepts more.
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
  void* tls_ = nullptr;  // OpenSSL's SSL of the handle
  nghttp2_session* session_ = nullptr;
  Clock::time_point heard_at_{};
  Clock::time_point asked_at_{};    // when a PING was sent; anything that arrives later answers it
  std::vector<Transfer*> waiting_;  // for the connection
  std::unordered_map<std::int32_t, Transfer*> streams_;
  std::string out_;          // encoded frames
  std::size_t sent_ = 0;     // the number of bytes of out_ that are sent
  std::size_t blocked_ = 0;  // bytes after them that the socket did not accept last time
  std::string content_size_;
  std::string path_;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
};

}  // namespace plimsoll::informer
