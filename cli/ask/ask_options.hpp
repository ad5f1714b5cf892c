#pragma once
// Options of the commands that ask a scheduler, wherever it is.

#include <CLI/CLI.hpp>
#include <string>

#include "cli/ask/commands.hpp"

namespace plimsoll::cli {

void add_socket_option(CLI::App& command, std::string& socket);
void add_explain_output(CLI::App& command, ExplainArguments& arguments);
void add_show_options(CLI::App& command, ShowArguments& arguments);
void add_page_options(CLI::App& command, PageArguments& arguments);
void add_compare_options(CLI::App& command, DebugArguments& arguments);
void add_level_option(CLI::App& command, std::string& level);

}  // namespace plimsoll::cli
