#pragma once
// The links of one client. It opens as many as its requests need and gives each as many requests as
// the server accepts at a time. Belongs to the I/O thread; nothing here blocks.

#include <functional>
#include <memory>
#include <vector>

#include "informer/http/http2_link.hpp"

namespace plimsoll::informer {

class Http2Links {
 public:
  // Returns a handle that is prepared for the credential; `easy` is null if there is no memory.
  using MakeHandle = std::function<Handle(const CredentialRef& credential)>;

  Http2Links(const TransferSetup& setup, CURLM* multi, MakeHandle make_handle);

  // Whether requests with this credential go over links; otherwise libcurl sends them itself. Once
  // a server turned out not to speak HTTP/2, links are not tried again.
  [[nodiscard]] bool serve(const Credential& credential) const;

  enum class Place { kGiven, kNone, kNoMemory };
  // Assigns a link to the transfer and opens a new link if necessary. kNone: all are full and no
  // more may be opened.
  Place place(Transfer& transfer);

  // libcurl has finished connecting this handle.
  void connected(const CURL* easy, CURLcode code);

  // Sends a PING on links that have been silent for long. next_look() is when one is due next,
  // max() if none is. Call it before flush().
  void look(Http2Link::Clock::time_point now);
  [[nodiscard]] Http2Link::Clock::time_point next_look() const;

  // Sends pending data.
  void flush();
  // add_sockets() appends the sockets to wait for to `into`. read() takes the results from index
  // `first` on, and returns true if more can be read at once.
  void add_sockets(std::vector<curl_waitfd>& into);
  bool read(const std::vector<curl_waitfd>& from, std::size_t first);

  // The transfers that have ended since the last call, and those that have not ended but have to be
  // sent without links.
  [[nodiscard]] std::vector<LinkEnd> take_ended() { return std::exchange(ended_, {}); }
  [[nodiscard]] std::vector<HttpClient::RequestId> take_handed_over() {
    return std::exchange(handed_over_, {});
  }
  // Deletes links that are useless.
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
