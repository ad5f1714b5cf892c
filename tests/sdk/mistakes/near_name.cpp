// error: the scheduler calls no function filter_nodes; did you mean filter_node?
#include <plimsoll/plugin.hpp>

using namespace plimsoll::sdk;

struct Misspelt {
  explicit Misspelt(Host) {}
  Status filter_nodes(const plimsoll_cycle&, Pod, Node) const { return {}; }
};
PLIMSOLL_PLUGIN(Misspelt, "Misspelt", "1.0.0", "Apache-2.0")
