#pragma once
// Domains of the network for a PodGroup that is to stay within one: the nodes that have one value
// of a label (docs/groups.md). Kubernetes: pkg/scheduler/framework/plugins/topologyaware.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/cluster/cluster_state.hpp"
#include "framework/runtime/node_rows.hpp"

namespace plimsoll {

struct GroupDomain {
  std::string value;  // of the labels, joined with '/'
  std::vector<const plimsoll_node_info*> rows;
  std::vector<uint32_t> slots;  // of these; they rise
  // What sums of what is free say; see DomainNeeds.
  size_t most_pods = SIZE_MAX;  // certainly no more of the group find a place
  bool may_hold = true;         // false: certainly not as many as the group needs
  bool may_hold_all = true;     // and so on, all that wait
  double free = 0;              // in what all of them ask for: 2 is room for two such groups

  [[nodiscard]] NodeRows nodes(const ClusterState& cluster) const {
    return {rows, slots, &cluster.columns()};
  }
};

// The nodes that carry all these labels, by their values. Valid until the set of nodes changes.
[[nodiscard]] std::vector<GroupDomain> domains_of(const ClusterState& cluster,
                                                  const std::vector<std::string>& keys);

// The values that the nodes of all these pods have. False: they do not share them, and `value` says
// so, in kube-scheduler's words.
[[nodiscard]] bool common_domain(const ClusterState& cluster, const std::vector<std::string>& keys,
                                 const std::vector<const plimsoll_pod*>& pods, std::string& value);

// What pods ask for, held against what nodes have free. It says only what is certain whatever
// further filters say: pods that fit by these sums may still have no place.
class DomainNeeds {
 public:
  // `needed`: so many of the pods have to find a place. `extended`: whether all resources count;
  // false: those of nodes only, since others may be ignored.
  DomainNeeds(const std::vector<const plimsoll_pod*>& pods, size_t needed, bool extended);
  void judge(GroupDomain& domain) const;

 private:
  struct Resource {
    uint32_t index = 0;
    int64_t least = 0;   // of one pod
    int64_t needed = 0;  // of the least demanding pods, as many as needed
    int64_t all = 0;
  };
  std::vector<Resource> resources_;
  size_t needed_;
  size_t pods_;
};

// In which order domains are tried: those that may hold all first, the smallest, then the one that
// leaves the least over.
[[nodiscard]] bool is_tried_before(const GroupDomain& a, const GroupDomain& b);

// For pods that differ in nothing, and their nodes: neighbours in rank on neighbours. The pod's
// index is that of a job (label batch.kubernetes.io/job-completion-index), or the number at the end
// of its name; names are compared with numbers in them as numbers.
[[nodiscard]] bool has_lower_index(const plimsoll_pod& a, const plimsoll_pod& b);
[[nodiscard]] bool is_named_before(std::string_view a, std::string_view b);

}  // namespace plimsoll
