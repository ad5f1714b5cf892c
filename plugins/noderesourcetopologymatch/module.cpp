#include "plugins/noderesourcetopologymatch/noderesourcetopologymatch.hpp"

PLIMSOLL_PLUGIN(plimsoll::topology::NodeResourceTopologyMatch, "NodeResourceTopologyMatch",
                PLIMSOLL_SDK_VERSION, "Apache-2.0")
