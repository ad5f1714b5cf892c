#include "plugins/nodedevice/groups/pod_group.hpp"

#include <plimsoll/duration.hpp>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "plugins/nodedevice/text/bounded_json.hpp"

namespace plimsoll::devices {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kLabel = "scheduling.x-k8s.io/pod-group";
constexpr std::string_view kOldLabel = "pod-group.scheduling.sigs.k8s.io";
constexpr std::string_view kLightLabel = "pod-group.scheduling.sigs.k8s.io/name";
constexpr std::string_view kLightMin = "pod-group.scheduling.sigs.k8s.io/min-available";
constexpr std::string_view kGangName = "gang.scheduling.koordinator.sh/name";
constexpr std::string_view kGangMin = "gang.scheduling.koordinator.sh/min-available";
constexpr std::string_view kGangWait = "gang.scheduling.koordinator.sh/waiting-time";
constexpr std::string_view kGangGroups = "gang.scheduling.koordinator.sh/groups";

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::string_view annotation_or_label(sdk::Pod pod, std::string_view key) {
  const auto annotation = pod.annotation(key);
  return annotation ? *annotation : pod.label(key).value_or("");
}

// gang.scheduling.koordinator.sh/groups: other groups that this one is only placed together with.
bool names_others(std::string_view text, const std::string& key) {
  if (text.empty()) return false;
  const Json list = parse_bounded_json(text);
  if (!list.is_array()) return true;
  for (const Json& name : list)
    if (!name.is_string() || name.get<std::string>() != key) return true;
  return false;
}

}  // namespace

std::string pod_group_resource(size_t api) {
  return std::string(kPodGroupPlural) + "." + std::string(kPodGroupVersion) + "." +
         std::string(kPodGroupApis[api]);
}

std::optional<GroupRef> group_of(sdk::Pod pod) {
  GroupRef ref;
  std::string_view name = pod.label(kLabel).value_or("");
  if (name.empty()) {
    ref.api = 1;
    for (std::string_view key : {kOldLabel, kLightLabel})
      if (name.empty()) name = pod.label(key).value_or("");
    if (name.empty()) name = annotation_or_label(pod, kGangName);
  }
  if (name.empty()) return std::nullopt;
  ref.key = std::string(pod.ns()) + "/" + std::string(name);
  std::string_view key = kLightMin;
  std::string_view min = pod.label(kLightMin).value_or("");
  if (min.empty()) {
    key = kGangMin;
    min = annotation_or_label(pod, kGangMin);
  }
  if (!min.empty()) {
    ref.min_available = number(min);
    if (!ref.min_available) ref.problem = std::string(key) + " is not a number";
  }
  if (const std::string_view wait = annotation_or_label(pod, kGangWait); !wait.empty()) {
    using std::chrono::milliseconds;
    const auto parsed = sdk::parse_duration(wait);
    if (parsed && parsed->count() >= 0)
      ref.wait_ms = std::chrono::duration_cast<milliseconds>(*parsed).count();
    else
      ref.problem = std::string(kGangWait) + " is not a duration";
  }
  if (names_others(annotation_or_label(pod, kGangGroups), ref.key))
    ref.problem = std::string(kGangGroups) + " is not supported: name no other group";
  return ref;
}

Result<PodGroupSpec> parse_pod_group(std::string_view json) {
  const Json object = parse_bounded_json(json);
  if (!object.is_object()) return fail("is not a JSON object");
  const auto spec = object.find("spec");
  if (spec == object.end() || !spec->is_object()) return fail("spec: must be an object");
  PodGroupSpec out;
  // In a whole number from 0 on; absent: 0.
  const auto read = [&](const char* key, int64_t& value) {
    const auto it = spec->find(key);
    if (it == spec->end() || it->is_null()) return true;
    if (!it->is_number_integer()) return false;
    value = it->get<int64_t>();
    return value >= 0 && value <= std::numeric_limits<int32_t>::max();
  };
  int64_t members = 0;
  int64_t seconds = 0;
  if (!read("minMember", members)) return fail("spec.minMember: must be a number from 0 on");
  if (!read("scheduleTimeoutSeconds", seconds))
    return fail("spec.scheduleTimeoutSeconds: must be a number from 0 on");
  out.min_member = static_cast<int>(members);
  out.wait_ms = seconds * 1000;
  return out;
}

}  // namespace plimsoll::devices
