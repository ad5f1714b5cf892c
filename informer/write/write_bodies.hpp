#pragma once
// The JSON bodies of writes, with Kubernetes' texts and limits: notes are cut to 1024 bytes, ending
// in " ...".

#include <chrono>
#include <cstdint>
#include <string>

#include "framework/port/api_writer.hpp"

namespace plimsoll::informer {

[[nodiscard]] std::string binding_body(const BindRequest& request);
[[nodiscard]] std::string condition_body(const ConditionPatch& patch,
                                         std::chrono::system_clock::time_point now);

// One version of a pod.
struct PodVersion {
  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
};
// A condition of our own. It exists only to change the pod; PodScheduled stays as it is.
inline constexpr const char* kTouchedCondition = "plimsoll.io/EarlierBindingsVoid";
// `note` must differ from that of every other touch; otherwise the write would change nothing.
[[nodiscard]] std::string touch_body(const PodVersion& pod, const std::string& note,
                                     std::chrono::system_clock::time_point now);

// How often an event has happened, and when last. An event that happened once has no series.
struct EventSeries {
  std::int64_t count = 0;
  std::chrono::system_clock::time_point last_observed{};
};

// A name for an event object: the name of the object that it is about, and a unique suffix.
[[nodiscard]] std::string event_name(const std::string& about,
                                     std::chrono::system_clock::time_point now);
// `series` may be null.
[[nodiscard]] std::string event_body(const EventRecord& event, const std::string& name,
                                     const std::string& reporting_instance,
                                     std::chrono::system_clock::time_point event_time,
                                     const EventSeries* series = nullptr);
// A strategic merge patch.
[[nodiscard]] std::string series_body(const EventSeries& series);

[[nodiscard]] std::string cut_note(const std::string& note);

}  // namespace plimsoll::informer
