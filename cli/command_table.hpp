#pragma once
// The commands of `plimsoll`, and how each is read from the command line.

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

// In the order of the help. A command comes before those below it.
[[nodiscard]] const std::vector<Command>& commands();

// What the table takes from files of their own.
[[nodiscard]] RunCommand add_run(CLI::App& command);
[[nodiscard]] RunCommand add_simulate(CLI::App& command);

}  // namespace plimsoll::cli
