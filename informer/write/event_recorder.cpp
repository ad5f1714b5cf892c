#include "informer/write/event_recorder.hpp"

#include <unistd.h>

#include <utility>
#include <vector>

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

// client-go's eventKey without the resource version.
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
  std::string cut = cut_note(note);
  const std::lock_guard lock(mutex_);
  if (!last_note_ || *last_note_ != cut) {
    last_note_ = std::make_shared<const std::string>(std::move(cut));
  }
  return last_note_;
}

void EventRecorder::record(EventRecord event, Time now) {
  const bool remembered = may_happen_again(event);
  const std::string key = remembered ? key_of(event, instance_of(event)) : std::string();
  if (remembered) {
    EntryRef known;
    bool begins = false;
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = entries_.find(key); found != entries_.end()) {
        known = found->second;
        begins = ++known->series.count == 2 && !known->busy;
        known->series.last_observed = now;
        if (begins) {
          known->busy = true;
          known->written_at = now;
        }
      }
    }
    if (begins) patch(key, known);
    if (known) return;
  }
  const EntryRef entry = make_entry(std::move(event), now);
  entry->busy = true;
  if (remembered) remember(key, entry);
  create(key, entry);
}

void EventRecorder::remember(const std::string& key, const EntryRef& entry) {
  std::vector<std::pair<std::string, EntryRef>> unfinished;
  {
    const std::lock_guard lock(mutex_);
    entries_[key] = entry;
    by_age_.emplace_back(key, entry);
    while (entries_.size() > options_.max_remembered && !by_age_.empty()) {
      const auto [old_key, weak] = std::move(by_age_.front());
      by_age_.pop_front();
      const EntryRef old = weak.lock();
      const auto found = entries_.find(old_key);
      if (!old || found == entries_.end() || found->second != old) continue;
      if (old->series.count > old->written && !old->busy) {
        old->busy = true;
        unfinished.emplace_back(old_key, old);
      }
      entries_.erase(found);
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

void EventRecorder::forget(const std::string& key, const EntryRef& entry) {
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second == entry) entries_.erase(found);
}

void EventRecorder::sweep(Time now) {
  std::vector<std::pair<std::string, EntryRef>> due;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = entries_.begin(); at != entries_.end();) {
      Entry& entry = *at->second;
      if (entry.busy) {
        ++at;
        continue;
      }
      const bool over = now - entry.series.last_observed > options_.finish_after;
      const bool stale = now - entry.written_at >= options_.refresh_after;
      if (entry.series.count > entry.written && (over || stale)) {
        entry.busy = true;
        entry.written_at = now;
        due.emplace_back(at->first, at->second);
      }
      at = over ? entries_.erase(at) : std::next(at);
    }
  }
  for (const auto& [key, entry] : due) patch(key, entry);
}

std::size_t EventRecorder::remembered() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace plimsoll::informer
