#include "informer/http_client.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/base/log.hpp"
#include "informer/http2_links.hpp"
#include "informer/http_transfer.hpp"

namespace plimsoll::informer {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kIdleHandles = 256;  // kept for later requests
constexpr std::size_t kHeaderLines = 32;   // kinds of requests whose headers are kept
constexpr long kKeptConnections = 512;     // libcurl's own limit goes by the requests under way
constexpr int kSentAgain = 3;              // of what the server did not look at

}  // namespace

struct HttpClient::Impl {
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
  bool enqueue(std::function<void()>& function) {
    bool sleeping = false;
    {
      const std::lock_guard lock(mutex);
      if (closed) return false;
      posted.push_back(std::move(function));
      sleeping = std::this_thread::get_id() != thread_id && std::exchange(asleep, false);
    }
    if (sleeping) wake();  // else it has been woken already, or is at work
    return true;
  }

  void wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(waker, &one, sizeof one));
  }

  // ---- the thread ----

  void loop() {
    pthread_setname_np(pthread_self(), options.thread_name.substr(0, 15).c_str());
    while (!stopping.load()) {
      run_posted();
      run_timers();
      expire();
      drive_libcurl();
      links->flush();
      settle();
      sleep(sleep_time());
    }
    shut_down();
  }

  void drive_libcurl() {
    if (!libcurl_works) return;
    int running = 0;
    curl_multi_perform(multi, &running);
    libcurl_works = running > 0;
    reap();
  }

  // Until a socket has something, somebody wakes it, or `most` is over.
  void sleep(int most) {
    sockets.assign(1, {waker, CURL_WAIT_POLLIN, 0});
    links->add_sockets(sockets);
    if (libcurl_works) {
      curl_multi_poll(multi, sockets.data(), static_cast<unsigned>(sockets.size()), most, nullptr);
    } else {
      polled.clear();
      for (const curl_waitfd& each : sockets) polled.push_back({each.fd, each.events, 0});
      ::poll(polled.data(), polled.size(), most);
      for (std::size_t i = 0; i < polled.size(); ++i) sockets[i].revents = polled[i].revents;
    }
    std::uint64_t count = 0;
    if (sockets[0].revents != 0) static_cast<void>(!::read(waker, &count, sizeof count));
    more_to_read = links->read(sockets, 1);
    settle();
  }

  bool run_posted() {
    std::vector<std::function<void()>> batch;
    {
      const std::lock_guard lock(mutex);
      asleep = false;
      batch.swap(posted);
    }
    for (auto& function : batch) guarded("posted", function);
    return !batch.empty();
  }

  void run_timers() {
    const auto now = Clock::now();
    while (!timers.empty() && timers.begin()->first <= now) {
      auto timer = timers.extract(timers.begin());
      guarded("timer", timer.mapped().second);
    }
  }

  int sleep_time() {
    {
      const std::lock_guard lock(mutex);
      if (!posted.empty() || more_to_read) return 0;
      asleep = true;
    }
    Clock::time_point next = next_expiry;
    if (!timers.empty()) next = std::min(next, timers.begin()->first);
    if (next == Clock::time_point::max()) return 60'000;
    const auto left = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
  }

  void reap() {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      void* user = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &user);
      if (user == nullptr) {
        links->connected(message->easy_handle, message->data.result);
      } else {
        finish(*static_cast<Transfer*>(user), message->data.result);
      }
    }
  }

  // Cancels what is there until nothing new comes, then closes the door.
  void shut_down() {
    if (refresher.joinable()) {
      refresher.request_stop();
      refresher.join();
    }
    while (true) {
      while (!transfers.empty()) {
        complete(*transfers.begin()->second, fail(ErrorCode::kCancelled, "the client was stopped"));
      }
      if (run_posted()) continue;
      const std::lock_guard lock(mutex);
      if (posted.empty()) {
        closed = true;
        break;
      }
    }
    timers.clear();
    links->clear();
    for (const Handle& handle : idle_handles) curl_easy_cleanup(handle.easy);
    idle_handles.clear();
    header_lines.clear();
  }

  // A handle that is prepared for the credential; without `easy` if libcurl is out of memory.
  Handle take_handle(const CredentialRef& credential) {
    while (!idle_handles.empty()) {
      Handle handle = std::move(idle_handles.back());
      idle_handles.pop_back();
      if (handle.credential == credential) return handle;
      curl_easy_cleanup(handle.easy);  // of a credential that is no more
    }
    Handle handle{curl_easy_init(), nullptr};
    if (handle.easy != nullptr) prepare(*setup, handle, credential);
    return handle;
  }

  HeaderLinesRef headers_for(const HttpRequest& request, const CredentialRef& credential) {
    for (const HeaderLinesRef& lines : header_lines) {
      if (same_headers(*lines, request, credential)) return lines;
    }
    if (header_lines.size() >= kHeaderLines) header_lines.clear();
    header_lines.push_back(make_headers(*setup, request, credential));
    return header_lines.back();
  }

  // ---- requests ----

  // Sends it for the first time, once there is a credential, or once more after a 401: each time
  // only if it may still be sent, and for no longer than is left of its time.
  void start(Transfer& transfer) {
    drop_timer(std::exchange(transfer.credential_timer, 0));
    const BootClock::time_point now = BootClock::now();
    auto left = BootClock::duration::max();
    if (transfer.request.fence != nullptr) left = transfer.request.fence->allowance(now);
    if (left == BootClock::duration::zero()) {
      complete(transfer, fail(ErrorCode::kCancelled, "this replica does not lead"));
      return;
    }
    if (transfer.deadline) left = std::min(left, *transfer.deadline - now);
    if (left < milliseconds(1)) {
      complete(transfer, fail(ErrorCode::kUnavailable,
                              "the time for the request was over before it could be sent"));
      return;
    }
    const bool limited = left != BootClock::duration::max();
    transfer.time_left =
        limited ? std::chrono::duration_cast<milliseconds>(left) : milliseconds::zero();
    transfer.credential = credentials->current();
    if (transfer.credential == nullptr) {
      await_credential(transfer);
      return;
    }
    // (With a limit of connections, it might wait for ever for one of them to end.)
    transfer.fresh_connection = std::exchange(suspicious, false) && options.max_connections == 0;
    transfer.headers = headers_for(transfer.request, transfer.credential);
    set_limits(*setup, transfer);
    if (links->serve(*transfer.credential)) {
      next_expiry = std::min(next_expiry, transfer.expires);
      if (!place(transfer)) return;
    } else if (!give_to_libcurl(transfer)) {
      return;
    }
    watch_idle(transfer);
  }

  // Both: false if there was no memory for it, and it is gone.
  bool give_to_libcurl(Transfer& transfer) {
    transfer.handle = take_handle(transfer.credential);
    if (transfer.handle.easy == nullptr) return no_memory(transfer);
    set_up(*setup, transfer);
    curl_multi_add_handle(multi, transfer.handle.easy);
    libcurl_works = true;
    return true;
  }

  bool place(Transfer& transfer) {
    const Http2Links::Place place = links->place(transfer);
    if (place == Http2Links::Place::kNoMemory) return no_memory(transfer);
    transfer.awaits_link = place == Http2Links::Place::kNone;
    if (transfer.awaits_link) parked.push_back(transfer.id);
    // It may be a new one, which libcurl connects.
    if (transfer.link != nullptr && transfer.link->state() == Http2Link::State::kConnecting) {
      libcurl_works = true;
    }
    return true;
  }

  bool no_memory(Transfer& transfer) {
    complete(transfer, fail(ErrorCode::kInternal, "libcurl is out of memory"));
    return false;
  }

  // ---- links ----

  // What became of what links carried.
  void settle() {
    for (const LinkEnd& end : links->take_ended()) {
      const auto found = transfers.find(end.id);
      if (found == transfers.end()) continue;
      Transfer& transfer = *found->second;
      if (end.untouched && transfer.refused < kSentAgain) {
        ++transfer.refused;
        start_over(transfer);
      } else {
        finish(transfer, end.code);
      }
    }
    for (const RequestId id : links->take_handed_over()) {
      const auto found = transfers.find(id);
      if (found != transfers.end()) start_over(*found->second);
    }
    unpark();
    links->tidy();
  }

  // Those that were there first are given room first.
  void unpark() {
    if (parked.empty()) return;
    std::deque<RequestId> queue;
    queue.swap(parked);
    for (const RequestId id : queue) {
      const auto found = transfers.find(id);
      if (found == transfers.end() || !found->second->awaits_link) continue;
      if (parked.empty()) {
        place(*found->second);
      } else {
        parked.push_back(id);
      }
    }
  }

  // What links carry, or will, and was not answered in time. (libcurl looks to its own.)
  void expire() {
    const Clock::time_point now = Clock::now();
    if (now < next_expiry) return;
    next_expiry = Clock::time_point::max();
    std::vector<RequestId> due;
    for (const auto& [id, transfer] : transfers) {
      if (transfer->link == nullptr && !transfer->awaits_link) continue;
      if (transfer->expires <= now) {
        due.push_back(id);
      } else {
        next_expiry = std::min(next_expiry, transfer->expires);
      }
    }
    for (const RequestId id : due) {
      Transfer& late = *transfers.find(id)->second;
      if (late.link != nullptr) late.link->doubt(late.expires - late.time_left);
      const std::string text = "nothing for " + std::to_string(late.time_left.count()) + " ms";
      text.copy(late.error_text.data(), late.error_text.size() - 1);
      complete(late, fail(transport_error(*setup, late, CURLE_OPERATION_TIMEDOUT)));
    }
  }

  void watch_idle(Transfer& transfer) {
    if (transfer.request.idle_timeout.count() == 0) return;
    arm_idle(transfer, transfer.request.idle_timeout);
  }

  void arm_idle(Transfer& transfer, milliseconds delay) {
    transfer.idle_timer = add_timer(delay, [this, id = transfer.id] {
      const auto found = transfers.find(id);
      if (found == transfers.end()) return;
      Transfer& idle = *found->second;
      const auto limit = idle.request.idle_timeout;
      const auto quiet =
          std::chrono::duration_cast<milliseconds>(Clock::now() - idle.last_activity);
      idle.idle_timer = 0;
      if (quiet < limit) {
        arm_idle(idle, limit - quiet);
        return;
      }
      if (idle.link != nullptr) {
        idle.link->doubt(idle.last_activity);
      } else {
        suspicious = true;
      }
      complete(idle, fail(ErrorCode::kUnavailable, "the API server at " + access.server +
                                                       " sent nothing for " +
                                                       std::to_string(limit.count()) + " ms"));
    });
  }

  // Takes the transfer off its link, or off libcurl; its handle waits for the next request.
  void detach(Transfer& transfer) {
    if (transfer.link != nullptr) transfer.link->give_up(transfer);
    transfer.awaits_link = false;
    if (transfer.handle.easy != nullptr) {
      curl_multi_remove_handle(multi, transfer.handle.easy);
      curl_easy_setopt(transfer.handle.easy, CURLOPT_ERRORBUFFER, nullptr);
      if (idle_handles.size() < kIdleHandles) {
        idle_handles.push_back(std::move(transfer.handle));
      } else {
        curl_easy_cleanup(transfer.handle.easy);
      }
      transfer.handle = {};
    }
    transfer.headers = nullptr;
    drop_timer(std::exchange(transfer.idle_timer, 0));
    drop_timer(std::exchange(transfer.credential_timer, 0));
  }

  void start_over(Transfer& transfer) {
    detach(transfer);
    transfer.response = HttpResponse{};
    start(transfer);
  }

  void finish(Transfer& transfer, CURLcode code) {
    if (code == CURLE_OK && transfer.response.status == 401 && !transfer.retried &&
        credentials->reject(transfer.credential->generation)) {
      transfer.retried = true;
      start_over(transfer);
      return;
    }
    // Its connection may be dead without anybody knowing it, and HTTP/2 would put the next try onto
    // the same one.
    if (code == CURLE_OPERATION_TIMEDOUT && transfer.response.status == 0) suspicious = true;
    if (code == CURLE_OK) {
      complete(transfer, std::move(transfer.response));
    } else {
      complete(transfer, fail(transport_error(*setup, transfer, code)));
    }
  }

  void report(const Transfer& transfer, const Result<HttpResponse>& result) const {
    if (!options.on_exchange) return;
    if (!result && result.error().code == ErrorCode::kCancelled) return;
    HttpExchange exchange;
    exchange.method = transfer.request.method;
    exchange.status = result ? result->status : 0;
    exchange.watch = transfer.request.path.find("watch=") != std::string::npos;
    exchange.took = Clock::now() - transfer.started;
    options.on_exchange(exchange);
  }

  // The end of a transfer: it is gone before its callback runs.
  void complete(Transfer& transfer, Result<HttpResponse> result) {
    report(transfer, result);
    detach(transfer);
    auto node = transfers.extract(transfer.id);
    const auto& on_done = node.mapped()->handlers.on_done;
    if (on_done) guarded("on_done", [&] { on_done(std::move(result)); });
  }

  // ---- credentials ----

  void await_credential(Transfer& transfer) {
    if (transfer.time_left.count() != 0) {
      transfer.credential_timer = add_timer(transfer.time_left, [this, id = transfer.id] {
        const auto found = transfers.find(id);
        if (found == transfers.end()) return;
        found->second->credential_timer = 0;
        complete(*found->second,
                 fail(ErrorCode::kUnavailable, "there was no credential in time to send it"));
      });
    }
    waiting.push_back(transfer.id);
    fetch_credential();
  }

  // Fetches a credential on a thread of its own, since that may take a while; then starts those who
  // wait.
  void fetch_credential() {
    if (refreshing) return;
    refreshing = true;
    refresher = std::jthread([this](std::stop_token stop) {
      auto fetched = std::make_shared<Result<CredentialRef>>(
          fail(ErrorCode::kInternal, "fetching the credential threw an exception"));
      guarded("credential", [&] { *fetched = credentials->refresh(stop); });
      std::function<void()> resume = [this, fetched] {
        refreshing = false;
        std::vector<RequestId> ready;
        ready.swap(waiting);
        for (const RequestId id : ready) {
          const auto found = transfers.find(id);
          if (found == transfers.end()) continue;
          if (*fetched) {
            start(*found->second);
          } else {
            complete(*found->second, fail(fetched->error()));
          }
        }
      };
      enqueue(resume);
    });
  }

  // ---- timers ----

  TimerId add_timer(milliseconds delay, std::function<void()> function) {
    const TimerId id = next_id.fetch_add(1);
    timers.emplace(Clock::now() + delay, std::make_pair(id, std::move(function)));
    return id;
  }

  void drop_timer(TimerId id) {
    if (id == 0) return;
    const auto found = std::find_if(timers.begin(), timers.end(),
                                    [id](const auto& timer) { return timer.second.first == id; });
    if (found != timers.end()) timers.erase(found);
  }
};

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpClient::~HttpClient() {
  stop();
  impl_->links.reset();
  if (impl_->multi != nullptr) curl_multi_cleanup(impl_->multi);
  if (impl_->waker >= 0) ::close(impl_->waker);
}

