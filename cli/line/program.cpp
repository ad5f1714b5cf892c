#include "cli/line/program.hpp"

#include <csignal>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "cli/line/completion.hpp"
#include "cli/line/crash_report.hpp"
#include "cli/line/failure.hpp"
#include "cli/line/usage.hpp"
#include "framework/base/shown.hpp"

namespace plimsoll::cli {
namespace {

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

CLI::App& add_command(CLI::App& app, const Command& command) {
  CLI::App* at = &app;
  std::istringstream words(command.name);
  std::string word;
  for (words >> word; !words.eof(); words >> word) at = at->get_subcommand(word);
  CLI::App& added = *at->add_subcommand(word, command.description);
  if (command.examples.empty()) return added;
  std::string text = "Examples:";
  for (const char* line : command.examples) text += std::string("\n  ") + line;
  added.footer(text);
  return added;
}

// A list that is empty has no default to show.
void hide_empty_defaults(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_default_str() == "[]") option->default_str("");
  }
  for (CLI::App* below : command.get_subcommands({})) hide_empty_defaults(*below);
}

}  // namespace

int run_program(const std::string& description, const std::string& name,
                std::vector<Command> commands, const char* has_own_crash_reports, int argc,
                char** argv) {
  program_name() = name;
  CLI::App app{description, name};
  app.set_version_flag("--version", PLIMSOLL_VERSION);
  app.set_help_all_flag("--help-all", "Print help for all commands and exit");
  app.require_subcommand(0, 1);
  app.option_defaults()->always_capture_default();
  app.option_defaults()->take_last();  // of a flag that is given twice, as in kube-scheduler
  const std::string bash = "source <(" + name + " completion bash)";
  const std::string fish = name + " completion fish > ~/.config/fish/completions/" + name + ".fish";
  commands.push_back({"completion",
                      "Print a script that completes commands and options",
                      {bash.c_str(), fish.c_str()},
                      &add_completion});
  commands.push_back({"help", "Print what a command does and takes", {}, &add_help});
  commands.push_back({"version", "Print the version", {}, &add_version});
  std::map<const CLI::App*, RunCommand> runs;
  for (const Command& command : commands) {
    CLI::App& added = add_command(app, command);
    runs[&added] = command.add(added);
  }
  hide_empty_defaults(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_parsing(app, error);
  }
  const CLI::App* asked = &app;
  while (!asked->get_subcommands().empty()) asked = asked->get_subcommands().front();
  if (asked == &app) return print_help(app, {});
  if (asked->get_name() != has_own_crash_reports) report_crashes();
  return runs.at(asked)({argv + (argc > 0 ? 1 : 0), argv + argc});
}

int guarded_main(int (*run)(int argc, char** argv), int argc, char** argv) {
  // A peer or an output reader that disconnects is a write error; it must not end the process.
  std::signal(SIGPIPE, SIG_IGN);
  const ShownOutput output(std::cout);
  const ShownOutput errors(std::cerr);
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << program_name() << ": " << error.what() << "\n";
    return 1;
  }
}

}  // namespace plimsoll::cli
