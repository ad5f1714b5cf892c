#include "framework/placement/group_trial.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

namespace plimsoll {
namespace {

PodRef not_owned(const plimsoll_pod& pod) {
  return {PodRef(), &pod};  // it outlives the dry run
}

// One dry run.
class GroupRun {
 public:
  GroupRun(const GroupDryRun::Query& query, const ClusterState& cluster, const Nominator& nominator,
           const GroupTrial::FrameworkOf& framework_of, size_t& looks_left)
      : query_(query),
        cluster_(cluster),
        framework_of_(framework_of),
        looks_left_(looks_left),
        rows_(cluster.row_slots()) {
    for (const auto& member : query.members) {
      uids_.insert(view(member.pod->meta.uid));
      if (!may_evict(*member.pod)) continue;
      floor_ = evicts_ ? std::min(floor_, member.pod->priority) : member.pod->priority;
      evicts_ = true;
    }
    spots_.resize(rows_.size());
    leave_room_for_nominated(nominator);
  }

  GroupDryRun::Answer run() {
    GroupDryRun::Answer answer;
    if (!query_.node.empty()) {
      const auto own = std::ranges::find(query_.members, query_.pod, &GroupDryRun::Member::pod);
      if (own == query_.members.end() || !add(*own, answer) || !answer.has_pod) return answer;
    }
    for (const auto& member : query_.members) {
      const bool is_pod = member.pod == query_.pod;
      if (is_pod && answer.has_pod) continue;
      const size_t wanted = query_.needed - (answer.has_pod || is_pod ? 0 : 1);
      if (answer.places.size() >= wanted) continue;
      if (!add(member, answer)) break;
    }
    return answer;
  }

 private:
  enum Way : size_t { kAsItIs, kCleared };

  // A node as the members before have left it.
  struct Spot {
    std::unique_ptr<NodeInfo> node;  // null: as it is
    bool is_cleared = false;         // of pods of lower priority
  };
  // Members to whom all plugins give the same answers.
  struct Kind {
    Framework* framework = nullptr;
    const plimsoll_pod* first = nullptr;
    std::shared_ptr<CycleContext> cycle;
    bool is_possible = false;
    bool is_shared = false;  // its cycle serves other pods of equal signature
    bool is_narrowed = false;
    std::unordered_set<std::string> names;  // of nodes that PreFilter left
    std::array<size_t, 2> row{};            // by way: where the last one found its place
    std::array<bool, 2> is_over{};          // by way: the last one found none
  };
  // What every cycle state has to hear of.
  struct Change {
    const plimsoll_pod* pod;
    size_t row;
    bool added;
  };

  // False: there are too many kinds.
  bool add(const GroupDryRun::Member& member, GroupDryRun::Answer& answer) {
    Kind* kind = kind_of(member);
    if (kind == nullptr) {
      answer.too_many_kinds = true;
      return false;
    }
    const bool is_pod = member.pod == query_.pod;
    const NodeInfo* node = is_pod && !query_.node.empty()
                               ? place_on(*kind, *member.pod, query_.node)
                               : place(*kind, *member.pod);
    if (node == nullptr) return true;
    answer.places.push_back({member.pod, node->name()});
    answer.has_pod = answer.has_pod || is_pod;
    return true;
  }

  const NodeInfo& node_at(size_t row) const {
    return spots_[row].node ? *spots_[row].node : *cluster_.node_at(rows_[row]);
  }
  NodeInfo& copy_at(size_t row) {
    auto& copy = spots_[row].node;
    if (copy == nullptr) copy = std::make_unique<NodeInfo>(*cluster_.node_at(rows_[row]));
    return *copy;
  }

  // They were there first, as for every other pod.
  void leave_room_for_nominated(const Nominator& nominator) {
    int32_t lowest = INT32_MAX;
    for (const auto& member : query_.members) lowest = std::min(lowest, member.pod->priority);
    for (const NominatedNode& nominated : nominator.by_node()) {
      const NodeInfo* node = cluster_.node(nominated.name, nominated.slot);
      if (node == nullptr) continue;
      const auto at = std::lower_bound(rows_.begin(), rows_.end(), node->slot());
      if (at == rows_.end() || *at != node->slot()) continue;
      const auto row = static_cast<size_t>(at - rows_.begin());
      for (const PodRef& pod : nominated.pods) {
        if (pod->priority < lowest || uids_.contains(view(pod->meta.uid))) continue;
        copy_at(row).add_pod(pod);
        changes_.push_back({pod.get(), row, true});
      }
    }
  }

  // False: a plugin failed.
  bool tell(Kind& kind, CycleContext& cycle, const Change& change) const {
    const plimsoll_node_info& node = *node_at(change.row).abi();
    return (change.added ? kind.framework->run_add_pod(cycle, *kind.first, *change.pod, node)
                         : kind.framework->run_remove_pod(cycle, *kind.first, *change.pod, node))
        .ok();
  }
  void record(const Change& change) {
    changes_.push_back(change);
    for (auto& kind : kinds_)
      if (kind->is_possible && !tell(*kind, *kind->cycle, change)) kind->is_possible = false;
  }