Result<std::unique_ptr<HttpClient>> HttpClient::create(
    const ServerAccess& access, std::shared_ptr<CredentialSource> credentials,
    const HttpClientOptions& options) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  auto impl = std::make_unique<Impl>();
  impl->access = access;
  if (access.server.find("://") == std::string::npos) {
    return fail(ErrorCode::kInvalid, "'" + access.server + "' is not the URL of an API server");
  }
  impl->url = split_url(access.server);
  impl->credentials = std::move(credentials);
  impl->options = options;
  impl->setup = std::make_unique<TransferSetup>(impl->access, impl->url, impl->options);
  impl->multi = ready == CURLE_OK ? curl_multi_init() : nullptr;
  if (impl->multi == nullptr) return fail(ErrorCode::kInternal, "libcurl cannot be initialised");
  curl_multi_setopt(impl->multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
  curl_multi_setopt(impl->multi, CURLMOPT_MAX_CONCURRENT_STREAMS,
                    static_cast<long>(std::max<std::size_t>(1, options.max_streams)));
  curl_multi_setopt(impl->multi, CURLMOPT_MAXCONNECTS, kKeptConnections);
  curl_multi_setopt(impl->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                    static_cast<long>(options.max_connections));
  impl->waker = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::unique_ptr<HttpClient> client(new HttpClient(std::move(impl)));
  Impl* raw = client->impl_.get();
  if (raw->waker < 0) return fail(ErrorCode::kInternal, "there is no file descriptor left");
  raw->links = std::make_unique<Http2Links>(
      *raw->setup, raw->multi,
      [raw](const CredentialRef& credential) { return raw->take_handle(credential); });
  std::promise<void> started;
  raw->thread = std::thread([raw, &started] {
    raw->thread_id = std::this_thread::get_id();
    started.set_value();
    raw->loop();
  });
  started.get_future().wait();
  return client;
}

