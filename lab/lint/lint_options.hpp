#pragma once
// `plimsoll-lab lint` on the command line.

#include "cli/line/program.hpp"

namespace plimsoll::cli {

[[nodiscard]] RunCommand add_lint(CLI::App& command);

}  // namespace plimsoll::cli
