#include "informer/watch/reflector.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <unordered_map>
#include <vector>

#include "framework/base/log.hpp"
#include "informer/wire/protobuf_wire.hpp"

namespace plimsoll::informer {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// After this many consecutive errors the reflector lists again instead of resuming the watch.
constexpr int kWatchErrorsBeforeList = 5;

// The Accept header that client-go sends for core kinds.
constexpr const char* kAcceptProtobuf = "application/vnd.kubernetes.protobuf,application/json";

// What is remembered of an object, in one allocation: there are 100,000 objects and more.
class Known {
 public:
  Known(const ObjectKey& key, std::uint32_t seen_in)
      : round(seen_in),
        ns_(static_cast<std::uint32_t>(key.ns.size())),
        name_(static_cast<std::uint32_t>(key.name.size())),
        uid_(static_cast<std::uint32_t>(key.uid.size())),
        version_(static_cast<std::uint32_t>(key.resource_version.size())),
        text_(new char[key.ns.size() + 1 + key.name.size() + key.uid.size() +
                       key.resource_version.size()]) {
    char* at = std::copy(key.ns.begin(), key.ns.end(), text_.get());
    *at++ = '/';
    at = std::copy(key.name.begin(), key.name.end(), at);
    at = std::copy(key.uid.begin(), key.uid.end(), at);
    std::copy(key.resource_version.begin(), key.resource_version.end(), at);
  }

  // "namespace/name". Used as the key: keeps its address when this object is moved.
  [[nodiscard]] std::string_view full_name() const { return {text_.get(), ns_ + 1 + name_}; }
  [[nodiscard]] ObjectKey key() const {
    const char* name = text_.get() + ns_ + 1;
    return {
        {text_.get(), ns_}, {name, name_}, {name + name_, uid_}, {name + name_ + uid_, version_}};
  }

  std::uint32_t round;  // of the last list that contained it

 private:
  std::uint32_t ns_;
  std::uint32_t name_;
  std::uint32_t uid_;
  std::uint32_t version_;
  std::unique_ptr<char[]> text_;
};

std::string known_name(const ObjectKey& key) {
  std::string name;
  name.reserve(key.ns.size() + 1 + key.name.size());
  return name.append(key.ns).append(1, '/').append(key.name);
}

// "Too large resource version": the API server lags behind what we have seen.
bool too_large_resource_version(const HttpResponse& response) {
  return response.status == 504 &&
         response.body.find("Too large resource version") != std::string::npos;
}

}  // namespace

std::string ResourceType::path() const {
  return (group.empty() ? "/api/" + version : "/apis/" + group + "/" + version) + "/" + plural;
}

std::string ResourceType::text() const {
  return group.empty() ? plural : plural + "." + version + "." + group;
}

Result<ResourceType> ResourceType::parse(std::string_view text) {
  const std::size_t first = text.find('.');
  const std::size_t second =
      first == std::string_view::npos ? std::string_view::npos : text.find('.', first + 1);
  if (second == std::string_view::npos || first == 0 || second == first + 1 ||
      second + 1 == text.size()) {
    return fail(ErrorCode::kInvalid,
                "'" + std::string(text) +
                    "' does not name a kind; expected <plural>.<version>.<group>, for example "
                    "noderesourcetopologies.v1alpha2.topology.node.k8s.io");
  }
  return ResourceType{std::string(text.substr(second + 1)),
                      std::string(text.substr(first + 1, second - first - 1)),
                      std::string(text.substr(0, first))};
}

std::string_view to_string(ReflectorState state) {
  static constexpr std::array<std::string_view, 6> kNames{"listing", "watching",    "not served",
                                                          "refused", "unreachable", "stopped"};
  return kNames[static_cast<std::size_t>(state)];
}

// Lives as long as a callback may still arrive; used on the I/O thread only.
struct Reflector::Impl : std::enable_shared_from_this<Reflector::Impl> {
  Impl(HttpClient& http, ReflectorSink& receiver, ReflectorOptions chosen)
      : client(http),
        sink(receiver),
        options(std::move(chosen)),
        backoff(options.backoff),
        peers(options.peers ? options.peers : std::make_shared<ReflectorPeers>()),
        kind(options.resource.text()),
        list_version(first_list_version()),
        streaming(options.streaming_list) {}