HttpClient::RequestId HttpClient::submit(HttpRequest request, HttpHandlers handlers) {
  auto transfer = std::make_shared<std::unique_ptr<Transfer>>(std::make_unique<Transfer>());
  const RequestId id = impl_->next_id.fetch_add(1);
  (*transfer)->id = id;
  if (request.timeout.count() > 0) (*transfer)->deadline = BootClock::now() + request.timeout;
  (*transfer)->request = std::move(request);
  (*transfer)->handlers = std::move(handlers);
  std::function<void()> begin = [impl = impl_.get(), transfer] {
    Transfer& added = **transfer;
    added.started = Clock::now();
    impl->transfers.emplace(added.id, std::move(*transfer));
    if (impl->stopping.load()) return;  // cancelled with the others
    impl->start(added);
  };
  if (!impl_->enqueue(begin)) {
    const auto& on_done = (*transfer)->handlers.on_done;
    if (on_done) on_done(fail(ErrorCode::kCancelled, "the client is stopped"));
  }
  return id;
}

void HttpClient::cancel(RequestId id) {
  post([impl = impl_.get(), id] {
    const auto found = impl->transfers.find(id);
    if (found == impl->transfers.end()) return;
    impl->complete(*found->second, fail(ErrorCode::kCancelled, "the request was cancelled"));
  });
}

