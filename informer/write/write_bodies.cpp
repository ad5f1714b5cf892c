#include "informer/write/write_bodies.hpp"

#include <plimsoll/time_text.hpp>

#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace plimsoll::informer {
namespace {

using nlohmann::json;
using std::chrono::system_clock;

constexpr std::size_t kMaxNote = 1024;
constexpr std::size_t kMaxName = 253;

json series_json(const EventSeries& series) {
  return {{"count", series.count},
          {"lastObservedTime", sdk::time_text(series.last_observed, true)}};
}

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string binding_body(const BindRequest& request) {
  json metadata = {{"namespace", request.ns}, {"name", request.name}, {"uid", request.uid}};
  if (!request.resource_version.empty()) metadata["resourceVersion"] = request.resource_version;
  if (!request.annotations.empty()) {
    json annotations = json::object();
    for (const auto& [key, value] : request.annotations) annotations[key] = value;
    metadata["annotations"] = std::move(annotations);
  }
  return dump(json{{"apiVersion", "v1"},
                   {"kind", "Binding"},
                   {"metadata", std::move(metadata)},
                   {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", request.node}}}});
}

std::string condition_body(const ConditionPatch& patch, system_clock::time_point now) {
  json status = json::object();
  if (!patch.reason.empty()) {
    json condition = {{"type", "PodScheduled"},
                      {"status", "False"},
                      {"reason", patch.reason},
                      {"message", patch.message},
                      {"lastProbeTime", nullptr}};
    if (!patch.stays_false) condition["lastTransitionTime"] = sdk::time_text(now, false);
    if (patch.observed_generation != 0) condition["observedGeneration"] = patch.observed_generation;
    status["conditions"] = json::array({std::move(condition)});
  }
  if (patch.set_nominated) {
    status["nominatedNodeName"] =
        patch.nominated_node.empty() ? json(nullptr) : json(patch.nominated_node);
  }
  json metadata = {{"uid", patch.uid}};
  if (!patch.resource_version.empty()) metadata["resourceVersion"] = patch.resource_version;
  return dump(json{{"metadata", std::move(metadata)}, {"status", std::move(status)}});
}

std::string touch_body(const PodVersion& pod, const std::string& note,
                       system_clock::time_point now) {
  const json condition = {{"type", kTouchedCondition},
                          {"status", "True"},
                          {"reason", "SchedulerStarted"},
                          {"message", note},
                          {"lastTransitionTime", sdk::time_text(now, false)}};
  return dump(json{{"metadata", {{"uid", pod.uid}, {"resourceVersion", pod.resource_version}}},
                   {"status", {{"conditions", json::array({condition})}}}});
}

// At most 1024 bytes, never part of a character; a cut note ends in " ...", like kube-scheduler's.
std::string cut_note(const std::string& note) {
  static constexpr std::string_view kEllipsis = " ...";
  if (note.size() <= kMaxNote) return note;
  std::size_t keep = kMaxNote - kEllipsis.size();
  while (keep > 0 && (static_cast<unsigned char>(note[keep]) & 0xC0) == 0x80) --keep;
  return note.substr(0, keep) + std::string(kEllipsis);
}

std::string event_name(const std::string& about, system_clock::time_point now) {
  // Unique among the events of a pod, even those of the same instant.
  static std::atomic<std::uint64_t> serial{0};
  const auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch());
  char suffix[40];
  std::snprintf(suffix, sizeof suffix, ".%llx%04llx",
                static_cast<unsigned long long>(nanos.count()),
                static_cast<unsigned long long>(serial.fetch_add(1) & 0xffff));
  const std::string tail(suffix);
  return about.substr(0, kMaxName - tail.size()) + tail;
}

std::string event_body(const EventRecord& event, const std::string& name,
                       const std::string& reporting_instance, system_clock::time_point event_time,
                       const EventSeries* series) {
  json regarding = {{"apiVersion", event.api_version},
                    {"kind", event.kind},
                    {"namespace", event.ns},
                    {"name", event.name},
                    {"uid", event.uid},
                    {"resourceVersion", event.resource_version}};
  json body = {
      {"apiVersion", "events.k8s.io/v1"},
      {"kind", "Event"},
      {"metadata", {{"namespace", event.ns.empty() ? "default" : event.ns}, {"name", name}}},
      {"eventTime", sdk::time_text(event_time, true)},
      {"reportingController", event.scheduler_name},
      {"reportingInstance", reporting_instance.substr(0, 128)},
      {"action", event.action},
      {"reason", event.reason},
      {"regarding", std::move(regarding)},
      {"note", cut_note(event.note)},
      {"type", event.warning ? "Warning" : "Normal"}};
  if (series != nullptr) body["series"] = series_json(*series);
  return dump(body);
}

std::string series_body(const EventSeries& series) {
  return dump(json{{"series", series_json(series)}});
}

}  // namespace plimsoll::informer