  HttpClient& client;
  ReflectorSink& sink;
  const ReflectorOptions options;
  ReflectorStats stats;
  Backoff backoff;
  const std::shared_ptr<ReflectorPeers> peers;
  const std::string kind;
  std::mt19937 random{std::random_device{}()};

  bool running = false;
  bool synced = false;
  bool followed = false;  // as last reported to the sink
  int failures = 0;       // since the watch was last open
  // When the server first answered that it does not serve the kind.
  std::optional<Clock::time_point> missing_since;
  bool server_ready = false;  // /readyz succeeded after the last such answer
  std::string list_version;   // the resource version that the next list requests; empty: the newest
  bool streaming;             // whether to request a streamed list
  std::optional<ReflectorState> state;
  std::string state_text;
  HttpClient::RequestId request = 0;
  std::uint64_t attempt = 0;                    // answers to earlier attempts are ignored
  std::vector<std::function<void()>> relisted;  // called at the end of the next list
  HttpClient::TimerId timer = 0;
  void (Impl::*planned)() = nullptr;  // what the timer will call
  HttpClient::TimerId opening = 0;    // runs until a watch is answered
  HttpClient::TimerId moment = 0;     // runs while a closed watch may just be reopening

  std::unordered_map<std::string_view, Known> known;  // by Known::full_name
  std::uint32_t round = 0;
  std::string resource_version;  // where the watch resumes; empty: list first
  std::string continue_token;
  bool paging = true;
  int watch_errors = 0;

  // State of the request under way.
  ListFramer list;
  LineFramer lines;
  ObjectReader reader;
  ProtobufListFramer protobuf_list;
  ProtobufFrameCutter frames;
  std::optional<Encoding> encoding;  // of the answer; unknown before its first byte
  std::optional<Error> broken;       // the stream is unusable
  std::optional<int> error_event;    // code of an ERROR event
  std::string error_event_text;
  bool streamed_list = false;  // until initial-events-end
  std::size_t events = 0;
  Clock::time_point began;
  Clock::time_point last_expired;  // when the last 410 Gone arrived

  void enter(ReflectorState next, std::string_view text) {
    if (state == next && state_text == text) return;
    state = next;
    state_text = text;
    sink.on_state(next, text);
  }

  [[nodiscard]] std::string first_list_version() const {
    return options.consistent_first_list ? "" : "0";
  }

  [[nodiscard]] bool listens(std::uint64_t to) const { return running && attempt == to; }

  // ---- whether the kind is followed ----

  // The watch is open, based on a complete list.
  void watch_open() {
    answered();
    enter(ReflectorState::kWatching, "");
    failures = 0;
    end_moment();
    if (!followed) {
      followed = true;
      sink.on_followed(true, "");
    }
  }

  void watch_closed() {
    if (!followed || moment != 0) return;
    moment = client.after(options.moment, [self = shared_from_this()] {
      self->moment = 0;
      if (self->running) self->moment_over();
    });
  }

  void moment_over() {
    const bool reads_the_store = state == ReflectorState::kListing && list_version.empty();
    lost(state_text.empty() ? "the watch does not open again" : std::string(state_text));
    if (request == 0 || reads_the_store) return;
    drop_attempt();
    begin();
  }

  // A resumed watch does not say when it has delivered everything that was missed, so a lost kind
  // is listed again, from the store.
  void lost(std::string_view why) {
    end_moment();
    if (!followed) return;
    followed = false;
    resource_version.clear();
    list_version.clear();
    sink.on_followed(false, why);
  }

  void end_moment() {
    if (moment != 0) client.cancel_timer(moment);
    moment = 0;
  }

  // ---- scheduling of tries ----

  void wait(milliseconds delay, void (Impl::*then)()) {
    planned = then;
    timer = client.after(delay, [self = shared_from_this(), then] {
      self->timer = 0;
      if (self->running) (self.get()->*then)();
    });
  }

  // A good answer arrived.
  void answered() {
    missing_since.reset();
    server_ready = false;
    peers->works(this);
  }

