#pragma once
// Writes events to the API server. A repeated event becomes one event object with a count.
//
// The rules are those of client-go's tools/events. Events with the same type, action, reason,
// reporter, regarded object and note belong together. The second one within six minutes makes the
// object a series: it is patched to count 2. Later ones are only counted. The count is written when
// the series has ended (nothing for six minutes), and every half an hour while it goes on, so that
// the API server keeps the object.
//
// There are three differences. client-go tells events apart by the regarded object's resource
// version, which the scheduler's own condition patch changes, and not by the note. Here it is the
// note alone: another reason is another event, and the same reason never starts a second object. A
// note that comes back after another one is written at once, so that the newest reason has the
// newest time. And an event that happens at most once, a pod's Scheduled event, is not remembered.
//
// Notes of one object that change all the time are bounded: with `most_notes` of them remembered, a
// further one waits for the next sweep, when the newest note takes the place of the oldest one.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/base/result.hpp"
#include "framework/port/api_writer.hpp"
#include "informer/http/http_client.hpp"
#include "informer/write/write_bodies.hpp"

namespace plimsoll::informer {

struct EventRecorderOptions {
  std::string reporting_instance;  // empty: "<scheduler name>-<host name>"
  std::chrono::milliseconds finish_after = std::chrono::minutes(6);
  std::chrono::milliseconds refresh_after = std::chrono::minutes(30);
  // Events remembered at a time. Beyond that the oldest is forgotten, and starts a new object if it
  // happens again.
  std::size_t max_remembered = 50'000;
  // Of these, with different notes about the same.
  std::size_t most_notes = 8;
  // Called for each new event: whether it is written as protobuf. Null: JSON.
  std::function<bool()> protobuf;
};

// One request for an event.
struct EventWrite {
  HttpRequest request;
  std::function<std::string()> as_json;  // set if the body is protobuf: returns it as JSON
  std::string about;                     // for messages
};

// Any thread. The caller of a request's answer keeps the recorder alive until then.
class EventRecorder : public std::enable_shared_from_this<EventRecorder> {
 public:
  using Time = std::chrono::system_clock::time_point;
  using Answer = std::function<void(Result<HttpResponse>)>;
  // Sends one request, with retries, and returns at once. May call `answer` before it returns.
  using Send = std::function<void(EventWrite write, Answer answer)>;

  EventRecorder(EventRecorderOptions options, Send send);

  void record(EventRecord event, Time now);

  // Ends series and refreshes them, and writes what had to wait. Call it regularly, such as every
  // minute.
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
    std::int64_t written = 1;  // the count that the API server has
    Time written_at{};
    bool busy = false;  // a write is under way: at most one at a time, so that writes stay in order
    int attempts = 0;   // tries of the current write
  };
  using EntryRef = std::shared_ptr<Entry>;
  // What differs in its note only.
  struct Group {
    std::vector<EntryRef> entries;       // the last one was observed last; never empty
    std::unique_ptr<EventRecord> waits;  // newer than all of them: for the next sweep
  };

  enum class Observed { kNew, kCounted, kToWrite };
  // With mutex_ held. kToWrite: `entry` is the one to patch, and busy from here on.
  Observed observe(const std::string& key, EventRecord& event, Time now, EntryRef& entry);
  [[nodiscard]] std::string instance_of(const EventRecord& event) const;
  EntryRef make_entry(EventRecord event, Time now);
  std::shared_ptr<const std::string> shared_note(const std::string& note);
  void remember(const std::string& key, const EntryRef& entry);
  void create(const std::string& key, const EntryRef& entry);
  std::string body_of(Entry& entry, bool protobuf);
  void patch(const std::string& key, const EntryRef& entry);
  void written(const std::string& key, const EntryRef& entry, bool was_create,
               const Result<HttpResponse>& result);
  bool forget(const std::string& key, const EntryRef& entry);  // with mutex_ held

  const EventRecorderOptions options_;
  const Send send_;
  mutable std::mutex mutex_;  // guards what follows, and the entries
  std::unordered_map<std::string, Group> groups_;
  std::size_t remembered_ = 0;  // entries in them
  std::deque<std::pair<std::string, std::weak_ptr<Entry>>> by_age_;
  std::shared_ptr<const std::string> last_note_;  // many pods fail for the same reason
};

}  // namespace plimsoll::informer
