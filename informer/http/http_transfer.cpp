#include "informer/http/http_transfer.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#ifndef PLIMSOLL_VERSION
#define PLIMSOLL_VERSION "dev"
#endif

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

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return text;
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {
    int status = 0;
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos) {
      std::from_chars(line.data() + space + 1, line.data() + line.size(), status);
    }
    answer_begins(transfer, status);
    return line.size();
  }
  if (line == "\r\n") answer_headers_end(transfer);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return line.size();
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  while (!value.empty() && (value.back() == '\r' || value.back() == '\n')) value.remove_suffix(1);
  answer_header(transfer, line.substr(0, colon), value);
  return line.size();
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  const std::string_view chunk(data, size * count);
  return answer_data(*static_cast<Transfer*>(user), chunk) ? chunk.size() : 0;
}

// Sets options on a new connection's socket. Keep-alive finds a dead peer only on a silent
// connection. While data is unacknowledged, this option ends the kernel's retransmissions.
int on_socket(void* user, curl_socket_t socket, curlsocktype) {
  const auto& options = *static_cast<const HttpClientOptions*>(user);
  const auto timeout = static_cast<unsigned>(options.unacknowledged_timeout.count());
  // Some kinds of sockets do not have the option; that is not an error.
  static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout));
  return CURL_SOCKOPT_OK;
}

CURLcode offer_http2(CURL*, void* context, void*) {
  static constexpr std::array<unsigned char, 12> kProtocols{2,   'h', '2', 8,   'h', 't',
                                                            't', 'p', '/', '1', '.', '1'};
  auto* tls = static_cast<SSL_CTX*>(context);
  if (SSL_CTX_set_alpn_protos(tls, kProtocols.data(), kProtocols.size()) != 0) {
    return CURLE_OUT_OF_MEMORY;
  }
  // Otherwise OpenSSL reads twice from the kernel for each record, and frees its buffer after each.
  SSL_CTX_set_read_ahead(tls, 1);
  SSL_CTX_clear_mode(tls, SSL_MODE_RELEASE_BUFFERS);
  return CURLE_OK;
}

// Whether libcurl would use a proxy to the API server.
bool has_proxy(const ServerAccess& access, const ServerUrl& url) {
  if (!access.proxy_url.empty()) return true;
  if (is_loopback(url.host)) return false;
  const auto is_set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != 0;
  };
  return is_set("https_proxy") || is_set("HTTPS_PROXY") || is_set("all_proxy") ||
         is_set("ALL_PROXY");
}

bool is_renamed(const ServerAccess& access, const ServerUrl& url) {
  return !access.tls_server_name.empty() && url.scheme == "https";
}

// Handles are reused, so this overrides the method of the previous request.
void set_method(Transfer& transfer) {
  CURL* easy = transfer.handle.easy;
  const HttpRequest& request = transfer.request;
  curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
  if (has_body(request)) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  const bool own = request.method != "GET" && request.method != "POST";
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, own ? request.method.c_str() : nullptr);
}

void set_tls(const TransferSetup& setup, const Handle& handle) {
  CURL* easy = handle.easy;
  const bool secure = setup.url.scheme == "https";
  if (!secure || setup.options.version == HttpVersion::kHttp1) {
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  } else {
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  }
  if (!secure) return;
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, setup.access.insecure_skip_tls_verify ? 0L : 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, setup.access.insecure_skip_tls_verify ? 0L : 2L);
  const auto set_blob = [easy](CURLoption option, const std::string& text) {
    curl_blob blob{};
    blob.data = const_cast<char*>(text.data());  // outlives the handle
    blob.len = text.size();
    blob.flags = CURL_BLOB_NOCOPY;
    curl_easy_setopt(easy, option, &blob);
  };
  const std::string& authority = handle.credential->certificate_authority_pem;
  if (!authority.empty()) {  // trust only this authority, not the system's roots
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
    curl_easy_setopt(easy, CURLOPT_CAINFO, nullptr);
    set_blob(CURLOPT_CAINFO_BLOB, authority);
  }
  if (!handle.credential->client_certificate_pem.empty()) {
    set_blob(CURLOPT_SSLCERT_BLOB, handle.credential->client_certificate_pem);
    set_blob(CURLOPT_SSLKEY_BLOB, handle.credential->client_key_pem);
  }
}

}  // namespace