  // Another kind found that the server works again.
  void hurry() {
    if (!running || timer == 0) return;
    client.cancel_timer(timer);
    backoff.reset();
    std::uniform_int_distribution<milliseconds::rep> spread(0, options.hurry.count());
    wait(milliseconds(spread(random)), planned);
  }

  // A try failed: reports it and calls `then` after a delay. `soon`: the next try may well succeed.
  void retry(const Error& error, void (Impl::*then)(),
             std::optional<milliseconds> asked = std::nullopt, bool soon = true) {
    stats.failures.fetch_add(1, std::memory_order_relaxed);
    missing_since.reset();
    const bool refused = error.code == ErrorCode::kUnauthorized;
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
    wait(std::max(delay, std::min(asked.value_or(milliseconds(0)), patience)), then);
  }

  // ---- kinds that are not served ----

  // Handles 404. An API server always serves the core group. A 404 for pods or nodes therefore
  // comes from a proxy, or from a server that is still starting, and is never a reason to continue
  // without them.
  void missing(const Error& error) {
    if (options.resource.group.empty()) return retry(error, &Impl::begin);
    const Clock::time_point now = Clock::now();
    if (!missing_since) missing_since = now;
    if (!std::exchange(server_ready, false)) return ask_whether_ready(error);
    const Clock::time_point since = *missing_since;
    if (!synced || now - since >= options.gone_after) return not_served(error);
    retry(error, &Impl::begin);
    missing_since = since;
  }

  // After /readyz has answered, requests the kind once more. A server without this endpoint, or one
  // that denies access to it, counts as ready.
  void ask_whether_ready(const Error& error) {
    HttpRequest get;
    get.path = "/readyz";
    get.accept = "*/*";
    HttpHandlers handlers;
    handlers.on_done = [self = shared_from_this(), at = attempt,
                        error](const Result<HttpResponse>& result) {
      if (!self->listens(at)) return;
      self->request = 0;
      if (!result || result->status >= 500 || result->status == 429) {
        return self->retry(
            Error{ErrorCode::kUnavailable, error.message + ", but the API server is not ready"},
            &Impl::begin);
      }
      self->server_ready = true;
      self->begin();
    };
    request = client.submit(std::move(get), std::move(handlers));
  }

  void not_served(const Error& error) {
    if (synced) {
      ++round;  // none of its objects remain
      drop_vanished();
      synced = false;
    }
    end_moment();
    failures = 0;
    resource_version.clear();
    list_version = first_list_version();
    enter(ReflectorState::kNotServed, error.message);
    if (!followed) {  // there is nothing to follow
      followed = true;
      sink.on_followed(true, "");
    }
    tell_relisted();
    std::uniform_int_distribution<milliseconds::rep> spread(options.not_served_retry_min.count(),
                                                            options.not_served_retry_max.count());
    wait(milliseconds(spread(random)), &Impl::begin);
  }

  void begin() {
    if (!resource_version.empty()) {
      begin_watch();
    } else if (streaming) {
      begin_streamed_list();
    } else {
      begin_list();
    }
  }

  [[nodiscard]] std::string query(std::string more) const {
    if (!options.field_selector.empty()) {
      more += (more.empty() ? "fieldSelector=" : "&fieldSelector=") +
              url_encode(options.field_selector);
    }
    return options.resource.path() + (more.empty() ? "" : "?" + more);
  }

  // ---- list ----

  void begin_list() {
    enter(ReflectorState::kListing, "");
    stats.lists.fetch_add(1, std::memory_order_relaxed);
    ++round;
    continue_token.clear();
    list_page();
  }

