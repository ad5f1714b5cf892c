#pragma once
// Simulated kubelets and topology exporters for every node of an ObjectStore.
//
// A pod that is bound to a node is admitted (or fails with the kubelet's reason), runs after a
// delay, and ends after `sandbox.plimsoll.io/run-seconds` if it carries that annotation; a pod
// marked for deletion is stopped and removed. What admission changes in a node's zones appears in
// its NodeResourceTopology only after the report delay, as with a real exporter; what is reported
// is always what is free at that moment, never more, together with the fingerprint of the pods it
// covers.
//
// One thread of its own does everything; the public functions may be called from any thread. Writes
// go to the store directly and so are not counted as API requests. With the same seed and the same
// order of events the same decisions are made; delays follow the real clock, divided by `speed`.

#include <chrono>
#include <cstdint>
#include <memory>

#include "sandbox/node_admission.hpp"
#include "sandbox/object_store.hpp"

namespace plimsoll::sandbox {

inline constexpr const char* kRunSecondsAnnotation = "sandbox.plimsoll.io/run-seconds";

// Which pods a report's fingerprint covers (nodeTopologyPodsFingerprintMethod).
enum class FingerprintMethod { kAll, kWithExclusiveResources };

struct KubeletOptions {
  std::chrono::milliseconds start_delay{200};    // from admission to phase Running
  std::chrono::milliseconds stop_delay{100};     // from the deletion mark to removal
  std::chrono::milliseconds report_delay{1000};  // from a change of the zones to its report
  double jitter = 0.0;                           // delays vary by up to this fraction, by the seed
  double speed = 1.0;                            // 10: time runs ten times as fast
  std::uint64_t seed = 1;
  FingerprintMethod fingerprint = FingerprintMethod::kAll;
  NodeAdmissionFactory admission = make_node_admission;
};

struct KubeletStats {
  std::uint64_t nodes = 0;
  std::uint64_t admitted = 0;
  std::uint64_t rejected = 0;
  std::uint64_t topology_rejections = 0;  // of these, TopologyAffinityError
  std::uint64_t finished = 0;             // ran for their run-seconds
  std::uint64_t removed = 0;              // stopped after a deletion
  std::uint64_t reports = 0;              // writes of a NodeResourceTopology
  std::uint64_t pending_actions = 0;      // delayed actions that are under way
};

class SimulatedKubelets {
 public:
  // Starts at once with the nodes and pods that are there. The store must outlive this object.
  SimulatedKubelets(ObjectStore& store, KubeletOptions options = {});
  ~SimulatedKubelets();  // stops
  SimulatedKubelets(const SimulatedKubelets&) = delete;
  SimulatedKubelets& operator=(const SimulatedKubelets&) = delete;

  // Joins the thread; delayed actions are dropped. Called twice, the second call does nothing.
  void stop();

  [[nodiscard]] KubeletStats stats() const;

  // Waits until every event of the store has been handled and no start, stop or report is under
  // way (pods that run on do not count). False: not within the timeout.
  [[nodiscard]] bool wait_idle(std::chrono::milliseconds timeout) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::sandbox
