#pragma once
// The scheduler's state of the cluster: nodes, the pods assigned to them, and assumed pods, which
// the API server has not confirmed yet. Owned by the scheduler loop; nothing here is thread-safe.
//
// Every change of a node increments its generation and is written to the change log as (slot,
// aspects). This happens in one place, ClusterState::changed. Data that is derived from nodes can
// be updated by replaying the log.
//
// Pods are keyed by UID (Kubernetes: pkg/scheduler/backend/cache). An assumed pod stays until the
// informer delivers it or its deletion, or until it is forgotten; it does not expire. A node that
// is deleted while it still has pods keeps its slot, without a Node, until the last pod is gone.

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "framework/api/group_name.hpp"
#include "framework/api/objects.hpp"
#include "framework/base/flat_map.hpp"
#include "framework/base/string_map.hpp"
#include "framework/cluster/node_columns.hpp"

namespace plimsoll {

// A node and its pods. abi() is the plugins' view; it always mirrors the other members.
class NodeInfo {
 public:
  explicit NodeInfo(std::string name, uint32_t slot);
  NodeInfo(const NodeInfo& other);  // a what-if copy: same slot, same generation
  NodeInfo& operator=(const NodeInfo&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] uint32_t slot() const { return abi_.slot; }
  [[nodiscard]] const NodeRef& node() const { return node_; }  // null: the Node object is gone
  [[nodiscard]] const std::vector<PodRef>& pods() const { return pods_; }
  [[nodiscard]] const plimsoll_node_info* abi() const { return &abi_; }
  // The lowest priority of its pods; INT32_MAX if it has none.
  [[nodiscard]] int32_t lowest_priority() const { return lowest_priority_; }

  void set_node(NodeRef node);
  void add_pod(PodRef pod);
  bool remove_pod(std::string_view uid);      // false: the pod is not on this node
  bool remove_pod(const plimsoll_pod& here);  // the very object in pods(); false: it is not there
  void set_generation(uint64_t generation) { abi_.generation = generation; }

 private:
  void make_room(uint32_t index);
  void count(int64_t& sum, int64_t amount, bool added);
  void account(const plimsoll_pod& pod, bool added);
  void account_anew();
  void occupy_ports(const plimsoll_pod& pod);
  void note_priority(int32_t priority);
  void remove_at(size_t index);
  void mirror();

  int32_t lowest_priority_ = INT32_MAX;
  size_t at_lowest_ = 0;  // how many pods have lowest_priority_
  std::string name_;
  NodeRef node_;
  std::vector<PodRef> pods_;
  std::vector<const plimsoll_pod*> pod_pointers_;
  std::vector<int64_t> allocatable_;  // by resource index
  std::vector<int64_t> requested_;    // by resource index; as long as allocatable_
  bool overflowed_ = false;           // a sum reached the limit of int64
  std::vector<plimsoll_host_port> ports_;
  plimsoll_node_info abi_{};
};

// One entry of the change log.
struct NodeChange {
  uint32_t slot;
  uint32_t aspects;  // PLIMSOLL_ASPECT_*; 0: the slot was given to another node or freed
};

// What an update from the informer changed about a pod.
enum class PodChange { kAdded, kConfirmed, kUpdated, kMoved };

// The pods of one group that have a node.
struct PlacedMembers {
  struct ByName {
    bool operator()(const plimsoll_pod* a, const plimsoll_pod* b) const;
  };
  std::set<const plimsoll_pod*, ByName> pods;
  size_t living = 0;  // of these, so many that are not being deleted
  [[nodiscard]] std::vector<const plimsoll_pod*> living_pods() const;  // by name
};

class ClusterState {
 public:
  ClusterState() : columns_(slots_) {}
  ClusterState(const ClusterState&) = delete;
  ClusterState& operator=(const ClusterState&) = delete;

  // ---- nodes
  // Returns the aspects that changed: all of them for a new node, 0 if no field changed that is
  // read.
  uint32_t upsert_node(NodeRef node);
  bool remove_node(std::string_view name);  // false: there is no such node

  // Null if there is no such node. `likely`: the slot that the node probably has; if it does, no
  // look-up by name is needed.
  static constexpr uint32_t kAnySlot = UINT32_MAX;
  [[nodiscard]] const NodeInfo* node(std::string_view name, uint32_t likely = kAnySlot) const;
  [[nodiscard]] const NodeInfo* node_at(uint32_t slot) const;  // null: free, or its Node is gone
  // Another number, never 0, whenever a node came or went: until then node() answers the same.
  [[nodiscard]] uint64_t node_set() const { return node_set_; }
  [[nodiscard]] uint32_t slot_count() const { return static_cast<uint32_t>(slots_.size()); }
  // All nodes that have a Node object, in slot order. Valid until the next change of the set of
  // nodes.
  [[nodiscard]] const std::vector<const plimsoll_node_info*>& rows() const;
  [[nodiscard]] const std::vector<uint32_t>& row_slots() const;
  // The nodes as arrays indexed by slot. Valid until the next change of anything.
  [[nodiscard]] const plimsoll_columns& columns() const { return columns_.abi(); }

