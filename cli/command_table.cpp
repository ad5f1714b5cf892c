#include "cli/command_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/ask/ask_options.hpp"
#include "cli/export/export_command.hpp"
#include "cli/line/failure.hpp"
#include "cli/line/options.hpp"
#include "cli/line/usage.hpp"
#include "cli/run/commands.hpp"
#include "cli/run/run_options.hpp"

namespace plimsoll::cli {
namespace {

constexpr const char* kLab = "plimsoll-lab";

RunCommand add_export(CLI::App& command) {
  const auto arguments = std::make_shared<ExportArguments>();
  command.add_option("--kubeconfig", arguments->kubeconfig,
                     "Kubeconfig file (default: $KUBECONFIG, ~/.kube/config)");
  command.add_option("--context", arguments->context, "Context in the kubeconfig");
  command.add_option("-o,--output", arguments->output, "File (-: standard output)");
  command.add_flag("--anonymise", arguments->anonymise,
                   "Replace names, label values and keys that are the cluster's own");
  command.add_option("--config", arguments->config,
                     "Profile file: the kinds that its plugins watch are exported, too");
  add_plugin_option(command, arguments->plugin_directories);
  return [arguments](const Words&) {
    log_to_stderr(LogLevel::kWarn, LogFormat::kText);
    return export_cluster(*arguments);
  };
}

RunCommand add_validate(CLI::App& command) {
  const auto arguments = std::make_shared<ValidateArguments>();
  command.add_option("file", arguments->config, "Profile file")->required();
  command.add_flag("--show-effective", arguments->show_effective, "Print the merged result");
  add_plugin_option(command, arguments->plugin_directories);
  return [arguments](const Words&) {
    log_to_stderr(LogLevel::kWarn, LogFormat::kText);
    return validate_profile(*arguments);
  };
}

RunCommand add_explain(CLI::App& command) {
  const auto arguments = std::make_shared<ExplainArguments>();
  const auto socket = std::make_shared<std::string>();
  command.add_option("pod", arguments->pod, "NAMESPACE/NAME")->required();
  add_socket_option(command, *socket);
  add_explain_output(command, *arguments);
  command.add_option("--cluster", "Ask about a cluster in files instead: plimsoll-lab explain");
  return [arguments, socket](const Words&) {
    log_to_stderr(LogLevel::kWarn, LogFormat::kText);
    return explain(*arguments, ask_on_socket(*socket));
  };
}

template <int (*show)(const ShowArguments&, const Ask&)>
RunCommand add_show(CLI::App& command) {
  const auto arguments = std::make_shared<ShowArguments>();
  const auto socket = std::make_shared<std::string>();
  add_socket_option(command, *socket);
  add_show_options(command, *arguments);
  return [arguments, socket](const Words&) { return show(*arguments, ask_on_socket(*socket)); };
}

RunCommand add_ui(CLI::App& command) {
  const auto arguments = std::make_shared<PageArguments>();
  const auto socket = std::make_shared<std::string>();
  add_socket_option(command, *socket);
  add_page_options(command, *arguments);
  command.add_option("files", "A simulation or a cluster in files instead: plimsoll-lab ui");
  return [arguments, socket](const Words&) {
    log_to_stderr(LogLevel::kWarn, LogFormat::kText);
    return show_page(*arguments, [socket]() -> Result<Ask> { return ask_on_socket(*socket); });
  };
}

RunCommand add_debug(CLI::App& command) {
  command.require_subcommand(1);
  return nullptr;
}

RunCommand add_debug_dump(CLI::App& command) {
  const auto socket = std::make_shared<std::string>();
  add_socket_option(command, *socket);
  return [socket](const Words&) { return debug_dump(ask_on_socket(*socket)); };
}

RunCommand add_debug_compare(CLI::App& command) {
  const auto arguments = std::make_shared<DebugArguments>();
  const auto socket = std::make_shared<std::string>();
  add_socket_option(command, *socket);
  add_compare_options(command, *arguments);
  return [arguments, socket](const Words&) {
    return debug_compare(*arguments, ask_on_socket(*socket));
  };
}

RunCommand add_debug_log_level(CLI::App& command) {
  const auto level = std::make_shared<std::string>();
  const auto socket = std::make_shared<std::string>();
  add_socket_option(command, *socket);
  add_level_option(command, *level);
  return [level, socket](const Words&) { return debug_log_level(*level, ask_on_socket(*socket)); };
}

RunCommand add_plugins(CLI::App& command) {
  const auto arguments = std::make_shared<PluginsArguments>();
  add_output_option(command, arguments->output);
  add_plugin_option(command, arguments->plugin_directories);
  return [arguments](const Words&) {
    log_to_stderr(LogLevel::kOff, LogFormat::kText);  // what was refused is in the list
    return list_plugins(*arguments);
  };
}

// Handed over before the line is read (lab_command); here for the help.
RunCommand add_elsewhere(CLI::App&) {
  return [](const Words&) { return kUsageError; };
}

// Of `ui`: whether a word is neither an option nor an option's value.
bool names_a_file(const Words& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--socket" || words[i] == "--local-port")
      ++i;
    else if (!words[i].starts_with('-'))
      return true;
  }
  return false;
}

}  // namespace

