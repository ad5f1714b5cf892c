#pragma once
// The merged and defaulted view of a profile file, as text that can be read again.
//
// Every default is written out, multiPoint is already expanded: each extension point lists what
// runs there, in order, with its weight, after `disabled: "*"`. Plugins that take part in every
// profile are listed like the others. multiPoint keeps only plugins that run at no point (they are
// made for their state or their services). The text loads to the same effective profiles, and
// printing those gives the same text. Pure functions, any thread.

#include <string>
#include <vector>

#include "config/profile_expansion.hpp"
#include "config/scheduler_config.hpp"
#include "config/value.hpp"

namespace plimsoll::config {

// A value in YAML's block style; every line is indented by `indent` spaces.
[[nodiscard]] std::string to_yaml(const Value& value, int indent = 0);

// The effective configuration as a KubeSchedulerConfiguration.
[[nodiscard]] std::string print_effective(const SchedulerConfig& config,
                                          const std::vector<EffectiveProfile>& profiles);

// The same as compact JSON, which is what /configz serves.
[[nodiscard]] std::string effective_json(const SchedulerConfig& config,
                                         const std::vector<EffectiveProfile>& profiles);

}  // namespace plimsoll::config