  // Null: there are too many.
  Kind* kind_of(const GroupDryRun::Member& member) {
    Framework* framework = framework_of_(*member.pod);
    std::string signature(reinterpret_cast<const char*>(&member.kind), sizeof member.kind);
    signature.append(reinterpret_cast<const char*>(&framework), sizeof framework);
    signature += std::to_string(member.pod->priority) + "/" +
                 std::to_string(member.pod->preemption_policy) + "/";
    bool is_signed = framework != nullptr;
    if (framework != nullptr) {
      PluginMask without = framework->run_sign(*member.pod, signature);
      for (size_t i = 0; i < framework->plugin_count(); ++i)
        if (framework->plugin_name(static_cast<PluginIndex>(i)) == query_.plugin) without.reset(i);
      is_signed = without.none();
    }
    if (is_signed) {
      const auto known = by_signature_.find(signature);
      if (known != by_signature_.end() && known->second->is_shared) return known->second;
    }
    if (kinds_.size() == GroupTrial::kMaxKinds) return nullptr;
    Kind& kind = *kinds_.emplace_back(std::make_unique<Kind>());
    begin(kind, framework, *member.pod);
    if (is_signed) by_signature_[signature] = &kind;
    return &kind;
  }

  void begin(Kind& kind, Framework* framework, const plimsoll_pod& pod) {
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
    for (const Change& change : changes_)
      if (kind.is_possible && !tell(kind, *kind.cycle, change)) kind.is_possible = false;
  }

  // Null: it has no place.
  const NodeInfo* place(Kind& kind, const plimsoll_pod& pod) {
    for (const Way way : {kAsItIs, kCleared}) {
      if (way == kCleared && !may_evict(pod)) break;
      for (size_t i = 0; i < rows_.size() && !kind.is_over[way]; ++i) {
        if (looks_left_ == 0 || !kind.framework->go_on().ok()) return nullptr;
        const size_t row = (kind.row[way] + i) % rows_.size();
        if (!takes(kind, pod, row, way)) continue;
        kind.row[way] = row;
        return put(pod, row);
      }
      kind.is_over[way] = true;
    }
    return nullptr;
  }

  const NodeInfo* place_on(Kind& kind, const plimsoll_pod& pod, std::string_view name) {
    for (size_t row = 0; row < rows_.size(); ++row) {
      if (node_at(row).name() != name) continue;
      const bool fits =
          takes(kind, pod, row, kAsItIs) || (may_evict(pod) && takes(kind, pod, row, kCleared));
      return fits ? put(pod, row) : nullptr;
    }
    return nullptr;
  }

  static bool may_evict(const plimsoll_pod& pod) {
    return pod.preemption_policy != PLIMSOLL_PREEMPT_NEVER;
  }

  const NodeInfo* put(const plimsoll_pod& pod, size_t row) {
    copy_at(row).add_pod(not_owned(pod));
    record({&pod, row, true});
    return spots_[row].node.get();
  }

  bool takes(Kind& kind, const plimsoll_pod& pod, size_t row, Way way) {
    if (!kind.is_possible) return false;
    const NodeInfo& node = node_at(row);
    if (kind.is_narrowed && !kind.names.contains(node.name())) return false;
    const bool is_cleared = spots_[row].is_cleared;
    if (way == kAsItIs && is_cleared) return false;
    if (way == kAsItIs || is_cleared) return passes(kind, *kind.cycle, pod, node);
    if (node.lowest_priority() >= floor_) return false;
    std::vector<PodRef> lower;
    for (const PodRef& other : node.pods())
      if (other->priority < floor_) lower.push_back(other);
    auto cleared = std::make_unique<NodeInfo>(node);
    const auto cycle = kind.cycle->clone();
    for (const PodRef& other : lower) {
      cleared->remove_pod(*other);
      if (!kind.framework->run_remove_pod(*cycle, *kind.first, *other, *cleared->abi()).ok())
        return false;
    }
    if (!passes(kind, *cycle, pod, *cleared)) return false;
    spots_[row].node = std::move(cleared);
    spots_[row].is_cleared = true;
    for (const PodRef& other : lower) record({other.get(), row, false});
    return kind.is_possible;
  }

  bool passes(const Kind& kind, const CycleContext& cycle, const plimsoll_pod& pod,
              const NodeInfo& node) {
    if (looks_left_ > 0) --looks_left_;
    return kind.framework->run_filters_on(cycle, pod, *node.abi()).ok();
  }

  const GroupDryRun::Query& query_;
  const ClusterState& cluster_;
  const GroupTrial::FrameworkOf& framework_of_;
  size_t& looks_left_;
  const std::vector<uint32_t>& rows_;  // slots of the nodes
  std::vector<Spot> spots_;            // by row
  std::unordered_set<std::string_view> uids_;
  bool evicts_ = false;
  int32_t floor_ = 0;  // pods of lower priority make room
  std::vector<Change> changes_;
  std::vector<std::unique_ptr<Kind>> kinds_;
  std::map<std::string, Kind*, std::less<>> by_signature_;
};

}  // namespace

GroupDryRun::Answer GroupTrial::place(const Query& query) const {
  if (cluster_.row_slots().empty()) return {};
  std::vector<Member> members(query.members.begin(), query.members.end());
  Query ordered = query;
  ordered.members = members;
  Answer answer;
  size_t looks_left = most_looks(cluster_.row_slots().size());
  for (int round = 0; round < kMaxRounds; ++round) {
    answer = GroupRun(ordered, cluster_, nominator_, framework_of_, looks_left).run();
    const bool enough = answer.has_pod && answer.places.size() >= query.needed;
    answer.gave_up = !enough && looks_left == 0;
    if (enough || answer.gave_up || answer.too_many_kinds) break;
    // Who found none goes first: others have taken the only place that was its.
    const auto has_none = [&](const Member& member) {
      return std::ranges::find(answer.places, member.pod, &Place::pod) == answer.places.end();
    };
    if (std::ranges::is_partitioned(members, has_none)) break;
    std::stable_partition(members.begin(), members.end(), has_none);
  }
  return answer;
}

}  // namespace plimsoll
