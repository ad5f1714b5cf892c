#include "informer/write/write_queue.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/log.hpp"
#include "informer/http/http_transfer.hpp"

namespace plimsoll::informer {

namespace {

// By WriteClass, for messages.
constexpr std::array<std::string_view, kWriteClasses> kWhat{"bindings", "pod status", "events",
                                                            "other writes"};

}  // namespace

using std::chrono::milliseconds;

bool answers_write(const HttpResponse& response) {
  return response.ok() || (response.status >= 400 && response.status < 500 &&
                           response.status != 408 && response.status != 429);
}

WriteQueue::WriteQueue(HttpClient& binds, HttpClient& others, WriteOptions options)
    : options_(std::move(options)), protobuf_(options_.protobuf) {
  for (std::size_t i = 0; i < kWriteClasses; ++i) {
    lanes_[i].client = static_cast<WriteClass>(i) == WriteClass::kBind ? &binds : &others;
    const std::size_t most = options_.one_at_a_time ? 1 : options_.in_flight[i];
    lanes_[i].window = WriteWindow({options_.least_in_flight, options_.first_in_flight, most});
  }
}

void WriteQueue::add(WriteClass write_class, const WriteJobRef& job) {
  Lane& into = lane(write_class);
  WriteJobRef replaced;
  bool dropped = false;
  bool refused = false;
  {
    const std::lock_guard lock(mutex_);
    refused = stopped_;
    if (!stopped_ && write_class == WriteClass::kEvent &&
        into.queue.size() + into.given_way >= options_.event_queue) {
      dropped = true;
    } else if (!stopped_) {
      replaced = enqueue(into, job);
    }
  }
  if (refused) {
    if (job->done) job->done(fail(ErrorCode::kCancelled, job->what + ": the writer is stopped"));
  } else if (dropped) {
    stats_.events_dropped.fetch_add(1, std::memory_order_relaxed);
    if (job->done) job->done(fail(ErrorCode::kThrottled, job->what + ": the queue is full"));
  } else {
    if (replaced != nullptr && replaced->done) replaced->done(HttpResponse{200, {}, {}, {}});
    pump(write_class);
  }
}

// Returns the job that became unnecessary, if any. If it is `job` itself, it now holds the content
// of the waiting job whose position it took, or it is older than that one. Called with mutex_ held.
WriteJobRef WriteQueue::enqueue(Lane& into, const WriteJobRef& job) {
  if (!job->merge.empty()) {
    const auto [at, fresh] = into.mergeable.try_emplace(job->merge, job);
    if (!fresh) {
      if (!job->aged) {
        std::swap(*at->second, *job);
        std::swap(at->second->place, job->place);  // it keeps its own
      }
      return job;
    }
  }
  job->place = places_++;
  if (!job->in_order.empty()) {
    const auto [behind, first] = into.behind.try_emplace(job->in_order);
    if (!first) {
      behind->second.push_back(job);
      ++into.held_up;
      return nullptr;
    }
  }
  into.line_up(job);
  return nullptr;
}

// The first try of `job` has ended: the next in its order may go. Call pump() afterwards.
void WriteQueue::let_next(WriteClass write_class, WriteJob& job) {
  const std::string order = std::exchange(job.in_order, {});
  if (order.empty()) return;
  const std::lock_guard lock(mutex_);
  Lane& of = lane(write_class);
  const auto behind = of.behind.find(order);
  if (behind == of.behind.end()) return;  // stopped
  if (behind->second.empty()) {
    of.behind.erase(behind);
    return;
  }
  const WriteJobRef next = std::move(behind->second.front());
  behind->second.pop_front();
  --of.held_up;
  of.line_up(next);
}

WriteJob::Answer WriteQueue::withdraw(WriteClass write_class, const std::string& merge) {
  const std::lock_guard lock(mutex_);
  auto waiting = lane(write_class).mergeable.extract(merge);
  if (waiting.empty()) return nullptr;
  waiting.mapped()->dropped = true;
  return std::exchange(waiting.mapped()->done, nullptr);
}

// Of which class the next job is. Called with mutex_ held.
WriteClass WriteQueue::next_class(WriteClass write_class) {
  if (!options_.one_at_a_time) return write_class;
  std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 0; i < kWriteClasses; ++i) {
    if (lanes_[i].under_way > 0) return static_cast<WriteClass>(i);  // its window is full
    const Line& line = lanes_[i].next_line();
    if (line.empty() || line.begin()->first > oldest) continue;
    oldest = line.begin()->first;
    write_class = static_cast<WriteClass>(i);
  }
  return write_class;
}

