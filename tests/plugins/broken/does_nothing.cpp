// Its only function is none that the scheduler knows.
#include <plimsoll/plugin.hpp>

namespace {

using namespace plimsoll::sdk;

struct DoesNothing {
  explicit DoesNothing(Host) {}
  Status sift_nodes(const plimsoll_cycle&, Pod, Node) const { return {}; }
};

}  // namespace

PLIMSOLL_PLUGIN(DoesNothing, "DoesNothing", "1.0.0", "Apache-2.0")
