// Says that it rests on taints, and reads a label of the node and an annotation of the pod.
#include <plimsoll/plugin.hpp>

namespace {
using namespace plimsoll::sdk;

class Undeclared {
 public:
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_TAINTS;

  explicit Undeclared(Host host) : none_(host.reason("node(s) had no seats")) {}
  Status sign(Pod, Sink&) { return {}; }
  Status filter_node(const plimsoll_cycle&, Pod pod, Node node) const {
    if (!pod.annotation("example.com/wants-seat") || node.label("example.com/seats")) return {};
    return Status::unschedulable(none_);
  }

 private:
  uint32_t none_;
};
}  // namespace

PLIMSOLL_PLUGIN(Undeclared, "Undeclared", "1.0.0", "Apache-2.0")
