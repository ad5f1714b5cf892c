#pragma once
// `plimsoll-lab explain` on the command line.

#include "cli/line/program.hpp"

namespace plimsoll::cli {

[[nodiscard]] RunCommand add_explain_files(CLI::App& command);

}  // namespace plimsoll::cli
