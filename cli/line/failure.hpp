#pragma once
// How a command says that it failed.

#include <string>
#include <string_view>

namespace plimsoll::cli {

// What the user called the program: "plimsoll", or "plimsoll-lab". main() sets it.
[[nodiscard]] std::string& program_name();

// Prints on standard error why a command failed, and returns its exit status, 1.
int failure(std::string_view command, std::string_view message);

}  // namespace plimsoll::cli
