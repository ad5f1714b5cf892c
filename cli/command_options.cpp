#include "cli/command_options.hpp"

namespace plimsoll::cli {

void add_plugin_option(CLI::App& command, std::vector<std::string>& directories) {
  command.add_option(
      "--plugin-dir", directories,
      "Folder with plugin .so files besides the one installed with the program; may be "
      "repeated; what comes first wins");
}

void add_socket_option(CLI::App& command, std::string& socket) {
  command.add_option("--socket", socket, "Local socket of the scheduler, as given to run");
}

void add_lenient_flag(CLI::App& command, bool& lenient) {
  command.add_flag("--lenient", lenient,
                   "Take files with unknown fields of pods, with controllers among the pods, or "
                   "without any object");
}

void add_explain_output(CLI::App& command, ExplainArguments& arguments) {
  command.add_option("--nodes", arguments.nodes,
                     "How many nodes to show, or all (default: 10; with -o json all)");
  command.add_option("-o,--output", arguments.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

void add_show_options(CLI::App& command, ShowArguments& arguments) {
  command
      .add_option("--limit", arguments.limit,
                  "How many nodes or pods to show, or all (default: 50; -o json: all)")
      ->check(CLI::PositiveNumber | CLI::IsMember({"all"}));
  command.add_option("-o,--output", arguments.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

void add_compare_options(CLI::App& command, DebugArguments& arguments) {
  command
      .add_option("--settle", arguments.settle_s,
                  "How many seconds a difference must last to be called one")
      ->check(CLI::Range(0.0, 600.0));
  command.add_option("-o,--output", arguments.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

void add_level_option(CLI::App& command, std::string& level) {
  command.add_option("level", level, "debug, info, warn or error; without it the level is printed")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
}

void add_log_options(CLI::App& command, LogArguments& arguments) {
  static const std::map<std::string, LogLevel> kLevels{{"debug", LogLevel::kDebug},
                                                       {"info", LogLevel::kInfo},
                                                       {"warn", LogLevel::kWarn},
                                                       {"error", LogLevel::kError}};
  static const std::map<std::string, LogFormat> kFormats{{"text", LogFormat::kText},
                                                         {"json", LogFormat::kJson}};
  add_choice(command, "--log-level", arguments.level, kLevels,
             "How much is written to standard error");
  add_choice(command, "--log-format", arguments.format, kFormats, "How it is written");
}

}  // namespace plimsoll::cli
