#pragma once
// What filters and scores read of all nodes, as dense arrays by node slot: `plimsoll_columns` of
// the plugin ABI. A loop over one of them goes through memory in order, where a walk over the nodes
// touches several cache lines of each.
//
// Equal lists of taints share an id, and so do equal values of a label: a plugin asks once about
// each taint set and each value that occurs, instead of once about each node.
//
// ClusterState keeps it: update() is called in the one place where changes of nodes are noted, so
// a column is never older than the node. Scheduler loop, except for what plugins read through the
// ABI while nothing changes (label_column builds a column when it is first asked for, under a
// lock).

#include <plimsoll/plugin_abi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/api/objects.hpp"

namespace plimsoll {

class NodeInfo;

class NodeColumns {
 public:
  // Resources with an index below it have arrays. Whoever names more (a resource for each node, in
  // bad cases) must not make every node pay for it.
  static constexpr size_t kMostResources = 32;
  // Keys of labels that have a column at a time.
  static constexpr size_t kMostLabels = 64;

  using Slots = std::vector<std::unique_ptr<NodeInfo>>;

  // `slots`: the nodes, null where a slot is free; outlives this.
  explicit NodeColumns(const Slots& slots);
  NodeColumns(const NodeColumns&) = delete;
  NodeColumns& operator=(const NodeColumns&) = delete;

  // The node changed in these aspects (PLIMSOLL_ASPECT_*; 0: in all). One without a Node object
  // counts as a free slot.
  void update(const NodeInfo& info, uint32_t aspects);

  // Valid until the next update.
  [[nodiscard]] const plimsoll_columns& abi() const { return table_; }
  [[nodiscard]] size_t bytes() const;

 private:
  struct Table : plimsoll_columns {
    const NodeColumns* owner = nullptr;
  };
  struct TaintSet {
    NodeRef owner;  // the node whose list it is, perhaps as it was before; null: not in use
    std::string key;
    size_t nodes = 0;
  };
  struct LabelColumn {
    std::vector<uint32_t> values;  // by slot
    std::unordered_map<std::string, uint32_t> ids;
  };

  void grow(size_t slots, size_t resources);
  void show();  // what the ABI struct points to
  void set_amounts(const NodeInfo& info);
  void set_taints(uint32_t slot, const NodeRef& node);
  void set_labels(uint32_t slot, const NodeRef& node);
  [[nodiscard]] uint32_t taint_set_of(const NodeRef& node);
  void release_taint_set(uint32_t id);
  static void set_label(LabelColumn& column, uint32_t slot, const plimsoll_str& key,
                        const NodeRef& node);
  const LabelColumn* label_column(const plimsoll_str& key) const;

  const Slots& slots_;
  Table table_{};
  size_t length_ = 0;
  std::vector<std::vector<int64_t>> allocatable_;  // by resource, by slot
  std::vector<std::vector<int64_t>> requested_;
  std::vector<const int64_t*> allocatable_pointers_;
  std::vector<const int64_t*> requested_pointers_;
  std::vector<int64_t> nonzero_cpu_;
  std::vector<int64_t> nonzero_memory_;
  std::vector<uint32_t> pod_count_;
  std::vector<int32_t> lowest_priority_;
  std::vector<uint8_t> unschedulable_;
  std::vector<uint32_t> taint_set_;

  std::vector<TaintSet> taint_sets_;  // by id; [0]: no taints
  std::vector<plimsoll_list> taint_lists_;
  std::unordered_map<std::string, uint32_t> taint_ids_;
  std::vector<uint32_t> free_taint_ids_;

  mutable std::mutex labels_mutex_;
  mutable std::map<std::string, LabelColumn, std::less<>> labels_;  // by key
};

}  // namespace plimsoll
