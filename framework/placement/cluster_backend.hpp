#pragma once
// What plugins ask about a cluster's nodes, its pods and who is nominated where.

#include "framework/cluster/cluster_state.hpp"
#include "framework/placement/nominator.hpp"
#include "framework/runtime/plugin/host_backend.hpp"

namespace plimsoll {

class ClusterBackend : public HostBackend {
 public:
  // Both outlive it.
  ClusterBackend(ClusterState& cluster, const Nominator& nominator)
      : cluster_(cluster), nominator_(nominator) {}

  const plimsoll_node_info* node_by_name(std::string_view name) override {
    return abi(cluster_.node(name));
  }
  const plimsoll_node_info* node_by_slot(uint32_t slot) override {
    return abi(cluster_.node_at(slot));
  }
  uint32_t slot_count() override { return cluster_.slot_count(); }
  void touch_node(uint32_t slot, uint32_t aspects) override { cluster_.touch(slot, aspects); }
  // A pod that is on a node.
  const plimsoll_pod* pod_by_uid(std::string_view uid) override { return cluster_.pod(uid).get(); }
  std::vector<const plimsoll_pod*> nominated_pods(std::string_view node_name) override {
    std::vector<const plimsoll_pod*> pods;
    for (const PodRef& pod : nominator_.pods_of(node_name)) pods.push_back(pod.get());
    return pods;
  }

 private:
  static const plimsoll_node_info* abi(const NodeInfo* info) {
    return info == nullptr ? nullptr : info->abi();
  }

  ClusterState& cluster_;
  const Nominator& nominator_;
};

}  // namespace plimsoll
