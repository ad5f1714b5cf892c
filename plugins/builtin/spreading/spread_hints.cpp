#include "plugins/builtin/spreading/spread_hints.hpp"

#include <algorithm>

#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"
#include "plugins/builtin/events.hpp"

namespace plimsoll::builtin {

using namespace sdk;

namespace {

bool same_taints(const plimsoll_list& a, const plimsoll_list& b) {
  return same_list<plimsoll_taint>(a, b, [](const plimsoll_taint& x, const plimsoll_taint& y) {
    return equal(x.key, y.key) && equal(x.value, y.value) && x.effect == y.effect;
  });
}

bool same_tolerations(const plimsoll_list& a, const plimsoll_list& b) {
  return same_list<plimsoll_toleration>(a, b, [](const auto& x, const auto& y) {
    return equal(x.key, y.key) && equal(x.value, y.value) && x.op == y.op && x.effect == y.effect;
  });
}

bool any_honors_taints(const SpreadConstraints& constraints) {
  const auto& all = constraints.all();
  return std::any_of(all.begin(), all.end(), [](const auto& each) { return each.honors_taints; });
}

bool any_matches(const SpreadConstraints& constraints, const plimsoll_list& labels) {
  const auto& all = constraints.all();
  return std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.match(labels); });
}

// It moves from or to the pods that a constraint counts.
bool changes_sides(const SpreadConstraints& constraints, const plimsoll_pod& before,
                   const plimsoll_pod& after) {
  const auto& all = constraints.all();
  return std::any_of(all.begin(), all.end(), [&](const SpreadConstraint& each) {
    return each.match(before.meta.labels) != each.match(after.meta.labels);
  });
}

bool changes_domain(const SpreadConstraints& constraints, const plimsoll_node& before,
                    const plimsoll_node& after) {
  const auto& all = constraints.all();
  return std::any_of(all.begin(), all.end(), [&](const SpreadConstraint& each) {
    const plimsoll_str* from = find_label(before.meta.labels, str(each.key));
    const plimsoll_str* to = find_label(after.meta.labels, str(each.key));
    return (from == nullptr) != (to == nullptr) || (from != nullptr && !equal(*from, *to));
  });
}

Hint after_pod(Pod pod, const plimsoll_event& event, const SpreadConstraints& constraints) {
  for (const plimsoll_pod* other : {event.old_pod, event.new_pod}) {
    if (other != nullptr && !equal(other->meta.uid, pod->meta.uid) &&
        !equal(other->meta.ns, pod->meta.ns)) {
      return Hint::kSkip;
    }
  }
  if (event.old_pod == nullptr || event.new_pod == nullptr) {
    const plimsoll_pod* other = event.new_pod != nullptr ? event.new_pod : event.old_pod;
    return queue_if(any_matches(constraints, other->meta.labels));
  }
  if (is_about(event, pod) && any_honors_taints(constraints) &&
      !same_tolerations(event.old_pod->tolerations, event.new_pod->tolerations)) {
    return Hint::kQueue;
  }
  return queue_if(changes_sides(constraints, *event.old_pod, *event.new_pod));
}

Hint after_node(const plimsoll_event& event, const SpreadConstraints& constraints) {
  const bool before = event.old_node != nullptr && constraints.keys_on(*event.old_node);
  const bool after = event.new_node != nullptr && constraints.keys_on(*event.new_node);
  if (event.old_node == nullptr || event.new_node == nullptr) return queue_if(before || after);
  if (before != after) return Hint::kQueue;
  return queue_if(after && (!same_taints(event.old_node->taints, event.new_node->taints) ||
                            changes_domain(constraints, *event.old_node, *event.new_node)));
}

}  // namespace

Hint spread_hint(Pod pod, const plimsoll_event& event, const SpreadConstraints& constraints) {
  if (event.old_pod != nullptr || event.new_pod != nullptr) {
    return after_pod(pod, event, constraints);
  }
  if (event.old_node == nullptr && event.new_node == nullptr) return Hint::kQueue;
  return after_node(event, constraints);
}

}  // namespace plimsoll::builtin
