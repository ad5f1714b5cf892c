#pragma once
// What shells offer when a user presses Tab: made from the program's own commands and options, so
// it names all of them.

#include <CLI/CLI.hpp>
#include <string>

namespace plimsoll::cli {

// A script for bash or zsh (`shell`) that completes the commands and options of `app`.
[[nodiscard]] std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace plimsoll::cli
