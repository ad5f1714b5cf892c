#pragma once
// Pods that are nominated to a node: a preemptor whose victims still have to go, or a pod of which
// another component says where it should run. While they wait, pods of at most their priority treat
// the node as if they ran there already. Kubernetes: pkg/scheduler/backend/queue/nominator.go.
//
// In memory, ahead of status.nominatedNodeName: a nomination counts from the moment it is made, not
// from when the API server tells of it. Owned by the scheduler loop; not thread-safe.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/base/string_map.hpp"

namespace plimsoll {

class NodeInfo;

// What an attempt says about its pod's nomination (fwk.NominatingInfo).
struct Nominating {
  bool override_mode = false;  // false (ModeNoop): as the pod's status has it
  std::string node;            // with override_mode; empty: no nomination any more

  static Nominating keep() { return {}; }
  static Nominating clear() { return {true, {}}; }
  static Nominating to(std::string node_name) { return {true, std::move(node_name)}; }
};

// A node and the pods that are nominated to it, in the order of their nomination; never none.
struct NominatedNode {
  std::string name;
  std::vector<PodRef> pods;
  int32_t highest_priority = 0;  // of the pods
  // The node, null if it is not there, and its slot, as long as the cluster has this set of nodes
  // (what_if.cpp). A nominator belongs to one cluster.
  mutable const NodeInfo* node = nullptr;
  mutable uint32_t slot = 0;
  mutable uint64_t node_set = 0;
};

class Nominator {
 public:
  // `changed` hears of every node whose nominated pods changed, after the change.
  using Changed = std::function<void(std::string_view node_name)>;
  explicit Nominator(Changed changed) : changed_(std::move(changed)) {}
  Nominator(const Nominator&) = delete;
  Nominator& operator=(const Nominator&) = delete;

  // AddNominatedPod: replaces whatever was known of the pod. The caller has made sure that the pod
  // exists and has no node.
  void add(PodRef pod, const Nominating& nominating);
  // UpdateNominatedPod: the pod changed. If both versions say the same of its nomination, the one
  // in memory stays: the API server has not heard of it yet. Otherwise the new version counts.
  void update(const plimsoll_pod& before, PodRef after);
  // DeleteNominatedPodIfExists.
  void remove(std::string_view uid);

  // The pods nominated to the node, in the order of their nomination; valid until the next change.
  [[nodiscard]] const std::vector<PodRef>& pods_of(std::string_view node_name) const;
  // Where the pod is nominated to; empty: nowhere. Valid until the next change.
  [[nodiscard]] std::string_view node_of(std::string_view uid) const;
  // All nodes that have nominated pods, in no order: every attempt walks over them, so they lie in
  // one block.
  [[nodiscard]] const std::vector<NominatedNode>& by_node() const { return by_node_; }

 private:
  Changed changed_;
  std::vector<NominatedNode> by_node_;
  StringMap<size_t> place_of_;      // in by_node_, by name
  StringMap<std::string> node_of_;  // by UID
};

}  // namespace plimsoll
