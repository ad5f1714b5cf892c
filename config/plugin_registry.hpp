#pragma once
// What plugins there are to run.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "config/known_plugins.hpp"
#include "config/problem.hpp"
#include "config/scheduler_config.hpp"

namespace plimsoll::config {

// Plugin name -> the extension points that it implements. Built-in and loaded plugins alike.
using PluginRegistry = std::map<std::string, ExtensionPoints, std::less<>>;

// Makes a plugin of a profile with its args and says which extension points it has: those that the
// registry says hold only without it. Nothing, with problems, if it cannot be made.
using PluginMaker = std::function<std::optional<ExtensionPoints>(
    const std::string& scheduler_name, const PluginArgs& args, Problems& errors,
    Problems& warnings)>;

}  // namespace plimsoll::config
