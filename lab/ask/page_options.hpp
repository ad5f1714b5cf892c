#pragma once
// `plimsoll-lab ui` on the command line: the page of what is in files.

#include "cli/line/program.hpp"

namespace plimsoll::cli {

[[nodiscard]] RunCommand add_page_of_files(CLI::App& command);

}  // namespace plimsoll::cli
