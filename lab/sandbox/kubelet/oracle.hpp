#pragma once
// Perfect knowledge: shows what a scheduler could do that always knew the real state of the
// kubelets.
//
// It is a plugin named NodeResourceTopologyMatch that replaces the real one. Its Filter asks the
// simulated kubelets themselves. Its Reserve has the pod admitted at once, before the Binding is
// written, so a pod passes if and only if the kubelet admits it. No information is late or
// uncertain, and no pod is rejected. Queue, scores and everything else are those of the profile.
// What-ifs of preemption do not ask the kubelets.
//
// Arguments are not read. The ledger of promises is kept as usual, for the plugins that score by
// it.

#include <plimsoll/plugin_abi.h>

#include "lab/sandbox/kubelet/kubelet.hpp"

namespace plimsoll::sandbox {

// Sets the kubelets for every oracle of this process while it exists (the ABI's create function
// cannot pass them); at most one exists at a time. Plugins created without a scope accept no pod.
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
