#pragma once
// The commands of `plimsoll`.

#include <optional>
#include <vector>

#include "cli/line/program.hpp"

namespace plimsoll::cli {

[[nodiscard]] std::vector<Command> commands();

// A command of plimsoll-lab that users call by the name of this program.
struct LabCommand {
  Words line;  // the program's name as the user knows it, and what comes behind
};
// `words`: the line behind the program's name.
[[nodiscard]] std::optional<LabCommand> lab_command(Words words);
// Runs plimsoll-lab in place of this process: that beside this program, or in $PATH. Returns only
// if it cannot be started, the exit status.
[[nodiscard]] int hand_over(const LabCommand& to);

}  // namespace plimsoll::cli
