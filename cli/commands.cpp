#include "cli/commands.hpp"

#include <iostream>
#include <string>

#include "framework/base/log.hpp"

namespace plimsoll::cli {

int failure(std::string_view command, std::string_view message) {
  if (log_format() == LogFormat::kJson) {
    log_error("plimsoll " + std::string(command) + " fails", {{"error", message}});
  } else {
    std::cerr << "plimsoll " << command << ": " << message << "\n";
  }
  return 1;
}

}  // namespace plimsoll::cli