std::optional<LabCommand> lab_command(Words words) {
  if (!words.empty() && words[0] == "help") {
    auto to = lab_command({words.begin() + 1, words.end()});
    if (to) to->line.insert(to->line.begin() + 1, "help");
    return to;
  }
  if (words.size() > 1 && words[0] == "plugins" && words[1] == "lint") {
    words[0] = "plimsoll plugins";
    return LabCommand{std::move(words)};
  }
  if (words.size() > 1 && words[0] == "ui" && names_a_file(words)) {
    words.insert(words.begin(), "plimsoll");
    return LabCommand{std::move(words)};
  }
  const auto about_files = [](const std::string& word) {
    return std::ranges::any_of(std::array{"--cluster", "--config", "--pods"},
                               [&](const char* flag) { return word.starts_with(flag); });
  };
  const bool here =
      words.empty() || (words[0] != "simulate" &&
                        (words[0] != "explain" || !std::ranges::any_of(words, about_files)));
  if (here) return std::nullopt;
  words.insert(words.begin(), "plimsoll");
  return LabCommand{std::move(words)};
}

std::vector<Command> commands() {
  return {
      {"run",
       "Schedule the pods of a cluster",
       {"plimsoll run --config examples/profiles/topology.yaml",
        "plimsoll run --config profile.yaml --kubeconfig ~/.kube/config --log-format json"},
       &add_run},
      {"simulate",
       "Schedule pods on a copy of a cluster: plimsoll-lab simulate",
       {"plimsoll simulate --help"},
       &add_elsewhere},
      {"export",
       "Write what simulate and explain need of a cluster: it only reads there",
       {"plimsoll export -o cluster.json", "plimsoll export --anonymise -o cluster.json"},
       &add_export},
      {"validate",
       "Check a profile file",
       {"plimsoll validate profile.yaml", "plimsoll validate profile.yaml --show-effective"},
       &add_validate},
      {"explain",
       "Say why a pod waits, or why it is where it is; asks a running scheduler, or plimsoll-lab, "
       "which reads a cluster from files",
       {"plimsoll explain default/my-pod",
        "plimsoll explain default/my-pod --config profile.yaml --cluster cluster.json"},
       &add_explain},
      {"top",
       "Show what nodes, zones and devices have and how much of it pods use, as a running "
       "scheduler counts",
       {"plimsoll top", "plimsoll top --limit all -o json"},
       &add_show<&show_use>},
      {"queue",
       "Show the pods that wait in a running scheduler, and why",
       {"plimsoll queue", "plimsoll queue --socket /run/plimsoll/control.sock"},
       &add_show<&show_queue>},
      {"ui",
       "Show nodes, zones, devices and the queue of a running scheduler, or what is in files, as a "
       "page in a browser",
       {"plimsoll ui", "plimsoll ui --open --socket /run/plimsoll/control.sock",
        "plimsoll ui run.html", "plimsoll ui cluster.json --config profile.yaml"},
       &add_ui},
      {"debug",
       "Look into a running scheduler",
       {"plimsoll debug dump", "plimsoll debug compare --settle 5"},
       &add_debug},
      {"debug dump",
       "Print nodes, pods and the queue as the scheduler knows them, as JSON",
       {"plimsoll debug dump > state.json",
        "plimsoll debug dump --socket /run/plimsoll/scheduler.sock"},
       &add_debug_dump},
      {"debug compare",
       "Compare what the scheduler knows with the API server; exit status 0: equal, 1: "
       "differences, 2: failed",
       {"plimsoll debug compare --settle 5", "plimsoll debug compare -o json"},
       &add_debug_compare},
      {"debug log-level",
       "Print the log level of a running scheduler, or set it",
       {"plimsoll debug log-level", "plimsoll debug log-level debug"},
       &add_debug_log_level},
      {"plugins",
       "List plugins: what is loaded from where, and what was refused",
       {"plimsoll plugins", "plimsoll plugins --plugin-dir build/my-plugins -o json"},
       &add_plugins},
      {"plugins lint",
       "Find what plugins read and do not declare: plimsoll-lab lint",
       {"plimsoll plugins lint --help"},
       &add_elsewhere},
  };
}

int hand_over(const LabCommand& to) {
  std::vector<char*> line;
  for (const std::string& word : to.line) line.push_back(const_cast<char*>(word.c_str()));
  line.push_back(nullptr);
  std::error_code unknown;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (!unknown) ::execv((self.parent_path() / kLab).c_str(), line.data());
  ::execvp(kLab, line.data());
  return failure(to.line[1], "the program " + std::string(kLab) +
                                 " does this, and cannot be started: " + std::strerror(errno) +
                                 "; it is in the Debian package of this name");
}

}  // namespace plimsoll::cli
