#pragma once
// The implementation of Reflector: one list or watch at a time, and what follows from its end.
// Lives as long as a callback may still arrive; used on the I/O thread only.

#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "informer/watch/known_objects.hpp"
#include "informer/watch/reflector.hpp"
#include "informer/wire/protobuf_wire.hpp"

namespace plimsoll::informer {

struct Reflector::Impl : std::enable_shared_from_this<Reflector::Impl> {
  using Clock = std::chrono::steady_clock;
  using milliseconds = std::chrono::milliseconds;

  Impl(HttpClient& http, ReflectorSink& receiver, ReflectorOptions chosen);

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
  bool followed = false;       // as last reported to the sink
  bool listed_afresh = false;  // not followed since somebody wanted that
  int failures = 0;            // since the watch was last open
  Clock::time_point list_end;  // when the last list was complete
  bool not_opened = false;     // a try failed since then
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
  HttpClient::TimerId timer = 0;                // runs until the next try
  HttpClient::TimerId opening = 0;              // runs until a watch is answered
  HttpClient::TimerId moment = 0;               // runs while a closed watch may just be reopening

  KnownObjects known;
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
  std::optional<Encoding> encoding;         // of the answer; unknown before its first byte
  std::optional<Error> broken;              // the stream is unusable
  std::optional<StatusAnswer> error_event;  // of an ERROR event
  bool streamed_list = false;               // until initial-events-end
  std::size_t events = 0;
  Clock::time_point began;
  Clock::time_point last_expired;  // when the last 410 Gone arrived

  // `function`, called only as long as the attempt lasts that is under way now.
  template <typename Function>
  [[nodiscard]] auto during_attempt(Function function) {
    return [self = shared_from_this(), at = attempt,
            function = std::move(function)](auto&&... values) {
      if (self->running && self->attempt == at) function(std::forward<decltype(values)>(values)...);
    };
  }

  // ---- whether the kind is followed

  void enter(ReflectorState next, std::string_view text);
  // The watch is open, based on a complete list. After a list that is too old to follow a lost kind
  // from, it is listed once more.
  void watch_open();
  void watch_closed();
  void moment_over();
  void end_moment();
  void follow();
  // A resumed watch does not say when it has delivered everything that was missed, so a lost kind
  // is listed again, from the store. `wanted`: that is what somebody asked for.
  void lost(std::string_view why, bool wanted = false);
  void list_from_store();
  [[nodiscard]] std::string first_list_version() const;

  // ---- tries

  void begin();
  // Begins after a delay.
  void wait(milliseconds delay);
  [[nodiscard]] milliseconds drawn(milliseconds least, milliseconds most);
  // A good answer arrived.
  void answered();
  // Another kind found that the server works again.
  void hurry();
  // A try failed: reports it, and tries again after a delay. `soon`: the next try may well succeed.
  void retry(const Error& error, std::optional<milliseconds> asked = std::nullopt,
             bool soon = true);
  // Ignores everything that is under way or planned.
  void drop_attempt();
  void relist(std::function<void()> done);
  void halt();

  // ---- kinds that are not served

  void missing(const Error& error);
  void ask_whether_ready(const Error& error);
  void not_served(const Error& error);

  // ---- list (reflector_list.cpp)

  [[nodiscard]] HttpRequest request_for(std::string query) const;
  void begin_list();
  void list_page();
  void listed(std::string_view item);
  void page_done(Result<HttpResponse> result);
  void list_refused(const HttpResponse& response);
  void list_complete();
  void show_position();  // for stats
  void drop_vanished();
  void tell_relisted();
  // The server chooses the encoding: JSON begins with a brace, protobuf with "k8s" or with a
  // frame's length.
  Encoding encoding_of(std::string_view chunk);

  // ---- watch (reflector_watch.cpp)

  void begin_watch();
  void begin_streamed_list();
  void open_stream(const std::string& from);
  void watched(std::string_view chunk);
  void watch_event(const Result<WatchEvent>& event);
  void end_opening();
  void not_answered();
  void watch_done(Result<HttpResponse> result);
  void watch_error_event(const std::string& what);
  void watch_refused(const HttpResponse& response, const std::string& what);
  void expired(const std::string& text);
  void watch_failed(const Error& error, std::optional<milliseconds> asked = std::nullopt,
                    bool soon = true);

  // ---- objects

  void malformed(const Error& error);
  void upsert(std::string_view bytes, const ObjectKey& key);
  void erase(std::string_view bytes, const ObjectKey& key);
  void deliver_deletion(const ObjectKey& key, const WireObject& last_known = {});
};

// "Too large resource version": the API server lags behind what we have seen.
[[nodiscard]] bool too_large_resource_version(const HttpResponse& response);

}  // namespace plimsoll::informer
