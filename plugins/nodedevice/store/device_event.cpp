#include "plugins/nodedevice/store/device_event.hpp"

#include <plimsoll/time_text.hpp>

#include <chrono>
#include <ctime>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "plugins/nodedevice/text/bounded_json.hpp"

namespace plimsoll::devices {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxNote = 1000;  // events.k8s.io: at most 1024 bytes

// Cut between characters.
std::string cut(std::string_view text) {
  if (text.size() <= kMaxNote) return std::string(text);
  size_t end = kMaxNote;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string uid_of(std::string_view json) {
  const Json object = parse_bounded_json(json);
  if (!object.is_object()) return {};
  const auto meta = object.find("metadata");
  if (meta == object.end() || !meta->is_object()) return {};
  const auto uid = meta->find("uid");
  return uid != meta->end() && uid->is_string() ? uid->get<std::string>() : std::string();
}

}  // namespace

void report_device_object(const sdk::Host& host, std::string_view node, std::string_view json,
                          std::string_view reason, std::string_view note) {
  const auto now = std::chrono::system_clock::now();
  Json regarding{
      {"apiVersion", "scheduling.koordinator.sh/v1alpha1"}, {"kind", "Device"}, {"name", node}};
  if (const std::string uid = uid_of(json); !uid.empty()) regarding["uid"] = uid;
  char suffix[20];
  std::snprintf(suffix, sizeof suffix, "%llx",
                static_cast<unsigned long long>(now.time_since_epoch().count()));
  const Json event{{"apiVersion", "events.k8s.io/v1"},
                   {"kind", "Event"},
                   {"metadata",
                    {{"name", std::string(node) + "." + suffix},
                     {"namespace", "default"}}},  // that of cluster-scoped objects
                   {"eventTime", sdk::time_text(now, true)},
                   {"reportingController", "plimsoll"},
                   {"reportingInstance", "plimsoll"},
                   {"type", "Warning"},
                   {"reason", reason},
                   {"action", "Scheduling"},
                   {"regarding", std::move(regarding)},
                   {"note", cut(note)}};
  try {
    host.api_request({"POST", "/apis/events.k8s.io/v1/namespaces/default/events", "",
                      event.dump(-1, ' ', false, Json::error_handler_t::replace)},
                     [](int, std::string_view) {});  // best effort
  } catch (const std::exception&) {                  // a host older than 1.1: the log has it
  }
}

}  // namespace plimsoll::devices
