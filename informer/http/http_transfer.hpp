#pragma once
// One HTTP exchange: what is set for it on an easy handle of libcurl or sent on a link
// (http2_link.hpp), what its answer brings, and what its failures mean. Private to HttpClient and
// its links; everything here belongs to the I/O thread.

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

// The I/O handler's firewall: what a callback throws ends here.
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

// "https://host:port/prefix" in its parts.
struct ServerUrl {
  std::string scheme, host, port, prefix;
};

// `url` must contain "://".
[[nodiscard]] ServerUrl split_url(const std::string& url);

// A handle of libcurl with everything set that is the same for all requests with a credential.
// Handles are used again and again: what changes from request to request is a few options only.
struct Handle {
  CURL* easy = nullptr;
  CredentialRef credential;  // set on it; libcurl looks at its certificate and key
};

// The header lines of all requests that have the same of these; libcurl does not copy them.
struct HeaderLines {
  std::string accept;
  std::string content_type;  // empty: there is no body
  CredentialRef credential;
  curl_slist* list = nullptr;
  // The same for links, which know nothing of user agents or hosts; the names in lower case.
  std::vector<std::pair<std::string, std::string>> fields;

  HeaderLines() = default;
  ~HeaderLines() { curl_slist_free_all(list); }
  HeaderLines(const HeaderLines&) = delete;
  HeaderLines& operator=(const HeaderLines&) = delete;
};
using HeaderLinesRef = std::shared_ptr<const HeaderLines>;

class Http2Link;

// One request on its way. Lives on the I/O thread.
struct Transfer {
  HttpClient::RequestId id = 0;
  HttpRequest request;
  HttpHandlers handlers;
  HttpResponse response;
  CredentialRef credential;
  Handle handle;              // if libcurl carries it
  Http2Link* link = nullptr;  // if a link does, or will once it is connected
  std::int32_t stream = 0;    // on that link; 0: not sent yet
  std::size_t body_sent = 0;  // on a link
  bool awaits_link = false;   // all links are full
  bool opened = false;        // the headers of a link's answer have arrived
  bool complete = false;      // all of it has
  HeaderLinesRef headers;
  std::array<char, CURL_ERROR_SIZE> error_text{};
  std::chrono::steady_clock::time_point last_activity;
  std::chrono::steady_clock::time_point started;
  HttpClient::TimerId idle_timer = 0;
  HttpClient::TimerId credential_timer = 0;       // ends the wait for a credential
  std::optional<BootClock::time_point> deadline;  // of all tries together; none: no limit
  std::chrono::milliseconds time_left{0};         // for this try; 0: no limit
  std::chrono::steady_clock::time_point expires;  // when that is over, for who is on no handle
  bool fresh_connection = false;  // do not send it on a connection that is there already
  std::size_t max_body = 0;
  bool retried = false;
  int refused = 0;  // so often a link ended it untouched
  bool too_large = false;
};

// What an answer brings, in this order. A second status is another answer, such as after 100.
void answer_begins(Transfer& transfer, int status);
void answer_header(Transfer& transfer, std::string_view name, std::string_view value);
void answer_headers_end(Transfer& transfer);
// False: it is too large, and not wanted any more.
[[nodiscard]] bool answer_data(Transfer& transfer, std::string_view chunk);

// Where a client sends its requests, and how.
struct TransferSetup {
  const ServerAccess& access;
  const ServerUrl& url;
  const HttpClientOptions& options;
  std::string user_agent;
  std::string base;       // what all URLs begin with
  std::string authority;  // the host as requests name it
  // Whether links may carry the requests. A proxy that is spoken to over TLS would be offered
  // HTTP/2, too, which libcurl does not speak to it.
  bool linked;
  curl_slist* connect_to = nullptr;  // if the name that is verified is not that of the place

  TransferSetup(const ServerAccess& server, const ServerUrl& parts, const HttpClientOptions& how);
  ~TransferSetup() { curl_slist_free_all(connect_to); }
  TransferSetup(const TransferSetup&) = delete;
  TransferSetup& operator=(const TransferSetup&) = delete;
};

// Sets on a fresh handle what stays: where it connects, TLS, `credential`, timeouts. The handle
// must not outlive `setup`.
void prepare(const TransferSetup& setup, Handle& handle, CredentialRef credential);

// Makes a prepared handle one that connects, with HTTP/2 if the server speaks it, and sends
// nothing.
void set_up_connection(const TransferSetup& setup, CURL* easy);

// Whether it is sent with a body, be it an empty one.
[[nodiscard]] bool has_body(const HttpRequest& request);

// The same for all requests with this content type, Accept and credential.
[[nodiscard]] HeaderLinesRef make_headers(const TransferSetup& setup, const HttpRequest& request,
                                          CredentialRef credential);
[[nodiscard]] bool same_headers(const HeaderLines& lines, const HttpRequest& request,
                                const CredentialRef& credential);

// Sets what is the request's own on transfer.handle, which is prepared for its credential.
void set_up(const TransferSetup& setup, Transfer& transfer);

// Sets what a link needs to know of it.
void set_limits(const TransferSetup& setup, Transfer& transfer);

// Why a transfer failed, in words.
[[nodiscard]] Error transport_error(const TransferSetup& setup, const Transfer& transfer,
                                    CURLcode code);

}  // namespace plimsoll::informer
