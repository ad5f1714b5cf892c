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

bool repels(List<plimsoll_taint> taints, const plimsoll_pod& pod) {
  return std::any_of(taints.begin(), taints.end(),
                     [&](const auto& each) { return repels(each, pod); });
}

// PreferNoSchedule taints that the pod does not tolerate.
int64_t deterring(List<plimsoll_taint> taints, const plimsoll_pod& pod) {
  return std::count_if(taints.begin(), taints.end(), [&](const auto& taint) {
    return taint.effect == PLIMSOLL_EFFECT_PREFER_NO_SCHEDULE && !tolerated(pod.tolerations, taint);
  });
}

// visit(i, answer) for each node whose taints `ask` has another answer to than Answer(); it is
// asked about each set of taints once.
template <typename Answer, typename Ask, typename Visit>
void for_each_set(Nodes nodes, const Ask& ask, const Visit& visit) {
  const plimsoll_columns* columns = nodes.columns();
  if (columns == nullptr || nodes.size() < columns->taint_set_count) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Answer answer = ask(nodes[i].taints());
      if (answer != Answer()) visit(i, answer);
    }
    return;
  }
  thread_local std::vector<Answer> answers;  // by set; kept, so that a call allocates nothing
  bool all_alike = true;
  answers.assign(columns->taint_set_count, Answer());
  for (uint32_t id = 1; id < columns->taint_set_count; ++id) {
    answers[id] = ask(columns->taint_sets[id]);
    all_alike = all_alike && answers[id] == Answer();
  }
  if (all_alike) return;
  const auto slots = nodes.slots();
  for (size_t i = 0; i < slots.size(); ++i) {
    const Answer answer = answers[columns->taint_set[slots[i]]];
    if (answer != Answer()) visit(i, answer);
  }
}

class TaintToleration {
 public:
  static constexpr const char* kName = "TaintToleration";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_TAINTS;
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_TAINTS;
  static constexpr bool normalizes_by_extremes = true;

  explicit TaintToleration(const Host& host)
      : untolerated_(host.reason("node(s) had untolerated taint(s)")) {}

  const auto& events() const { return events_; }
  Hint hint(Pod pod, const plimsoll_event& event) {
    if (event.new_pod != nullptr) return queue_if(is_about(event, pod));
    const bool was_fine = event.old_node != nullptr && !repels(event.old_node->taints, *pod);
    return queue_if(event.new_node != nullptr && !repels(event.new_node->taints, *pod) &&
                    !was_fine);
  }
  Status filter(const plimsoll_cycle&, Pod pod, Nodes nodes, Verdicts verdicts) const {
    for_each_set<char>(
        nodes, [&](List<plimsoll_taint> taints) { return static_cast<char>(repels(taints, *pod)); },
        [&](size_t i, char) {
          if (verdicts.open(i)) verdicts.set(i, Status::unresolvable(untolerated_));
        });
    return Status::success();
  }
  Status score(const plimsoll_cycle&, Pod pod, Nodes nodes, std::span<int64_t> scores) const {
    std::fill(scores.begin(), scores.end(), int64_t{0});
    for_each_set<int64_t>(
        nodes, [&](List<plimsoll_taint> taints) { return deterring(taints, *pod); },
        [&](size_t i, int64_t taints) { scores[i] = taints; });
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

StaticModule taint_toleration() {
  return linked_in<TaintToleration>();
}

}  // namespace plimsoll::builtin
