#include <iostream>

#include "cli/line/failure.hpp"
#include "cli/run/commands.hpp"
#include "cli/run/wiring.hpp"

namespace plimsoll::cli {

int validate_profile(const ValidateArguments& arguments) {
  const auto modules = load_modules(arguments.plugin_directories);
  if (!modules) {
    std::cerr << "plimsoll validate: " << modules.error().message << "\n";
    return 1;
  }
  const config::Validation validation = validate(arguments.config, *modules);
  if (validation.ok() && arguments.show_effective) {
    std::cout << validation.effective_yaml();
    std::cerr << validation.report();
  } else {
    (validation.ok() ? std::cout : std::cerr) << validation.report();
  }
  return validation.ok() ? 0 : 1;
}

}  // namespace plimsoll::cli
