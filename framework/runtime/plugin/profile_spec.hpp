#pragma once
// The effective profile: what runs, in which order, with which weights and args. Plain data. The
// configuration makes it of a profile file (config/profile/profile_expansion.hpp).

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// The extension points that a profile names, in the order of the scheduling cycle.
enum class ExtensionPoint : uint8_t {
  kPreEnqueue,
  kQueueSort,
  kPreFilter,
  kFilter,
  kPostFilter,
  kPreScore,
  kScore,
  kReserve,
  kPermit,
  kPreBind,
  kBind,
  kPostBind,
};
inline constexpr size_t kExtensionPoints = 12;

// As in kube-scheduler's metrics and interfaces: "PreFilter".
inline constexpr std::array<std::string_view, kExtensionPoints> kExtensionPointNames = {
    "PreEnqueue", "QueueSort", "PreFilter", "Filter",  "PostFilter", "PreScore",
    "Score",      "Reserve",   "Permit",    "PreBind", "Bind",       "PostBind"};

[[nodiscard]] constexpr std::string_view name(ExtensionPoint point) {
  return kExtensionPointNames[static_cast<size_t>(point)];
}

// One value per extension point.
template <typename T>
struct PerExtensionPoint {
  std::array<T, kExtensionPoints> values{};
  T& operator[](ExtensionPoint point) { return values[static_cast<size_t>(point)]; }
  const T& operator[](ExtensionPoint point) const { return values[static_cast<size_t>(point)]; }
};

// A plugin's name as messages show it.
[[nodiscard]] inline std::string in_quotes(std::string_view text) {
  return '"' + std::string(text) + '"';
}

struct PluginEntry {
  std::string name;
  int32_t weight = 1;  // Score only; a negative one turns the preference around
  bool operator==(const PluginEntry&) const = default;
};

struct ProfileSpec {
  std::string scheduler_name;
  // In the order in which they run.
  PerExtensionPoint<std::vector<PluginEntry>> points;
  // Plugins that are created even if they are at no extension point: they keep state or publish a
  // service. Those at a point may be left out.
  std::vector<std::string> plugins;
  std::map<std::string, std::string> args;  // plugin name -> JSON text; absent: "{}"

  [[nodiscard]] std::vector<PluginEntry>& at(ExtensionPoint point) { return points[point]; }
  [[nodiscard]] const std::vector<PluginEntry>& at(ExtensionPoint point) const {
    return points[point];
  }
};

}  // namespace plimsoll
