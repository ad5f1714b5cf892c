#pragma once
// One scheduler, one load, one fresh API server: what it reached and what it cost.

#include <filesystem>
#include <optional>
#include <string>

#include "bench/bindings/fleet.hpp"

namespace plimsoll::bench {

enum class Contestant { kPlimsoll, kPeer, kCeiling };

// The default plugins, or NodeResourceTopologyMatch with its reservation cache besides. Both
// schedulers are given the same profile file.
enum class Profile { kDefault, kTopology };

struct Load {
  std::string name;
  Profile profile = Profile::kDefault;
  FleetShape fleet;
  // Pods created in each second while the scheduler runs; 0: all of them before it is started.
  int arrival = 0;
  // How many of the pods the peer gets, if fewer: its rate does not depend on it, the time does.
  std::optional<int> peer_pods;
};

struct Programs {
  std::filesystem::path plimsoll;
  std::filesystem::path plugins;
  std::filesystem::path peers;  // the folder that bench/peers/build prints; empty: none
};

// Figures that have no meaning for the load or the contestant are 0.
struct Measure {
  int pods = 0;
  int bound = 0;
  double per_second = 0;  // from the first binding to the last
  double per_second_from_start = 0;
  double with_events_per_second = 0;  // until the last event too
  double first_binding = 0;           // seconds from the scheduler's start
  double cpu_ms = 0;         // of the scheduler, a pod, from its start until the last event
  double server_cpu_ms = 0;  // of the API server, a pod, in that time
  double peak_mib = 0;       // of the scheduler
  double events = 0;         // that the API server holds in the end
  double latency_p50 = 0;    // milliseconds from sending the creation to seeing it bound
  double latency_p99 = 0;
};

// kube-scheduler's limits of its own requests, far above what the API server takes, as Plimsoll has
// none; the defaults are 50 and 100.
inline constexpr int kPeerQps = 10'000;

// Where bench/peers/build has put the peers; kNotFound if it was not run.
[[nodiscard]] Result<std::filesystem::path> find_peers();

// From the program's main thread only. Takes as long as the contestant, and gives it up when it
// binds nothing for a minute: `bound` is then below `pods`.
[[nodiscard]] Result<Measure> run_contest(const Load& load, Contestant contestant,
                                          const Programs& programs);

}  // namespace plimsoll::bench
