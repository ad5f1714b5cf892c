#pragma once
// Whether two profile files mean the same.

#include <algorithm>
#include <string>

#include "config/validate.hpp"

namespace plimsoll::config {

// What differs between the effective profiles, in words; empty if nothing does. Which plugins are
// made counts, the order in which they are made does not.
inline std::string difference(const Validation& a, const Validation& b) {
  if (a.profiles.size() != b.profiles.size()) return "the number of profiles";
  for (std::size_t i = 0; i < a.profiles.size(); ++i) {
    const ProfileSpec& one = a.profiles[i];
    const ProfileSpec& other = b.profiles[i];
    if (one.scheduler_name != other.scheduler_name) return "the name of " + one.scheduler_name;
    for (const ExtensionPoint point : all_extension_points()) {
      if (one.points[point] != other.points[point]) {
        return one.scheduler_name + " at " + std::string(field_name(point));
      }
    }
    std::vector<std::string> names = one.plugins, other_names = other.plugins;
    std::sort(names.begin(), names.end());
    std::sort(other_names.begin(), other_names.end());
    if (names != other_names) return "the plugins of " + one.scheduler_name;
    for (const std::string& plugin : names) {
      if (one.args.at(plugin) != other.args.at(plugin)) {
        return "args of " + plugin + ": " + one.args.at(plugin) + " or " + other.args.at(plugin);
      }
    }
  }
  return {};
}

}  // namespace plimsoll::config
