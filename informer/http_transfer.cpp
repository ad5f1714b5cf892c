#include "informer/http_transfer.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>

namespace plimsoll::informer {
namespace {

using Clock = std::chrono::steady_clock;

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

bool same_header(std::string_view name, std::string_view wanted) {
  return name.size() == wanted.size() &&
         std::equal(name.begin(), name.end(), wanted.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b;
         });
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  transfer.last_activity = Clock::now();
  if (line.starts_with("HTTP/")) {
    transfer.response = HttpResponse{};
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos) {
      std::from_chars(line.data() + space + 1, line.data() + line.size(), transfer.response.status);
    }
    return size * count;
  }
  if (line == "\r\n" && transfer.response.ok() && transfer.handlers.on_open) {
    guarded("on_open", transfer.handlers.on_open);
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size * count;
  const std::string_view name = line.substr(0, colon);
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  while (!value.empty() && (value.back() == '\r' || value.back() == '\n')) value.remove_suffix(1);
  if (same_header(name, "retry-after")) {
    long seconds = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (parsed.ec == std::errc() && seconds >= 0 && seconds <= 3600) {
      transfer.response.retry_after = std::chrono::seconds(seconds);
    }
  } else if (same_header(name, "content-type")) {
    transfer.response.content_type = value;
  }
  return size * count;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view chunk(data, size * count);
  transfer.last_activity = Clock::now();
  if (transfer.handlers.on_data && transfer.response.ok()) {
    guarded("on_data", [&] { transfer.handlers.on_data(chunk); });
    return chunk.size();
  }
  if (transfer.response.body.size() + chunk.size() > transfer.max_body) {
    transfer.too_large = true;
    return 0;
  }
  transfer.response.body.append(chunk);
  return chunk.size();
}

// A new connection's socket. Keep-alive alone finds a dead peer only on a silent connection: while
// something is under way, it is this option that ends the kernel's resending.
int on_socket(void* user, curl_socket_t socket, curlsocktype) {
  const auto& options = *static_cast<const HttpClientOptions*>(user);
  const auto timeout = static_cast<unsigned>(options.unacknowledged_timeout.count());
  // Not for every kind of socket: what cannot be set is done without.
  static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout));
  return CURL_SOCKOPT_OK;
}

void set_method(Transfer& transfer) {
  CURL* easy = transfer.easy;
  const HttpRequest& request = transfer.request;
  if (request.method == "GET") {
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    return;
  }
  if (request.method == "POST" || !request.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  if (request.method != "POST") {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
}

void set_headers(const TransferSetup& setup, Transfer& transfer) {
  const HttpRequest& request = transfer.request;
  const Credential& credential = *transfer.credential;
  curl_slist* list = curl_slist_append(nullptr, ("Accept: " + request.accept).c_str());
  const auto add = [&list](const std::string& line) {
    list = curl_slist_append(list, line.c_str());
  };
  add("Expect:");
  if (request.method == "POST" || !request.body.empty()) {
    add("Content-Type: " + request.content_type);
  }
  if (!credential.bearer_token.empty()) {
    add("Authorization: Bearer " + credential.bearer_token);
  }
  if (transfer.connect_to != nullptr) add("Host: " + setup.url.host + ":" + setup.url.port);
  for (const std::string& header : setup.access.impersonation_headers) add(header);
  transfer.headers = list;
  curl_easy_setopt(transfer.easy, CURLOPT_HTTPHEADER, list);
  if (!credential.username.empty()) {
    curl_easy_setopt(transfer.easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(transfer.easy, CURLOPT_USERNAME, credential.username.c_str());
    curl_easy_setopt(transfer.easy, CURLOPT_PASSWORD, credential.password.c_str());
  }
}

void set_tls(const TransferSetup& setup, Transfer& transfer) {
  CURL* easy = transfer.easy;
  if (setup.url.scheme != "https") {
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    return;
  }
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
  curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, setup.access.insecure_skip_tls_verify ? 0L : 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, setup.access.insecure_skip_tls_verify ? 0L : 2L);
  const auto set_blob = [easy](CURLoption option, const std::string& text) {
    curl_blob blob{};
    blob.data = const_cast<char*>(text.data());  // copied by libcurl
    blob.len = text.size();
    blob.flags = CURL_BLOB_COPY;
    curl_easy_setopt(easy, option, &blob);
  };
  if (!setup.access.certificate_authority_pem.empty()) {  // and nobody else: not the system's roots
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
    curl_easy_setopt(easy, CURLOPT_CAINFO, nullptr);
    set_blob(CURLOPT_CAINFO_BLOB, setup.access.certificate_authority_pem);
  }
  if (!transfer.credential->client_certificate_pem.empty()) {
    set_blob(CURLOPT_SSLCERT_BLOB, transfer.credential->client_certificate_pem);
    set_blob(CURLOPT_SSLKEY_BLOB, transfer.credential->client_key_pem);
  }
}

}  // namespace

ServerUrl split_url(const std::string& url) {
  ServerUrl parts;
  const std::size_t after_scheme = url.find("://") + 3;
  parts.scheme = url.substr(0, after_scheme - 3);
  const std::size_t slash = url.find('/', after_scheme);
  std::string authority = url.substr(after_scheme, slash - after_scheme);
  if (slash != std::string::npos) parts.prefix = url.substr(slash);
  const std::size_t colon = authority.rfind(':');
  const std::size_t bracket = authority.rfind(']');
  if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
    parts.port = authority.substr(colon + 1);
    authority.resize(colon);
  } else {
    parts.port = parts.scheme == "https" ? "443" : "80";
  }
  parts.host = authority;
  return parts;
}

