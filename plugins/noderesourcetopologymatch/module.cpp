#include "plugins/noderesourcetopologymatch/noderesourcetopologymatch.hpp"

PLIMSOLL_PLUGIN(plimsoll::topology::NodeResourceTopologyMatch, "NodeResourceTopologyMatch", "0.1.0",
                "Apache-2.0")
