#include "config/profile/plugin_checks.hpp"

#include <plimsoll/nearest.hpp>

#include "framework/runtime/profile_rules.hpp"

namespace plimsoll::config {

std::string PluginChecks::nearest_existing(std::string_view name) const {
  std::vector<std::string_view> known;
  for (const auto& [existing, points] : registry_) known.push_back(existing);
  return sdk::nearest(name, known);
}

// The full explanation is given where a plugin is first named; every place is reported.
std::string PluginChecks::missing_message(const std::string& type, const PluginRef& plugin) {
  std::string message = plimsoll::missing_plugin(type, plugin.written);
  if (!missing_.insert(plugin.name).second) return message;
  if (const std::string about = about_missing_plugin(plugin.name); !about.empty()) {
    return message + about;
  }
  const std::string close = nearest_existing(plugin.name);
  if (!close.empty()) return message + ", did you mean " + go_quoted(close) + "?";
  return message + ": no built-in plugin has this name, and no file in " +
         (registry_.folders.empty() ? "a plugin folder" : registry_.folders) +
         "; --plugin-dir adds one";
}

void PluginChecks::keep_existing(std::vector<PluginRef>& enabled, const std::string& type) {
  std::erase_if(enabled, [&](const PluginRef& plugin) {
    if (registry_.find(plugin.name) != registry_.end()) return false;
    std::string message = missing_message(type, plugin);
    // The decoder has already reported a removed plugin.
    if (!is_removed_plugin(plugin.name)) {
      errors_.push_back({plugin.path, plugin.at, std::move(message)});
    }
    return true;
  });
}

void PluginChecks::keep_valid(std::vector<PluginRef>& enabled,
                              std::optional<ExtensionPoint> point) {
  PluginList list(point ? interface_name(*point) : "MultiPoint");
  std::erase_if(enabled, [&](const PluginRef& plugin) {
    const bool extends = !point || registry_.find(plugin.name)->second.has(*point);
    if (!extends && unusable_.count(plugin.name) != 0) return true;
    // The plugin has this point in its own project; here it does that work at another one.
    if (!extends && reference_points(plugin.name).has(*point)) {
      warnings_.push_back({plugin.path, plugin.at,
                           "has no effect: " + plugin.written + " has nothing to do at " +
                               std::string(field_name(*point)) + " here"});
      return true;
    }
    std::string wrong = list.add(plugin.name, extends, plugin.written);
    if (wrong.empty()) return false;
    errors_.push_back({plugin.path, plugin.at, std::move(wrong)});
    return true;
  });
}

void PluginChecks::check_disabled(const PluginSet& set) {
  for (const PluginRef& plugin : set.disabled) {
    if (plugin.name == "*") continue;
    if (is_in_every_profile(plugin.name)) {
      warnings_.push_back({plugin.path, plugin.at,
                           "has no effect: " + plugin.written + " is part of every profile"});
      continue;
    }
    const bool known = registry_.find(plugin.name) != registry_.end() ||
                       !about_missing_plugin(plugin.name).empty() || is_removed_plugin(plugin.name);
    if (known) continue;
    const std::string close = nearest_existing(plugin.name);
    warnings_.push_back({plugin.path, plugin.at,
                         "has no effect: there is no plugin " + go_quoted(plugin.written) +
                             (close.empty() ? "" : ", did you mean " + go_quoted(close) + "?")});
  }
}

}  // namespace plimsoll::config
