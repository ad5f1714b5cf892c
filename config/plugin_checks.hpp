#pragma once
// Whether the plugins that a profile's sets name can be there: they exist, implement the point, and
// are named once. One object checks one profile. Not thread-safe; pure otherwise.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/plugin_registry.hpp"
#include "config/problem.hpp"
#include "config/scheduler_config.hpp"

namespace plimsoll::config {

class PluginChecks {
 public:
  // All three outlive the object, and the registry may come to know more; problems are appended.
  PluginChecks(const PluginRegistry& registry, Problems& errors, Problems& warnings)
      : registry_(registry), errors_(errors), warnings_(warnings) {}

  // Each takes out of the list what cannot stay, with an error: plugins that do not exist, do not
  // implement the point, or were named before. `type` is the set's name in kube-scheduler's texts.
  // A point that a plugin has in its own project and not here is only a warning.
  void keep_existing(std::vector<PluginRef>& enabled, const std::string& type);
  void keep_implementing(std::vector<PluginRef>& enabled, ExtensionPoint point);
  void keep_first(std::vector<PluginRef>& enabled, const std::string& type);

  // kube-scheduler takes any name here; one that means nothing anywhere is a slip of the pen and
  // gets a warning.
  void check_disabled(const PluginSet& set);

  // It could not be made, which is said elsewhere; nobody knows its points.
  void note_unusable(const std::string& plugin) { unusable_.insert(plugin); }

  // Whether keep_existing() has taken out this plugin.
  [[nodiscard]] bool missing(std::string_view plugin) const { return missing_.count(plugin) != 0; }
  // Whether some plugin is missing or cannot be made.
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
