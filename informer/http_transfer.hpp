#pragma once
// One HTTP exchange as libcurl sees it: what is set on an easy handle, what its callbacks collect,
// and what its failures mean. Private to http_client.cpp; everything here belongs to the I/O
// thread.

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <exception>
#include <optional>
#include <string>

#include "framework/base/log.hpp"
#include "informer/http_client.hpp"

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

// One request on its way. Lives on the I/O thread.
struct Transfer {
  HttpClient::RequestId id = 0;
  HttpRequest request;
  HttpHandlers handlers;
  HttpResponse response;
  CredentialRef credential;
  CURL* easy = nullptr;  // null while it waits for a credential
  curl_slist* headers = nullptr;
  curl_slist* connect_to = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_text{};
  std::chrono::steady_clock::time_point last_activity;
  std::chrono::steady_clock::time_point started;
  HttpClient::TimerId idle_timer = 0;
  HttpClient::TimerId credential_timer = 0;       // ends the wait for a credential
  std::optional<BootClock::time_point> deadline;  // of all tries together; none: no limit
  std::chrono::milliseconds time_left{0};         // for this try; 0: no limit
  bool fresh_connection = false;  // do not send it on a connection that is there already
  std::size_t max_body = 0;
  bool retried = false;
  bool too_large = false;
};

// Where a client sends its requests, and how.
struct TransferSetup {
  const ServerAccess& access;
  const ServerUrl& url;
  const HttpClientOptions& options;
  const std::string& user_agent;
};

// Sets everything on transfer.easy, which must be fresh or reset.
void set_up(const TransferSetup& setup, Transfer& transfer);

// Why a transfer failed, in words.
[[nodiscard]] Error transport_error(const TransferSetup& setup, const Transfer& transfer,
                                    CURLcode code);

}  // namespace plimsoll::informer
