// The `plimsoll` program.

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "cli/command_table.hpp"
#include "cli/crash_report.hpp"
#include "cli/kubectl_main.hpp"
#include "cli/usage.hpp"
#include "framework/base/shown.hpp"

namespace {

using namespace plimsoll::cli;

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

int main_with_exceptions(const Words& words, int argc, char** argv) {
  CLI::App app{"Plimsoll: a topology-aware secondary Kubernetes scheduler.", "plimsoll"};
  app.set_version_flag("--version", PLIMSOLL_VERSION);
  app.set_help_all_flag("--help-all", "Print help for all commands and exit");
  app.require_subcommand(0, 1);
  app.option_defaults()->always_capture_default();
  app.option_defaults()->take_last();  // of a flag that is given twice, as in kube-scheduler
  std::map<const CLI::App*, RunCommand> runs;
  for (const Command& command : commands()) {
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
  // The lint follows its plugins from another process, and says itself what became of them.
  if (asked->get_name() != "lint") report_crashes();
  return runs.at(asked)(words);
}

}  // namespace

int main(int argc, char** argv) {
  // A peer or an output reader that disconnects is a write error; it must not end the process.
  std::signal(SIGPIPE, SIG_IGN);
  const plimsoll::ShownOutput output(std::cout);
  const plimsoll::ShownOutput errors(std::cerr);
  try {
    const std::string name = std::filesystem::path(argc > 0 ? argv[0] : "").filename().string();
    if (name == kKubectlName) return kubectl_main(argc, argv);
    return main_with_exceptions({argv + (argc > 0 ? 1 : 0), argv + argc}, argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "plimsoll: " << error.what() << "\n";
    return 1;
  }
}
