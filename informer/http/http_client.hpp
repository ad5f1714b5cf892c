#pragma once
// HTTP to one API server, on an I/O thread of its own: HTTP/2 on links (http2_link.hpp), or
// libcurl's multi interface where the server or a proxy does not allow it.
//
// Any thread submits; callbacks, timers and posted functions all run on the I/O thread, one after
// the other, so what lives only there (reflectors, write queues) needs no lock. Callbacks must not
// block. TLS is always verified (unless ServerAccess says otherwise). One client has one pool of
// connections: use one for binds and another for everything else.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  // For the whole exchange, with fetching a credential and sending it once more; 0: none.
  std::chrono::milliseconds timeout{30'000};
  std::chrono::milliseconds idle_timeout{0};  // give up if nothing arrives for this long; 0: never
  // The same on a connection that cannot be asked whether it lives (all but links), for an answer
  // of which something is to be heard now and then: a watch and its bookmarks. 0: no matter.
  std::chrono::milliseconds beat{0};
  // If set: asked whenever the request is about to be given to the network. Closed, it is not sent
  // (kCancelled); open, it is under way no longer than the fence allows. It must outlive the
  // request.
  const WriteFence* fence = nullptr;
};

struct HttpResponse {
  int status = 0;
  std::string body;  // empty if it went to on_data
  std::string content_type;
  std::optional<std::chrono::milliseconds> retry_after;

  [[nodiscard]] bool ok() const { return status >= 200 && status < 300; }
};

struct HttpHandlers {
  // A 2xx answer has begun: its headers are complete.
  std::function<void()> on_open;
  // If set: the body of a 2xx answer, piece by piece as it arrives. Other answers are collected in
  // the response.
  std::function<void(std::string_view chunk)> on_data;
  // Exactly once, last. An error means that there was no complete answer: kUnavailable (not
  // reachable, timed out, cut off), kUnauthorized (no credential to be had, TLS refused),
  // kCancelled (by cancel(), stop() or the request's fence).
  std::function<void(Result<HttpResponse>)> on_done;
};

// A request that has ended, for metrics.
struct HttpExchange {
  std::string_view method;
  int status = 0;      // 0: there was no answer
  bool watch = false;  // it lasted as long as it was good for
  std::chrono::steady_clock::duration took{};
};

// How requests share connections. Plain http:// speaks HTTP/1.1 in any case.
enum class HttpVersion {
  kHttp2,  // negotiated over TLS: many requests on one connection, further ones beyond max_streams
  kHttp1,  // one request at a time on each of many connections, which are kept for the next ones
};

struct HttpClientOptions {
  HttpVersion version = HttpVersion::kHttp2;
  std::chrono::milliseconds connect_timeout{10'000};
  // A connection whose other end acknowledges nothing for so long is dead (TCP_USER_TIMEOUT): all
  // that is under way on it fails, and nothing new is sent on it. 0: when the kernel gives it up,
  // after a quarter of an hour or so.
  std::chrono::milliseconds unacknowledged_timeout{25'000};
  // HTTP/2: a connection from which nothing was heard for so long is sent a PING (0: never), and is
  // dead if nothing is heard for so long after it. client-go's figures.
  std::chrono::milliseconds ping_after{30'000};
  std::chrono::milliseconds ping_timeout{15'000};
  std::size_t max_connections = 0;  // 0: no limit; requests beyond it wait for one of them
  // HTTP/2: requests on one connection; kube-apiserver takes 100
  // (--http2-max-streams-per-connection).
  std::size_t max_streams = 100;
  std::size_t max_body = 1u << 30;            // of a collected answer
  std::string thread_name = "plimsoll-http";  // as seen in ps -L; 15 characters
  // Called on the I/O thread for every request but those that were cancelled.
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
  ~HttpClient();  // stop()
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Any thread; returns at once. If the answer is 401 and another credential can be had, it is
  // fetched and the request sent once more before on_done hears of it. After stop(), on_done is
  // called by the caller's own thread with kCancelled.
  RequestId submit(HttpRequest request, HttpHandlers handlers);

  // Any thread; returns at once. on_done follows with kCancelled unless it has already been called.
  void cancel(RequestId id);

  // Runs `function` on the I/O thread. Any thread. False if the client is stopped: it will not run.
  bool post(std::function<void()> function);

  // Like post, and waits for its end. On the I/O thread, or after stop(), it simply runs here.
  void run(const std::function<void()>& function);

  // Runs `function` on the I/O thread after `delay`; dropped without a call by stop(). Any thread.
  TimerId after(std::chrono::milliseconds delay, std::function<void()> function);
  void cancel_timer(TimerId id);  // on the I/O thread

  // Cancels every request (on_done: kCancelled), drops the timers, ends and joins the thread. Not
  // from the I/O thread. Calling it again does nothing.
  void stop();

  [[nodiscard]] const ServerAccess& access() const;

 private:
  struct Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What an answer that is not 2xx means. Uses the message of the Kubernetes Status in its body.
// `what` is the operation: "listing pods".
[[nodiscard]] Error response_error(std::string_view what, const HttpResponse& response);

// How long the server asks to wait: the Retry-After header, or details.retryAfterSeconds of the
// Status.
[[nodiscard]] std::optional<std::chrono::milliseconds> retry_after(const HttpResponse& response);

// Percent-encodes everything but letters, digits and "-._~".
[[nodiscard]] std::string url_encode(std::string_view text);

}  // namespace plimsoll::informer
