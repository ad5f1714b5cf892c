// The I/O thread of a client.

#include <pthread.h>
#include <unistd.h>

#include <algorithm>

#include "informer/http/http_client_impl.hpp"

namespace plimsoll::informer {

using std::chrono::milliseconds;

bool HttpClient::Impl::enqueue(std::function<void()>& function) {
  bool sleeping = false;
  {
    const std::lock_guard lock(mutex);
    if (closed) return false;
    posted.push_back(std::move(function));
    sleeping = std::this_thread::get_id() != thread_id && std::exchange(asleep, false);
  }
  if (sleeping) wake();  // otherwise it is already woken or running
  return true;
}

void HttpClient::Impl::wake() const {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(waker, &one, sizeof one));
}

void HttpClient::Impl::loop() {
  pthread_setname_np(pthread_self(), options.thread_name.substr(0, 15).c_str());
  while (!stopping.load()) {
    run_posted();
    run_timers();
    expire();
    drive_libcurl();
    links->look(Clock::now());
    links->flush();
    settle();
    sleep(sleep_time());
  }
  shut_down();
}

void HttpClient::Impl::drive_libcurl() {
  if (!libcurl_works) return;
  int running = 0;
  curl_multi_perform(multi, &running);
  libcurl_works = running > 0;
  reap();
}

void HttpClient::Impl::sleep(int most) {
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

bool HttpClient::Impl::run_posted() {
  std::vector<std::function<void()>> batch;
  {
    const std::lock_guard lock(mutex);
    asleep = false;
    batch.swap(posted);
  }
  for (auto& function : batch) guarded("posted", function);
  return !batch.empty();
}

void HttpClient::Impl::run_timers() {
  const auto now = Clock::now();
  while (!timers.empty() && timers.begin()->first <= now) {
    auto timer = timers.extract(timers.begin());
    guarded("timer", timer.mapped().second);
  }
}

int HttpClient::Impl::sleep_time() {
  {
    const std::lock_guard lock(mutex);
    if (!posted.empty() || more_to_read) return 0;
    asleep = true;
  }
  Clock::time_point next = std::min(next_expiry, links->next_look());
  if (!timers.empty()) next = std::min(next, timers.begin()->first);
  if (next == Clock::time_point::max()) return 60'000;
  const auto left = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
}

void HttpClient::Impl::reap() {
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

void HttpClient::Impl::shut_down() {
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

HttpClient::TimerId HttpClient::Impl::add_timer(milliseconds delay,
                                                std::function<void()> function) {
  const TimerId id = next_id.fetch_add(1);
  timers.emplace(Clock::now() + delay, std::make_pair(id, std::move(function)));
  return id;
}

void HttpClient::Impl::drop_timer(TimerId id) {
  if (id == 0) return;
  const auto found = std::find_if(timers.begin(), timers.end(),
                                  [id](const auto& timer) { return timer.second.first == id; });
  if (found != timers.end()) timers.erase(found);
}

}  // namespace plimsoll::informer
