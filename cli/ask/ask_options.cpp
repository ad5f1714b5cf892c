#include "cli/ask/ask_options.hpp"

#include "cli/line/options.hpp"

namespace plimsoll::cli {

void add_socket_option(CLI::App& command, std::string& socket) {
  command.add_option("--socket", socket, "Local socket of the scheduler, as given to run");
}

void add_explain_output(CLI::App& command, ExplainArguments& arguments) {
  command.add_option("--nodes", arguments.nodes,
                     "How many nodes to show, or all (default: 10; with -o json all)");
  add_output_option(command, arguments.output);
}

void add_show_options(CLI::App& command, ShowArguments& arguments) {
  command
      .add_option("--limit", arguments.limit,
                  "How many nodes or pods to show, or all (default: 50; -o json: all)")
      ->check(CLI::PositiveNumber | CLI::IsMember({"all"}));
  add_output_option(command, arguments.output);
}

void add_page_options(CLI::App& command, PageArguments& arguments) {
  command.add_flag("--open", arguments.open, "Open the page in the browser of this desktop");
  command.add_option("--local-port", arguments.port, "Port of the page on 127.0.0.1 (0: any)");
}

void add_compare_options(CLI::App& command, DebugArguments& arguments) {
  command
      .add_option("--settle", arguments.settle_s,
                  "How many seconds a difference must last to be called one")
      ->check(CLI::Range(0.0, 600.0));
  add_output_option(command, arguments.output);
}

void add_level_option(CLI::App& command, std::string& level) {
  command.add_option("level", level, "debug, info, warn or error; without it the level is printed")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
}

}  // namespace plimsoll::cli
