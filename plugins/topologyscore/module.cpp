#include "plugins/topologyscore/topologyscore.hpp"

PLIMSOLL_PLUGIN(plimsoll::topology::TopologyScore, "TopologyScore", PLIMSOLL_SDK_VERSION,
                "Apache-2.0")
