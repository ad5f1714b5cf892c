#include "cli/line/usage.hpp"

#include <iostream>
#include <plimsoll/nearest.hpp>

namespace plimsoll::cli {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// "plimsoll plugins lint".
std::string path_of(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return (parent == nullptr ? "" : path_of(*parent) + " ") + app.get_name();
}

// The command that the line names, as far as it was understood.
const CLI::App& command_of(const CLI::App& app) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  return given.empty() ? app : command_of(*given.front());
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string best = sdk::nearest(word, known);
  return best.empty() ? std::string() : ", did you mean \"" + best + "\"?";
}

std::string unknown(const std::string& word, const CLI::App& command) {
  if (word.starts_with("-")) {
    const std::string flag = word.substr(0, word.find('='));
    return "unknown flag \"" + flag + "\"" + did_you_mean(flag, flag_names(command));
  }
  const bool has_commands = !command.get_subcommands({}).empty();
  return (has_commands ? "unknown command \"" : "unexpected argument \"") + word + "\"" +
         did_you_mean(word, command_names(command));
}

int complain(const std::string& what, const CLI::App& command) {
  const std::string path = path_of(command);
  std::cerr << path << ": " << what << "\n" << path << " --help says what there is\n";
  return kUsageError;
}

}  // namespace

int end_parsing(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  const CLI::App& command = command_of(app);
  // What is unknown is why something else is missing.
  const std::vector<std::string> left = command.remaining();
  const std::vector<std::string> all = left.empty() ? app.remaining(true) : left;
  return complain(all.empty() ? error.what() : unknown(all.front(), command), command);
}

int print_help(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> commands = command->get_subcommands({});
    const auto named = std::find_if(commands.begin(), commands.end(),
                                    [&](const CLI::App* each) { return each->get_name() == word; });
    if (named == commands.end()) return complain(unknown(word, *command), *command);
    command = *named;
  }
  // Not by help(): that is about the command which was typed, and this was "help".
  std::cout << command->get_formatter()->make_help(command, path_of(*command),
                                                   CLI::AppFormatMode::Normal);
  return 0;
}

}  // namespace plimsoll::cli