void set_up(const TransferSetup& setup, Transfer& transfer) {
  CURL* easy = transfer.easy;
  const HttpRequest& request = transfer.request;
  transfer.max_body = setup.options.max_body;
  transfer.last_activity = Clock::now();
  const bool renamed = !setup.access.tls_server_name.empty() && setup.url.scheme == "https";
  const std::string host = renamed ? setup.access.tls_server_name : setup.url.host;
  const std::string target =
      setup.url.scheme + "://" + host + ":" + setup.url.port + setup.url.prefix + request.path;
  curl_easy_setopt(easy, CURLOPT_URL, target.c_str());
  if (renamed) {  // verify that name, but connect to the real place
    const std::string route =
        host + ":" + setup.url.port + ":" + setup.url.host + ":" + setup.url.port;
    transfer.connect_to = curl_slist_append(nullptr, route.c_str());
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, transfer.connect_to);
  }
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.error_text.data());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, setup.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(setup.options.connect_timeout.count()));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(transfer.time_left.count()));
  // A name that is not answered is looked up on a thread of libcurl: nobody waits for that to end.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  if (transfer.fresh_connection) curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, const_cast<HttpClientOptions*>(&setup.options));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
  set_method(transfer);
  set_headers(setup, transfer);
  set_tls(setup, transfer);
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // a proxy's 200 is not the answer
  if (!setup.access.proxy_url.empty()) {
    curl_easy_setopt(easy, CURLOPT_PROXY, setup.access.proxy_url.c_str());
  } else if (is_loopback(setup.url.host)) {
    curl_easy_setopt(easy, CURLOPT_PROXY, "");  // whatever HTTPS_PROXY says
  }
}

Error transport_error(const TransferSetup& setup, const Transfer& transfer, CURLcode code) {
  const std::string detail =
      transfer.error_text[0] != 0 ? transfer.error_text.data() : curl_easy_strerror(code);
  const std::string at = "the API server at " + setup.access.server;
  if (transfer.too_large) {
    return Error{ErrorCode::kInvalid, at + " sent an answer of more than " +
                                          std::to_string(setup.options.max_body) + " bytes to " +
                                          transfer.request.method + " " + transfer.request.path};
  }
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return Error{ErrorCode::kUnauthorized,
                   "the certificate of " + at + " is not trusted: " + detail +
                       "; check certificate-authority and tls-server-name (" + setup.access.source +
                       ")"};
    case CURLE_SSL_CERTPROBLEM:
      return Error{ErrorCode::kUnauthorized, "the client certificate or key cannot be used: " +
                                                 detail + " (" + setup.access.source + ")"};
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
      return Error{ErrorCode::kUnavailable,
                   "cannot reach " + at + ": " + detail +
                       "; check that it runs and that 'server' is right (" + setup.access.source +
                       ")"};
    case CURLE_OPERATION_TIMEDOUT:
      return Error{ErrorCode::kUnavailable, at + " did not answer in time: " + detail};
    default:
      return Error{ErrorCode::kUnavailable, "the exchange with " + at + " failed: " + detail};
  }
}

}  // namespace plimsoll::informer
