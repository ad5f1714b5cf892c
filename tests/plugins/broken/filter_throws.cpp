// Throws while it filters.
#include <plimsoll/plugin.hpp>

namespace {
using namespace plimsoll::sdk;

struct FilterThrows {
  explicit FilterThrows(Host) {}
  Status filter_node(const plimsoll_cycle&, Pod, Node node) const {
    throw std::out_of_range("no seat map of " + std::string(node.name()));
  }
};
}  // namespace

PLIMSOLL_PLUGIN(FilterThrows, "FilterThrows", "1.0.0", "Apache-2.0")
