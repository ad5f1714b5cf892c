#pragma once
// `plimsoll run` on the command line.

#include "cli/line/program.hpp"

namespace plimsoll::cli {

[[nodiscard]] RunCommand add_run(CLI::App& command);

}  // namespace plimsoll::cli
