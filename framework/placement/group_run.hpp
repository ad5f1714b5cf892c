#pragma once
// The nodes as they might be for one dry run of a group (GroupTrial): copies of those that differ,
// and a cycle state for each kind of member, which follows every change. What was done can be taken
// back in reverse.

#include <compare>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "framework/placement/group_trial.hpp"

namespace plimsoll {

class GroupRun {
 public:
  static constexpr size_t kNoRow = SIZE_MAX;

  // Whom a member may evict, by row. What a unit costs is what it costs together with others.
  struct Unit {
    VictimUnit who;
    std::vector<size_t> rows;  // by pod of `who`
    bool breaks_budget = false;
  };
  struct Cost {
    size_t violations = 0;
    int32_t highest = INT32_MIN;  // priority
    size_t pods = 0;
    int64_t priorities = 0;

    void add(const Unit& unit);
    auto operator<=>(const Cost&) const = default;
  };
  // What it takes to put one more member of a kind on a node.
  struct Trial {
    bool fits_as_it_is = false;
    bool fits = false;           // without the next ones
    std::vector<size_t> evicts;  // units
    Cost cost;
    // Of the row, or of all, when that was found out; 0: it was not.
    uint64_t version = 0, victims_version = 0;
  };
  // Members to whom all plugins give the same answers.
  struct Kind {
    Framework* framework = nullptr;
    const plimsoll_pod* first = nullptr;
    std::shared_ptr<CycleContext> cycle;
    bool is_possible = false;
    bool is_shared = false;  // its cycle serves other pods of equal signature
    // InterPodAffinity had nothing to do for it, and so hears of no pod that comes.
    bool is_deaf = false;
    // A filter keeps books of pods, and hears of no pod that comes: only the first can be judged.
    bool is_blind = false;
    bool is_narrowed = false;
    std::unordered_set<std::string> names;  // of nodes that PreFilter left
    size_t row = 0;                         // where the last one found its place as it is
    std::vector<Trial> trials;              // by row; empty: none yet
  };

  // All outlive it. `looks_left`: as in GroupTrial::most_looks. `until_ms`: see Slice::worked_ms.
  GroupRun(const ClusterState& cluster, const GroupTrial::FrameworkOf& framework_of,
           size_t most_kinds, size_t& looks_left, const Slice& slice, int64_t until_ms);

  // Pods that are nominated to nodes were there first, but for those of these members.
  void leave_room_for_nominated(const Nominator& nominator,
                                std::span<const plimsoll_pod* const> members);
  // Null: there are too many.
  [[nodiscard]] Kind* kind_of(const plimsoll_pod& member);

  [[nodiscard]] size_t row_count() const { return rows_.size(); }
  [[nodiscard]] const NodeInfo& node_at(size_t row) const {
    return spots_[row].node ? *spots_[row].node : *cluster_.node_at(rows_[row]);
  }
  [[nodiscard]] size_t row_of(std::string_view node) const;  // kNoRow: there is no such node
  [[nodiscard]] bool tired() const { return looks_left_ == 0; }
  [[nodiscard]] size_t looks() const { return looks_; }

  [[nodiscard]] bool passes(Kind& kind, const plimsoll_pod& pod, size_t row);
  void change(const plimsoll_pod& pod, size_t row, bool added);
  [[nodiscard]] size_t mark() const { return changes_.size(); }
  void roll_back(size_t mark);

  // ---- units
  void set_units(std::vector<Unit> units);  // those to be kept first come first
  [[nodiscard]] const std::vector<Unit>& units() const { return units_; }
  // Those that are gone, rising. What roll_back() undoes of them is set with `moves` false.
  [[nodiscard]] const std::set<size_t>& gone() const { return gone_; }
  void set_gone(size_t which, bool gone, bool moves = true);
  [[nodiscard]] bool fits_as_it_is(Kind& kind, const plimsoll_pod& pod, size_t row);
  [[nodiscard]] const Trial& trial(Kind& kind, const plimsoll_pod& pod, size_t row);
  [[nodiscard]] bool is_known(const Kind& kind, size_t row) const {
    return !kind.trials.empty() && kind.trials[row].victims_version == version_of(kind, row);
  }

 private:
  struct Spot {
    std::unique_ptr<NodeInfo> node;  // null: as it is
    uint64_t version = 1;
    std::vector<size_t> units;  // with pods here
  };
  // What every cycle state has to hear of.
  struct Change {
    const plimsoll_pod* pod;
    size_t row;
    bool added;
  };

  [[nodiscard]] uint64_t version_of(const Kind& kind, size_t row) const {
    const bool is_local = kind.is_shared && !(kind.is_deaf && repelled_) && !kind.is_blind;
    return is_local ? spots_[row].version : version_;
  }
  [[nodiscard]] bool can_be_judged(const Kind& kind) const {
    return kind.is_possible && !(kind.is_blind && blind_put_ > 0);
  }
  NodeInfo& copy_at(size_t row);
  void begin(Kind& kind, Framework* framework, const plimsoll_pod& pod);
  bool tell(Kind& kind, CycleContext& cycle, const Change& change) const;
  bool passes(const Kind& kind, const CycleContext& cycle, const plimsoll_pod& pod,
              const NodeInfo& node);
  [[nodiscard]] bool is_repelled(const plimsoll_pod& pod, const NodeInfo& node);
  void look_for_victims(Kind& kind, const plimsoll_pod& pod, size_t row, Trial& out);

  const ClusterState& cluster_;
  const GroupTrial::FrameworkOf& framework_of_;
  size_t most_kinds_;
  size_t& looks_left_;
  size_t looks_ = 0;
  const Slice& slice_;
  const int64_t until_ms_;
  const std::vector<uint32_t>& rows_;  // slots of the nodes
  std::vector<Spot> spots_;            // by row
  uint64_t version_ = 1;
  // Pods with anti-affinity that were put on these rows, and run nowhere.
  std::vector<std::pair<const plimsoll_pod*, size_t>> repelling_;
  bool repelled_ = false;                          // there has been one
  std::unordered_set<const plimsoll_pod*> blind_;  // pods of such kinds,
  size_t blind_put_ = 0;                           // those that are put somewhere
  std::vector<Change> changes_;
  std::vector<std::unique_ptr<Kind>> kinds_;
  std::map<std::string, Kind*, std::less<>> by_signature_;
  std::vector<Unit> units_;
  std::set<size_t> gone_;
};

}  // namespace plimsoll