  void list_page() {
    std::string more = "limit=" + std::to_string(options.page_size);
    if (!continue_token.empty()) {
      more += "&continue=" + url_encode(continue_token);
    } else if (!list_version.empty()) {
      more = "resourceVersion=" + url_encode(list_version) + "&resourceVersionMatch=NotOlderThan";
    } else if (!paging) {
      more.clear();
    }
    list.reset();
    protobuf_list.reset();
    encoding.reset();
    broken.reset();
    HttpRequest get;
    get.path = query(more);
    if (options.protobuf) get.accept = kAcceptProtobuf;
    get.timeout = milliseconds(0);
    get.idle_timeout = options.list_idle_timeout;
    HttpHandlers handlers;
    handlers.on_data = [self = shared_from_this(), at = attempt](std::string_view chunk) {
      if (!self->listens(at) || self->broken) return;
      const auto on_item = [&](std::string_view item) { self->listed(item); };
      const auto fed = self->encoding_of(chunk) == Encoding::kJson
                           ? self->list.feed(chunk, on_item)
                           : self->protobuf_list.feed(chunk, on_item);
      if (!fed) {
        self->broken = fed.error();
        self->client.cancel(self->request);
      }
    };
    handlers.on_done = [self = shared_from_this(), at = attempt](Result<HttpResponse> result) {
      if (self->listens(at)) self->page_done(std::move(result));
    };
    request = client.submit(std::move(get), std::move(handlers));
  }

  // The server chooses the encoding: JSON begins with a brace, protobuf with "k8s" or with a
  // frame's length.
  Encoding encoding_of(std::string_view chunk) {
    if (!encoding && !chunk.empty()) {
      encoding = options.protobuf && (chunk.front() == 'k' || chunk.front() == '\0')
                     ? Encoding::kProtobuf
                     : Encoding::kJson;
    }
    return encoding.value_or(Encoding::kJson);
  }

  void listed(std::string_view item) {
    const auto key =
        encoding == Encoding::kProtobuf ? read_protobuf_object(item) : reader.read_object(item);
    if (!key) {
      malformed(key.error());
      return;
    }
    upsert(item, *key);
  }

  void page_done(Result<HttpResponse> result) {
    request = 0;
    const std::string what = "listing " + kind;
    if (broken) return retry(broken->within(what), &Impl::begin, std::nullopt, false);
    if (!result) return retry(result.error().within(what), &Impl::begin);
    if (!result->ok()) return list_refused(*result);
    answered();
    auto meta = encoding == Encoding::kProtobuf ? protobuf_list.finish() : list.finish();
    if (!meta) return retry(meta.error().within(what), &Impl::begin, std::nullopt, false);
    if (!meta->continue_token.empty()) {
      continue_token = std::move(meta->continue_token);
      list_page();
      return;
    }
    resource_version = std::move(meta->resource_version);
    list_version = resource_version;
    paging = true;
    list_complete();
    begin_watch();
  }

  void list_refused(const HttpResponse& response) {
    const Error error = response_error("listing " + kind, response);
    if (response.status == 410 || too_large_resource_version(response)) {
      if (!continue_token.empty()) paging = false;  // too slow for pages: list in one request
      const bool repeated = list_version.empty();
      list_version.clear();
      if (!repeated) return begin_list();
      return retry(error, &Impl::begin);
    }
    if (response.status == 404) return missing(error);
    retry(error, &Impl::begin, retry_after(response));
  }

  void list_complete() {
    drop_vanished();
    if (!synced) {
      synced = true;
      followed = true;
      sink.on_synced();
      watch_closed();  // the watch is not open yet
    }
    tell_relisted();
  }

  // Deletes the objects that the finished list did not contain.
  void drop_vanished() {
    std::vector<std::string_view> vanished;
    for (const auto& [name, entry] : known) {
      if (entry.round != round) vanished.push_back(name);
    }
    for (const std::string_view name : vanished) {
      const auto node = known.extract(name);
      delivered();
      sink.on_delete(node.mapped().key(), {});
    }
  }

  void tell_relisted() {
    std::vector<std::function<void()>> waiting;
    waiting.swap(relisted);
    for (const auto& done : waiting) done();
  }

  // ---- watch ----

  void begin_watch() {
    streamed_list = false;
    open_stream("resourceVersion=" + url_encode(resource_version));
  }

  void begin_streamed_list() {
    enter(ReflectorState::kListing, "");
    stats.lists.fetch_add(1, std::memory_order_relaxed);
    ++round;
    streamed_list = true;
    const std::string version = list_version == "0" ? "" : list_version;
    open_stream("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=" +
                url_encode(version));
  }

