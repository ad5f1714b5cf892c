#pragma once
// What plugins there are to run.

#include <functional>
#include <map>
#include <string>

#include "config/known_plugins.hpp"

namespace plimsoll::config {

// Plugin name -> the extension points that it implements. Built-in and loaded plugins alike.
using PluginRegistry = std::map<std::string, ExtensionPoints, std::less<>>;

}  // namespace plimsoll::config
