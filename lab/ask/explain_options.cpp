#include "lab/ask/explain_options.hpp"

#include <memory>

#include "cli/ask/ask_options.hpp"
#include "cli/line/options.hpp"
#include "lab/ask/ask_files.hpp"

namespace plimsoll::cli {

RunCommand add_explain_files(CLI::App& command) {
  const auto files = std::make_shared<AskedFiles>();
  const auto arguments = std::make_shared<ExplainArguments>();
  command.add_option("pod", arguments->pod, "NAMESPACE/NAME")->required();
  command.add_option("--config", files->config, "Profile file")->required();
  command.add_option("--cluster", files->cluster, "Exported objects, YAML or JSON")->required();
  command.add_option("--pods", files->pods, "Further pods, YAML or JSON");
  add_lenient_flag(command, files->lenient);
  add_explain_output(command, *arguments);
  add_plugin_option(command, files->plugin_directories);
  return [files, arguments](const Words&) {
    log_to_stderr(LogLevel::kWarn, LogFormat::kText);
    return explain(*arguments, ask_files(*files));
  };
}

}  // namespace plimsoll::cli
