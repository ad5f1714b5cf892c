#pragma once
// Simulated kubelets and topology exporters for every node of an ObjectStore.
//
// A pod that is bound to a node is admitted (or fails with the kubelet's reason) and runs after a
// delay. It ends after `sandbox.plimsoll.io/run-seconds` if it has that annotation. A pod marked
// for deletion is stopped and removed. A change in a node's zones appears in its
// NodeResourceTopology only after the report delay, as with a real exporter, together with the
// fingerprint of the pods that the report covers. Reports may be outdated on arrival, be lost, or
// stop for a while. Nodes that name a machine (sandbox/machine/machine_description.hpp) get their
// Node status and their NodeResourceTopology from it.
//
// Everything runs on a thread of its own; the public functions may be called from any thread.
// Writes go directly to the store and so are not counted as API requests. Delays follow the real
// clock, divided by `speed`. Random values do not depend on the order of events or on other faults
// in the run. The duration of each start and stop of a pod depends only on the seed and the pod's
// name. The duration of the nth report of a node, whether it is lost and whether its agent restarts
// depend only on the seed, the node's name and n.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/sandbox/kubelet/node_admission.hpp"
#include "lab/sandbox/kubelet/use_meter.hpp"
#include "lab/sandbox/machine/machine_description.hpp"
#include "lab/sandbox/store/object_store.hpp"
#include "lab/sandbox/store/simulated_clock.hpp"

namespace plimsoll::sandbox {

inline constexpr const char* kRunSecondsAnnotation = "sandbox.plimsoll.io/run-seconds";
// The scheduler's prediction: {"container": {"cpu": [0], "memory": [0]}}.
inline constexpr const char* kZonesAnnotation = "topology.plimsoll.io/zones";

// The pods that a report's fingerprint covers (nodeTopologyPodsFingerprintMethod).
enum class FingerprintMethod { kAll, kWithExclusiveResources };

// Delays and faults of reports. Times are of the simulated clock.
struct ReportOptions {
  node::ReportKind kind = node::ReportKind::kFacts;
  std::chrono::milliseconds delay{1000};    // from a change of the zones to the exporter's look
  double jitter = 0.0;                      // the delay varies by up to this fraction, per report
  std::chrono::milliseconds transit{0};     // from the look to the arrival: a report's age
  double loss = 0.0;                        // probability below 1 that a report never arrives
  std::chrono::milliseconds period{60000};  // from a lost report to the next look without a change
  double restarts = 0.0;  // probability below 1 that the agent restarts instead of reporting
  std::chrono::milliseconds pause{10000};  // duration of a restart; a new report follows
};

struct KubeletOptions {
  std::chrono::milliseconds start_delay{200};  // from admission to phase Running
  std::chrono::milliseconds stop_delay{100};   // from the deletion mark to removal
  double jitter = 0.0;                         // fraction by which both delays vary
  ReportOptions reports;
  double speed = 1.0;  // 10: time runs ten times as fast
  // If set, this clock gives the time and `speed` is ignored; call wake() after moving it. Null:
  // the real clock.
  std::shared_ptr<const SimulatedClock> clock;
  std::uint64_t seed = 1;
  FingerprintMethod fingerprint = FingerprintMethod::kAll;
  // Null: paths of XML files are relative to the working directory.
  std::shared_ptr<MachineLibrary> machines;
  // Of pods that ran before, on nodes that tie pods to zones: those whose zones no report shows
  // count in every zone. Otherwise they are packed into few.
  bool pessimistic = false;
  NodeAdmissionFactory admission;  // null: make_admission_factory(pessimistic)
};

struct KubeletStats {
  std::uint64_t nodes = 0;
  std::uint64_t pods = 0;  // run by kubelets
  std::uint64_t admitted = 0;
  std::uint64_t rejected = 0;
  std::map<std::string, std::uint64_t> rejections;  // rejected pods by reason
  std::uint64_t topology_rejections = 0;            // TopologyAffinityError
  std::uint64_t finished = 0;                       // ended after their run-seconds
  std::uint64_t removed = 0;                        // stopped after a deletion
  std::uint64_t reports = 0;                        // written, except each node's first one
  std::uint64_t reports_lost = 0;
  std::uint64_t agent_restarts = 0;
  std::uint64_t pending_actions = 0;   // delayed actions under way
  std::uint64_t pending_moves = 0;     // pending starts and stops of pods
  std::uint64_t pending_finishes = 0;  // pending ends of running pods

