#pragma once
// The runtime's input for a profile: plain data. The configuration builds it from a profile file,
// merges Kubernetes' default plugins (mergePlugins) and expands multiPoint
// (expandMultiPointPlugins; Modules::extension_points says what a plugin implements).

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

// As in kube-scheduler's metrics and interfaces: "PreFilter"; its interface is "PreFilterPlugin".
inline constexpr std::array<std::string_view, kExtensionPoints> kExtensionPointNames = {
    "PreEnqueue", "QueueSort", "PreFilter", "Filter",  "PostFilter", "PreScore",
    "Score",      "Reserve",   "Permit",    "PreBind", "Bind",       "PostBind"};

[[nodiscard]] constexpr std::string_view name(ExtensionPoint point) {
  return kExtensionPointNames[static_cast<size_t>(point)];
}

struct PluginEntry {
  std::string name;
  int32_t weight = 0;  // Score only; 0: not set, counts as 1
};

struct ProfileSpec {
  std::string scheduler_name;
  // In the order in which they run.
  std::array<std::vector<PluginEntry>, kExtensionPoints> points;
  // Plugins at no extension point that are created nevertheless: they keep state or publish a
  // service.
  std::vector<std::string> others;
  std::map<std::string, std::string> args;  // plugin name -> JSON text; absent: "{}"

  [[nodiscard]] std::vector<PluginEntry>& at(ExtensionPoint point) {
    return points[static_cast<size_t>(point)];
  }
  [[nodiscard]] const std::vector<PluginEntry>& at(ExtensionPoint point) const {
    return points[static_cast<size_t>(point)];
  }
};

}  // namespace plimsoll
