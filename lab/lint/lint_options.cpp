#include "lab/lint/lint_options.hpp"

#include <memory>

#include "cli/line/options.hpp"
#include "lab/lint/lint_command.hpp"

namespace plimsoll::cli {

RunCommand add_lint(CLI::App& command) {
  const auto arguments = std::make_shared<LintArguments>();
  command.add_option("files", arguments->files,
                     "Plugin files; each is looked at, with the services of the others");
  command.add_option("--builtin", arguments->builtin, "A built-in plugin, or all; may be repeated");
  command.add_option("--plugin", arguments->plugins,
                     "Look at this one only, the others are there for their services; may be "
                     "repeated");
  command.add_option("--args", arguments->args,
                     "FILE or NAME=FILE: a plugin's args, as in a profile; YAML or JSON");
  command.add_option("--objects", arguments->objects,
                     "Nodes, pods and what the plugins watch, YAML or JSON; may be repeated");
  command.add_option("--words", arguments->words,
                     "Further labels, annotations, taints and resources that mean something to the "
                     "plugin, besides the texts in its file");
  command.add_option("--rounds", arguments->rounds, "How many clusters to try")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}))
      ->capture_default_str();
  command.add_option("--seed", arguments->seed, "Decides what is tried")->capture_default_str();
  command
      .add_option("--call-timeout", arguments->call_timeout_s,
                  "After how many seconds a call that has not returned is a finding")
      ->check(CLI::PositiveNumber);
  add_output_option(command, arguments->output);
  return [arguments](const Words&) {
    log_to_stderr(LogLevel::kOff, LogFormat::kText);
    return lint_plugins(*arguments);
  };
}

}  // namespace plimsoll::cli