// Sends jobs as far as the window allows.
void WriteQueue::pump(WriteClass write_class) {
  while (true) {
    WriteJobRef job;
    {
      const std::lock_guard lock(mutex_);
      write_class = next_class(write_class);
      Lane& from = lane(write_class);
      Line& line = from.next_line();
      if (stopped_ || line.empty() || from.under_way >= from.window.size()) return;
      job = std::move(line.begin()->second);
      line.erase(line.begin());
      if (job->dropped) {
        changed_.notify_all();  // it may have been the last one
        continue;
      }
      // The key may belong to a newer job if this one is a retry.
      const auto found = from.mergeable.find(job->merge);
      if (found != from.mergeable.end() && found->second == job) from.mergeable.erase(found);
      ++from.under_way;
    }
    if (auto result = end_unsent(*job)) {
      end(write_class, *job, std::move(*result));
    } else {
      transmit(write_class, job);
    }
  }
}

// How long a try that starts now may last; zero: it must not be sent.
milliseconds WriteQueue::allowed_time(const WriteJob& job) const {
  if (options_.fence == nullptr || job.request.method == "GET") return milliseconds::max();
  return std::chrono::duration_cast<milliseconds>(options_.fence->allowance());
}

// How a job ends that must not, or need not, be sent now; nothing: send it.
std::optional<Result<HttpResponse>> WriteQueue::end_unsent(const WriteJob& job) const {
  if (job.tries + job.throttled > 0 && job.superseded && job.superseded()) {
    return HttpResponse{200, {}, {}, {}};
  }
  if (allowed_time(job) > milliseconds::zero()) return std::nullopt;
  return Result<HttpResponse>(fail(ErrorCode::kCancelled, "this replica does not lead"));
}

void WriteQueue::transmit(WriteClass write_class, const WriteJobRef& job) {
  const milliseconds allowed = allowed_time(*job);
  if (allowed == milliseconds::zero()) {
    return finish(write_class, *job, fail(ErrorCode::kCancelled, "this replica does not lead"));
  }
  ++job->tries;
  job->sent = std::chrono::steady_clock::now();
  HttpRequest request = job->request;
  request.timeout = std::min(request.timeout, allowed);
  // The client checks the fence again when it really sends: the request may have to wait for a
  // credential, or be sent twice.
  if (request.method != "GET") request.fence = options_.fence;
  HttpHandlers handlers;
  handlers.on_done = [self = shared_from_this(), write_class, job](Result<HttpResponse> result) {
    self->answered(write_class, job, std::move(result));
  };
  lane(write_class).client->submit(std::move(request), std::move(handlers));
}

void WriteQueue::answered(WriteClass write_class, const WriteJobRef& job,
                          Result<HttpResponse> result) {
  note_end(write_class, *job, result);
  if (turn_to_json(*job, result)) return transmit(write_class, job);
  let_next(write_class, *job);
  const auto delay = retry_delay(write_class, *job, result);
  if (delay && job->superseded && job->superseded()) {
    result = HttpResponse{200, {}, {}, {}};
  } else if (delay && repeat_after(*delay, write_class, job)) {
    return;
  }
  finish(write_class, *job, std::move(result));
}

