#include "informer/write/event_recorder.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "informer/wire/protobuf_wire.hpp"
#include "informer/write/write_protobuf.hpp"

namespace plimsoll::informer {
namespace {

// The number of tries if others delete and create the series while it is written.
constexpr int kMaxAttempts = 4;

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? std::string(name) : std::string("localhost");
}

// client-go's eventKey without the resource version: of a group.
std::string key_of(const EventRecord& event, const std::string& instance) {
  std::string key = event.warning ? "W" : "N";
  for (const std::string* part :
       {&event.action, &event.reason, &event.scheduler_name, &instance, &event.api_version,
        &event.kind, &event.ns, &event.name, &event.uid}) {
    key.append(1, '\n').append(*part);
  }
  return key;
}

// A pod is bound once. Remembering its Scheduled event for minutes would take more memory than
// anything else.
bool may_happen_again(const EventRecord& event) {
  return event.warning || event.reason != "Scheduled";
}

std::string events_path(const std::string& ns) {
  return "/apis/events.k8s.io/v1/namespaces/" + url_encode(ns.empty() ? "default" : ns) + "/events";
}

std::string about(const EventRecord& event) {
  return event.reason + " of " + event.ns + "/" + event.name;
}

}  // namespace

EventRecorder::EventRecorder(EventRecorderOptions options, Send send)
    : options_(std::move(options)), send_(std::move(send)) {}

std::string EventRecorder::instance_of(const EventRecord& event) const {
  if (!options_.reporting_instance.empty()) return options_.reporting_instance;
  static const std::string host = host_name();
  return event.scheduler_name + "-" + host;
}

EventRecorder::EntryRef EventRecorder::make_entry(EventRecord event, Time now) {
  auto entry = std::make_shared<Entry>();
  entry->instance = instance_of(event);
  entry->name = event_name(event.name, now);
  entry->note = shared_note(event.note);
  event.note.clear();
  entry->event = std::move(event);
  entry->created = entry->written_at = now;
  entry->series = {1, now};
  return entry;
}

std::shared_ptr<const std::string> EventRecorder::shared_note(const std::string& note) {
  const std::lock_guard lock(mutex_);
  if (!last_note_ || *last_note_ != note) last_note_ = std::make_shared<const std::string>(note);
  return last_note_;
}

void EventRecorder::record(EventRecord event, Time now) {
  event.note = cut_note(event.note);
  std::string key;
  if (may_happen_again(event)) {
    key = key_of(event, instance_of(event));
    EntryRef known;
    Observed observed{};
    {
      const std::lock_guard lock(mutex_);
      observed = observe(key, event, now, known);
    }
    if (observed == Observed::kToWrite) patch(key, known);
    if (observed != Observed::kNew) return;
  }
  const EntryRef entry = make_entry(std::move(event), now);
  entry->busy = true;
  if (!key.empty()) remember(key, entry);
  create(key, entry);
}

EventRecorder::Observed EventRecorder::observe(const std::string& key, EventRecord& event, Time now,
                                               EntryRef& entry) {
  const auto found = groups_.find(key);
  if (found == groups_.end()) return Observed::kNew;
  Group& group = found->second;
  const auto same = std::ranges::find_if(
      group.entries, [&event](const EntryRef& each) { return *each->note == event.note; });
  if (same == group.entries.end()) {
    if (group.entries.size() < options_.most_notes) return Observed::kNew;
    group.waits = std::make_unique<EventRecord>(std::move(event));
    return Observed::kCounted;
  }
  entry = *same;
  const bool comes_back = std::next(same) != group.entries.end() || group.waits;
  std::rotate(same, std::next(same), group.entries.end());
  group.waits.reset();
  entry->series.last_observed = now;
  ++entry->series.count;
  // Else written() or sweep() writes it.
  if (entry->busy || (entry->series.count > 2 && !comes_back)) return Observed::kCounted;
  entry->busy = true;
  entry->written_at = now;
  return Observed::kToWrite;
}

void EventRecorder::remember(const std::string& key, const EntryRef& entry) {
  std::vector<std::pair<std::string, EntryRef>> unfinished;
  {
    const std::lock_guard lock(mutex_);
    groups_[key].entries.push_back(entry);
    ++remembered_;
    by_age_.emplace_back(key, entry);
    while (remembered_ > options_.max_remembered && !by_age_.empty()) {
      const auto [old_key, weak] = std::move(by_age_.front());
      by_age_.pop_front();
      const EntryRef old = weak.lock();
      if (!old || !forget(old_key, old)) continue;
      if (old->series.count > old->written && !old->busy) {
        old->busy = true;
        unfinished.emplace_back(old_key, old);
      }
    }
    // Entries that ended by themselves are still in by_age_.
    if (by_age_.size() > 2 * options_.max_remembered + 64) {
      std::erase_if(by_age_, [](const auto& place) { return place.second.expired(); });
    }
  }
  for (const auto& [old_key, old] : unfinished) patch(old_key, old);
}

