#pragma once
// A profile as the runtime takes it: plain data. The configuration makes it from a profile file,
// with Kubernetes' default plugins merged in (mergePlugins); multiPoint is expanded here in
// Framework::create, since only the plugins know what they implement.

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
  int32_t weight = 0;  // Score only; 0: not given, counts as 1
};

// One set of `plugins:` after the defaults are merged in.
struct PluginSet {
  std::vector<PluginEntry> enabled;
  std::vector<std::string> disabled;  // may be "*": keeps multiPoint's plugins out of this point
};

struct ProfileSpec {
  std::string scheduler_name;
  PluginSet multi_point;
  std::array<PluginSet, kExtensionPoints> points;
  std::map<std::string, std::string> args;  // plugin name -> JSON text; absent: "{}"

  [[nodiscard]] PluginSet& at(ExtensionPoint point) { return points[static_cast<size_t>(point)]; }
  [[nodiscard]] const PluginSet& at(ExtensionPoint point) const {
    return points[static_cast<size_t>(point)];
  }
};

}  // namespace plimsoll
