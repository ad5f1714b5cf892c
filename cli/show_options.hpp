#pragma once
// Options that both `plimsoll` and `kubectl plimsoll` have.

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace plimsoll::cli {

inline void add_explain_output(CLI::App& command, ExplainArguments& arguments) {
  command.add_option("--nodes", arguments.nodes,
                     "How many nodes to show, or all (default: 10; with -o json all)");
  command.add_option("-o,--output", arguments.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

inline void add_show_options(CLI::App& command, ShowArguments& arguments) {
  command
      .add_option("--limit", arguments.limit,
                  "How many nodes or pods to show, or all (default: 50; -o json: all)")
      ->check(CLI::PositiveNumber | CLI::IsMember({"all"}));
  command.add_option("-o,--output", arguments.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

}  // namespace plimsoll::cli