bool has_body(const HttpRequest& request) {
  return request.method != "GET" && (request.method == "POST" || !request.body.empty());
}

void answer_begins(Transfer& transfer, int status) {
  transfer.last_activity = Clock::now();
  transfer.response = HttpResponse{};
  transfer.response.status = status;
}

void answer_header(Transfer& transfer, std::string_view name, std::string_view value) {
  if (same_header(name, "retry-after")) {
    long seconds = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (parsed.ec == std::errc() && seconds >= 0 && seconds <= 3600) {
      transfer.response.retry_after = std::chrono::seconds(seconds);
    }
  } else if (same_header(name, "content-type")) {
    transfer.response.content_type = value;
  }
}

void answer_headers_end(Transfer& transfer) {
  transfer.last_activity = Clock::now();
  if (transfer.response.ok() && transfer.handlers.on_open) {
    guarded("on_open", transfer.handlers.on_open);
  }
}

bool answer_data(Transfer& transfer, std::string_view chunk) {
  transfer.last_activity = Clock::now();
  if (transfer.handlers.on_data && transfer.response.ok()) {
    guarded("on_data", [&] { transfer.handlers.on_data(chunk); });
    return true;
  }
  if (transfer.response.body.size() + chunk.size() > transfer.max_body) {
    transfer.too_large = true;
    return false;
  }
  transfer.response.body.append(chunk);
  return true;
}

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

TransferSetup::TransferSetup(const ServerAccess& server, const ServerUrl& parts,
                             const HttpClientOptions& how)
    : access(server),
      url(parts),
      options(how),
      user_agent("plimsoll/" PLIMSOLL_VERSION),
      linked(how.version == HttpVersion::kHttp2 && parts.scheme == "https" &&
             !has_proxy(server, parts)) {
  const bool renamed = is_renamed(access, url);
  const std::string host = renamed ? access.tls_server_name : url.host;
  base = url.scheme + "://" + host + ":" + url.port + url.prefix;
  authority = url.port == "443" ? url.host : url.host + ":" + url.port;
  if (renamed) {  // verify that name, but connect to the real host
    const std::string route = host + ":" + url.port + ":" + url.host + ":" + url.port;
    connect_to = curl_slist_append(nullptr, route.c_str());
  }
}

HeaderLinesRef make_headers(const TransferSetup& setup, const HttpRequest& request,
                            CredentialRef credential) {
  auto lines = std::make_shared<HeaderLines>();
  lines->accept = request.accept;
  if (has_body(request)) lines->content_type = request.content_type;
  const auto add = [&](const std::string& name, const std::string& value) {
    lines->list = curl_slist_append(lines->list, (name + ": " + value).c_str());
    lines->fields.emplace_back(lower_case(name), value);
  };
  add("Accept", request.accept);
  lines->list = curl_slist_append(lines->list, "Expect:");
  if (has_body(request)) add("Content-Type", request.content_type);
  if (!credential->bearer_token.empty()) {
    add("Authorization", "Bearer " + credential->bearer_token);
  }
  if (setup.connect_to != nullptr) {
    const std::string host = "Host: " + setup.url.host + ":" + setup.url.port;
    lines->list = curl_slist_append(lines->list, host.c_str());
  }
  for (const std::string& header : setup.access.impersonation_headers) {
    const std::size_t colon = header.find(':');
    const std::size_t begin = header.find_first_not_of(' ', colon + 1);
    add(header.substr(0, colon), begin == std::string::npos ? "" : header.substr(begin));
  }
  lines->credential = std::move(credential);
  return lines;
}

bool same_headers(const HeaderLines& lines, const HttpRequest& request,
                  const CredentialRef& credential) {
  return lines.credential == credential && lines.accept == request.accept &&
         lines.content_type ==
             (has_body(request) ? std::string_view(request.content_type) : std::string_view());
}

