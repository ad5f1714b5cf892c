#include "plugins/builtin/spreading/spread_args.hpp"

#include <plimsoll/args.hpp>

#include <algorithm>
#include <set>
#include <utility>

#include "framework/base/quote.hpp"
#include "plugins/builtin/columns/label_rules.hpp"
#include "plugins/builtin/default_args.hpp"
#include "plugins/builtin/spreading/constraints.hpp"

namespace plimsoll::builtin {
namespace {

using sdk::Args;
// (topologyKey, whenUnsatisfiable) of the constraints before.
using Seen = std::set<std::pair<std::string, bool>>;

std::vector<DefaultConstraint> system_defaults() {
  DefaultConstraint hostname;
  hostname.topology_key = kHostnameLabel;
  hostname.max_skew = 3;
  DefaultConstraint zone;
  zone.topology_key = "topology.kubernetes.io/zone";
  zone.max_skew = 5;
  return {hostname, zone};
}

// As kube-scheduler: whatever is not Honor is Ignore.
void read_policy(Args& constraint, std::string_view field, bool& honors) {
  std::string policy;
  if (!constraint.read(field, policy)) return;
  honors = policy == "Honor";
  if (honors || policy == "Ignore") return;
  constraint.warn(field, go_quoted(policy) + " is neither Honor nor Ignore: it counts as Ignore");
}

void read_constraint(Args& constraint, Seen& seen, DefaultConstraint& out) {
  for (const char* field : {"maxSkew", "topologyKey", "whenUnsatisfiable"}) {
    constraint.require(field);
  }
  constraint.read("maxSkew", out.max_skew, 1);
  const bool has_key = constraint.read("topologyKey", out.topology_key);
  if (has_key) require_label_key(constraint, constraint.path("topologyKey"), out.topology_key);
  const bool has_action = constraint.choice("whenUnsatisfiable", out.do_not_schedule,
                                            {{"DoNotSchedule", true}, {"ScheduleAnyway", false}});
  constraint.read("minDomains", out.min_domains);
  read_policy(constraint, "nodeAffinityPolicy", out.honors_affinity);
  read_policy(constraint, "nodeTaintsPolicy", out.honors_taints);
  std::vector<std::string> label_keys;
  if (constraint.read("matchLabelKeys", label_keys) && !label_keys.empty()) {
    constraint.warn("matchLabelKeys", "has no effect in a default constraint");
  }
  if (constraint.has("labelSelector")) {
    constraint.problem("labelSelector",
                       "must not be given: what selects a pod is found for each pod");
  }
  if (!has_key || !has_action || seen.emplace(out.topology_key, out.do_not_schedule).second) return;
  constraint.problem("", "has topologyKey and whenUnsatisfiable of a constraint before");
}

}  // namespace

SpreadArgs SpreadArgs::read(const sdk::Host& host, std::string_view json) {
  SpreadArgs out;
  read_over(kDefaults, host, json, {"PodTopologySpreadArgs"}, [&out](Args& args) {
    const bool typed =
        !args.has("defaultingType") ||
        args.choice("defaultingType", out.system, {{"System", true}, {"List", false}, {"", true}});
    Seen seen;
    args.each_object("defaultConstraints", [&](Args& constraint) {
      read_constraint(constraint, seen, out.defaults.emplace_back());
    });
    if (typed && out.system && !out.defaults.empty()) {
      args.problem("defaultConstraints", "are for the defaultingType List");
    }
  });
  if (out.system) out.defaults = system_defaults();
  return out;
}

bool SpreadArgs::has_default(bool do_not_schedule) const {
  return std::any_of(defaults.begin(), defaults.end(), [&](const DefaultConstraint& each) {
    return each.do_not_schedule == do_not_schedule;
  });
}

}  // namespace plimsoll::builtin
