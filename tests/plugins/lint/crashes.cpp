// Takes the process with it when a pod has a priority.
#include <csignal>
#include <plimsoll/plugin.hpp>

namespace {
using namespace plimsoll::sdk;

struct Crashes {
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_LABELS;
  explicit Crashes(Host) {}
  Status filter_node(const plimsoll_cycle&, Pod pod, Node) const {
    if (pod->priority > 0) std::raise(SIGKILL);
    return {};
  }
};
}  // namespace

PLIMSOLL_PLUGIN(Crashes, "Crashes", "1.0.0", "Apache-2.0")