// Reports to the window what a try says about the server's capacity, and whether it was refused.
void WriteQueue::note_end(WriteClass write_class, const WriteJob& job,
                          const Result<HttpResponse>& result) {
  if (!result && result.error().code == ErrorCode::kCancelled) return;
  TryEnd how = TryEnd::kAnswered;
  if (!result || result->status >= 500 || result->status == 408) how = TryEnd::kFailed;
  if (result && result->status == 429) how = TryEnd::kThrottled;
  if (result && how == TryEnd::kAnswered) {
    refused_.answered(kWhat.at(static_cast<std::size_t>(write_class)), result->status, result->body,
                      std::chrono::steady_clock::now());
  }
  const std::lock_guard lock(mutex_);
  Lane& of = lane(write_class);
  of.window.ended(how, job.sent, std::chrono::steady_clock::now(), !of.next_line().empty());
}

WriteLoad WriteQueue::load(WriteClass write_class) const {
  const std::lock_guard lock(mutex_);
  const Lane& of = lanes_[static_cast<std::size_t>(write_class)];
  return {of.window.size(), of.under_way, of.waiting() + of.given_way};
}

// 415: the server does not accept the body's encoding; nothing was carried out.
bool WriteQueue::turn_to_json(WriteJob& job, const Result<HttpResponse>& result) {
  if (!result || result->status != 415 || !job.as_json) return false;
  if (protobuf_.exchange(false)) {
    log_info("the API server does not take protobuf; writing JSON", {{"write", job.what}});
  }
  job.request.body = std::exchange(job.as_json, nullptr)();
  job.request.content_type = job.request.accept = "application/json";
  --job.tries;
  return true;
}

// A job that is retried without limit, or that waits for long, leaves the window while it waits;
// otherwise a few of them could block all others.
bool WriteQueue::gives_way(WriteClass write_class, const WriteJob& job) const {
  return write_class == WriteClass::kEvent ||
         (job.definite != nullptr && job.tries + job.throttled >= options_.tries);
}

// Sends the job again after a delay; returns false if the queue is stopped.
bool WriteQueue::repeat_after(milliseconds delay, WriteClass write_class, const WriteJobRef& job) {
  Lane& from = lane(write_class);
  const bool without_place = gives_way(write_class, *job);
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return false;
    from.retrying.insert(job);
    if (without_place) {
      --from.under_way;
      ++from.given_way;
    }
  }
  stats_.retried[static_cast<std::size_t>(write_class)].fetch_add(1, std::memory_order_relaxed);
  from.client->after(delay, [self = shared_from_this(), write_class, job, without_place] {
    Lane& to = self->lane(write_class);
    {
      const std::lock_guard lock(self->mutex_);
      if (to.retrying.erase(job) == 0) return;  // cancelled by stop()
      if (without_place) {
        --to.given_way;
        job->place = self->places_++;
        to.line_up(job);
      }
    }
    if (without_place) {
      self->pump(write_class);
    } else if (auto result = self->end_unsent(*job)) {
      self->finish(write_class, *job, std::move(*result));
    } else {
      self->transmit(write_class, job);
    }
  });
  pump(write_class);
  return true;
}

// Whether the answer allows a retry; updates the job's `throttled` and `uncertain`.
bool WriteQueue::worth_repeating(WriteClass write_class, WriteJob& job,
                                 const Result<HttpResponse>& result) const {
  if (!result && result.error().code == ErrorCode::kCancelled) return false;
  const int status = result ? result->status : 0;
  if (status == 429 && write_class != WriteClass::kEvent) {
    --job.tries;
    return ++job.throttled < options_.throttled_tries || job.definite != nullptr;
  }
  if (job.definite != nullptr) {
    if (result && job.definite(*result)) return false;
    job.uncertain = true;
    return true;
  }
  const bool trouble = result ? status == 500 || status == 502 || status == 503 || status == 504
                              : result.error().code == ErrorCode::kUnavailable;
  if (write_class == WriteClass::kEvent) {
    return (trouble || status == 429) && job.tries < options_.event_tries;
  }
  return trouble && job.tries < options_.tries;
}

