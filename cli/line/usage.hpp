#pragma once
// What the program says about its own command line: help, and what is wrong with a line.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace plimsoll::cli {

// A line that cannot be understood; as getopt(1), bash and kubectl's plugins have it.
inline constexpr int kUsageError = 2;

// Prints why the line was not understood, with the nearest word or flag that exists, and where help
// is. `app` has just thrown the error. Returns the exit status; prints what was asked for and
// returns 0 if the "error" is a request for help or for the version.
[[nodiscard]] int end_parsing(const CLI::App& app, const CLI::ParseError& error);

// `plimsoll help [COMMAND [COMMAND]]`. Returns the exit status.
[[nodiscard]] int print_help(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace plimsoll::cli
