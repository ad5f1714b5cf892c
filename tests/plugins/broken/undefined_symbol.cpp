// Calls a function that nobody has.
#include <plimsoll/plugin.hpp>

int plimsoll_function_of_nobody();

namespace {
struct UndefinedSymbol {
  explicit UndefinedSymbol(plimsoll::sdk::Host) : answer(plimsoll_function_of_nobody()) {}
  int answer;
};
}  // namespace

PLIMSOLL_PLUGIN(UndefinedSymbol, "UndefinedSymbol", "1.0.0", "Apache-2.0")
