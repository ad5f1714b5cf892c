// error: filter and filter_node are two forms of one function
#include <plimsoll/plugin.hpp>

using namespace plimsoll::sdk;

struct Twice {
  explicit Twice(Host) {}
  Status filter(const plimsoll_cycle&, Pod, Nodes, Verdicts) const { return {}; }
  Status filter_node(const plimsoll_cycle&, Pod, Node) const { return {}; }
};
PLIMSOLL_PLUGIN(Twice, "Twice", "1.0.0", "Apache-2.0")
