// A reflector's watches, and lists that arrive as the beginning of a watch.

#include <algorithm>

#include "framework/base/log.hpp"
#include "informer/watch/reflector_impl.hpp"

namespace plimsoll::informer {
namespace {

// After this many consecutive errors the reflector lists again instead of resuming the watch.
constexpr int kWatchErrorsBeforeList = 5;

}  // namespace

void Reflector::Impl::begin_watch() {
  streamed_list = false;
  open_stream("resourceVersion=" + url_encode(resource_version));
}

void Reflector::Impl::begin_streamed_list() {
  enter(ReflectorState::kListing, "");
  stats.lists.fetch_add(1, std::memory_order_relaxed);
  known.begin_list();
  streamed_list = true;
  const std::string version = list_version == "0" ? "" : list_version;
  open_stream("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=" +
              url_encode(version));
}

void Reflector::Impl::open_stream(const std::string& from) {
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
  HttpRequest get = request_for("watch=true&allowWatchBookmarks=true&timeoutSeconds=" +
                                std::to_string(timeout.count()) + "&" + from);
  get.idle_timeout = timeout + std::chrono::seconds(30);
  get.beat = options.watch_beat;
  opening = client.after(options.open_timeout, during_attempt([this] { not_answered(); }));
  HttpHandlers handlers;
  handlers.on_open = during_attempt([this] {
    end_opening();
    streamed_list ? answered() : watch_open();
  });
  handlers.on_data = during_attempt([this](std::string_view chunk) { watched(chunk); });
  handlers.on_done =
      during_attempt([this](Result<HttpResponse> result) { watch_done(std::move(result)); });
  request = client.submit(std::move(get), std::move(handlers));
}

void Reflector::Impl::watched(std::string_view chunk) {
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

void Reflector::Impl::watch_event(const Result<WatchEvent>& event) {
  ++events;
  if (!event) return malformed(event.error());
  switch (event->type) {
    case WatchEventType::kError:
      error_event = event->error;
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
    if (!streamed_list) show_position();
  }
  watch_errors = 0;
  if (streamed_list) {
    streamed_list = false;
    list_complete();
    show_position();
    watch_open();
  }
}

void Reflector::Impl::end_opening() {
  if (opening != 0) client.cancel_timer(opening);
  opening = 0;
}

// An API server answers a watch at once.
void Reflector::Impl::not_answered() {
  opening = 0;
  drop_attempt();
  watch_failed(Error{ErrorCode::kUnavailable, "watching " + kind + ": there is no answer"});
}

void Reflector::Impl::watch_done(Result<HttpResponse> result) {
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

void Reflector::Impl::watch_error_event(const std::string& what) {
  const std::string text = what + ": the API server ended the stream with error " +
                           std::to_string(error_event->code) +
                           (error_event->message.empty() ? "" : " (" + error_event->message + ")");
  if (error_event->code == 410) return expired(text);
  ++watch_errors;
  watch_failed(Error{ErrorCode::kUnavailable, text});
}

// 410 Gone: the server no longer keeps our resource version. List at the newest one.
void Reflector::Impl::expired(const std::string& text) {
  log_debug("listing afresh", {{"resource", kind}, {"reason", text}});
  // Every streamed list begins with events, so they do not show that it will complete.
  const bool at_once =
      (events > 0 && !streamed_list) || Clock::now() - last_expired > std::chrono::seconds(10);
  last_expired = Clock::now();
  lost(text);
  list_from_store();
  if (at_once) return begin();
  retry(Error{ErrorCode::kGone, text});
}

void Reflector::Impl::watch_refused(const HttpResponse& response, const std::string& what) {
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
void Reflector::Impl::watch_failed(const Error& error, std::optional<milliseconds> asked,
                                   bool soon) {
  const bool stream_is_sound = !broken && !error_event;
  if (broken) ++watch_errors;
  if (events > 0 && stream_is_sound && !streamed_list) backoff.reset();  // it worked until now
  if (watch_errors >= kWatchErrorsBeforeList) {
    watch_errors = 0;
    resource_version.clear();
  }
  retry(error, asked, soon && stream_is_sound);
}

}  // namespace plimsoll::informer
