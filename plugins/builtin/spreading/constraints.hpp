#pragma once
// The spread constraints of a pod: its own, or the profile's defaults with what services and the
// pod's controller select.

#include <plimsoll/plugin.hpp>

#include <deque>
#include <string_view>
#include <vector>

#include "plugins/builtin/census/census.hpp"
#include "plugins/builtin/census/controllers.hpp"
#include "plugins/builtin/census/counted_nodes.hpp"
#include "plugins/builtin/census/selection.hpp"
#include "plugins/builtin/spreading/spread_args.hpp"

namespace plimsoll::builtin {

inline constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";

struct SpreadConstraint {
  std::string_view key;
  int32_t max_skew = 0;
  int32_t min_domains = 1;
  bool honors_affinity = true;
  bool honors_taints = false;
  std::vector<const plimsoll_label_selector*> selectors;  // ANDed

  // Whether the selectors match a pod with these labels.
  [[nodiscard]] bool match(const plimsoll_list& labels) const;
  // The pods that count: not terminating, in the pod's namespace. An empty selector counts none.
  [[nodiscard]] SelectionSpec selection(const plimsoll_pod& pod) const;
};

// In the words of the pod; while that, the arguments and the controllers are there and unchanged.
class SpreadConstraints {
 public:
  // Those that forbid (DoNotSchedule), or those that prefer (ScheduleAnyway).
  SpreadConstraints(const plimsoll_pod& pod, bool do_not_schedule, const SpreadArgs& args,
                    const Controllers& controllers);
  SpreadConstraints(const SpreadConstraints&) = delete;
  SpreadConstraints& operator=(const SpreadConstraints&) = delete;

  [[nodiscard]] const std::vector<SpreadConstraint>& all() const { return all_; }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  // A selector has an operator that Kubernetes does not know.
  [[nodiscard]] bool broken() const { return broken_; }
  // Whether the node has all topology keys.
  [[nodiscard]] bool keys_on(const plimsoll_node& node) const;
  // Which nodes count for each constraint; `all_keys`: only those that have every key.
  [[nodiscard]] std::vector<NodeRule> rules(const plimsoll_pod& pod, bool all_keys,
                                            Census& census) const;

 private:
  void add_own(const plimsoll_pod& pod, const plimsoll_spread_constraint& own);
  void add_defaults(const plimsoll_pod& pod, bool do_not_schedule, const SpreadArgs& args,
                    const Controllers& controllers);
  const plimsoll_label_selector* match_labels(const plimsoll_pod& pod, const plimsoll_list& keys);

  struct MatchLabels {
    std::vector<plimsoll_label> labels;
    plimsoll_label_selector selector;
  };
  std::vector<SpreadConstraint> all_;
  std::deque<MatchLabels> match_labels_;
  bool broken_ = false;
};

// Whether the pod has such constraints, which costs less than to read them.
[[nodiscard]] bool has_constraints(const plimsoll_pod& pod, bool do_not_schedule,
                                   const SpreadArgs& args, const Controllers& controllers);

}  // namespace plimsoll::builtin
