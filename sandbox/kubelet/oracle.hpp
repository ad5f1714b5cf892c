#pragma once
// Perfect knowledge: what a scheduler could do that always knew the state in which the kubelets
// really are.
//
// A plugin by the name of NodeResourceTopologyMatch that takes the place of the real one. Its
// Filter asks the simulated kubelets themselves; its Reserve has the pod admitted on the spot,
// before the Binding is written, so that a pod passes if and only if the kubelet takes it. Nothing
// is late, nothing uncertain, nobody refused. Queue, scores and everything else are those of the
// profile. What-ifs of preemption are not asked.
//
// Arguments are not read. The ledger of promises is kept as always, for those that score by it.

#include <plimsoll/plugin_abi.h>

#include "sandbox/kubelet/kubelet.hpp"

namespace plimsoll::sandbox {

// The kubelets that every oracle of this process asks while this object is there (an ABI's create
// function has no place for it); at most one at a time. Plugins made without one take no pod.
class OracleScope {
 public:
  OracleScope(const ObjectStore& store, SimulatedKubelets& kubelets);
  ~OracleScope();
  OracleScope(const OracleScope&) = delete;
  OracleScope& operator=(const OracleScope&) = delete;

  const ObjectStore& store;
  SimulatedKubelets& kubelets;
};

[[nodiscard]] plimsoll_plugin_create_fn oracle_plugin();

}  // namespace plimsoll::sandbox
