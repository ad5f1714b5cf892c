#pragma once
// One simulation: the embedded API server, simulated kubelets and the real scheduler in this
// process.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/ask/node_use.hpp"
#include "cli/run/wiring.hpp"
#include "lab/sandbox/apiserver/api_server.hpp"
#include "lab/sandbox/kubelet/kubelet.hpp"
#include "lab/sandbox/store/object_store.hpp"
#include "lab/simulate/held_back.hpp"
#include "lab/simulate/placements.hpp"
#include "lab/simulate/pod_watcher.hpp"

namespace plimsoll::cli {

struct SimulationOptions {
  std::vector<std::string> cluster;  // objects as JSON texts
  std::vector<std::string> pods;     // pods that arrive once the scheduler runs (cli/arrivals.hpp)
  // Any objects that come, change and go while it runs (cli/arrivals.hpp).
  std::vector<std::string> events;
  double bind_failures = 0;  // the share of Bindings that fail, by kubelets.seed
  sandbox::KubeletOptions kubelets;
  std::chrono::milliseconds timeout{120'000};  // of the real time
  // The highest speed of the simulated clock relative to the real one; 0: as fast as it can be
  // computed. It does not affect the result (cli/pace.hpp).
  double speed = 0;
  // `modules` were loaded with oracle_modules(), which ask these kubelets.
  bool oracle = false;
  // The run goes on until this moment of the simulated clock, and no longer, whatever happens;
  // null: see run_simulation.
  std::optional<double> until;
  std::vector<std::string> explain;  // pods, "namespace/name", to be explained at the end
  bool view = false;                 // what SimulationResult::view has is wanted
  std::function<void(const std::string& url)> on_serving;  // the API server's
  // Told when the scheduler loop hangs, or is busy with one thing for half of `timeout`. It should
  // end the process: what hangs cannot be stopped.
  std::function<void(const std::string& problem)> on_hang;
  // Schedulers whose waiting pods the first profile takes. One that a profile has itself takes the
  // waiting pods of all others.
  std::vector<std::string> as_schedulers;
};

// The part of a run that averages and hours are about, in seconds of the simulated clock since the
// scheduler was ready: from the first arrival of a pod to the last, or to SimulationOptions::until.
struct Window {
  double from = 0;
  double to = 0;
};

// What the scheduler says at the end, for the page that draws it: the answers of `plimsoll top`,
// `queue` and `explain` as JSON.
struct SimulationView {
  std::string top;
  std::string queue;
  std::vector<std::pair<std::string, std::string>>
      explained;  // by pod: those of `explain`, then those that wait
};

struct SimulationResult {
  std::vector<Placement> placements;  // of the pods that name one of our schedulers, by name
  std::vector<std::string> notes;     // what was left out, and why
  size_t bound = 0;
  double seconds = 0;  // of the simulated clock, from the first pod's creation to the last binding
  uint64_t bindings = 0;
  uint64_t events = 0;
  uint64_t conditions = 0;
  sandbox::KubeletStats kubelets;
  bool settled = false;             // false: the timeout came first
  std::vector<EvictedPod> evicted;  // in the order of their ends
  std::vector<NodeUse> nodes;       // at the end, by name
  // Of each pod of SimulationOptions::explain: the answer as of `plimsoll explain -o json`.
  std::vector<Result<std::string>> explanations;
  std::vector<std::string> undecided;  // pods neither bound nor found unschedulable, by name
  std::vector<std::string> coming;     // pods that have not arrived yet
  std::vector<HeldBackPod> held_back;
  std::map<std::string, sandbox::ZoneUse> zone_use;  // by resource
  std::optional<Window> window;                      // null: no pod came
  bool until = false;                                // it ends as SimulationOptions::until says
  // Resource seconds that pods had of their nodes in the window: of CPUs in thousandths.
  std::map<std::string, double> resource_seconds;
  // Seconds of the simulated clock since the scheduler was ready.
  std::vector<sandbox::PodLife> lives;
  double simulated_seconds = 0;  // at the end
  SchedulerStats scheduler;
  SimulationView view;
};

// The oracle in place of NodeResourceTopologyMatch (sandbox/kubelet/oracle.hpp), for load_modules.
[[nodiscard]] std::span<const StaticModule> oracle_modules();

// Progress: the numbers of pods that have arrived, are bound, and were found unschedulable so far.
using Progress = std::function<void(size_t arrived, size_t bound, size_t waiting)>;

// Runs until nothing changes any more: every pod has arrived, each is bound or was found
// unschedulable, and if some are unschedulable, no running pod is going to end. Blocks. Errors:
// objects that cannot be loaded, plugins that cannot be created.
[[nodiscard]] Result<SimulationResult> run_simulation(const config::Validation& configuration,
                                                      const Modules& modules,
                                                      const SimulationOptions& options,
                                                      const Progress& progress);

}  // namespace plimsoll::cli
