#include "tests/support/environment.hpp"

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace plimsoll::test {

std::uint64_t number_from_environment(const char* variable, std::uint64_t otherwise) {
  const char* given = std::getenv(variable);
  if (given == nullptr) return otherwise;
  const std::string_view text(given);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument(std::string(variable) + "=" + given +
                                ": must be a number from 0 to 18446744073709551615");
  }
  return number;
}

bool in_full_length() {
  return number_from_environment("PLIMSOLL_LONG", 0) != 0;
}

}  // namespace plimsoll::test