  void open_stream(const std::string& from) {
    stats.watches.fetch_add(1, std::memory_order_relaxed);
    std::uniform_int_distribution<std::chrono::seconds::rep> spread(
        options.watch_timeout_min.count(), options.watch_timeout_max.count());
    const std::chrono::seconds timeout(spread(random));
    lines.reset();
    frames.reset();
    encoding.reset();
    broken.reset();
    error_event.reset();
    events = 0;
    began = Clock::now();
    HttpRequest get;
    get.path = query("watch=true&allowWatchBookmarks=true&timeoutSeconds=" +
                     std::to_string(timeout.count()) + "&" + from);
    if (options.protobuf) get.accept = kAcceptProtobuf;
    get.timeout = milliseconds(0);
    get.idle_timeout = timeout + std::chrono::seconds(30);
    get.beat = options.watch_beat;
    opening = client.after(options.open_timeout, [self = shared_from_this(), at = attempt] {
      self->opening = 0;
      if (self->listens(at)) self->not_answered();
    });
    HttpHandlers handlers;
    handlers.on_open = [self = shared_from_this(), at = attempt] {
      if (!self->listens(at)) return;
      self->end_opening();
      self->streamed_list ? self->answered() : self->watch_open();
    };
    handlers.on_data = [self = shared_from_this(), at = attempt](std::string_view chunk) {
      if (self->listens(at)) self->watched(chunk);
    };
    handlers.on_done = [self = shared_from_this(), at = attempt](Result<HttpResponse> result) {
      if (self->listens(at)) self->watch_done(std::move(result));
    };
    request = client.submit(std::move(get), std::move(handlers));
  }

  void watched(std::string_view chunk) {
    if (broken || error_event) return;
    const bool json = encoding_of(chunk) == Encoding::kJson;
    const auto one = [this, json](std::string_view text) {
      if (!running || error_event) return;
      watch_event(json ? reader.read_event(text) : read_protobuf_event(text));
    };
    const auto fed = json ? lines.feed(chunk, one) : frames.feed(chunk, one);
    if (!fed) broken = fed.error();
    if (broken || error_event) client.cancel(request);
  }

  void watch_event(const Result<WatchEvent>& event) {
    ++events;
    if (!event) return malformed(event.error());
    switch (event->type) {
      case WatchEventType::kError:
        error_event = event->error_code;
        error_event_text = event->error_message;
        return;
      case WatchEventType::kBookmark:
        break;
      case WatchEventType::kAdded:
      case WatchEventType::kModified:
        upsert(event->object, event->key);
        break;
      case WatchEventType::kDeleted:
        erase(event->object, event->key);
        break;
    }
    if (streamed_list && !event->initial_events_end) return;
    if (!event->key.resource_version.empty()) {
      resource_version = event->key.resource_version;
      list_version = resource_version;
    }
    watch_errors = 0;
    if (streamed_list) {
      streamed_list = false;
      list_complete();
      watch_open();
    }
  }

  void end_opening() {
    if (opening != 0) client.cancel_timer(opening);
    opening = 0;
  }

  // An API server answers a watch at once.
  void not_answered() {
    drop_attempt();
    watch_failed(Error{ErrorCode::kUnavailable, "watching " + kind + ": there is no answer"});
  }

  void watch_done(Result<HttpResponse> result) {
    request = 0;
    end_opening();
    watch_closed();
    const std::string what = (streamed_list ? "listing " : "watching ") + kind;
    if (error_event) return watch_error_event(what);
    if (broken) return watch_failed(broken->within(what));
    if (!result) return watch_failed(result.error().within(what));
    if (!result->ok()) return watch_refused(*result, what);
    const bool was_short = Clock::now() - began < options.very_short_watch;
    if (events == 0 && was_short) {
      return watch_failed(
          Error{ErrorCode::kUnavailable, what + ": the watch ended at once without an event"},
          std::nullopt, false);
    }
    if (streamed_list) {
      return watch_failed(Error{ErrorCode::kUnavailable, what + ": the stream ended too early"});
    }
    begin_watch();
  }

  void watch_error_event(const std::string& what) {
    const std::string text = what + ": the API server ended the stream with error " +
                             std::to_string(*error_event) +
                             (error_event_text.empty() ? "" : " (" + error_event_text + ")");
    if (*error_event == 410) return expired(text);
    ++watch_errors;
    watch_failed(Error{ErrorCode::kUnavailable, text});
  }

