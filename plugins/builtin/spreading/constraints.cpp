#include "plugins/builtin/spreading/constraints.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "framework/api/selectors.hpp"

namespace plimsoll::builtin {

using namespace sdk;

namespace {

using Own = List<plimsoll_spread_constraint>;

constexpr plimsoll_label_selector kSelectsNobody{sizeof(plimsoll_label_selector), 0, {}, {}};

}  // namespace

bool SpreadConstraint::match(const plimsoll_list& labels) const {
  return std::all_of(selectors.begin(), selectors.end(),
                     [&](const auto* selector) { return matches(*selector, labels); });
}

SelectionSpec SpreadConstraint::selection(const plimsoll_pod& pod) const {
  SelectionSpec spec;
  spec.skips_terminating = true;
  ClauseSpec& clause = spec.clauses.emplace_back();
  clause.namespaces.names = {&pod.meta.ns, 1, sizeof pod.meta.ns};
  clause.selectors = selectors;
  if (std::all_of(selectors.begin(), selectors.end(),
                  [](const auto* selector) { return is_empty(*selector); })) {
    clause.selectors = {&kSelectsNobody};
  }
  return spec;
}

SpreadConstraints::SpreadConstraints(const plimsoll_pod& pod, bool do_not_schedule,
                                     const SpreadArgs& args, const Controllers& controllers) {
  if (pod.spread_constraints.count == 0) add_defaults(pod, do_not_schedule, args, controllers);
  for (const plimsoll_spread_constraint& own : Own(pod.spread_constraints)) {
    if ((own.do_not_schedule != 0) == do_not_schedule) add_own(pod, own);
  }
}

void SpreadConstraints::add_own(const plimsoll_pod& pod, const plimsoll_spread_constraint& own) {
  SpreadConstraint constraint;
  constraint.key = view(own.topology_key);
  constraint.max_skew = own.max_skew;
  constraint.min_domains = own.min_domains != 0 ? own.min_domains : 1;
  constraint.honors_affinity = own.node_affinity_ignore == 0;
  constraint.honors_taints = own.node_taints_honor != 0;
  const plimsoll_label_selector* labels = match_labels(pod, own.match_label_keys);
  // mergeLabelSetWithSelector: a null selector selects nothing, whatever is added to it.
  constraint.selectors.push_back(&own.selector);
  if (labels != nullptr) constraint.selectors.push_back(labels);
  broken_ = broken_ || is_broken(own.selector);
  all_.push_back(std::move(constraint));
}

// The pod's own labels under these keys; null: it has none of them.
const plimsoll_label_selector* SpreadConstraints::match_labels(const plimsoll_pod& pod,
                                                               const plimsoll_list& keys) {
  std::vector<plimsoll_label> labels;
  for (const plimsoll_str& key : Strings(keys)) {
    const plimsoll_str* value = find_label(pod.meta.labels, key);
    if (value != nullptr) labels.push_back({key, *value});
  }
  if (labels.empty()) return nullptr;
  std::sort(labels.begin(), labels.end(),
            [](const auto& a, const auto& b) { return view(a.key) < view(b.key); });
  MatchLabels& kept = match_labels_.emplace_back();
  kept.labels = std::move(labels);
  kept.selector = {
      sizeof(plimsoll_label_selector),
      1,
      {kept.labels.data(), static_cast<uint32_t>(kept.labels.size()), sizeof(plimsoll_label)},
      {}};
  return &kept.selector;
}

void SpreadConstraints::add_defaults(const plimsoll_pod& pod, bool do_not_schedule,
                                     const SpreadArgs& args, const Controllers& controllers) {
  if (!args.has_default(do_not_schedule)) return;
  const auto selectors = controllers.selectors_of(Pod(&pod));
  if (selectors.empty()) return;
  for (const DefaultConstraint& each : args.defaults) {
    if (each.do_not_schedule != do_not_schedule) continue;
    all_.push_back({each.topology_key, each.max_skew, each.min_domains, each.honors_affinity,
                    each.honors_taints, selectors});
  }
}

bool SpreadConstraints::keys_on(const plimsoll_node& node) const {
  return std::all_of(all_.begin(), all_.end(), [&](const SpreadConstraint& constraint) {
    return find_label(node.meta.labels, str(constraint.key)) != nullptr;
  });
}

std::vector<NodeRule> SpreadConstraints::rules(const plimsoll_pod& pod, bool all_keys,
                                               Census& census) const {
  std::map<std::pair<bool, bool>, PodRuleRef> of_pod;
  std::vector<NodeRule> rules;
  for (const SpreadConstraint& constraint : all_) {
    NodeRule& rule = rules.emplace_back();
    for (const SpreadConstraint& each : all_) {
      const bool known = std::find(rule.keys.begin(), rule.keys.end(), each.key) != rule.keys.end();
      if (all_keys && each.key != constraint.key && !known) rule.keys.push_back(each.key);
    }
    const auto [part, is_new] =
        of_pod.try_emplace({constraint.honors_affinity, constraint.honors_taints});
    if (is_new) {
      part->second = census.pod_rule(pod, constraint.honors_affinity, constraint.honors_taints);
    }
    rule.pod = part->second;
  }
  return rules;
}

bool has_constraints(const plimsoll_pod& pod, bool do_not_schedule, const SpreadArgs& args,
                     const Controllers& controllers) {
  if (pod.spread_constraints.count == 0) {
    return args.has_default(do_not_schedule) && !controllers.selectors_of(Pod(&pod)).empty();
  }
  const Own own(pod.spread_constraints);
  return std::any_of(own.begin(), own.end(), [&](const auto& constraint) {
    return (constraint.do_not_schedule != 0) == do_not_schedule;
  });
}

}  // namespace plimsoll::builtin
