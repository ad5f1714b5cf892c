#include "plugins/topologyscore/topologyscore.hpp"

PLIMSOLL_PLUGIN(plimsoll::topology::TopologyScore, "TopologyScore", "0.1.0", "Apache-2.0")
