#pragma once
// One scheduler with one load on one fresh API server: its rate and its cost.

#include <filesystem>
#include <optional>
#include <string>

#include "bench/bindings/fleet.hpp"
#include "bench/peers/shapes.hpp"

namespace plimsoll::bench {

// kSilent: Plimsoll with --scheduled-events never.
enum class Contestant { kPlimsoll, kSilent, kPeer, kCeiling };

// The default plugins, or additionally NodeResourceTopologyMatch with its reservation cache. Both
// schedulers get the same profile file.
enum class Profile { kDefault, kTopology };

struct Load {
  std::string name;
  Profile profile = Profile::kDefault;
  FleetShape fleet;
  Shape shape = Shape::kPlain;  // another one has no arrival and no zones
  // Pods created in each second while the scheduler runs; 0: all of them before it is started.
  int arrival = 0;
  // How many pods the peer gets, if fewer. Its rate does not depend on the number, only the
  // duration.
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
  double per_second = 0;              // from the first binding to the last
  double per_second_from_start = 0;   // as first_binding
  double with_events_per_second = 0;  // until the last event too
  // Seconds from the scheduler's start.
  double first_binding = 0;
  double cpu_ms = 0;         // of the scheduler per pod, from its start until the last event
  double server_cpu_ms = 0;  // of the API server per pod, in the same time
  double peak_mib = 0;       // of the scheduler
  double events = 0;         // that the API server holds in the end
  double latency_p50 = 0;    // milliseconds from sending the creation to seeing it bound
  double latency_p99 = 0;
};

// kube-scheduler's limit of its own requests (QPS and burst; the defaults are 50 and 100). It is
// far above what the API server can serve, because Plimsoll has no such limit.
inline constexpr int kPeerQps = 10'000;

// The beginning of a profile file, up to the plugins, and the plugins and arguments of kTopology:
// the cached variant as the plugin's documentation shows it. `also`: ", {name: ...}".
[[nodiscard]] std::string profile_head(const std::string& kubeconfig);
[[nodiscard]] std::string topology_plugins(const std::string& also = {},
                                           const std::string& other_points = {});

// Where bench/peers/build has put the peers; kNotFound if it was not run.
[[nodiscard]] Result<std::filesystem::path> find_peers();

// From the program's main thread only. Blocks until the contestant is done, or until it has bound
// nothing for a minute; `bound` is then less than `pods`.
[[nodiscard]] Result<Measure> run_contest(const Load& load, Contestant contestant,
                                          const Programs& programs);

}  // namespace plimsoll::bench
