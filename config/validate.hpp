#pragma once
// The whole check of a profile file in one call: what `plimsoll validate` prints, and what
// `plimsoll run` and `plimsoll simulate` start from.
//
// validate_file blocks on the file; both call the args checker on the caller's thread.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/args_errors.hpp"
#include "config/load.hpp"
#include "config/profile_expansion.hpp"

namespace plimsoll::config {

// Asks the plugin itself; an empty answer means that the args are good. It is called once per
// profile for every plugin that runs in it and whose args are not checked here already (see
// has_known_args).
using ArgsChecker =
    std::function<std::vector<ArgsError>(std::string_view plugin, const std::string& args_json)>;

struct Validation {
  std::string file;
  SchedulerConfig config;                  // meaningful if ok()
  std::vector<EffectiveProfile> profiles;  // complete if ok()
  Problems errors;
  Problems warnings;

  [[nodiscard]] bool ok() const { return errors.empty(); }

  // For people: one line per error and warning, then a summary line.
  [[nodiscard]] std::string report() const;
  // The merged view as YAML (print_effective) and as JSON (config::effective_json); empty if there
  // are errors.
  [[nodiscard]] std::string effective_yaml() const;
  [[nodiscard]] std::string effective_json() const;
};

// Loads, expands against what exists, and has every plugin check its args.
[[nodiscard]] Validation validate_file(const std::string& path, const PluginRegistry& registry,
                                       const ArgsChecker& check_args = {});

// The same for text; `file` is only a name for messages.
[[nodiscard]] Validation validate_text(std::string_view text, std::string file,
                                       const PluginRegistry& registry,
                                       const ArgsChecker& check_args = {});

}  // namespace plimsoll::config