// How long to wait before the next try; nothing if the answer is final.
std::optional<milliseconds> WriteQueue::retry_delay(WriteClass write_class, WriteJob& job,
                                                    const Result<HttpResponse>& result) {
  if (!worth_repeating(write_class, job, result)) return {};
  if (write_class == WriteClass::kEvent) {
    return options_.event_delay + jitter(options_.event_delay / 4);
  }
  if (job.definite != nullptr && job.tries + job.throttled == options_.tries) {
    // One warning for each bind; conditions come by the thousand during an outage.
    const LogLevel level = job.merge.empty() ? LogLevel::kWarn : LogLevel::kDebug;
    if (log_enabled(level))
      log_write(level, "no definite answer yet; trying on until there is one",
                {{"write", job.what},
                 {"error", result ? "the API server answered " + std::to_string(result->status)
                                  : result.error().message}});
  }
  const auto asked = result ? retry_after(*result) : std::nullopt;
  job.delay =
      job.delay.count() == 0 ? options_.first_delay : std::min(job.delay * 2, options_.max_delay);
  return std::max(job.delay + jitter(job.delay / 2),
                  std::min(asked.value_or(milliseconds(0)), options_.max_retry_after));
}

milliseconds WriteQueue::jitter(milliseconds most) {
  const std::lock_guard lock(mutex_);
  return milliseconds(std::uniform_int_distribution<milliseconds::rep>(0, most.count())(random_));
}

void WriteQueue::finish(WriteClass write_class, WriteJob& job, Result<HttpResponse> result) {
  end(write_class, job, std::move(result));
  pump(write_class);
}

// Like finish(), for a caller that continues with the queue itself.
void WriteQueue::end(WriteClass write_class, WriteJob& job, Result<HttpResponse> result) {
  const auto index = static_cast<std::size_t>(write_class);
  let_next(write_class, job);
  if (job.request.method != "GET") {  // a GET that a write needed does not count as a write
    (result && result->ok() ? stats_.done : stats_.failed)[index].fetch_add(
        1, std::memory_order_relaxed);
  }
  if (!result) result = fail(result.error().within(job.what));
  // The slot is released after `done`, so that drain() does not see a gap before follow-up jobs.
  guarded("the end of a write", [&] {
    if (job.done) job.done(std::move(result));
  });
  {
    const std::lock_guard lock(mutex_);
    --lanes_[index].under_way;
  }
  changed_.notify_all();
}

bool WriteQueue::idle(std::initializer_list<WriteClass> classes) {
  return std::all_of(classes.begin(), classes.end(),
                     [this](WriteClass each) { return lane(each).empty(); });
}

bool WriteQueue::is_empty() {
  const std::lock_guard lock(mutex_);
  return idle({WriteClass::kBind, WriteClass::kStatus, WriteClass::kEvent, WriteClass::kOther});
}

bool WriteQueue::drain(milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto drained = [this] {
    return idle({WriteClass::kStatus, WriteClass::kEvent, WriteClass::kOther});
  };
  changed_.wait_for(lock, timeout, [&] { return stopped_ || drained(); });
  return drained();
}

void WriteQueue::stop() {
  std::vector<WriteJobRef> given_up;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    for (Lane& each : lanes_) {
      for (const Line* line : {&each.urgent, &each.queue}) {
        for (const auto& [place, job] : *line) given_up.push_back(job);
      }
      given_up.insert(given_up.end(), each.retrying.begin(), each.retrying.end());
      for (const auto& [order, jobs] : each.behind) {
        given_up.insert(given_up.end(), jobs.begin(), jobs.end());
      }
      each.urgent.clear();
      each.queue.clear();
      each.behind.clear();
      each.held_up = 0;
      each.mergeable.clear();
      each.retrying.clear();
      each.given_way = 0;
    }
  }
  changed_.notify_all();
  for (const WriteJobRef& job : given_up) {
    if (job->done) job->done(fail(ErrorCode::kCancelled, job->what + ": the writer was stopped"));
  }
}

}  // namespace plimsoll::informer
