#pragma once
// Events on their way to the API server: what happens again and again becomes one event object with
// a count.
//
// The rules are those of client-go's tools/events. Events of the same type, action, reason,
// reporter and regarded object belong together; what they say (the note) does not matter, the first
// one's stays. The second within six minutes makes the object a series: it is patched to count 2.
// Further ones are only counted; the count is written when the series has ended (nothing for six
// minutes) and every half an hour while it goes on, so that the API server keeps the object.
//
// Two things differ. The regarded object's resource version does not tell events apart: the
// scheduler's own condition patch changes it, and would begin a second object about the same
// failure. And what happens once at most, a pod's Scheduled event, is not remembered.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "framework/base/result.hpp"
#include "framework/port/api_writer.hpp"
#include "informer/http/http_client.hpp"
#include "informer/write/write_bodies.hpp"

namespace plimsoll::informer {

struct EventRecorderOptions {
  std::string reporting_instance;  // empty: "<scheduler name>-<host name>"
  std::chrono::milliseconds finish_after = std::chrono::minutes(6);
  std::chrono::milliseconds refresh_after = std::chrono::minutes(30);
  // Remembered at a time; beyond it the oldest is forgotten and begins anew if it happens again.
  std::size_t max_remembered = 50'000;
  // Asked for each new event: whether it is written as protobuf. Null: JSON.
  std::function<bool()> protobuf;
};

// One request about an event.
struct EventWrite {
  HttpRequest request;
  std::function<std::string()> as_json;  // set if the body is protobuf: the same as JSON
  std::string about;                     // for messages
};

// Any thread. Whoever is sent a request keeps it alive until the answer.
class EventRecorder : public std::enable_shared_from_this<EventRecorder> {
 public:
  using Time = std::chrono::system_clock::time_point;
  using Answer = std::function<void(Result<HttpResponse>)>;
  // Sends one request, with retries, and returns at once. The answer may be heard at once.
  using Send = std::function<void(EventWrite write, Answer answer)>;

  EventRecorder(EventRecorderOptions options, Send send);

  void record(EventRecord event, Time now);

  // Ends series and refreshes them. To be called now and then, such as every minute.
  void sweep(Time now);

  [[nodiscard]] std::size_t remembered() const;

 private:
  // One event object.
  struct Entry {
    EventRecord event;  // without its note
    std::shared_ptr<const std::string> note;
    std::string name;
    std::string instance;
    Time created{};
    EventSeries series;        // count 1: none yet
    std::int64_t written = 1;  // the count that the API server was told
    Time written_at{};
    bool busy =
        false;  // a write of it is under way: at most one at a time, so they keep their order
    int attempts = 0;  // to write what is to be written now
  };
  using EntryRef = std::shared_ptr<Entry>;

  [[nodiscard]] std::string instance_of(const EventRecord& event) const;
  EntryRef make_entry(EventRecord event, Time now);
  std::shared_ptr<const std::string> shared_note(const std::string& note);
  void remember(const std::string& key, const EntryRef& entry);
  void create(const std::string& key, const EntryRef& entry);
  std::string body_of(Entry& entry, bool protobuf);
  void patch(const std::string& key, const EntryRef& entry);
  void written(const std::string& key, const EntryRef& entry, bool was_create,
               const Result<HttpResponse>& result);
  void forget(const std::string& key, const EntryRef& entry);  // with mutex_ held

  const EventRecorderOptions options_;
  const Send send_;
  mutable std::mutex mutex_;  // guards what follows, and the entries
  std::unordered_map<std::string, EntryRef> entries_;
  std::deque<std::pair<std::string, std::weak_ptr<Entry>>> by_age_;
  std::shared_ptr<const std::string> last_note_;  // many pods fail for the same reason
};

}  // namespace plimsoll::informer
