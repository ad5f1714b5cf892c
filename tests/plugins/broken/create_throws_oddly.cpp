// Throws what is no exception.
#include <plimsoll/plugin.hpp>

namespace {
struct CreateThrowsOddly {
  explicit CreateThrowsOddly(plimsoll::sdk::Host) { throw 42; }
};
}  // namespace

PLIMSOLL_PLUGIN(CreateThrowsOddly, "CreateThrowsOddly", "1.0.0", "Apache-2.0")
