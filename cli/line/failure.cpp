#include "cli/line/failure.hpp"

#include <iostream>
#include <string>

#include "framework/base/log.hpp"

namespace plimsoll::cli {

std::string& program_name() {
  static std::string name = "plimsoll";
  return name;
}

int failure(std::string_view command, std::string_view message) {
  if (log_format() == LogFormat::kJson) {
    log_error(program_name() + " " + std::string(command) + " fails", {{"error", message}});
  } else {
    std::cerr << program_name() << " " << command << ": " << message << "\n";
  }
  return 1;
}

}  // namespace plimsoll::cli
