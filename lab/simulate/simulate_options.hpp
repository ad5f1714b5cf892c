#pragma once
// `plimsoll-lab simulate` on the command line.

#include "cli/line/program.hpp"

namespace plimsoll::cli {

[[nodiscard]] Command simulate_command();

}  // namespace plimsoll::cli
