// NodeName: a pod that names a node goes nowhere else.
#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

class NodeName {
 public:
  static constexpr const char* kName = "NodeName";
  // A node's name never changes; its labels are the nearest aspect there is.
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_LABELS;

  explicit NodeName(const Host& host)
      : other_(host.reason("node(s) didn't match the requested node name")) {}

  const auto& events() const { return events_; }
  Hint hint(Pod, const plimsoll_event&) { return Hint::kQueue; }
  Status pre_filter(plimsoll_cycle&, Pod pod, NodeNames& narrow) {
    if (pod->node_name.len != 0) narrow.add(pod.node_name());
    return Status::success();
  }
  Status filter(const plimsoll_cycle&, Pod pod, Nodes nodes, Verdicts verdicts) const {
    if (pod->node_name.len == 0) return Status::success();
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (verdicts.open(i) && !fits(pod, nodes[i].object().meta.name)) {
        verdicts.set(i, Status::unresolvable(other_));
      }
    }
    return Status::success();
  }
  Status sign(Pod pod, Sink& sink) {
    sink.put_field(pod.node_name());
    return Status::success();
  }

 private:
  static bool fits(Pod pod, const plimsoll_str& name) {
    return pod->node_name.len == 0 || equal(pod->node_name, name);
  }

  uint32_t other_;
  std::array<plimsoll_event_interest, 1> events_{on_node(PLIMSOLL_ACTION_ADD)};
};

}  // namespace

StaticModule node_name() {
  return linked_in<NodeName>();
}

}  // namespace plimsoll::builtin
