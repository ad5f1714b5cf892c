// error: reserve needs its inverse, unreserve
#include <plimsoll/plugin.hpp>

struct Keeps {
  explicit Keeps(plimsoll::sdk::Host) {}
  plimsoll::sdk::Status reserve(plimsoll_cycle&, plimsoll::sdk::Pod, plimsoll::sdk::Node) {
    return {};
  }
};
PLIMSOLL_PLUGIN(Keeps, "Keeps", "1.0.0", "Apache-2.0")
