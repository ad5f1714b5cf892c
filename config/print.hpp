#pragma once
// Prints the merged and defaulted profile file as text that can be loaded again.
//
// Every default is written out and multiPoint is expanded: each extension point lists the plugins
// that run there, in order, with their weights, after `disabled: "*"`. Plugins that are part of
// every profile are listed like the others. multiPoint keeps only plugins that run at no point
// (they exist for their state or their services). Loading the text gives the same effective
// profiles, and printing those gives the same text. Pure functions, any thread.

#include <map>
#include <string>
#include <vector>

#include "config/profile/profile_expansion.hpp"
#include "config/profile/scheduler_config.hpp"
#include "config/text/value.hpp"

namespace plimsoll::config {

// A value in YAML's block style; every line is indented by `indent` spaces.
[[nodiscard]] std::string to_yaml(const Value& value, int indent = 0);

// The effective configuration as a KubeSchedulerConfiguration. `default_args`: plugin -> JSON,
// shown where the profile's args say nothing.
[[nodiscard]] std::string print_effective(const SchedulerConfig& config,
                                          const std::vector<ProfileSpec>& profiles,
                                          const std::map<std::string, std::string>& default_args);

// The same as compact JSON, for /configz.
[[nodiscard]] std::string effective_json(const SchedulerConfig& config,
                                         const std::vector<ProfileSpec>& profiles,
                                         const std::map<std::string, std::string>& default_args);

}  // namespace plimsoll::config
