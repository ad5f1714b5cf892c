#include "cli/line/options.hpp"

namespace plimsoll::cli {

void add_plugin_option(CLI::App& command, std::vector<std::string>& directories) {
  command.add_option(
      "--plugin-dir", directories,
      "Folder with plugin .so files besides the one installed with the program; may be "
      "repeated; what comes first wins");
}

void add_lenient_flag(CLI::App& command, bool& lenient) {
  command.add_flag("--lenient", lenient,
                   "Take files with unknown fields of pods, with controllers among the pods, or "
                   "without any object");
}

void add_output_option(CLI::App& command, std::string& output) {
  command.add_option("-o,--output", output, "text or json")->check(CLI::IsMember({"text", "json"}));
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
