#pragma once
// The complete check of a profile file in one call. `plimsoll validate` prints it; `plimsoll run`
// and `plimsoll simulate` start from it.
//
// validate_file blocks on the file; both functions create plugins on the caller's thread.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/args_errors.hpp"
#include "config/load.hpp"
#include "config/profile/profile_expansion.hpp"

namespace plimsoll::config {

// Creates the plugin and returns its extension points, or the errors in its args. Called once per
// profile for every plugin that the profile names.
struct MadePlugin {
  ExtensionPoints points;
  std::vector<ArgsError> errors;    // empty: it was created
  std::vector<ArgsError> warnings;  // about its args, even if it was not created
  std::string default_args = "{}";  // JSON, as far as they are known
};
using PluginAsker = std::function<MadePlugin(
    const std::string& scheduler_name, const std::string& plugin, const std::string& args_json)>;

struct Validation {
  std::string file;
  SchedulerConfig config;                           // meaningful if ok()
  std::vector<ProfileSpec> profiles;                // complete if ok()
  std::map<std::string, std::string> default_args;  // of the plugins that were made
  Problems errors;
  Problems warnings;

  [[nodiscard]] bool ok() const { return errors.empty(); }

  // As text: one line per error and warning, then a summary line.
  [[nodiscard]] std::string report() const;
  // The merged view as YAML (print_effective) and as JSON (config::effective_json); empty if there
  // are errors.
  [[nodiscard]] std::string effective_yaml() const;
  [[nodiscard]] std::string effective_json() const;
};

// Loads the file, expands it against the existing plugins, and lets every plugin check its args.
// Without `ask` the registry is the only source about plugins.
[[nodiscard]] Validation validate_file(const std::string& path, const PluginRegistry& registry,
                                       const PluginAsker& ask = {});

// Like validate_file, for text; `file` is only a name for messages.
[[nodiscard]] Validation validate_text(std::string_view text, std::string file,
                                       const PluginRegistry& registry, const PluginAsker& ask = {});

}  // namespace plimsoll::config
