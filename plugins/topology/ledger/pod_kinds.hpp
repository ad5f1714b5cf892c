#pragma once
// Most pods are copies of one another: what the ledger reads of a pod is shared by all pods of its
// kind. Internal to the ledger.

#include <memory>
#include <string>
#include <unordered_map>

#include "plugins/topology/pod/pod_memo.hpp"
#include "plugins/topology/pod/pod_request.hpp"
#include "plugins/topology/verdict/judgement.hpp"

namespace plimsoll::topology {

struct PodKind {
  explicit PodKind(const plimsoll_pod& pod);
  PodRequest request;
  std::string names;                       // `request` points into it
  std::shared_ptr<const PodRequest> kept;  // for pod records; null: the pod pins nothing
  Inquiry inquiry;
};

class PodKinds {
 public:
  [[nodiscard]] std::shared_ptr<PodKind> of(const plimsoll_pod& pod);

 private:
  void share_demand(std::shared_ptr<const kubelet::PodDemand>& demand);

  PodMemo<PodKind> kinds_;
  std::unordered_multimap<uint64_t, std::weak_ptr<const kubelet::PodDemand>> demands_;
  size_t sweep_at_ = 1024;
};

}  // namespace plimsoll::topology
