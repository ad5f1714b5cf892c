#include "framework/placement/group_run.hpp"

#include <algorithm>
#include <optional>

#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"

namespace plimsoll {
namespace {

// A kind is told of so many changes in the time of a look.
constexpr size_t kTellsPerLook = 8;
// How often the clock is looked at.
constexpr size_t kLooksPerGlance = 64;
constexpr std::string_view kInterPodAffinity = "InterPodAffinity";

bool may_be_about(const plimsoll_pod_affinity_term& term, const plimsoll_pod& whose,
                  const plimsoll_pod& pod) {
  const bool names_none = term.namespaces.count == 0 && term.namespace_selector.present == 0;
  if (names_none && view(whose.meta.ns) != view(pod.meta.ns)) return false;
  return matches(term.selector, pod.meta.labels);
}

PodRef not_owned(const plimsoll_pod& pod) {
  return {PodRef(), &pod};  // it outlives the dry run
}

}  // namespace

void GroupRun::Cost::add(const Unit& unit) {
  violations += unit.breaks_budget ? 1 : 0;
  pods += unit.who.pods.size();
  highest = std::max(highest, unit.who.priority);
  priorities +=
      (int64_t{unit.who.priority} - INT32_MIN) * static_cast<int64_t>(unit.who.pods.size());
}

GroupRun::GroupRun(const ClusterState& cluster, const GroupTrial::FrameworkOf& framework_of,
                   size_t most_kinds, size_t& looks_left, const Slice& slice, int64_t until_ms)
    : cluster_(cluster),
      framework_of_(framework_of),
      most_kinds_(most_kinds),
      looks_left_(looks_left),
      slice_(slice),
      until_ms_(until_ms),
      rows_(cluster.row_slots()),
      spots_(rows_.size()) {}

void GroupRun::leave_room_for_nominated(const Nominator& nominator,
                                        std::span<const plimsoll_pod* const> members) {
  std::unordered_set<std::string_view> uids;
  int32_t lowest = INT32_MAX;
  for (const plimsoll_pod* member : members) {
    uids.insert(view(member->meta.uid));
    lowest = std::min(lowest, member->priority);
  }
  for (const NominatedNode& nominated : nominator.by_node()) {
    const size_t row = row_of(nominated.name);
    if (row == kNoRow) continue;
    for (const PodRef& pod : nominated.pods) {
      if (pod->priority >= lowest && !uids.contains(view(pod->meta.uid))) change(*pod, row, true);
    }
  }
}

size_t GroupRun::row_of(std::string_view name) const {
  const NodeInfo* node = cluster_.node(name);
  if (node == nullptr) return kNoRow;
  const auto at = std::lower_bound(rows_.begin(), rows_.end(), node->slot());
  const bool known = at != rows_.end() && *at == node->slot();
  return known ? static_cast<size_t>(at - rows_.begin()) : kNoRow;
}

// ---- kinds

GroupRun::Kind* GroupRun::kind_of(const plimsoll_pod& member) {
  Framework* framework = framework_of_(member);
  std::string signature =
      std::to_string(member.priority) + "/" + std::to_string(member.preemption_policy) + "/";
  const bool is_signed = framework != nullptr && framework->run_sign(member, signature).none();
  if (is_signed) {
    const auto known = by_signature_.find(signature);
    if (known != by_signature_.end() && known->second->is_shared) {
      if (known->second->is_blind) blind_.insert(&member);
      return known->second;
    }
  }
  if (kinds_.size() == most_kinds_) return nullptr;
  Kind& kind = *kinds_.emplace_back(std::make_unique<Kind>());
  begin(kind, framework, member);
  if (kind.is_blind) blind_.insert(&member);
  if (is_signed) by_signature_[signature] = &kind;
  return &kind;
}

void GroupRun::begin(Kind& kind, Framework* framework, const plimsoll_pod& pod) {
  kind.framework = framework;
  kind.first = &pod;
  if (framework == nullptr) return;
  kind.cycle = framework->new_cycle();
  PreFilterOutcome outcome = framework->run_pre_filter(*kind.cycle, pod);
  kind.is_possible = outcome.status.ok();
  kind.is_narrowed = outcome.narrowed;
  kind.names.insert(outcome.node_names.begin(), outcome.node_names.end());
  // What looks beyond the node goes by terms of the pod that signatures leave out.
  const auto filters = framework->at(ExtensionPoint::kFilter);
  kind.is_shared = std::none_of(filters.begin(), filters.end(), [&](const Framework::Slot& slot) {
    return !kind.cycle->skip_filter.test(slot.plugin) &&
           (framework->filter_aspects(slot.plugin) & PLIMSOLL_ASPECT_CLUSTER) != 0;
  });
  kind.is_deaf = std::any_of(filters.begin(), filters.end(), [&](const Framework::Slot& slot) {
    return kind.cycle->skip_filter.test(slot.plugin) &&
           framework->plugin_name(slot.plugin) == kInterPodAffinity;
  });
  kind.is_blind = std::any_of(filters.begin(), filters.end(), [&](const Framework::Slot& slot) {
    return !kind.cycle->skip_filter.test(slot.plugin) &&
           framework->is_blind_to_what_ifs(slot.plugin);
  });
  for (const Change& change : changes_)
    if (kind.is_possible && !tell(kind, *kind.cycle, change)) kind.is_possible = false;
}

// False: a plugin failed.
bool GroupRun::tell(Kind& kind, CycleContext& cycle, const Change& change) const {
  const plimsoll_node_info& node = *node_at(change.row).abi();
  return (change.added ? kind.framework->run_add_pod(cycle, *kind.first, *change.pod, node)
                       : kind.framework->run_remove_pod(cycle, *kind.first, *change.pod, node))
      .ok();
}

// ---- changes

NodeInfo& GroupRun::copy_at(size_t row) {
  auto& copy = spots_[row].node;
  if (copy == nullptr) copy = std::make_unique<NodeInfo>(*cluster_.node_at(rows_[row]));
  return *copy;
}

void GroupRun::change(const plimsoll_pod& pod, size_t row, bool added) {
  NodeInfo& node = copy_at(row);
  if (added) {
    node.add_pod(not_owned(pod));
  } else {
    node.remove_pod(pod);
  }
  spots_[row].version = ++version_;
  const bool repels =
      pod.pod_anti_affinity != nullptr && pod.pod_anti_affinity->required.count != 0;
  if (repels && cluster_.pod(view(pod.meta.uid)) == nullptr) {
    if (added) repelling_.emplace_back(&pod, row);
    if (!added) std::erase(repelling_, std::pair(&pod, row));
    repelled_ = true;
  }
  if (blind_.contains(&pod)) added ? ++blind_put_ : --blind_put_;
  looks_left_ -= std::min(looks_left_, kinds_.size() / kTellsPerLook);
  const Change& change = changes_.emplace_back(Change{&pod, row, added});
  for (auto& kind : kinds_)
    if (kind->is_possible && !tell(*kind, *kind->cycle, change)) kind->is_possible = false;
}

void GroupRun::roll_back(size_t mark) {
  while (changes_.size() > mark) {
    const Change last = changes_.back();
    change(*last.pod, last.row, !last.added);
    changes_.resize(changes_.size() - 2);
  }
}

// ---- verdicts

bool GroupRun::passes(const Kind& kind, const CycleContext& cycle, const plimsoll_pod& pod,
                      const NodeInfo& node) {
  if (looks_left_ > 0) --looks_left_;
  const bool glances = ++looks_ > GroupTrial::kLooksInAnyCase && looks_ % kLooksPerGlance == 0;
  if (glances && slice_.worked_ms() >= until_ms_) looks_left_ = 0;
  return kind.framework->run_filters_on(cycle, pod, *node.abi()).ok() &&
         !(kind.is_deaf && is_repelled(pod, node));
}

// What InterPodAffinity would say. Selectors of namespaces count as if they fitted.
bool GroupRun::is_repelled(const plimsoll_pod& pod, const NodeInfo& node) {
  looks_left_ -= std::min(looks_left_, repelling_.size() / kTellsPerLook);
  return std::ranges::any_of(repelling_, [&](const auto& other) {
    const auto& terms = other.first->pod_anti_affinity->required;
    return std::ranges::any_of(items<plimsoll_pod_affinity_term>(terms), [&](const auto& term) {
      if (!may_be_about(term, *other.first, pod)) return false;
      const auto domain_of = [&](const NodeInfo& at) {
        const plimsoll_str* value = find_label(at.node()->meta.labels, term.topology_key);
        return value == nullptr ? std::nullopt : std::optional(view(*value));
      };
      const auto domain = domain_of(node);
      return domain && domain == domain_of(node_at(other.second));
    });
  });
}

bool GroupRun::passes(Kind& kind, const plimsoll_pod& pod, size_t row) {
  if (!can_be_judged(kind)) return false;
  const NodeInfo& node = node_at(row);
  if (kind.is_narrowed && !kind.names.contains(node.name())) return false;
  return passes(kind, *kind.cycle, pod, node);
}

// ---- units

void GroupRun::set_units(std::vector<Unit> units) {
  units_ = std::move(units);
  for (size_t i = 0; i < units_.size(); ++i) {
    for (const size_t row : units_[i].rows) {
      if (row == kNoRow) continue;
      std::vector<size_t>& here = spots_[row].units;
      if (here.empty() || here.back() != i) here.push_back(i);
    }
  }
}

void GroupRun::set_gone(size_t which, bool gone, bool moves) {
  if (gone) {
    gone_.insert(which);
  } else {
    gone_.erase(which);
  }
  const Unit& unit = units_[which];
  for (size_t i = 0; i < unit.rows.size() && moves; ++i) {
    if (unit.rows[i] != kNoRow) change(*unit.who.pods[i], unit.rows[i], !gone);
  }
}

bool GroupRun::fits_as_it_is(Kind& kind, const plimsoll_pod& pod, size_t row) {
  kind.trials.resize(rows_.size());
  Trial& known = kind.trials[row];
  const uint64_t version = version_of(kind, row);
  if (std::exchange(known.version, version) != version) {
    known.fits_as_it_is = passes(kind, pod, row);
  }
  return known.fits_as_it_is;
}

const GroupRun::Trial& GroupRun::trial(Kind& kind, const plimsoll_pod& pod, size_t row) {
  kind.trials.resize(rows_.size());
  Trial& known = kind.trials[row];
  if (is_known(kind, row)) return known;
  known.victims_version = version_of(kind, row);
  known.evicts.clear();
  known.cost = {};
  known.fits = false;
  if (can_be_judged(kind)) look_for_victims(kind, pod, row, known);
  return known;
}

// All go; then those stay who can, in their order. Room that a unit leaves on other nodes does not
// count here.
void GroupRun::look_for_victims(Kind& kind, const plimsoll_pod& pod, size_t row, Trial& out) {
  std::vector<size_t> here = spots_[row].units;
  std::erase_if(here, [this](size_t each) { return gone_.contains(each); });
  if (here.empty() || (kind.is_narrowed && !kind.names.contains(node_at(row).name()))) return;
  NodeInfo node(node_at(row));
  const auto cycle = kind.cycle->clone();
  const auto move = [&](const Unit& unit, bool added) {
    for (size_t i = 0; i < unit.rows.size(); ++i) {
      if (unit.rows[i] != row) continue;
      const plimsoll_pod& one = *unit.who.pods[i];
      if (added) {
        node.add_pod(not_owned(one));
      } else {
        node.remove_pod(one);
      }
      const auto& tell = added ? &Framework::run_add_pod : &Framework::run_remove_pod;
      if (!(kind.framework->*tell)(*cycle, *kind.first, one, *node.abi()).ok()) return false;
    }
    return true;
  };
  for (const size_t each : here)
    if (!move(units_[each], false)) return;
  if (!passes(kind, *cycle, pod, node)) return;
  for (const size_t each : here) {
    if (!move(units_[each], true)) return;
    if (passes(kind, *cycle, pod, node)) continue;
    if (!move(units_[each], false)) return;
    out.evicts.push_back(each);
    out.cost.add(units_[each]);
  }
  out.fits = true;
}

}  // namespace plimsoll
