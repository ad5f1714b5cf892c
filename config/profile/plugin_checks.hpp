#pragma once
// Checks the plugins in a profile's sets: they exist, implement the extension point, and are named
// once. One object checks one profile. Not thread-safe; otherwise pure.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/profile/plugin_registry.hpp"
#include "config/profile/scheduler_config.hpp"
#include "config/text/problem.hpp"

namespace plimsoll::config {

class PluginChecks {
 public:
  // All three must outlive the object; the registry may grow meanwhile. Problems are appended.
  PluginChecks(const PluginRegistry& registry, Problems& errors, Problems& warnings)
      : registry_(registry), errors_(errors), warnings_(warnings) {}

  // Each removes invalid plugins from the list, with an error. First those that do not exist;
  // `type` is the set's name in kube-scheduler's messages. Then those that do not implement the
  // point or were named before; no point: the list is multiPoint. A point that the plugin has in
  // its own project but not here is only a warning.
  void keep_existing(std::vector<PluginRef>& enabled, const std::string& type);
  void keep_valid(std::vector<PluginRef>& enabled, std::optional<ExtensionPoint> point);

  // kube-scheduler accepts any name here. A name that is unknown everywhere is probably a typing
  // error and gets a warning.
  void check_disabled(const PluginSet& set);

  // The plugin could not be created, which is reported elsewhere; its points are unknown.
  void note_unusable(const std::string& plugin) { unusable_.insert(plugin); }

  // Whether keep_existing() has removed this plugin.
  [[nodiscard]] bool missing(std::string_view plugin) const { return missing_.count(plugin) != 0; }
  // Whether some plugin is missing or cannot be created.
  [[nodiscard]] bool any_missing() const { return !missing_.empty() || !unusable_.empty(); }

 private:
  [[nodiscard]] std::string nearest_existing(std::string_view name) const;
  std::string missing_message(const std::string& type, const PluginRef& plugin);

  const PluginRegistry& registry_;
  Problems& errors_;
  Problems& warnings_;
  std::set<std::string, std::less<>> missing_;
  std::set<std::string, std::less<>> unusable_;
};

}  // namespace plimsoll::config
