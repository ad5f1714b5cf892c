#include "lab/simulate/placements.hpp"

#include <plimsoll/join.hpp>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

namespace plimsoll::cli {
namespace {

using nlohmann::json;

constexpr const char* kZonesAnnotation = "topology.plimsoll.io/zones";
constexpr const char* kDevicesAnnotation = "scheduling.koordinator.sh/device-allocated";

const json& child(const json& object, const char* key) {
  static const json kNothing = json::object();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : kNothing;
}

std::string text(const json& object, const char* key) {
  const json& value = child(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

json annotation(const json& pod, const char* key) {
  return json::parse(text(child(child(pod, "metadata"), "annotations"), key), nullptr, false);
}

std::string numbers(const std::vector<int64_t>& values) {
  return sdk::join(values, ",");
}

void read_zones(const json& zones, Placement& placement) {
  if (!zones.is_object()) return;
  for (const auto& [container, resources] : zones.items()) {
    std::set<int64_t> all;
    if (!resources.is_object()) continue;
    for (const auto& [resource, ids] : resources.items()) {
      if (!ids.is_array()) continue;
      for (const json& id : ids) {
        if (id.is_number_integer()) all.insert(id.get<int64_t>());
      }
    }
    if (!all.empty())
      placement.zones.emplace_back(container, std::vector<int64_t>(all.begin(), all.end()));
  }
}

void read_devices(const json& devices, Placement& placement) {
  if (!devices.is_object()) return;
  for (const auto& [type, allocations] : devices.items()) {
    if (!allocations.is_array()) continue;
    for (const json& allocation : allocations) {
      const json& minor = child(allocation, "minor");
      if (minor.is_number_integer()) placement.devices[type].push_back(minor.get<int64_t>());
    }
  }
}

}  // namespace

Placement placement_of(const json& pod) {
  Placement placement;
  const json& meta = child(pod, "metadata");
  placement.pod = text(meta, "namespace") + "/" + text(meta, "name");
  placement.node = text(child(pod, "spec"), "nodeName");
  const json& status = child(pod, "status");
  placement.phase = text(status, "phase");
  if (placement.phase == "Failed") placement.failure = text(status, "reason");
  for (const json& condition : child(status, "conditions")) {
    if (text(condition, "type") == "PodScheduled" && text(condition, "status") == "False") {
      placement.message = text(condition, "message");
      placement.reason = text(condition, "reason");
    }
  }
  read_zones(annotation(pod, kZonesAnnotation), placement);
  read_devices(annotation(pod, kDevicesAnnotation), placement);
  return placement;
}

std::string zones_text(const Placement& placement) {
  std::string out;
  for (const auto& [container, zones] : placement.zones) {
    out += (out.empty() ? "" : " ") + container + ":" + numbers(zones);
  }
  return out.empty() ? "-" : out;
}

std::string devices_text(const Placement& placement) {
  std::string out;
  for (const auto& [type, minors] : placement.devices) {
    out += (out.empty() ? "" : "  ") + type + " " + numbers(minors);
  }
  return out.empty() ? "-" : out;
}

std::vector<std::string> message_parts(const std::string& message) {
  const size_t colon = message.find(": ");
  if (colon == std::string::npos || message.rfind("0/", 0) != 0) return {message};
  std::vector<std::string> parts{message.substr(0, colon)};
  // PostFilter's message is a separate sentence.
  const size_t preemption = message.find(". preemption: ", colon);
  std::string rest = message.substr(
      colon + 2, preemption == std::string::npos ? std::string::npos : preemption - colon - 2);
  // Reasons are joined by ", ", and each begins with its number of nodes.
  for (;;) {
    size_t comma = rest.find(", ");
    while (comma != std::string::npos && comma + 2 < rest.size() &&
           std::isdigit(static_cast<unsigned char>(rest[comma + 2])) == 0) {
      comma = rest.find(", ", comma + 2);
    }
    parts.push_back(rest.substr(0, comma));
    if (comma == std::string::npos) break;
    rest.erase(0, comma + 2);
  }
  if (preemption != std::string::npos) parts.push_back(message.substr(preemption + 2));
  if (!parts.back().empty() && parts.back().back() == '.') parts.back().pop_back();
  return parts;
}

}  // namespace plimsoll::cli
