#pragma once
// The links of one client: as many as its requests need, each given as many as the server takes at
// a time. Belongs to the I/O thread; nothing here blocks.

#include <functional>
#include <memory>
#include <vector>

#include "informer/http/http2_link.hpp"

namespace plimsoll::informer {

class Http2Links {
 public:
  // Gives a handle that is prepared for the credential; without `easy` if there is no memory.
  using MakeHandle = std::function<Handle(const CredentialRef& credential)>;

  Http2Links(const TransferSetup& setup, CURLM* multi, MakeHandle make_handle);

  // Whether links carry what is sent with this credential; else libcurl does by itself. A server
  // that turned out not to speak HTTP/2 is not asked again.
  [[nodiscard]] bool serve(const Credential& credential) const;

  enum class Place { kGiven, kNone, kNoMemory };
  // Gives it a link, a new one if need be. kNone: all are full and there may be no more of them.
  Place place(Transfer& transfer);

  // libcurl says that a handle's connecting has ended.
  void connected(const CURL* easy, CURLcode code);

  // Asks those that have been silent for long whether they live; next when there will be some to
  // ask, max() if there are none. Before flush().
  void look(Http2Link::Clock::time_point now);
  [[nodiscard]] Http2Link::Clock::time_point next_look() const;

  // Sends what waits to be sent.
  void flush();
  // What to wait for, appended to `into`, and what came of it, from the same place on. True if
  // there is more to be read at once.
  void add_sockets(std::vector<curl_waitfd>& into);
  bool read(const std::vector<curl_waitfd>& from, std::size_t first);

  // What has ended since the last call; and, without an end, what is to go by other means.
  [[nodiscard]] std::vector<LinkEnd> take_ended() { return std::exchange(ended_, {}); }
  [[nodiscard]] std::vector<HttpClient::RequestId> take_handed_over() {
    return std::exchange(handed_over_, {});
  }
  // Lets go of links that are of no use any more.
  void tidy();
  void clear() { links_.clear(); }

 private:
  const TransferSetup& setup_;
  CURLM* const multi_;
  const MakeHandle make_handle_;
  bool in_use_;
  std::vector<LinkEnd> ended_;
  std::vector<HttpClient::RequestId> handed_over_;
  std::vector<std::unique_ptr<Http2Link>> links_;
  std::vector<Http2Link*> polled_;  // since add_sockets()
};

}  // namespace plimsoll::informer
