#pragma once
// The available plugins.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "config/profile/known_plugins.hpp"
#include "config/profile/scheduler_config.hpp"
#include "config/text/problem.hpp"

namespace plimsoll::config {

// Plugin name -> the extension points that it implements, for built-in and loaded plugins.
struct PluginRegistry : std::map<std::string, ExtensionPoints, std::less<>> {
  using map::map;
  std::string folders;  // where plugin files were looked for, for messages
};

// Creates a plugin of a profile with its args and returns its extension points; without this
// function, the points in the registry apply. Returns nothing, with problems, if it cannot be
// created.
using PluginMaker = std::function<std::optional<ExtensionPoints>(
    const std::string& scheduler_name, const PluginArgs& args, Problems& errors,
    Problems& warnings)>;

}  // namespace plimsoll::config
