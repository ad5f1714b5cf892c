#include "cli/commands.hpp"

#include <iostream>

namespace plimsoll::cli {

int failure(std::string_view command, std::string_view message) {
  std::cerr << "plimsoll " << command << ": " << message << "\n";
  return 1;
}

}  // namespace plimsoll::cli