void prepare(const TransferSetup& setup, Handle& handle, CredentialRef credential) {
  CURL* easy = handle.easy;
  handle.credential = std::move(credential);
  if (setup.connect_to != nullptr) {
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, setup.connect_to);
  }
  if (!setup.access.unix_socket.empty()) {
    curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, setup.access.unix_socket.c_str());
  }
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, setup.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(setup.options.connect_timeout.count()));
  // libcurl resolves names on a thread of its own; do not wait for it to end.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, const_cast<HttpClientOptions*>(&setup.options));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
  set_tls(setup, handle);
  if (!handle.credential->username.empty()) {
    curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(easy, CURLOPT_USERNAME, handle.credential->username.c_str());
    curl_easy_setopt(easy, CURLOPT_PASSWORD, handle.credential->password.c_str());
  }
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // a proxy's 200 is not the answer
  if (!setup.access.proxy_url.empty()) {
    curl_easy_setopt(easy, CURLOPT_PROXY, setup.access.proxy_url.c_str());
  } else if (is_loopback(setup.url.host)) {
    curl_easy_setopt(easy, CURLOPT_PROXY, "");  // ignore HTTPS_PROXY
  }
}

void set_up_connection(const TransferSetup& setup, CURL* easy) {
  curl_easy_setopt(easy, CURLOPT_URL, setup.base.c_str());
  curl_easy_setopt(easy, CURLOPT_PRIVATE, nullptr);
  curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, nullptr);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, nullptr);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 0L);
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
  // If libcurl negotiated HTTP/2, it would also speak it. So its own ALPN is off, and offer_http2
  // sets the protocols in OpenSSL.
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(easy, CURLOPT_SSL_ENABLE_ALPN, 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, offer_http2);
  curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
}

void set_limits(const TransferSetup& setup, Transfer& transfer) {
  const std::size_t own = transfer.request.max_body;
  transfer.max_body = own == 0 ? setup.options.max_body : own;
  transfer.last_activity = Clock::now();
  transfer.expires = transfer.time_left.count() == 0 ? Clock::time_point::max()
                                                     : transfer.last_activity + transfer.time_left;
}

void set_up(const TransferSetup& setup, Transfer& transfer) {
  CURL* easy = transfer.handle.easy;
  curl_easy_setopt(easy, CURLOPT_URL, (setup.base + transfer.request.path).c_str());
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.error_text.data());
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(transfer.time_left.count()));
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, transfer.fresh_connection ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers->list);
  set_method(transfer);
}

Error transport_error(const TransferSetup& setup, const Transfer& transfer, CURLcode code) {
  const std::string detail =
      transfer.error_text[0] != 0 ? transfer.error_text.data() : curl_easy_strerror(code);
  const std::string& local = setup.access.unix_socket;
  const std::string at = setup.access.peer + " at " + (local.empty() ? setup.access.server : local);
  if (transfer.too_large) {
    return Error{ErrorCode::kInvalid, at + " sent an answer of more than " +
                                          std::to_string(transfer.max_body) + " bytes to " +
                                          transfer.request.method + " " + transfer.request.path};
  }
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      // A kubeconfig speaks of the API server only.
      return Error{ErrorCode::kUnauthorized, "the certificate of " + at +
                                                 " is not trusted: " + detail + "; check " +
                                                 (setup.access.peer == ServerAccess().peer
                                                      ? "certificate-authority and tls-server-name"
                                                      : "the authority that it is verified with") +
                                                 " (" + setup.access.source + ")"};
    case CURLE_SSL_CERTPROBLEM:
      return Error{ErrorCode::kUnauthorized, "the client certificate or key cannot be used: " +
                                                 detail + " (" + setup.access.source + ")"};
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
      return Error{ErrorCode::kUnavailable,
                   "cannot reach " + at + ": " + detail +
                       (local.empty() ? "; check that it runs and that 'server' is right ("
                                      : "; is it running, as this user and on this machine? (") +
                       setup.access.source + ")"};
    case CURLE_OPERATION_TIMEDOUT:
      return Error{ErrorCode::kUnavailable, at + " did not answer in time: " + detail};
    default:
      return Error{ErrorCode::kUnavailable, "the exchange with " + at + " failed: " + detail};
  }
}

}  // namespace plimsoll::informer
