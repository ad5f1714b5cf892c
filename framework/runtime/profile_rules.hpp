#pragma once
// The rules for the plugins of a profile, in kube-scheduler's words. The configuration holds a
// profile from a file against them and tells the places; a Framework, whatever profile it is given.
// Pure.

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/runtime/plugin/profile_spec.hpp"

namespace plimsoll {

// "PreFilterPlugin"
[[nodiscard]] inline std::string interface_name(ExtensionPoint point) {
  return std::string(name(point)) + "Plugin";
}

// There is no such plugin. `interface`: what names it.
[[nodiscard]] inline std::string missing_plugin(std::string_view interface,
                                                std::string_view plugin) {
  return std::string(interface) + " " + in_quotes(plugin) + " does not exist";
}

// The plugins of one list, in their order: each implements the point and is there once.
class PluginList {
 public:
  explicit PluginList(std::string interface) : interface_(std::move(interface)) {}

  // Why the plugin cannot be the next one; empty: it is. `shown`: its name in the file.
  [[nodiscard]] std::string add(std::string_view plugin, bool implements, std::string_view shown) {
    const std::string subject = "plugin " + in_quotes(shown) + " ";
    if (!implements) return subject + "does not extend " + interface_ + " plugin";
    if (seen_.emplace(plugin).second) return {};
    return subject + "already registered as " + in_quotes(interface_);
  }

 private:
  std::string interface_;
  std::set<std::string, std::less<>> seen_;
};

// What is wrong with the number of queue sort and bind plugins, and at which point.
[[nodiscard]] inline std::vector<std::pair<ExtensionPoint, std::string>> required_points_problems(
    const ProfileSpec& profile) {
  std::vector<std::pair<ExtensionPoint, std::string>> out;
  const std::string which = " for profile with scheduler name " + in_quotes(profile.scheduler_name);
  const size_t sorts = profile.at(ExtensionPoint::kQueueSort).size();
  if (sorts != 1) {
    out.emplace_back(ExtensionPoint::kQueueSort, "only one queue sort plugin required" + which +
                                                     ", but got " + std::to_string(sorts));
  }
  if (profile.at(ExtensionPoint::kBind).empty()) {
    out.emplace_back(ExtensionPoint::kBind, "at least one bind plugin is needed" + which);
  }
  return out;
}

}  // namespace plimsoll
