#pragma once
// `plimsoll-lab simulate` on the command line.

#include "cli/line/program.hpp"

namespace plimsoll::cli {

[[nodiscard]] RunCommand add_simulate(CLI::App& command);

}  // namespace plimsoll::cli
