// error: must be: Status filter_node(const plimsoll_cycle&, Pod, Node) const
#include <plimsoll/plugin.hpp>

struct NotConst {
  explicit NotConst(plimsoll::sdk::Host) {}
  plimsoll::sdk::Status filter_node(const plimsoll_cycle&, plimsoll::sdk::Pod,
                                    plimsoll::sdk::Node) {
    return {};
  }
};
PLIMSOLL_PLUGIN(NotConst, "NotConst", "1.0.0", "Apache-2.0")
