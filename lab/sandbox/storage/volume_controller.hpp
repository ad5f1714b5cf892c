#pragma once
// Simulated storage for an ObjectStore: what a cluster's volume controllers and one external
// provisioner for all classes do.
//
// - A PersistentVolume without a claim becomes Available. One whose claimRef names a claim is bound
//   to it, and the claim to the volume.
// - A claim of a class with binding mode Immediate gets the smallest volume that fits, or a new
// one.
// - A claim that waits for its first consumer gets a new volume once the scheduler has set its
//   selected node. The volume can be used from the node's zone, if the node says one.
// - A generic ephemeral volume of a pod gets its claim, which goes with the pod.
// - A provisioned volume goes with its claim; any other one is Released.
//
// It acts at once, on a thread of its own, and writes directly to the store. The public functions
// may be called from any thread.

#include <cstdint>
#include <memory>

#include "lab/sandbox/apiserver/object_store.hpp"

namespace plimsoll::sandbox {

class SimulatedVolumes {
 public:
  // Starts at once with the existing objects. The store must outlive this object.
  explicit SimulatedVolumes(ObjectStore& store);
  ~SimulatedVolumes();  // stops
  SimulatedVolumes(const SimulatedVolumes&) = delete;
  SimulatedVolumes& operator=(const SimulatedVolumes&) = delete;

  // Joins the thread. A second call does nothing.
  void stop();

  // Whether every event of the store so far has been handled.
  [[nodiscard]] bool quiet() const;

  struct Stats {
    std::uint64_t bound = 0;        // claims
    std::uint64_t provisioned = 0;  // volumes
  };
  [[nodiscard]] Stats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::sandbox
