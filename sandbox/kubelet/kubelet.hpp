#pragma once
// Simulated kubelets and topology exporters for every node of an ObjectStore.
//
// A pod that is bound to a node is admitted (or fails with the kubelet's reason), runs after a
// delay, and ends after `sandbox.plimsoll.io/run-seconds` if it carries that annotation; a pod
// marked for deletion is stopped and removed. What changes in a node's zones appears in its
// NodeResourceTopology only after the report delay, as with a real exporter, together with the
// fingerprint of the pods that the report covers; reports may be old when they arrive, be lost, or
// stop for a while. Nodes that name a machine (sandbox/machine/machine_description.hpp) get their
// Node status and their NodeResourceTopology from it.
//
// One thread of its own does everything; the public functions may be called from any thread. Writes
// go to the store directly and so are not counted as API requests. Delays follow the real clock,
// divided by `speed`. How long each start and stop of a pod takes follows from the seed and the
// pod's name alone; how long the nth report of a node takes, and whether it is lost or its agent
// restarts, from the seed, the node's name and n: in whatever order events come, and whatever else
// may go wrong in the run.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/apiserver/object_store.hpp"
#include "sandbox/apiserver/simulated_clock.hpp"
#include "sandbox/kubelet/node_admission.hpp"
#include "sandbox/kubelet/use_meter.hpp"
#include "sandbox/machine/machine_description.hpp"

namespace plimsoll::sandbox {

inline constexpr const char* kRunSecondsAnnotation = "sandbox.plimsoll.io/run-seconds";
// What the scheduler predicts: {"container": {"cpu": [0], "memory": [0]}}.
inline constexpr const char* kZonesAnnotation = "topology.plimsoll.io/zones";

// Which pods a report's fingerprint covers (nodeTopologyPodsFingerprintMethod).
enum class FingerprintMethod { kAll, kWithExclusiveResources };

// What happens to reports. Times are of the simulated clock.
struct ReportOptions {
  ReportKind kind = ReportKind::kFacts;
  std::chrono::milliseconds delay{1000};    // from a change of the zones to the exporter's look
  double jitter = 0.0;                      // the delay varies by up to this fraction, per report
  std::chrono::milliseconds transit{0};     // from the look to the arrival: so old is a report
  double loss = 0.0;                        // probability that a report never arrives, below 1 ...
  std::chrono::milliseconds period{60000};  // ... and when the exporter looks again then, if no
                                            // change has made it look before
  double restarts = 0.0;  // probability that the agent restarts instead, below 1 ...
  std::chrono::milliseconds pause{10000};  // ... and how long it is away; then it reports afresh
};

struct KubeletOptions {
  std::chrono::milliseconds start_delay{200};  // from admission to phase Running
  std::chrono::milliseconds stop_delay{100};   // from the deletion mark to removal
  double jitter = 0.0;                         // these two vary by up to this fraction
  ReportOptions reports;
  double speed = 1.0;  // 10: time runs ten times as fast
  // Time is what this clock says, whatever `speed`; wake() after moving it. Null: the real clock.
  std::shared_ptr<const SimulatedClock> clock;
  std::uint64_t seed = 1;
  FingerprintMethod fingerprint = FingerprintMethod::kAll;
  std::shared_ptr<MachineLibrary> machines;  // null: XML files are found beside the process
  NodeAdmissionFactory admission;            // null: make_admission_factory()
};

struct KubeletStats {
  std::uint64_t nodes = 0;
  std::uint64_t pods = 0;  // that kubelets run
  std::uint64_t admitted = 0;
  std::uint64_t rejected = 0;
  std::map<std::string, std::uint64_t> rejections;  // of these, by reason
  std::uint64_t topology_rejections = 0;            // TopologyAffinityError
  std::uint64_t finished = 0;                       // ran for their run-seconds
  std::uint64_t removed = 0;                        // stopped after a deletion
  std::uint64_t reports = 0;                        // written, but for the first one of each node
  std::uint64_t reports_lost = 0;
  std::uint64_t agent_restarts = 0;
  std::uint64_t pending_actions = 0;   // delayed actions that are under way
  std::uint64_t pending_moves = 0;     // of these, starts and stops of pods
  std::uint64_t pending_finishes = 0;  // of these, ends of pods that run

  // Of the pods admitted, those that got CPUs, memory or devices for themselves; and of these:
  std::uint64_t exclusive_pods = 0;
  std::uint64_t cross_zone_pods = 0;  // with a container over more than one zone
  std::uint64_t cross_zone_containers = 0;
  std::uint64_t predicted_pods = 0;     // with the annotation topology.plimsoll.io/zones ...
  std::uint64_t predictions_right = 0;  // ... that names just the zones they got
};

// One pod's time on a node. Seconds are SimulatedKubelets::seconds().
struct PodLife {
  std::string pod;  // "namespace/name"
  std::string node;
  double admitted = 0;
  double ended = -1;       // it holds nothing any more; -1: it does
  bool exclusive = false;  // it got CPUs, memory or devices for itself
  bool cross_zone = false;
};

// "2.5" -> 2.5; null: not a number of seconds from 0 to a thousand million.
[[nodiscard]] std::optional<double> parse_seconds(const std::string& text);

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

  // The clock of the options was moved.
  void wake();
  // Every event of the store has been handled, and everything done that is due.
  [[nodiscard]] bool quiet() const;

  // Waits until every event of the store so far has been handled.
  [[nodiscard]] bool wait_handled(std::chrono::milliseconds timeout) const;

  // Of the simulated clock, since the beginning.
  [[nodiscard]] double seconds() const;

  // For those who have to know what no scheduler knows (sandbox/kubelet/oracle.hpp): the state in
  // which the kubelets really are. Each waits until no kubelet acts; any thread. A pod worked out
  // once for all nodes; null: malformed.
  [[nodiscard]] std::shared_ptr<const PodQuestion> question_of(const nlohmann::json& pod) const;
  // Grows with everything that changes what a node's kubelet would take; 0: there is no such node.
  [[nodiscard]] std::uint64_t version_of(const std::string& node) const;
  [[nodiscard]] bool takes(const std::string& node, const PodQuestion& pod) const;
  // Admits a pod before its binding, which then is no more than noted. False: it is refused.
  bool take(const std::string& node, const nlohmann::json& pod);
  // The binding of a pod that was taken failed.
  void give_back(const std::string& node, const std::string& uid);

  // Only after stop(). Every pod that was admitted, in that order; how the zones were used until
  // then; the first node, by name and among those allowed, whose kubelet would take a pod.
  [[nodiscard]] std::vector<PodLife> lives() const;
  [[nodiscard]] std::map<std::string, ZoneUse> zone_use() const;
  [[nodiscard]] std::optional<std::string> first_taker(
      const nlohmann::json& pod, const std::function<bool(const std::string& node)>& allowed) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::sandbox
