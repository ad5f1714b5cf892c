#include "cli/command_table.hpp"

#include <iostream>
#include <memory>
#include <string>

#include "cli/command_options.hpp"
#include "cli/commands.hpp"
#include "cli/completion.hpp"
#include "cli/lint_command.hpp"
#include "cli/usage.hpp"

namespace plimsoll::cli {
namespace {

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
  command.add_option("--config", arguments->config, "Profile file, with --cluster");
  command.add_option("--cluster", arguments->cluster, "Exported objects, YAML or JSON");
  command.add_option("--pods", arguments->pods, "Further pods, YAML or JSON, with --cluster");
  add_lenient_flag(command, arguments->lenient);
  add_explain_output(command, *arguments);
  add_plugin_option(command, arguments->plugin_directories);
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
    return debug_compare(*arguments, ask_on_socket(*socket, kLongestComparison));
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
  command.add_option("-o,--output", arguments->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  add_plugin_option(command, arguments->plugin_directories);
  return [arguments](const Words&) {
    log_to_stderr(LogLevel::kOff, LogFormat::kText);  // what was refused is in the list
    return list_plugins(*arguments);
  };
}

RunCommand add_plugins_lint(CLI::App& command) {
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
  command.add_option("-o,--output", arguments->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  return [arguments](const Words&) {
    log_to_stderr(LogLevel::kOff, LogFormat::kText);
    return lint_plugins(*arguments);
  };
}

RunCommand add_completion(CLI::App& command) {
  const auto shell = std::make_shared<std::string>();
  command.add_option("shell", *shell, "The shell")
      ->check(CLI::IsMember({"bash", "fish", "zsh"}))
      ->required();
  return [shell, app = command.get_parent()](const Words&) {
    std::cout << completion_script(*app, *shell);
    return 0;
  };
}

RunCommand add_help(CLI::App& command) {
  const auto topic = std::make_shared<Words>();
  command.add_option("command", *topic, "The command, as it is typed");
  return [topic, app = command.get_parent()](const Words&) { return print_help(*app, *topic); };
}

RunCommand add_version(CLI::App& command) {
  return [app = command.get_parent()](const Words&) {
    std::cout << app->get_name() << " " << app->version() << "\n";
    return 0;
  };
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> kAll{
      {"run",
       "Schedule the pods of a cluster",
       {"plimsoll run --config examples/profiles/topology.yaml",
        "plimsoll run --config profile.yaml --kubeconfig ~/.kube/config --log-format json"},
       &add_run},
      {"simulate",
       "Schedule pods on a copy of a cluster, in this process",
       {"plimsoll simulate --config profile.yaml --cluster cluster.json --pods my-pods.yaml",
        "plimsoll simulate --config profile.yaml --cluster cluster.json --pods my-pods.yaml "
        "--report -o json"},
       &add_simulate},
      {"export",
       "Write what simulate and explain need of a cluster: it only reads there",
       {"plimsoll export -o cluster.json", "plimsoll export --anonymise -o cluster.json"},
       &add_export},
      {"validate",
       "Check a profile file",
       {"plimsoll validate profile.yaml", "plimsoll validate profile.yaml --show-effective"},
       &add_validate},
      {"explain",
       "Say why a pod waits, or why it is where it is; asks a running scheduler, or "
       "reads a cluster from files",
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
       "Find what plugins read and do not declare, by random pods, nodes and changes; exit status "
       "0: nothing was found, 1: something was, 2: failed",
       {"plimsoll plugins lint build/my-plugin.so",
        "plimsoll plugins lint build/my-plugin.so --args my-args.yaml --objects cluster.json"},
       &add_plugins_lint},
      {"completion",
       "Print a script that completes commands and options",
       {"source <(plimsoll completion bash)",
        "plimsoll completion fish > ~/.config/fish/completions/plimsoll.fish"},
       &add_completion},
      {"help", "Print what a command does and takes", {}, &add_help},
      {"version", "Print the version", {}, &add_version},
  };
  return kAll;
}

}  // namespace plimsoll::cli
