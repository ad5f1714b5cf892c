#pragma once
// The JSON that is written to the API server. Kubernetes' own texts and limits: notes are cut to
// 1024 bytes, ending in " ...".

#include <chrono>
#include <cstdint>
#include <string>

#include "framework/port/api_writer.hpp"

namespace plimsoll::informer {

[[nodiscard]] std::string binding_body(const BindRequest& request);
[[nodiscard]] std::string condition_body(const ConditionPatch& patch,
                                         std::chrono::system_clock::time_point now);

// A pod in one of its versions.
struct PodVersion {
  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
};
// A condition of our own, for nothing but that the pod changes: what stands in PodScheduled stays.
inline constexpr const char* kTouchedCondition = "plimsoll.io/EarlierBindingsVoid";
// `note`: must differ from that of every other such write, or it would change nothing.
[[nodiscard]] std::string touch_body(const PodVersion& pod, const std::string& note,
                                     std::chrono::system_clock::time_point now);

// How often an event has happened and when last; of an event that happened once there is none.
struct EventSeries {
  std::int64_t count = 0;
  std::chrono::system_clock::time_point last_observed{};
};

// A name for an event's object: that of what it is about, and what makes it unique.
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
