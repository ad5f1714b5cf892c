#pragma once
// Plugin names known to kube-scheduler 1.37 and to the projects whose profile files are accepted.
//
// A plugin named here need not exist in this build: the registry says which ones do. Constant
// tables, any thread.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "config/profile/scheduler_config.hpp"

namespace plimsoll::config {

// A set of extension points.
class ExtensionPoints {
 public:
  constexpr ExtensionPoints() = default;
  constexpr ExtensionPoints(std::initializer_list<ExtensionPoint> points) {
    for (const ExtensionPoint point : points) add(point);
  }
  constexpr void add(ExtensionPoint point) { bits_ |= bit(point); }
  [[nodiscard]] constexpr bool has(ExtensionPoint point) const { return (bits_ & bit(point)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }

 private:
  static constexpr std::uint32_t bit(ExtensionPoint point) {
    return std::uint32_t{1} << static_cast<unsigned>(point);
  }
  std::uint32_t bits_ = 0;
};

// One plugin of kube-scheduler's default profile. `weight` is 0 if the default list has none.
struct DefaultPlugin {
  std::string_view name;
  std::int32_t weight;
};

// The default profile in multiPoint order (getDefaultPlugins, without those that are off by
// default).
[[nodiscard]] const std::vector<DefaultPlugin>& default_plugins();
[[nodiscard]] bool is_default_plugin(std::string_view name);

// Plugins of Plimsoll that are part of every profile, before all others at their extension points,
// whatever the file says. There is one: UnsupportedFeatures keeps a pod pending if it requests a
// feature that is not supported yet, instead of placing it as if it had not.
[[nodiscard]] const std::vector<std::string_view>& plugins_of_every_profile();
[[nodiscard]] bool is_in_every_profile(std::string_view name);

// The extension points of the plugin in the project that its profile files come from. A file may
// name it at any of them, even if this build's plugin works at other points: that is a warning, not
// an error.
[[nodiscard]] ExtensionPoints reference_points(std::string_view name);

// The plugin's name here: NodeDevice for Koordinator's DeviceShare, otherwise the same.
[[nodiscard]] std::string_view canonical_name(std::string_view name);

// Explains why a plugin is not in this build: which project it belongs to and what to use instead.
// The text follows "does not exist"; empty for an unknown name.
[[nodiscard]] std::string about_missing_plugin(std::string_view name);

// Plugins that were removed from kube-scheduler before the configuration's version v1.
[[nodiscard]] bool is_removed_plugin(std::string_view name);

}  // namespace plimsoll::config