  // Admitted pods that got CPUs, memory or devices of their own.
  std::uint64_t exclusive_pods = 0;
  std::uint64_t cross_zone_pods = 0;  // exclusive pods with a container over more than one zone
  std::uint64_t cross_zone_containers = 0;
  std::uint64_t predicted_pods = 0;     // exclusive pods that have kZonesAnnotation
  std::uint64_t predictions_right = 0;  // predicted pods that got exactly those zones
};

// One pod's time on a node. Seconds are SimulatedKubelets::seconds().
struct PodLife {
  std::string pod;  // "namespace/name"
  std::string node;
  std::string uid = {};
  node::Amounts requests = {};             // of the pod, as a kubelet counts them
  std::vector<ContainerZones> zones = {};  // of its own; unknown of a pod that ran before
  double admitted = 0;
  double ended = -1;       // when its resources became free; -1: not yet
  bool exclusive = false;  // it got CPUs, memory or devices of its own
  bool cross_zone = false;
};

// "2.5" -> 2.5; null: not a number of seconds between 0 and 1,000,000,000.
[[nodiscard]] std::optional<double> parse_seconds(const std::string& text);

class SimulatedKubelets {
 public:
  // Starts at once with the existing nodes and pods. The store must outlive this object.
  SimulatedKubelets(ObjectStore& store, KubeletOptions options = {});
  ~SimulatedKubelets();  // stops
  SimulatedKubelets(const SimulatedKubelets&) = delete;
  SimulatedKubelets& operator=(const SimulatedKubelets&) = delete;

  // Joins the thread and drops delayed actions. A second call does nothing.
  void stop();

  [[nodiscard]] KubeletStats stats() const;

  // Waits until every event of the store has been handled and no start, stop or report is under way
  // (running pods do not count). Returns false on timeout.
  [[nodiscard]] bool wait_idle(std::chrono::milliseconds timeout) const;

  // Whether no start, stop or report is under way (running pods do not count), as of the last event
  // that was handled.
  [[nodiscard]] bool idle() const;

  // Call it after the clock of the options was moved.
  void wake();
  // Whether every event of the store has been handled and every due action is done.
  [[nodiscard]] bool quiet() const;

  // When the next delayed action is due, in seconds(); null: there is none. As of the last time
  // that it was quiet().
  [[nodiscard]] std::optional<double> next_due() const;

  // Waits until every event of the store so far has been handled.
  [[nodiscard]] bool wait_handled(std::chrono::milliseconds timeout) const;

  // Averages of zone_use() begin with the first mark and end with the last, which is now.
  void mark();

  // Seconds of the simulated clock since the start.
  [[nodiscard]] double seconds() const;

  // The real state of the kubelets, which no scheduler knows; for sandbox/kubelet/oracle.hpp. Each
  // function waits until no kubelet acts; any thread. question_of() prepares a pod once for all
  // nodes; null: malformed.
  [[nodiscard]] std::shared_ptr<const PodQuestion> question_of(const nlohmann::json& pod) const;
  // Grows with every change to what a node's kubelet would admit; 0: there is no such node.
  [[nodiscard]] std::uint64_t version_of(const std::string& node) const;
  [[nodiscard]] bool takes(const std::string& node, const PodQuestion& pod) const;
  // Admits a pod before its binding; the binding itself is then only recorded. Returns false if the
  // pod is rejected.
  bool take(const std::string& node, const nlohmann::json& pod);
  // The binding of a pod that was admitted by take() failed.
  void give_back(const std::string& node, const std::string& uid);

  // Only after stop(). lives(): every admitted pod, in order of admission. zone_use(): the use of
  // the zones at the end and between the marks. first_taker(): the first node by name, among those
  // allowed, whose kubelet would admit the pod.
  [[nodiscard]] std::vector<PodLife> lives() const;
  [[nodiscard]] std::map<std::string, ZoneUse> zone_use() const;
  // The pods that KubeletOptions::pessimistic is about, each with its node.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> unknown_zones() const;
  // What the zones of each node have, and have left.
  [[nodiscard]] std::map<std::string, std::vector<node::ZoneReport>> zones() const;
  [[nodiscard]] std::optional<std::string> first_taker(
      const nlohmann::json& pod, const std::function<bool(const std::string& node)>& allowed) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::sandbox
