// Refuses its arguments.
#include <plimsoll/plugin.hpp>

namespace {
struct CreateThrows {
  CreateThrows(plimsoll::sdk::Host, std::string_view args) {
    throw std::runtime_error("args.seats: must be a number, is " + std::string(args));
  }
};
}  // namespace

PLIMSOLL_PLUGIN(CreateThrows, "CreateThrows", "1.0.0", "Apache-2.0")
