// Never refuses anybody, and likes all nodes alike.
#include <plimsoll/plugin.hpp>

namespace {
using namespace plimsoll::sdk;

struct Agrees {
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_LABELS;
  explicit Agrees(Host) {}
  Status filter_node(const plimsoll_cycle&, Pod, Node) const { return {}; }
  int64_t score_node(const plimsoll_cycle&, Pod, Node) const { return 7; }
};
}  // namespace

PLIMSOLL_PLUGIN(Agrees, "Agrees", "1.0.0", "Apache-2.0")
