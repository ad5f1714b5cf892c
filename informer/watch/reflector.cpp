#include "informer/watch/reflector.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "informer/watch/reflector_impl.hpp"

namespace plimsoll::informer {

std::string_view to_string(ReflectorState state) {
  static constexpr std::array<std::string_view, 6> kNames{"listing", "watching",    "not served",
                                                          "refused", "unreachable", "stopped"};
  return kNames[static_cast<std::size_t>(state)];
}

Reflector::Impl::Impl(HttpClient& http, ReflectorSink& receiver, ReflectorOptions chosen)
    : client(http),
      sink(receiver),
      options(std::move(chosen)),
      backoff(options.backoff),
      peers(options.peers ? options.peers : std::make_shared<ReflectorPeers>()),
      kind(options.resource.text()),
      list_version(first_list_version()),
      streaming(options.streaming_list) {}

std::string Reflector::Impl::first_list_version() const {
  return options.consistent_first_list ? "" : "0";
}

// ---- whether the kind is followed

void Reflector::Impl::enter(ReflectorState next, std::string_view text) {
  const bool trouble = next == ReflectorState::kRefused || next == ReflectorState::kUnreachable;
  if (state == next && state_text == text && !trouble) return;
  state = next;
  state_text = text;
  sink.on_state(next, text);
}

void Reflector::Impl::follow() {
  if (followed) return;
  followed = true;
  listed_afresh = false;
  sink.on_followed(true, "", false);
}

void Reflector::Impl::watch_open() {
  answered();
  if (!followed && not_opened && Clock::now() - list_end > options.moment) {
    drop_attempt();
    list_from_store();
    return begin();
  }
  enter(ReflectorState::kWatching, "");
  failures = 0;
  end_moment();
  follow();
}

void Reflector::Impl::watch_closed() {
  if (!followed || moment != 0) return;
  moment = client.after(options.moment, [self = shared_from_this()] {
    self->moment = 0;
    if (self->running) self->moment_over();
  });
}

void Reflector::Impl::moment_over() {
  const bool reads_the_store = state == ReflectorState::kListing && list_version.empty();
  lost(state_text.empty() ? "the watch does not open again" : std::string(state_text));
  if (request == 0 || reads_the_store) return;
  drop_attempt();
  begin();
}

void Reflector::Impl::end_moment() {
  if (moment != 0) client.cancel_timer(moment);
  moment = 0;
}

void Reflector::Impl::lost(std::string_view why, bool wanted) {
  end_moment();
  // A list that was wanted may fail.
  if (!followed && (wanted || !listed_afresh)) return;
  followed = false;
  listed_afresh = wanted;
  list_from_store();
  sink.on_followed(false, why, wanted);
}

void Reflector::Impl::show_position() {
  std::uint64_t number = 0;
  const char* end = resource_version.data() + resource_version.size();
  const auto read = std::from_chars(resource_version.data(), end, number);
  stats.position = read.ec == std::errc() && read.ptr == end ? number : 0;
}

void Reflector::Impl::list_from_store() {
  resource_version.clear();
  list_version.clear();
}

// ---- tries

void Reflector::Impl::begin() {
  if (!resource_version.empty()) {
    begin_watch();
  } else if (streaming) {
    begin_streamed_list();
  } else {
    begin_list();
  }
}

void Reflector::Impl::wait(milliseconds delay) {
  timer = client.after(delay, [self = shared_from_this()] {
    self->timer = 0;
    if (self->running) self->begin();
  });
}

std::chrono::milliseconds Reflector::Impl::drawn(milliseconds least, milliseconds most) {
  return milliseconds(
      std::uniform_int_distribution<milliseconds::rep>(least.count(), most.count())(random));
}

void Reflector::Impl::answered() {
  missing_since.reset();
  server_ready = false;
  peers->works(this);
}

void Reflector::Impl::hurry() {
  if (!running || timer == 0) return;
  client.cancel_timer(timer);
  backoff.reset();
  wait(drawn(milliseconds(0), options.hurry));
}

void Reflector::Impl::retry(const Error& error, std::optional<milliseconds> asked, bool soon) {
  stats.failures.fetch_add(1, std::memory_order_relaxed);
  missing_since.reset();
  not_opened = true;
  const bool refused = error.code == ErrorCode::kUnauthorized;
  // Whoever is asked to wait once, as at the first list of a kind that was just installed, waits.
  const bool just_asked_to_wait = error.code == ErrorCode::kThrottled && failures == 0;
  if (!just_asked_to_wait)
    enter(refused ? ReflectorState::kRefused : ReflectorState::kUnreachable, error.message);
  if (++failures > 1) {
    lost(error.message);
  } else {
    watch_closed();
  }
  const milliseconds most =
      refused || !soon ? options.backoff.maximum : options.unavailable_maximum;
  const milliseconds delay = backoff.next(Clock::now(), most);
  const milliseconds patience =
      peers->others_work(this) ? options.retry_after_beside : options.retry_after_maximum;
  peers->failed(this);
  wait(std::max(delay, std::min(asked.value_or(milliseconds(0)), patience)));
}

void Reflector::Impl::drop_attempt() {
  ++attempt;
  end_opening();
  if (request != 0) client.cancel(request);
  if (timer != 0) client.cancel_timer(timer);
  request = 0;
  timer = 0;
}

void Reflector::Impl::relist(std::function<void()> done) {
  if (!running) return;
  relisted.push_back(std::move(done));
  drop_attempt();
  lost("it is being listed afresh", true);
  list_from_store();
  begin();
}

void Reflector::Impl::halt() {
  if (!running) return;
  running = false;
  drop_attempt();
  end_moment();
  peers->leave(this);
  relisted.clear();
  enter(ReflectorState::kStopped, "");
}

// ---- kinds that are not served

// Handles 404. An API server always serves the core group. A 404 for pods or nodes therefore comes
// from a proxy, or from a server that is still starting, and is never a reason to continue without
// them.
void Reflector::Impl::missing(const Error& error) {
  if (options.resource.group.empty()) return retry(error);
  const Clock::time_point now = Clock::now();
  if (!missing_since) missing_since = now;
  if (!std::exchange(server_ready, false)) return ask_whether_ready(error);
  const Clock::time_point since = *missing_since;
  if (!synced || now - since >= options.gone_after) return not_served(error);
  retry(error);
  missing_since = since;
}

// After /readyz has answered, requests the kind once more. A server without this endpoint, or one
// that denies access to it, counts as ready.
void Reflector::Impl::ask_whether_ready(const Error& error) {
  HttpRequest get;
  get.path = "/readyz";
  get.accept = "*/*";
  HttpHandlers handlers;
  handlers.on_done = during_attempt([this, error](const Result<HttpResponse>& result) {
    request = 0;
    if (!result || result->status >= 500 || result->status == 429) {
      return retry(
          Error{ErrorCode::kUnavailable, error.message + ", but the API server is not ready"});
    }
    server_ready = true;
    begin();
  });
  request = client.submit(std::move(get), std::move(handlers));
}

void Reflector::Impl::not_served(const Error& error) {
  if (synced) {
    known.begin_list();  // none of its objects remain
    drop_vanished();
    synced = false;
  }
  end_moment();
  failures = 0;
  resource_version.clear();
  list_version = first_list_version();
  enter(ReflectorState::kNotServed, error.message);
  follow();  // there is nothing to follow
  tell_relisted();
  wait(drawn(options.not_served_retry_min, options.not_served_retry_max));
}

// ---- objects

void Reflector::Impl::malformed(const Error& error) {
  stats.malformed.fetch_add(1, std::memory_order_relaxed);
  sink.on_malformed(error.message);
}

void Reflector::Impl::upsert(std::string_view bytes, const ObjectKey& key) {
  if (!known.note(key, [this](const ObjectKey& gone) { deliver_deletion(gone); })) {
    stats.unchanged.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  stats.delivered.fetch_add(1, std::memory_order_relaxed);
  sink.on_upsert({bytes, encoding.value_or(Encoding::kJson)}, key, !synced);
}

void Reflector::Impl::erase(std::string_view bytes, const ObjectKey& key) {
  const auto last = known.take(key);
  if (!last) return;
  if (last->key().uid == key.uid) {
    deliver_deletion(key, {bytes, encoding.value_or(Encoding::kJson)});
  } else {
    deliver_deletion(last->key());
  }
}

void Reflector::Impl::deliver_deletion(const ObjectKey& key, const WireObject& last_known) {
  stats.delivered.fetch_add(1, std::memory_order_relaxed);
  sink.on_delete(key, last_known);
}

// ---- from other threads

Reflector::Reflector(HttpClient& client, ReflectorSink& sink, ReflectorOptions options)
    : impl_(std::make_shared<Impl>(client, sink, std::move(options))) {}

Reflector::~Reflector() {
  stop();
}

void Reflector::start() {
  impl_->client.post([impl = impl_] {
    impl->running = true;
    impl->peers->join(impl.get(), [impl = impl.get()] { impl->hurry(); });
    impl->begin();
  });
}

void Reflector::relist(std::function<void()> done) {
  impl_->client.post(
      [impl = impl_, done = std::move(done)]() mutable { impl->relist(std::move(done)); });
}

void Reflector::stop() {
  impl_->client.run([this] { impl_->halt(); });
}

const ReflectorStats& Reflector::stats() const {
  return impl_->stats;
}

}  // namespace plimsoll::informer
