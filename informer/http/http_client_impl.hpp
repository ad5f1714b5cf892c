#pragma once
// What HttpClient is made of: its requests, and the I/O thread that carries them, on links where
// the server speaks HTTP/2 and through libcurl's multi interface elsewhere.

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
  std::unique_ptr<TransferSetup> setup;  // looks into the three above
  CURLM* multi = nullptr;
  int waker = -1;  // an eventfd

  std::mutex mutex;  // guards the next three
  std::vector<std::function<void()>> posted;
  bool asleep = false;  // the thread waits for its sockets
  bool closed = false;
  std::atomic<std::uint64_t> next_id{1};
  std::atomic<bool> stopping{false};
  std::thread thread;
  std::thread::id thread_id;

  // Everything below is touched by the I/O thread only.
  std::unordered_map<RequestId, std::unique_ptr<Transfer>> transfers;
  std::vector<Handle> idle_handles;
  std::vector<HeaderLinesRef> header_lines;  // the kinds of requests that there were
  std::multimap<Clock::time_point, std::pair<TimerId, std::function<void()>>> timers;
  std::unique_ptr<Http2Links> links;
  std::deque<RequestId> parked;  // until a link has room
  bool libcurl_works = false;    // it has handles under way
  std::vector<curl_waitfd> sockets;
  std::vector<pollfd> polled;
  bool more_to_read = false;                                 // from links
  Clock::time_point next_expiry = Clock::time_point::max();  // of what libcurl does not time
  std::vector<RequestId> waiting;                            // for a credential
  std::jthread refresher;
  bool refreshing = false;
  bool suspicious = false;  // a request was not answered in time: so may be its connection

  // Puts `function` into the queue; false, with `function` untouched, if the thread has ended.
  bool enqueue(std::function<void()>& function);
  void wake() const;

  // ---- the thread ----

  void loop();
  void drive_libcurl();
  // Until a socket has something, somebody wakes it, or `most` is over.
  void sleep(int most);
  bool run_posted();
  void run_timers();
  int sleep_time();
  void reap();
  // Cancels what is there until nothing new comes, then closes the door.
  void shut_down();
  // A handle that is prepared for the credential; without `easy` if libcurl is out of memory.
  Handle take_handle(const CredentialRef& credential);
  HeaderLinesRef headers_for(const HttpRequest& request, const CredentialRef& credential);

  // ---- requests ----

  // Sends it for the first time, once there is a credential, or once more after a 401: each time
  // only if it may still be sent, and for no longer than is left of its time. `fetched`: what it
  // has waited for, to be used whatever the clock says of it by now.
  void start(Transfer& transfer, CredentialRef fetched = nullptr);
  // Both: false if there was no memory for it, and it is gone.
  bool give_to_libcurl(Transfer& transfer);
  bool place(Transfer& transfer);
  bool no_memory(Transfer& transfer);

  // ---- links ----

  // What became of what links carried.
  void settle();
  // Those that were there first are given room first.
  void unpark();
  // What links carry, or will, and was not answered in time. (libcurl looks to its own.)
  void expire();
  void watch_idle(Transfer& transfer);
  void arm_idle(Transfer& transfer, std::chrono::milliseconds delay);
  // For how long nothing may arrive; 0: for ever.
  [[nodiscard]] static std::chrono::milliseconds idle_limit(const Transfer& transfer);
  // Takes the transfer off its link, or off libcurl; its handle waits for the next request.
  void detach(Transfer& transfer);
  void start_over(Transfer& transfer);
  void finish(Transfer& transfer, CURLcode code);
  void report(const Transfer& transfer, const Result<HttpResponse>& result) const;
  // The end of a transfer: it is gone before its callback runs.
  void complete(Transfer& transfer, Result<HttpResponse> result);

  // ---- credentials ----

  void await_credential(Transfer& transfer);
  // Fetches a credential on a thread of its own, since that may take a while; then starts those who
  // wait.
  void fetch_credential();

  // ---- timers ----

  TimerId add_timer(std::chrono::milliseconds delay, std::function<void()> function);
  void drop_timer(TimerId id);
};

}  // namespace plimsoll::informer
