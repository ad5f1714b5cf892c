// Scores above 100 and does not normalize.
#include <plimsoll/plugin.hpp>

namespace {
using namespace plimsoll::sdk;

struct ScoreOutOfRange {
  explicit ScoreOutOfRange(Host) {}
  int64_t score_node(const plimsoll_cycle&, Pod, Node) const { return 101; }
};
}  // namespace

PLIMSOLL_PLUGIN(ScoreOutOfRange, "ScoreOutOfRange", "1.0.0", "Apache-2.0")
