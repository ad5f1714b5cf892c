#pragma once
// The profile file from text to a decoded, defaulted and validated SchedulerConfig.
//
// Decoding is strict as in kube-scheduler: unknown and repeated fields are errors. Everything that
// is wrong is reported in one go, each problem with its field path and its place, in
// kube-scheduler's words where it has words for it. What is accepted but has no effect here is a
// warning. Whether the plugins that are named exist is a question to the registry: see
// profile_expansion.hpp.
//
// load_config_file blocks on the file; everything else is a pure function, any thread.

#include <optional>
#include <string>
#include <string_view>

#include "config/problem.hpp"
#include "config/scheduler_config.hpp"
#include "framework/base/result.hpp"

namespace plimsoll::config {

// config is set exactly if errors is empty; partial is what could be read in spite of errors, for
// checks that go on. Both lists are in the order of the file.
struct LoadedConfig {
  std::string file;
  std::optional<SchedulerConfig> config;
  std::optional<SchedulerConfig> partial;
  Problems errors;
  Problems warnings;

  [[nodiscard]] bool ok() const { return errors.empty(); }
};

// `file` is only a name for messages.
[[nodiscard]] LoadedConfig load_config_text(std::string_view text, std::string file);

// A file that cannot be read is one error without a place.
[[nodiscard]] LoadedConfig load_config_file(const std::string& path);

// The same as a Result, for callers that only want to go on or stop: the error's message holds one
// line per problem. Warnings are added to *warnings if it is given.
[[nodiscard]] Result<SchedulerConfig> load_config(const std::string& path,
                                                  Problems* warnings = nullptr);

// What a file with nothing but apiVersion and kind gives: one profile, default-scheduler.
[[nodiscard]] SchedulerConfig default_config();

}  // namespace plimsoll::config
