#pragma once
// The properties of all nodes that filters and scores read, as dense arrays by node slot:
// `plimsoll_columns` of the plugin ABI. A loop over an array reads memory in order; a loop over the
// nodes would touch several cache lines of each.
//
// Equal lists of taints share an id, and so do equal values of a label. A plugin can thus evaluate
// each taint set and each label value once, instead of each node.
//
// ClusterState owns it and calls update() in the one place where it logs changes of nodes, so a
// column is never older than its node. Scheduler loop only, except for reads of plugins through the
// ABI, during which nothing changes. label_column builds a column on first use, under a lock.

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
  // Resources with an index below this have arrays. The limit bounds the memory if a cluster names
  // many resources, such as one for each node.
  static constexpr size_t kMostResources = 32;
  // The most label keys that have a column at the same time.
  static constexpr size_t kMostLabels = 64;

  using Slots = std::vector<std::unique_ptr<NodeInfo>>;

  // `slots`: the nodes, null for a free slot. It outlives this object.
  explicit NodeColumns(const Slots& slots);
  NodeColumns(const NodeColumns&) = delete;
  NodeColumns& operator=(const NodeColumns&) = delete;

  // The node changed in these aspects (PLIMSOLL_ASPECT_*; 0: in all). A node without a Node object
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
    NodeRef owner;  // the node that the list belongs to, perhaps an old version; null: unused id
    std::string key;
    size_t nodes = 0;
  };
  struct LabelColumn {
    std::vector<uint32_t> values;  // by slot
    std::unordered_map<std::string, uint32_t> ids;
  };

  void grow(size_t slots, size_t resources);
  void show();  // updates the pointers of the ABI struct
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
