#include "informer/write/write_protobuf.hpp"

#include <simdjson.h>

#include <cstdint>
#include <protozero/pbf_writer.hpp>

namespace plimsoll::informer {
namespace {

using protozero::pbf_writer;
using std::chrono::system_clock;

// Field numbers.
namespace envelope {
constexpr std::uint32_t kTypeMeta = 1, kRaw = 2;     // runtime.Unknown
constexpr std::uint32_t kApiVersion = 1, kKind = 2;  // runtime.TypeMeta
}  // namespace envelope
namespace meta {
constexpr std::uint32_t kName = 1, kNamespace = 3, kUid = 5, kResourceVersion = 6,
                        kAnnotations = 12;
constexpr std::uint32_t kKey = 1, kValue = 2;      // of a map entry
constexpr std::uint32_t kSeconds = 1, kNanos = 2;  // MicroTime
}  // namespace meta
namespace reference {
constexpr std::uint32_t kKind = 1, kNamespace = 2, kName = 3, kUid = 4, kApiVersion = 5,
                        kResourceVersion = 6;
}  // namespace reference
namespace binding {
constexpr std::uint32_t kMetadata = 1, kTarget = 2;
}  // namespace binding
namespace event_fields {
constexpr std::uint32_t kMetadata = 1, kEventTime = 2, kSeries = 3, kController = 4, kInstance = 5,
                        kAction = 6, kReason = 7, kRegarding = 8, kNote = 10, kType = 11;
constexpr std::uint32_t kCount = 1, kLastObserved = 2;  // EventSeries
}  // namespace event_fields

// Strings of protobuf are UTF-8. Invalid bytes are replaced, as in JSON.
void add_text(pbf_writer& into, std::uint32_t field, std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) {
    into.add_string(field, text.data(), text.size());
    return;
  }
  std::string plain(text);
  for (char& c : plain) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  into.add_string(field, plain);
}

// `fill` writes the object's fields.
template <typename Fill>
std::string in_envelope(std::string_view api_version, std::string_view kind, const Fill& fill) {
  std::string body("k8s\0", 4);
  pbf_writer unknown(body);
  {
    pbf_writer type(unknown, envelope::kTypeMeta);
    add_text(type, envelope::kApiVersion, api_version);
    add_text(type, envelope::kKind, kind);
  }
  pbf_writer object(unknown, envelope::kRaw);
  fill(object);
  object.commit();
  return body;
}

// metav1.MicroTime: microsecond precision.
void add_time(pbf_writer& into, std::uint32_t field, system_clock::time_point when) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(when);
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(when - seconds);
  pbf_writer time(into, field);
  time.add_int64(meta::kSeconds, seconds.time_since_epoch().count());
  time.add_int32(meta::kNanos, static_cast<std::int32_t>(rest.count() * 1000));
}

}  // namespace

std::string binding_protobuf(const BindRequest& request) {
  return in_envelope("v1", "Binding", [&](pbf_writer& object) {
    {
      pbf_writer metadata(object, binding::kMetadata);
      add_text(metadata, meta::kName, request.name);
      add_text(metadata, meta::kNamespace, request.ns);
      add_text(metadata, meta::kUid, request.uid);
      if (!request.resource_version.empty()) {
        add_text(metadata, meta::kResourceVersion, request.resource_version);
      }
      // If a key occurs twice the last value counts, as in JSON.
      for (const auto& [key, value] : request.annotations) {
        pbf_writer entry(metadata, meta::kAnnotations);
        add_text(entry, meta::kKey, key);
        add_text(entry, meta::kValue, value);
      }
    }
    pbf_writer target(object, binding::kTarget);
    add_text(target, reference::kKind, "Node");
    add_text(target, reference::kName, request.node);
    add_text(target, reference::kApiVersion, "v1");
  });
}

std::string event_protobuf(const EventRecord& event, const std::string& name,
                           const std::string& reporting_instance,
                           system_clock::time_point event_time, const EventSeries* series) {
  return in_envelope("events.k8s.io/v1", "Event", [&](pbf_writer& object) {
    {
      pbf_writer metadata(object, event_fields::kMetadata);
      add_text(metadata, meta::kName, name);
      add_text(metadata, meta::kNamespace, event.ns.empty() ? "default" : event.ns);
    }
    add_time(object, event_fields::kEventTime, event_time);
    if (series != nullptr) {
      pbf_writer writer(object, event_fields::kSeries);
      writer.add_int32(event_fields::kCount, static_cast<std::int32_t>(series->count));
      add_time(writer, event_fields::kLastObserved, series->last_observed);
    }
    add_text(object, event_fields::kController, event.scheduler_name);
    add_text(object, event_fields::kInstance, reporting_instance.substr(0, 128));
    add_text(object, event_fields::kAction, event.action);
    add_text(object, event_fields::kReason, event.reason);
    {
      pbf_writer regarding(object, event_fields::kRegarding);
      add_text(regarding, reference::kKind, event.kind);
      add_text(regarding, reference::kNamespace, event.ns);
      add_text(regarding, reference::kName, event.name);
      add_text(regarding, reference::kUid, event.uid);
      add_text(regarding, reference::kApiVersion, event.api_version);
      add_text(regarding, reference::kResourceVersion, event.resource_version);
    }
    add_text(object, event_fields::kNote, cut_note(event.note));
    add_text(object, event_fields::kType, event.warning ? "Warning" : "Normal");
  });
}

}  // namespace plimsoll::informer
