// A request from its credential to its end. Everything runs on the I/O thread.

#include <algorithm>

#include "framework/base/log.hpp"
#include "informer/http/http_client_impl.hpp"

namespace plimsoll::informer {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kIdleHandles = 256;  // kept for later requests
constexpr std::size_t kHeaderLines = 32;   // distinct header sets that are kept
constexpr int kSentAgain = 3;              // retries of requests that the server did not process

}  // namespace

Handle HttpClient::Impl::take_handle(const CredentialRef& credential) {
  while (!idle_handles.empty()) {
    Handle handle = std::move(idle_handles.back());
    idle_handles.pop_back();
    if (handle.credential == credential) return handle;
    curl_easy_cleanup(handle.easy);  // its credential is outdated
  }
  Handle handle{curl_easy_init(), nullptr};
  if (handle.easy != nullptr) prepare(*setup, handle, credential);
  return handle;
}

HeaderLinesRef HttpClient::Impl::headers_for(const HttpRequest& request,
                                             const CredentialRef& credential) {
  for (const HeaderLinesRef& lines : header_lines) {
    if (same_headers(*lines, request, credential)) return lines;
  }
  if (header_lines.size() >= kHeaderLines) header_lines.clear();
  header_lines.push_back(make_headers(*setup, request, credential));
  return header_lines.back();
}

void HttpClient::Impl::start(Transfer& transfer, CredentialRef fetched) {
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
  transfer.credential = fetched != nullptr ? std::move(fetched) : credentials->current();
  if (transfer.credential == nullptr) {
    await_credential(transfer);
    return;
  }
  // With a limit of connections, it might wait for ever for a connection to end.
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

bool HttpClient::Impl::give_to_libcurl(Transfer& transfer) {
  transfer.handle = take_handle(transfer.credential);
  if (transfer.handle.easy == nullptr) return no_memory(transfer);
  set_up(*setup, transfer);
  curl_multi_add_handle(multi, transfer.handle.easy);
  libcurl_works = true;
  return true;
}

bool HttpClient::Impl::place(Transfer& transfer) {
  const Http2Links::Place place = links->place(transfer);
  if (place == Http2Links::Place::kNoMemory) return no_memory(transfer);
  transfer.awaits_link = place == Http2Links::Place::kNone;
  if (transfer.awaits_link) parked.push_back(transfer.id);
  // A new link is connected by libcurl.
  if (transfer.link != nullptr && transfer.link->state() == Http2Link::State::kConnecting) {
    libcurl_works = true;
  }
  return true;
}

bool HttpClient::Impl::no_memory(Transfer& transfer) {
  complete(transfer, fail(ErrorCode::kInternal, "libcurl is out of memory"));
  return false;
}

void HttpClient::Impl::settle() {
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

void HttpClient::Impl::unpark() {
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

void HttpClient::Impl::expire() {
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

milliseconds HttpClient::Impl::idle_limit(const Transfer& transfer) {
  const HttpRequest& request = transfer.request;
  const bool asked = transfer.link != nullptr || transfer.awaits_link;  // a link sends PINGs
  if (asked || request.beat.count() == 0) return request.idle_timeout;
  return request.idle_timeout.count() == 0 ? request.beat
                                           : std::min(request.idle_timeout, request.beat);
}

void HttpClient::Impl::watch_idle(Transfer& transfer) {
  const milliseconds limit = idle_limit(transfer);
  if (limit.count() != 0) arm_idle(transfer, limit);
}

void HttpClient::Impl::arm_idle(Transfer& transfer, milliseconds delay) {
  transfer.idle_timer = add_timer(delay, [this, id = transfer.id] {
    const auto found = transfers.find(id);
    if (found == transfers.end()) return;
    Transfer& idle = *found->second;
    const milliseconds limit = idle_limit(idle);
    const auto quiet = std::chrono::duration_cast<milliseconds>(Clock::now() - idle.last_activity);
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
    complete(idle, fail(ErrorCode::kUnavailable, access.peer + " at " + access.server +
                                                     " sent nothing for " +
                                                     std::to_string(limit.count()) + " ms"));
  });
}

void HttpClient::Impl::detach(Transfer& transfer) {
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

void HttpClient::Impl::start_over(Transfer& transfer) {
  detach(transfer);
  transfer.response = HttpResponse{};
  start(transfer);
}

void HttpClient::Impl::finish(Transfer& transfer, CURLcode code) {
  if (code == CURLE_OK && transfer.response.status == 401 && !transfer.retried &&
      credentials->reject(transfer.credential->generation)) {
    transfer.retried = true;
    start_over(transfer);
    return;
  }
  // The connection may be dead unnoticed, and HTTP/2 would put the next try onto it.
  if (code == CURLE_OPERATION_TIMEDOUT && transfer.response.status == 0) suspicious = true;
  if (code == CURLE_OK) {
    complete(transfer, std::move(transfer.response));
  } else {
    complete(transfer, fail(transport_error(*setup, transfer, code)));
  }
}

void HttpClient::Impl::report(const Transfer& transfer, const Result<HttpResponse>& result) const {
  if (!options.on_exchange) return;
  if (!result && result.error().code == ErrorCode::kCancelled) return;
  HttpExchange exchange;
  exchange.method = transfer.request.method;
  exchange.status = result ? result->status : 0;
  exchange.watch = transfer.request.path.find("watch=") != std::string::npos;
  exchange.took = Clock::now() - transfer.started;
  options.on_exchange(exchange);
}

void HttpClient::Impl::complete(Transfer& transfer, Result<HttpResponse> result) {
  report(transfer, result);
  detach(transfer);
  auto node = transfers.extract(transfer.id);
  const auto& on_done = node.mapped()->handlers.on_done;
  if (on_done) guarded("on_done", [&] { on_done(std::move(result)); });
}

void HttpClient::Impl::await_credential(Transfer& transfer) {
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

void HttpClient::Impl::fetch_credential() {
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
          start(*found->second, **fetched);
        } else {
          complete(*found->second, fail(fetched->error()));
        }
      }
    };
    enqueue(resume);
  });
}

}  // namespace plimsoll::informer
