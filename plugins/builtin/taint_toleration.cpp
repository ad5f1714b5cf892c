// TaintToleration: refuses nodes with a taint that the pod does not tolerate, and prefers those
// with few PreferNoSchedule taints that it does not tolerate.
#include "framework/api/selectors.hpp"
#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"
#include "plugins/builtin/signing.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

bool repels(const plimsoll_taint& taint, const plimsoll_pod& pod) {
  return (taint.effect == PLIMSOLL_EFFECT_NO_SCHEDULE ||
          taint.effect == PLIMSOLL_EFFECT_NO_EXECUTE) &&
         !tolerated(pod.tolerations, taint);
}

bool repels(const plimsoll_node& node, const plimsoll_pod& pod) {
  const List<plimsoll_taint> taints = node.taints;
  return std::any_of(taints.begin(), taints.end(),
                     [&](const auto& each) { return repels(each, pod); });
}

class TaintToleration {
 public:
  static constexpr const char* kName = "TaintToleration";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_TAINTS;
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_TAINTS;
  static constexpr bool normalizes_by_extremes = true;

  TaintToleration(Host host, std::string_view)
      : untolerated_(host.reason("node(s) had untolerated taint(s)")) {}

  const auto& events() const { return events_; }
  Hint hint(Pod pod, const plimsoll_event& event) {
    if (event.new_pod != nullptr) return queue_if(is_about(event, pod));
    const bool was_fine = event.old_node != nullptr && !repels(*event.old_node, *pod);
    return queue_if(event.new_node != nullptr && !repels(*event.new_node, *pod) && !was_fine);
  }
  Status filter(const plimsoll_cycle&, Pod pod, Nodes nodes, Verdicts verdicts) const {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (verdicts.open(i) && repels(nodes[i].object(), *pod)) {
        verdicts.set(i, Status::unresolvable(untolerated_));
      }
    }
    return Status::success();
  }
  Status score(const plimsoll_cycle&, Pod pod, Nodes nodes, std::span<int64_t> scores) const {
    for (size_t i = 0; i < nodes.size(); ++i) {
      scores[i] = 0;
      for (const plimsoll_taint& taint : nodes[i].taints()) {
        if (taint.effect == PLIMSOLL_EFFECT_PREFER_NO_SCHEDULE &&
            !tolerated(pod->tolerations, taint)) {
          ++scores[i];
        }
      }
    }
    return Status::success();
  }
  Status normalize(const plimsoll_cycle&, Pod, Nodes, std::span<int64_t> scores) const {
    normalize_scores(scores, true);
    return Status::success();
  }
  Status sign(Pod pod, Sink& sink) {
    builtin::sign(sink, pod.tolerations());
    return Status::success();
  }

 private:
  uint32_t untolerated_;
  std::array<plimsoll_event_interest, 2> events_{
      on_node(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_TAINT),
      on_pod(PLIMSOLL_ACTION_UPDATE_POD_TOLERATION)};
};

}  // namespace

plimsoll_plugin_create_fn taint_toleration() {
  return create_fn<TaintToleration>;
}

}  // namespace plimsoll::builtin