bool HttpClient::post(std::function<void()> function) {
  return impl_->enqueue(function);
}

void HttpClient::run(const std::function<void()>& function) {
  if (std::this_thread::get_id() == impl_->thread_id) {
    function();
    return;
  }
  std::promise<void> done;
  if (!post([&] {
        guarded("run", function);
        done.set_value();
      })) {
    function();
    return;
  }
  done.get_future().wait();
}

HttpClient::TimerId HttpClient::after(milliseconds delay, std::function<void()> function) {
  const TimerId id = impl_->next_id.fetch_add(1);
  const auto due = Clock::now() + delay;
  if (std::this_thread::get_id() == impl_->thread_id) {
    impl_->timers.emplace(due, std::make_pair(id, std::move(function)));
  } else {
    post([impl = impl_.get(), id, due, function = std::move(function)] {
      impl->timers.emplace(due, std::make_pair(id, function));
    });
  }
  return id;
}

void HttpClient::cancel_timer(TimerId id) {
  impl_->drop_timer(id);
}

void HttpClient::stop() {
  if (!impl_->thread.joinable()) return;
  impl_->stopping.store(true);
  impl_->wake();
  impl_->thread.join();
}

const ServerAccess& HttpClient::access() const {
  return impl_->access;
}

}  // namespace plimsoll::informer