void EventRecorder::create(const std::string& key, const EntryRef& entry) {
  EventWrite write;
  HttpRequest& post = write.request;
  post.method = "POST";
  post.path = events_path(entry->event.ns);
  if (options_.protobuf && options_.protobuf()) {
    post.content_type = kProtobufType;
    post.accept = kAcceptProtobuf;
    write.as_json = [self = shared_from_this(), entry] { return self->body_of(*entry, false); };
  }
  post.body = body_of(*entry, write.as_json != nullptr);
  {
    const std::lock_guard lock(mutex_);
    ++entry->attempts;
  }
  write.about = about(entry->event);
  send_(std::move(write),
        [self = shared_from_this(), key, entry](const Result<HttpResponse>& result) {
          self->written(key, entry, true, result);
        });
}

// The object's current content; from here on it counts as written.
std::string EventRecorder::body_of(Entry& entry, bool protobuf) {
  const std::lock_guard lock(mutex_);
  EventRecord event = entry.event;
  event.note = *entry.note;
  entry.written = entry.series.count;
  const EventSeries* series = entry.series.count > 1 ? &entry.series : nullptr;
  const auto encode = protobuf ? event_protobuf : event_body;
  return encode(event, entry.name, entry.instance, entry.created, series);
}

void EventRecorder::patch(const std::string& key, const EntryRef& entry) {
  EventWrite write;
  HttpRequest& request = write.request;
  request.method = "PATCH";
  request.path = events_path(entry->event.ns) + "/" + url_encode(entry->name);
  request.content_type = "application/strategic-merge-patch+json";
  {
    const std::lock_guard lock(mutex_);
    request.body = series_body(entry->series);
    entry->written = entry->series.count;
    ++entry->attempts;
  }
  write.about = about(entry->event);
  send_(std::move(write),
        [self = shared_from_this(), key, entry](const Result<HttpResponse>& result) {
          self->written(key, entry, false, result);
        });
}

void EventRecorder::written(const std::string& key, const EntryRef& entry, bool was_create,
                            const Result<HttpResponse>& result) {
  const ErrorCode code = result ? ErrorCode::kInternal : result.error().code;
  // 409: an earlier try was carried out, or the series was created meanwhile.
  const bool exists = !result && was_create && code == ErrorCode::kConflict;
  bool create_again = false;
  bool patch_again = false;
  {
    const std::lock_guard lock(mutex_);
    const bool more = entry->attempts < kMaxAttempts;
    if (!result && !was_create && code == ErrorCode::kNotFound && more) {
      create_again = true;  // the object was deleted or has expired
    } else if (exists && entry->written > 1 && more) {
      patch_again = true;
    } else if (result || exists) {
      entry->attempts = 0;
      // Only the step to a series is written at once.
      patch_again = entry->written == 1 && entry->series.count > 1;
      entry->busy = patch_again;
    } else {
      entry->busy = false;
      forget(key, entry);
    }
  }
  if (create_again) create(key, entry);
  if (patch_again) patch(key, entry);
}

// False if it was forgotten before.
bool EventRecorder::forget(const std::string& key, const EntryRef& entry) {
  const auto found = groups_.find(key);
  if (found == groups_.end() || std::erase(found->second.entries, entry) == 0) return false;
  --remembered_;
  if (found->second.entries.empty()) groups_.erase(found);
  return true;
}

void EventRecorder::sweep(Time now) {
  std::vector<std::pair<std::string, EntryRef>> due;
  std::vector<EventRecord> waited;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = groups_.begin(); at != groups_.end();) {
      Group& group = at->second;
      bool makes_room = group.waits && group.entries.size() >= options_.most_notes;
      remembered_ -= std::erase_if(group.entries, [&](const EntryRef& entry) {
        if (entry->busy) return false;
        const bool over = makes_room || now - entry->series.last_observed > options_.finish_after;
        makes_room = makes_room && !over;
        const bool stale = now - entry->written_at >= options_.refresh_after;
        if (entry->series.count > entry->written && (over || stale)) {
          entry->busy = true;
          entry->written_at = now;
          due.emplace_back(at->first, entry);
        }
        return over;
      });
      if (group.waits && group.entries.size() < options_.most_notes) {
        waited.push_back(std::move(*group.waits));
        group.waits.reset();
      }
      at = group.entries.empty() ? groups_.erase(at) : std::next(at);
    }
  }
  for (const auto& [key, entry] : due) patch(key, entry);
  for (EventRecord& event : waited) record(std::move(event), now);
}

std::size_t EventRecorder::remembered() const {
  const std::lock_guard lock(mutex_);
  return remembered_;
}

}  // namespace plimsoll::informer
