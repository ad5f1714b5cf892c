#pragma once
// The implementation of HttpClient: its requests and the I/O thread. The thread uses links where
// the server speaks HTTP/2 and libcurl's multi interface elsewhere.

#include <curl/curl.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "informer/http/http2_links.hpp"
#include "informer/http/http_client.hpp"
#include "informer/http/http_transfer.hpp"

namespace plimsoll::informer {

struct HttpClient::Impl {
  using Clock = std::chrono::steady_clock;

  ServerAccess access;
  ServerUrl url;
  std::shared_ptr<CredentialSource> credentials;
  HttpClientOptions options;
  std::unique_ptr<TransferSetup> setup;  // refers to access, url and options
  CURLM* multi = nullptr;
  int waker = -1;  // an eventfd

  std::mutex mutex;  // guards posted, asleep and closed
  std::vector<std::function<void()>> posted;
  bool asleep = false;  // the thread waits for its sockets
  bool closed = false;
  std::atomic<std::uint64_t> next_id{1};
  std::atomic<bool> stopping{false};
  std::thread thread;
  std::thread::id thread_id;

  // Used by the I/O thread only: all members from here on.
  std::unordered_map<RequestId, std::unique_ptr<Transfer>> transfers;
  std::vector<Handle> idle_handles;
  std::vector<HeaderLinesRef> header_lines;  // one for each kind of request so far
  std::multimap<Clock::time_point, std::pair<TimerId, std::function<void()>>> timers;
  std::unique_ptr<Http2Links> links;
  std::deque<RequestId> parked;  // wait until a link has room
  bool libcurl_works = false;    // it has handles under way
  std::vector<curl_waitfd> sockets;
  std::vector<pollfd> polled;
  bool more_to_read = false;  // from links
  // Earliest timeout not handled by libcurl.
  Clock::time_point next_expiry = Clock::time_point::max();
  std::vector<RequestId> waiting;  // for a credential
  std::jthread refresher;
  bool refreshing = false;
  bool suspicious = false;  // a request was not answered in time, so its connection may be dead

  // Queues `function`. Returns false and leaves `function` unchanged if the thread has ended.
  bool enqueue(std::function<void()>& function);
  void wake() const;

  // ---- the thread ----

  void loop();
  void drive_libcurl();
  // Waits until a socket is ready, wake() is called, or `most` milliseconds have passed.
  void sleep(int most);
  bool run_posted();
  void run_timers();
  int sleep_time();
  void reap();
  // Cancels all requests until no new ones arrive, then sets `closed`.
  void shut_down();
  // Returns a handle that is prepared for the credential; `easy` is null if libcurl is out of
  // memory.
  Handle take_handle(const CredentialRef& credential);
  HeaderLinesRef headers_for(const HttpRequest& request, const CredentialRef& credential);

  // ---- requests ----

  // Sends the request: the first time, once there is a credential, or again after a 401. Each time
  // it is sent only if that is still allowed, and only for the time that it has left. `fetched` is
  // the credential that it waited for; it is used even if our clock says that it has expired.
  void start(Transfer& transfer, CredentialRef fetched = nullptr);
  // Both return false if there was no memory; the transfer has ended then.
  bool give_to_libcurl(Transfer& transfer);
  bool place(Transfer& transfer);
  bool no_memory(Transfer& transfer);

  // ---- links ----

  // Handles the transfers that have ended on links.
  void settle();
  // Assigns links to parked transfers, oldest first.
  void unpark();
  // Ends transfers on links, or waiting for one, that timed out. libcurl times its own.
  void expire();
  void watch_idle(Transfer& transfer);
  void arm_idle(Transfer& transfer, std::chrono::milliseconds delay);
  // For how long nothing may arrive for the transfer; 0: no limit.
  [[nodiscard]] static std::chrono::milliseconds idle_limit(const Transfer& transfer);
  // Removes the transfer from its link or from libcurl; its handle is kept for the next request.
  void detach(Transfer& transfer);
  void start_over(Transfer& transfer);
  void finish(Transfer& transfer, CURLcode code);
  void report(const Transfer& transfer, const Result<HttpResponse>& result) const;
  // Ends a transfer. It is deleted before its callback runs.
  void complete(Transfer& transfer, Result<HttpResponse> result);

  // ---- credentials ----

  void await_credential(Transfer& transfer);
  // Fetches a credential on a separate thread, since that may take a while; then starts the
  // requests that wait for it.
  void fetch_credential();

  // ---- timers ----

  TimerId add_timer(std::chrono::milliseconds delay, std::function<void()> function);
  void drop_timer(TimerId id);
};

}  // namespace plimsoll::informer