  // 410 Gone: the server no longer keeps our resource version. List at the newest one.
  void expired(const std::string& text) {
    log_debug("listing afresh", {{"resource", kind}, {"reason", text}});
    // Every streamed list begins with events, so they do not show that it will complete.
    const bool at_once =
        (events > 0 && !streamed_list) || Clock::now() - last_expired > std::chrono::seconds(10);
    last_expired = Clock::now();
    lost(text);
    resource_version.clear();
    list_version.clear();
    if (at_once) return begin();
    retry(Error{ErrorCode::kGone, text}, &Impl::begin);
  }

  void watch_refused(const HttpResponse& response, const std::string& what) {
    const Error error = response_error(what, response);
    if (response.status == 410 || too_large_resource_version(response)) {
      return expired(error.message);
    }
    if (response.status == 404) return missing(error);
    const bool not_supported = response.status == 400 || response.status == 422;
    if (streamed_list && not_supported) {
      log_info("the API server does not stream lists; listing instead",
               {{"resource", kind}, {"answer", error.message}});
      streaming = false;
      return begin();
    }
    if (not_supported) ++watch_errors;
    watch_failed(error, retry_after(response));
  }

  // Resumes from the last version after a delay; after several errors in the stream itself, lists
  // again. An unreachable server, or one that asks to wait, says nothing about the version, so that
  // does not count.
  void watch_failed(const Error& error, std::optional<milliseconds> asked = std::nullopt,
                    bool soon = true) {
    const bool stream_is_sound = !broken && !error_event;
    if (broken) ++watch_errors;
    if (events > 0 && stream_is_sound && !streamed_list) backoff.reset();  // it worked until now
    if (watch_errors >= kWatchErrorsBeforeList) {
      watch_errors = 0;
      resource_version.clear();
    }
    retry(error, &Impl::begin, asked, soon && stream_is_sound);
  }

  // ---- objects ----

  void delivered() { stats.delivered.fetch_add(1, std::memory_order_relaxed); }

  void malformed(const Error& error) {
    stats.malformed.fetch_add(1, std::memory_order_relaxed);
    sink.on_malformed(error.message);
  }

  void upsert(std::string_view bytes, const ObjectKey& key) {
    if (const auto at = known.find(known_name(key)); at != known.end()) {
      const ObjectKey before = at->second.key();
      const bool same = before.uid == key.uid;
      if (same && !key.resource_version.empty() &&
          before.resource_version == key.resource_version) {
        at->second.round = round;
        stats.unchanged.fetch_add(1, std::memory_order_relaxed);
        return;
      }
      const auto last = known.extract(at);
      if (!same) {  // deleted and created again between two events
        delivered();
        sink.on_delete(last.mapped().key(), {});
      }
    }
    Known now(key, round);
    const std::string_view name = now.full_name();
    known.emplace(name, std::move(now));
    delivered();
    sink.on_upsert({bytes, encoding.value_or(Encoding::kJson)}, key, !synced);
  }

  void erase(std::string_view bytes, const ObjectKey& key) {
    const auto at = known.find(known_name(key));
    if (at == known.end()) return;
    const bool same = at->second.key().uid == key.uid;
    const auto node = known.extract(at);
    delivered();
    if (same) {
      sink.on_delete(key, {bytes, encoding.value_or(Encoding::kJson)});
    } else {
      sink.on_delete(node.mapped().key(), {});
    }
  }

  // Ignores everything that is under way or planned.
  void drop_attempt() {
    ++attempt;
    end_opening();
    if (request != 0) client.cancel(request);
    if (timer != 0) client.cancel_timer(timer);
    request = 0;
    timer = 0;
  }

  void relist(std::function<void()> done) {
    if (!running) return;
    relisted.push_back(std::move(done));
    drop_attempt();
    lost("it is being listed afresh");
    resource_version.clear();
    list_version.clear();
    begin();
  }

  void halt() {
    if (!running) return;
    running = false;
    drop_attempt();
    end_moment();
    peers->leave(this);
    relisted.clear();
    enter(ReflectorState::kStopped, "");
  }
};

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
