#pragma once
// Turns the text of a profile file into a decoded, defaulted and validated SchedulerConfig.
//
// Decoding is strict like in kube-scheduler: unknown and repeated fields are errors. All problems
// are reported together, each with its field path and its place, with kube-scheduler's message if
// it has one. Settings that are accepted but have no effect here are warnings. Whether the named
// plugins exist is checked against the registry: see profile_expansion.hpp.
//
// load_config_file blocks on the file; everything else is a pure function, any thread.

#include <optional>
#include <string>
#include <string_view>

#include "config/profile/scheduler_config.hpp"
#include "config/text/problem.hpp"

namespace plimsoll::config {

// config is complete if errors is empty. Otherwise it is what could be read in spite of them, for
// further checks, or nothing. Both lists are in the order of the file.
struct LoadedConfig {
  std::string file;
  std::optional<SchedulerConfig> config;
  Problems errors;
  Problems warnings;
};

// `file` is only a name for messages.
[[nodiscard]] LoadedConfig load_config_text(std::string_view text, std::string file);

// A file that cannot be read is one error without a place.
[[nodiscard]] LoadedConfig load_config_file(const std::string& path);

}  // namespace plimsoll::config
