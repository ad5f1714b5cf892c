#pragma once
// A program as a table of commands, and how each is read from the command line.

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace plimsoll::cli {

using Words = std::vector<std::string>;
// Does what the line asks for, once it is parsed; returns the exit status. `words`: the line behind
// the program's name.
using RunCommand = std::function<int(const Words& words)>;

struct Command {
  const char* name;                        // as it is typed: "debug dump"
  const char* description;                 // one sentence
  std::vector<const char*> examples = {};  // lines that work as they are
  RunCommand (*add)(CLI::App& command);    // adds its options; nothing: only those below it run
};

// The program's main(): `commands` in the order of the help, each before those below it;
// completion, help and version come with them. `name`: as users call it. `has_own_crash_reports`:
// this command tells of crashes itself. Returns the exit status.
[[nodiscard]] int run_program(const std::string& description, const std::string& name,
                              std::vector<Command> commands, const char* has_own_crash_reports,
                              int argc, char** argv);

// The common frame of main(): signals that are no reason to end, what may be shown, exceptions.
[[nodiscard]] int guarded_main(int (*run)(int argc, char** argv), int argc, char** argv);

}  // namespace plimsoll::cli
