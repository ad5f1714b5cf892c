// Profile files: a list of problems, or a config that prints and reads back as itself.

#include "config/validate.hpp"
#include "fuzz/target.hpp"
#include "tests/config/same_meaning.hpp"
#include "tests/config/test_registry.hpp"

namespace plimsoll::fuzz {

void profile(std::string_view input) {
  static const config::PluginRegistry kRegistry = config::test_registry();
  const config::Validation validation = config::validate_text(input, "f", kRegistry);
  require(!validation.report().empty(), "there is something to say");
  for (const config::ArgsError& error : config::split_args_errors(input)) {
    (void)config::locate(config::Value::null(), error.path);
  }
  if (!validation.ok()) return;
  require(!validation.profiles.empty(), "there is a profile");
  const std::string yaml = validation.effective_yaml();
  const config::Validation again = config::validate_text(yaml, "g", kRegistry);
  require(again.ok(), "what is printed is valid:\n", again.report(), yaml);
  const std::string difference = config::difference(validation, again);
  require(difference.empty(), "what is printed means the same: ", difference);
  require(again.effective_yaml() == yaml, "what is printed is printed the same again:\n", yaml);
  const config::Validation json =
      config::validate_text(validation.effective_json(), "h", kRegistry);
  require(json.effective_yaml() == yaml, "JSON says the same:\n", json.report());
}

}  // namespace plimsoll::fuzz
