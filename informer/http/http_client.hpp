#pragma once
// HTTP to one API server, on an I/O thread of its own. It uses HTTP/2 on links (http2_link.hpp), or
// libcurl's multi interface where the server or a proxy does not allow HTTP/2.
//
// Any thread may submit. Callbacks, timers and posted functions all run on the I/O thread, one
// after the other, so state used only there (reflectors, write queues) needs no lock. Callbacks
// must not block. TLS is always verified (unless ServerAccess says otherwise). One client has one
// pool of connections: use one client for binds and another for everything else.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"
#include "informer/http/credentials.hpp"
#include "informer/http/kubeconfig.hpp"
#include "informer/http/write_fence.hpp"

namespace plimsoll::informer {

struct HttpRequest {
  std::string method = "GET";
  std::string path;  // absolute, with query: "/api/v1/pods?limit=500"
  std::string body;
  std::string content_type = "application/json";
  std::string accept = "application/json";
  // For the whole exchange, including fetching a credential and sending again after a 401; 0: no
  // limit.
  std::chrono::milliseconds timeout{30'000};
  std::chrono::milliseconds idle_timeout{0};  // fail if nothing arrives for this long; 0: never
  // The idle limit on a connection without PINGs (every connection that is not a link), for an
  // answer that regularly sends something, such as a watch with its bookmarks. 0: none.
  std::chrono::milliseconds beat{0};
  // Bytes of a collected answer; 0: the client's limit. The exchange ends as soon as more arrives.
  std::size_t max_body = 0;
  // If set: checked whenever the request is about to be sent. If the fence is closed, the request
  // is not sent (kCancelled); if it is open, the request is under way no longer than the fence
  // allows. The fence must outlive the request.
  const WriteFence* fence = nullptr;
};

struct HttpResponse {
  int status = 0;
  std::string body;  // empty if it was passed to on_data
  std::string content_type;
  std::optional<std::chrono::milliseconds> retry_after;

  [[nodiscard]] bool ok() const { return status >= 200 && status < 300; }
};

struct HttpHandlers {
  // A 2xx answer has begun: its headers are complete.
  std::function<void()> on_open;
  // If set: receives the body of a 2xx answer in pieces as they arrive. The bodies of other answers
  // are collected in the response.
  std::function<void(std::string_view chunk)> on_data;
  // Called exactly once, last. An error means that there was no complete answer: kUnavailable (not
  // reachable, timed out, cut off), kUnauthorized (no credential available, TLS refused),
  // kCancelled (by cancel(), stop() or the request's fence).
  std::function<void(Result<HttpResponse>)> on_done;
};

// A request that has ended, for metrics.
struct HttpExchange {
  std::string_view method;
  int status = 0;      // 0: there was no answer
  bool watch = false;  // a stream whose duration says nothing about the server
  std::chrono::steady_clock::duration took{};
};

// How requests share connections. Plain http:// speaks HTTP/1.1 in any case.
enum class HttpVersion {
  kHttp2,  // negotiated over TLS: many requests on one connection, more connections beyond
           // max_streams
  kHttp1,  // one request at a time on each of many connections, which are reused
};

struct HttpClientOptions {
  HttpVersion version = HttpVersion::kHttp2;
  std::chrono::milliseconds connect_timeout{10'000};
  // A connection is dead if the peer acknowledges nothing for this long (TCP_USER_TIMEOUT): all
  // requests on it fail, and no new ones are sent on it. 0: the kernel's own limit, about a quarter
  // of an hour.
  std::chrono::milliseconds unacknowledged_timeout{25'000};
  // HTTP/2: a connection that received nothing for `ping_after` is sent a PING (0: never). It is
  // dead if nothing arrives within `ping_timeout` after that. The values are client-go's.
  std::chrono::milliseconds ping_after{30'000};
  std::chrono::milliseconds ping_timeout{15'000};
  std::size_t max_connections = 0;  // 0: no limit; further requests wait for a connection
  // HTTP/2: concurrent requests on one connection; kube-apiserver allows 100
  // (--http2-max-streams-per-connection).
  std::size_t max_streams = 100;
  std::size_t max_body = 1u << 30;            // of requests that have no limit of their own
  std::string thread_name = "plimsoll-http";  // as shown by ps -L; at most 15 characters
  // Called on the I/O thread for every request that was not cancelled.
  std::function<void(const HttpExchange&)> on_exchange;
};

class HttpClient {
 public:
  using RequestId = std::uint64_t;
  using TimerId = std::uint64_t;

  // Starts the I/O thread. `credentials` may be shared with other clients.
  static Result<std::unique_ptr<HttpClient>> create(const ServerAccess& access,
                                                    std::shared_ptr<CredentialSource> credentials,
                                                    const HttpClientOptions& options = {});
  ~HttpClient();  // calls stop()
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Any thread; returns at once. If the answer is 401 and another credential is available, the
  // client fetches it and sends the request once more before it calls on_done. After stop(),
  // on_done is called on the caller's own thread with kCancelled.
  RequestId submit(HttpRequest request, HttpHandlers handlers);

  // Any thread; returns at once. on_done follows with kCancelled unless it was already called.
  void cancel(RequestId id);

  // Runs `function` on the I/O thread. Any thread. Returns false if the client is stopped; the
  // function does not run then.
  bool post(std::function<void()> function);

  // Like post(), but waits until the function has returned. On the I/O thread, or after stop(), the
  // function runs on the calling thread.
  void run(const std::function<void()>& function);

  // Runs `function` on the I/O thread after `delay`. stop() drops it without a call. Any thread.
  TimerId after(std::chrono::milliseconds delay, std::function<void()> function);
  void cancel_timer(TimerId id);  // on the I/O thread

  // Cancels every request (on_done: kCancelled), drops the timers, ends and joins the thread. Must
  // not be called on the I/O thread. A second call does nothing.
  void stop();

  [[nodiscard]] const ServerAccess& access() const;

 private:
  struct Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Sends and waits. Not on the I/O thread. Ends early, with kCancelled, once `stop` is requested.
[[nodiscard]] Result<HttpResponse> call(HttpClient& client, HttpRequest request,
                                        const std::stop_token& stop = {});

// Turns an answer that is not 2xx into an error. Uses the message of the Kubernetes Status in its
// body. `what` is the operation, such as "listing pods".
[[nodiscard]] Error response_error(std::string_view what, const HttpResponse& response);

// How long the server asks us to wait: the Retry-After header, or details.retryAfterSeconds of the
// Status.
[[nodiscard]] std::optional<std::chrono::milliseconds> retry_after(const HttpResponse& response);

// Percent-encodes everything but letters, digits and "-._~".
[[nodiscard]] std::string url_encode(std::string_view text);

}  // namespace plimsoll::informer