  // ---- pods with a node (spec.nodeName set, not finished)
  // Adds or updates the pod. If it is assumed on this node, it is confirmed. If it is assumed on
  // another node, it moves to this one.
  PodChange upsert_pod(PodRef pod);
  bool remove_pod(std::string_view uid);
  // Assumes `pod`, whose node_name is set (`likely`: see node()). False: the UID is already known,
  // and nothing changed.
  bool assume(PodRef pod, uint32_t likely = kAnySlot);
  // The pod, which is assumed, in another version: it occupies something else on its node. False if
  // it is not assumed.
  bool amend(PodRef pod);
  // Removes an assumed pod. False if the pod is not assumed (unknown, or confirmed meanwhile).
  bool forget(std::string_view uid);
  [[nodiscard]] bool is_assumed(std::string_view uid) const;
  [[nodiscard]] PodRef pod(std::string_view uid) const;  // null: unknown
  // Pods of groups that are named in one of these ways are found by their group. To be said before
  // there are pods.
  void know_groups(GroupKinds kinds) { group_kinds_ = kinds; }
  [[nodiscard]] GroupName group_of(const plimsoll_pod& pod) const {
    return plimsoll::group_of(pod, group_kinds_);
  }
  // Null: no pod of that group has a node. Valid until the next change of pods.
  [[nodiscard]] const PlacedMembers* members(const GroupName& group) const;

  [[nodiscard]] size_t node_count() const { return live_nodes_; }
  [[nodiscard]] size_t pod_count() const { return pods_.size(); }
  [[nodiscard]] size_t assumed_count() const { return assumed_; }

  // ---- the change log
  // The sequence number of the next entry. Entries before log_begin() were dropped; a reader that
  // needs them must rebuild its data from the nodes.
  [[nodiscard]] uint64_t log_end() const { return log_begin_ + log_.size(); }
  [[nodiscard]] uint64_t log_begin() const { return log_begin_; }
  [[nodiscard]] const NodeChange& log_at(uint64_t sequence) const {
    return log_[static_cast<size_t>(sequence - log_begin_)];
  }
  // Logs a change about the node that is not in this class: of a plugin's own state.
  void touch(uint32_t slot, uint32_t aspects);

  // Calls `visit(const PodRef&, bool assumed)` for every pod with a node.
  template <typename Visit>
  void for_each_pod(const Visit& visit) const {
    for (const auto& [uid, entry] : pods_) visit(entry.pod, entry.assumed);
  }
  // For dumps and comparisons.
  [[nodiscard]] std::vector<NodeRef> all_nodes() const;

 private:
  struct PodEntry {
    PodRef pod;
    uint32_t slot;
    bool assumed;
  };
  [[nodiscard]] bool has_name(uint32_t slot, std::string_view name) const;
  NodeInfo& slot_for(std::string_view name, uint32_t likely = kAnySlot);  // creates a new node
  void release_if_empty(uint32_t slot);
  void changed(NodeInfo& info, uint32_t aspects);
  void join_group(const plimsoll_pod& pod);
  void leave_group(const plimsoll_pod& pod);

  NodeColumns::Slots slots_;
  NodeColumns columns_;  // of slots_
  std::vector<uint32_t> free_slots_;
  FlatStringMap<uint32_t> by_name_;
  FlatStringMap<PodEntry> pods_;  // by UID
  GroupKinds group_kinds_ = GroupKinds().set(index_of(GroupKind::kPodGroup));
  StringMap<PlacedMembers> groups_;  // by GroupName::key
  mutable std::vector<const plimsoll_node_info*> rows_;
  mutable std::vector<uint32_t> row_slots_;
  mutable bool rows_stale_ = true;
  size_t live_nodes_ = 0;
  uint64_t node_set_ = 1;
  size_t assumed_ = 0;
  uint64_t generation_ = 0;
  std::deque<NodeChange> log_;
  uint64_t log_begin_ = 0;
};

// The aspects in which two versions of a node differ. Fields that nothing reads do not count.
[[nodiscard]] uint32_t node_aspects_changed(const plimsoll_node& before,
                                            const plimsoll_node& after);

[[nodiscard]] bool same_taints(const plimsoll_list& a, const plimsoll_list& b);

// The aspects of a node that change when the pod is added or removed.
[[nodiscard]] uint32_t pod_aspects(const plimsoll_pod& pod);

}  // namespace plimsoll
