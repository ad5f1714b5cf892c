// NodeUnschedulable: keeps pods off cordoned nodes, unless they tolerate that taint.
#include "framework/api/selectors.hpp"
#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"
#include "plugins/builtin/signing.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

class NodeUnschedulable {
 public:
  static constexpr const char* kName = "NodeUnschedulable";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_TAINTS;

  explicit NodeUnschedulable(const Host& host)
      : unschedulable_(host.reason("node(s) were unschedulable")),
        taint_{host.intern("node.kubernetes.io/unschedulable"), host.intern(""),
               PLIMSOLL_EFFECT_NO_SCHEDULE, 0} {}

  const auto& events() const { return events_; }
  Hint hint(Pod pod, const plimsoll_event& event) {
    if (event.new_pod != nullptr) {
      return queue_if(is_about(event, pod) && tolerated(event.new_pod->tolerations, taint_));
    }
    const bool was = event.old_node != nullptr && event.old_node->unschedulable == 0;
    return queue_if(event.new_node != nullptr && event.new_node->unschedulable == 0 && !was);
  }
  Status filter(const plimsoll_cycle&, Pod pod, Nodes nodes, Verdicts verdicts) const {
    if (tolerated(pod->tolerations, taint_)) return Status::success();
    const plimsoll_columns* columns = nodes.columns();
    if (columns != nullptr && columns->unschedulable_count == 0) return Status::success();
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (verdicts.open(i) && nodes[i].object().unschedulable != 0) {
        verdicts.set(i, Status::unresolvable(unschedulable_));
      }
    }
    return Status::success();
  }
  Status sign(Pod pod, Sink& sink) {
    builtin::sign(sink, pod.tolerations());
    return Status::success();
  }

 private:
  uint32_t unschedulable_;
  plimsoll_taint taint_;
  std::array<plimsoll_event_interest, 2> events_{
      on_node(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_TAINT),
      on_pod(PLIMSOLL_ACTION_UPDATE_POD_TOLERATION)};
};

}  // namespace

StaticModule node_unschedulable() {
  return linked_in<NodeUnschedulable>();
}

}  // namespace plimsoll::builtin
