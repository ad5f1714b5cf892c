#pragma once
// What one simulated controller does (private to sandbox/controllers). All calls come from one
// thread at a time.

#include <memory>
#include <vector>

#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::sandbox {

class Controller {
 public:
  Controller() = default;
  virtual ~Controller() = default;
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Those that it is told of, in this order where several have news.
  [[nodiscard]] virtual std::vector<ResourceName> kinds() const = 0;
  // Once for each object that is there (kAdded), then for each change. The store may have a later
  // state.
  virtual void changed(const ResourceName& kind, const StoreEvent& event) = 0;
  // After some changes: there are no more for now.
  virtual void settle() {}
};

// - A PersistentVolume without a claim becomes Available. One whose claimRef names a claim is bound
//   to it, and the claim to the volume, by the rules of plugins/storage/volume_match.hpp.
// - A claim that names a volume gets it, if it may. One of a class with binding mode Immediate gets
//   the smallest volume that fits, or a new one.
// - A claim that waits for its first consumer gets a new volume once the scheduler has set its
//   selected node. The volume can be used where the driver's storage lies: what its
//   CSIStorageCapacity says, else its topology keys in CSINode, else the node's zone.
// - The CSIStorageCapacities of that storage say what is left. Where too little is left, the claim
//   gives its selected node up.
// - A generic ephemeral volume of a pod gets its claim, which goes with the pod.
// - A volume with reclaim policy Delete goes with its claim; any other one is Released.
[[nodiscard]] std::unique_ptr<Controller> volume_controller(ObjectStore& store);

// - A pod that names a ResourceClaimTemplate gets its claim, which goes with the pod, and is told
// its
//   name.
// - Once the last pod has gone or ended for which a claim is reserved, its devices are free.
// Kubernetes: pkg/controller/resourceclaim.
[[nodiscard]] std::unique_ptr<Controller> claim_controller(ObjectStore& store);

// Counts of a PodDisruptionBudget's status, as its pods come, go and become ready. Kubernetes:
// pkg/controller/disruption. Where the files do not have the controller of its pods, that
// controller has as many replicas as it had pods at most.
[[nodiscard]] std::unique_ptr<Controller> disruption_controller(ObjectStore& store);

// The taints of a node that follow its conditions and spec.unschedulable. Kubernetes:
// pkg/controller/nodelifecycle. A condition that is not there says nothing. Nobody is evicted.
[[nodiscard]] std::unique_ptr<Controller> taint_controller(ObjectStore& store);

// Removes an object that has this owner.
void remove_owned(ObjectStore& store, const ResourceName& kind, const ObjectKey& key,
                  const std::string& owner_uid);

}  // namespace plimsoll::sandbox
