#pragma once
// One HTTP exchange: its options on an easy handle of libcurl or its fields on a link
// (http2_link.hpp), the parts of its answer, and the errors for its failures. Private to HttpClient
// and its links; everything here belongs to the I/O thread.

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/log.hpp"
#include "informer/http/http_client.hpp"

namespace plimsoll::informer {

// Calls a callback on the I/O thread; exceptions end here and are logged.
template <typename Function>
void guarded(const char* what, const Function& function) {
  try {
    function();
  } catch (const std::exception& error) {
    log_error("an I/O callback threw", {{"callback", what}, {"error", error.what()}});
  } catch (...) {
    log_error("an I/O callback threw", {{"callback", what}, {"error", "not a std::exception"}});
  }
}

// The parts of "https://host:port/prefix".
struct ServerUrl {
  std::string scheme, host, port, prefix;
};

// `url` must contain "://".
[[nodiscard]] ServerUrl split_url(const std::string& url);

// A libcurl handle with the options that are the same for all requests with one credential. Handles
// are reused; only a few options change from request to request.
struct Handle {
  CURL* easy = nullptr;
  CredentialRef credential;  // set on the handle; libcurl refers to its certificate and key
};

// The header lines shared by all requests with equal `accept`, `content_type` and `credential`.
// libcurl does not copy them.
struct HeaderLines {
  std::string accept;
  std::string content_type;  // empty: there is no body
  CredentialRef credential;
  curl_slist* list = nullptr;
  // The same headers for links, which add no user agent and no host; names in lower case.
  std::vector<std::pair<std::string, std::string>> fields;

  HeaderLines() = default;
  ~HeaderLines() { curl_slist_free_all(list); }
  HeaderLines(const HeaderLines&) = delete;
  HeaderLines& operator=(const HeaderLines&) = delete;
};
using HeaderLinesRef = std::shared_ptr<const HeaderLines>;

class Http2Link;

// One request under way. Lives on the I/O thread.
struct Transfer {
  HttpClient::RequestId id = 0;
  HttpRequest request;
  HttpHandlers handlers;
  HttpResponse response;
  CredentialRef credential;
  Handle handle;              // if libcurl carries it
  Http2Link* link = nullptr;  // if a link carries it, or will once it is connected
  std::int32_t stream = 0;    // on that link; 0: not sent yet
  std::size_t body_sent = 0;  // on a link
  bool awaits_link = false;   // all links are full
  bool opened = false;        // the headers of a link's answer have arrived
  bool complete = false;      // a link's answer has arrived completely
  HeaderLinesRef headers;
  std::array<char, CURL_ERROR_SIZE> error_text{};
  std::chrono::steady_clock::time_point last_activity;
  std::chrono::steady_clock::time_point started;
  HttpClient::TimerId idle_timer = 0;
  HttpClient::TimerId credential_timer = 0;       // ends the wait for a credential
  std::optional<BootClock::time_point> deadline;  // of all tries together; none: no limit
  std::chrono::milliseconds time_left{0};         // for this try; 0: no limit
  // The end of time_left, for transfers without a handle.
  std::chrono::steady_clock::time_point expires;
  bool fresh_connection = false;  // do not reuse an existing connection
  std::size_t max_body = 0;
  bool retried = false;
  int refused = 0;  // how often a link ended it untouched
  bool too_large = false;
};

// Called in this order while an answer arrives. A second status begins another answer, such as
// after 100.
void answer_begins(Transfer& transfer, int status);
void answer_header(Transfer& transfer, std::string_view name, std::string_view value);
void answer_headers_end(Transfer& transfer);
// Returns false if the answer is too large; the transfer should be cancelled then.
[[nodiscard]] bool answer_data(Transfer& transfer, std::string_view chunk);

// Where and how a client sends its requests.
struct TransferSetup {
  const ServerAccess& access;
  const ServerUrl& url;
  const HttpClientOptions& options;
  std::string user_agent;
  std::string base;       // the prefix of all URLs
  std::string authority;  // the host as requests name it
  // Whether requests may use links. With a proxy that is reached over TLS they may not: libcurl
  // would offer it HTTP/2, but cannot speak HTTP/2 to a proxy.
  bool linked;
  curl_slist* connect_to = nullptr;  // if the verified name is not the host to connect to

  TransferSetup(const ServerAccess& server, const ServerUrl& parts, const HttpClientOptions& how);
  ~TransferSetup() { curl_slist_free_all(connect_to); }
  TransferSetup(const TransferSetup&) = delete;
  TransferSetup& operator=(const TransferSetup&) = delete;
};

// Sets the permanent options on a fresh handle: address, TLS, `credential`, timeouts. The handle
// must not outlive `setup`.
void prepare(const TransferSetup& setup, Handle& handle, CredentialRef credential);

// Makes a prepared handle connect only, with HTTP/2 if the server speaks it; it sends no request.
void set_up_connection(const TransferSetup& setup, CURL* easy);

// Whether the request has a body, possibly an empty one.
[[nodiscard]] bool has_body(const HttpRequest& request);

// The headers for all requests with this content type, Accept and credential.
[[nodiscard]] HeaderLinesRef make_headers(const TransferSetup& setup, const HttpRequest& request,
                                          CredentialRef credential);
[[nodiscard]] bool same_headers(const HeaderLines& lines, const HttpRequest& request,
                                const CredentialRef& credential);

// Sets the request's own options on transfer.handle, which is prepared for its credential.
void set_up(const TransferSetup& setup, Transfer& transfer);

// Sets the limits that a link needs.
void set_limits(const TransferSetup& setup, Transfer& transfer);

// The error for a failed transfer.
[[nodiscard]] Error transport_error(const TransferSetup& setup, const Transfer& transfer,
                                    CURLcode code);

}  // namespace plimsoll::informer
