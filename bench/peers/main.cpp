// Compares Plimsoll with kube-scheduler on the same real API server with the same loads, and with a
// client that decides nothing.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/peers/report.hpp"
#include "tests/support/child_process.hpp"

namespace plimsoll::bench {
namespace {

struct Arguments {
  Programs programs;
  std::vector<std::string> only;
  int rounds = 0;
  bool is_short = false;
  bool without_peer = false;
  int nodes = 0;
  int pods = 0;
  std::string output;
};

Load waiting(std::string name, Profile profile, FleetShape fleet, std::optional<int> peer_pods) {
  return {.name = std::move(name),
          .profile = profile,
          .fleet = fleet,
          .arrival = 0,
          .peer_pods = peer_pods};
}

Load shaped(std::string name, Shape shape, std::optional<int> peer_pods) {
  return {.name = std::move(name),
          .profile = Profile::kDefault,
          .fleet = {.nodes = 1'000, .pods = 5'000, .zones = 0},
          .shape = shape,
          .arrival = 0,
          .peer_pods = peer_pods};
}

Load on_500_nodes(std::string name, Shape shape, int pods) {
  return {.name = std::move(name),
          .profile = Profile::kDefault,
          .fleet = {.nodes = 500, .pods = pods, .zones = 0},
          .shape = shape,
          .arrival = 0,
          .peer_pods = std::nullopt};
}

Load arriving(std::string name, Profile profile, int zones, int rate, int seconds) {
  return {.name = std::move(name),
          .profile = profile,
          .fleet = {.nodes = 1'000, .pods = rate * seconds, .zones = zones},
          .arrival = rate,
          .peer_pods = std::nullopt};
}

// With --short the peer gets fewer pods where it takes minutes for all of them.
std::vector<Load> all_loads(bool is_short) {
  const auto few = [is_short](int pods) {
    return is_short ? std::optional<int>(pods) : std::nullopt;
  };
  const int seconds = is_short ? 15 : 60;
  std::vector<Load> loads{
      waiting("default, 1,000 nodes", Profile::kDefault, {1'000, 5'000, 0}, std::nullopt),
      waiting("default, 5,000 nodes", Profile::kDefault, {5'000, 10'000, 0}, std::nullopt),
      waiting("topology, 1,000 nodes of 2 zones", Profile::kTopology, {1'000, 5'000, 2},
              few(1'000)),
      waiting("topology, 5,000 nodes of 8 zones", Profile::kTopology, {5'000, 10'000, 8}, few(500)),
      shaped("spreading, 1,000 nodes", Shape::kSpread, few(2'000)),
      shaped("affinity, 1,000 nodes", Shape::kAffinity, few(2'000)),
      shaped("CSI volumes, 1,000 nodes", Shape::kCsiVolumes, few(2'000)),
      on_500_nodes("claims, 500 nodes", Shape::kClaims, 2'500),
      on_500_nodes("claims that match, 500 nodes", Shape::kMatching, 1'250),
      arriving("default, 100 pods/s", Profile::kDefault, 0, 100, seconds),
      arriving("default, 500 pods/s", Profile::kDefault, 0, 500, seconds)};
  if (!is_short) {
    loads.push_back(arriving("topology, 100 pods/s", Profile::kTopology, 2, 100, seconds));
    loads.push_back(arriving("topology, 500 pods/s", Profile::kTopology, 2, 500, seconds));
  }
  return loads;
}

std::vector<Load> chosen_loads(const Arguments& arguments) {
  std::vector<Load> chosen;
  for (Load load : all_loads(arguments.is_short)) {
    const bool wanted =
        arguments.only.empty() ||
        std::any_of(arguments.only.begin(), arguments.only.end(), [&](const std::string& words) {
          return load.name.find(words) != std::string::npos;
        });
    if (!wanted) continue;
    if (load.arrival == 0 && arguments.nodes + arguments.pods > 0) {
      if (arguments.nodes > 0) load.fleet.nodes = arguments.nodes;
      if (arguments.pods > 0) load.fleet.pods = arguments.pods;
      load.name += " (here " + std::to_string(load.fleet.nodes) + ", " +
                   std::to_string(load.fleet.pods) + " pods)";
    }
    chosen.push_back(std::move(load));
  }
  return chosen;
}

std::vector<Contestant> contestants(const Load& load, const Arguments& arguments) {
  std::vector<Contestant> list{Contestant::kPlimsoll};
  // The event Scheduled is one of the two writes that a bound pod costs.
  if (load.arrival == 0 && load.shape == Shape::kPlain && load.profile == Profile::kDefault) {
    list.push_back(Contestant::kSilent);
  }
  if (!arguments.without_peer) list.push_back(Contestant::kPeer);
  if (load.arrival == 0) list.push_back(Contestant::kCeiling);
  return list;
}

// "Kubernetes v1.37.2"
std::string version_of(const std::filesystem::path& program) {
  const auto ran = test::run({.argv = {program.string(), "--version"}});
  if (!ran) return "of unknown version";
  return ran->out.substr(0, ran->out.find('\n'));
}

// Which of the feature gates that decide how fast a kube-scheduler is are on, as its help says:
// "OpportunisticBatching on, SchedulerAsyncAPICalls off". A gate that it does not name is always
// on, or is not there yet, and is left out.
std::string features_of(const std::filesystem::path& program) {
  constexpr const char* kGates[] = {"OpportunisticBatching",     "SchedulerAsyncAPICalls",
                                    "SchedulerAsyncPreemption",  "SchedulerPopFromBackoffQ",
                                    "SchedulerPreQueueingHints", "InterPodAffinityHostnameFastPath",
                                    "StorageCapacityScoring"};
  const auto ran = test::run({.argv = {program.string(), "--help"}});
  if (!ran) return "features not known";
  std::string text;
  for (const std::string gate : kGates) {
    const std::size_t at = ran->out.find(gate + "=true|false");
    if (at == std::string::npos) continue;
    const std::string line = ran->out.substr(at, ran->out.find('\n', at) - at);
    text += (text.empty() ? "" : ", ") + gate +
            (line.find("default=true") != std::string::npos ? " on" : " off");
  }
  return text.empty() ? "no feature gates named" : text;
}

void print_terms(const Arguments& arguments) {
  if (!arguments.without_peer) {
    const std::filesystem::path& peers = arguments.programs.peers;
    std::printf(
        "kube-scheduler: %s\n  (%s);\nfor loads with zones %s\n  (%s) with "
        "NodeResourceTopologyMatch.\nIt may send %d requests a second (clientConnection.qps and "
        "burst; by default 50 and 100).\n",
        version_of(peers / "kube-scheduler").c_str(), features_of(peers / "kube-scheduler").c_str(),
        version_of(peers / "kube-scheduler-nrt").c_str(),
        features_of(peers / "kube-scheduler-nrt").c_str(), kPeerQps);
  }
  std::printf(
      "Plimsoll and the ceiling have no such limit, only one of what is under way.\nMedians of %d "
      "rounds, each on a fresh API server.\n\n",
      arguments.rounds);
}

int compare(const Arguments& arguments) {
  std::vector<Outcome> outcomes;
  for (const Load& load : chosen_loads(arguments)) outcomes.push_back({load, {}});
  if (outcomes.empty()) {
    std::fprintf(stderr, "peers: no load's name has the words of --only\n");
    return 2;
  }
  print_terms(arguments);
  for (int round = 0; round < arguments.rounds; ++round) {
    for (Outcome& outcome : outcomes) {
      for (const Contestant who : contestants(outcome.load, arguments)) {
        const auto measure = run_contest(outcome.load, who, arguments.programs);
        if (!measure) {
          std::fprintf(stderr, "peers: %s\n", measure.error().message.c_str());
          return 1;
        }
        outcome.rounds[who].push_back(*measure);
      }
      std::fprintf(stderr, "round %d of %d: %s\n", round + 1, arguments.rounds,
                   outcome.load.name.c_str());
    }
  }
  std::fputs(tables(outcomes).c_str(), stdout);
  if (!arguments.output.empty()) {
    std::ofstream file(arguments.output);
    file << as_json(outcomes).dump(2) << "\n";
    if (!file.flush()) {
      std::fprintf(stderr, "peers: %s cannot be written\n", arguments.output.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  plimsoll::bench::Arguments arguments;
  CLI::App app("Plimsoll and kube-scheduler against the same API server and loads");
  app.add_option("--plimsoll", arguments.programs.plimsoll, "the program")->required();
  app.add_option("--plugin-dir", arguments.programs.plugins)->required();
  app.add_option("--peers", arguments.programs.peers, "the folder that bench/peers/build prints");
  app.add_option("--only", arguments.only,
                 "loads whose names have these words; several: any of them");
  app.add_option("--rounds", arguments.rounds, "each with fresh servers; 3, or 1 with --short")
      ->check(CLI::PositiveNumber);
  app.add_flag("--short", arguments.is_short,
               "one round, short arrivals, and fewer pods for the peer where it is slow");
  app.add_flag("--without-peer", arguments.without_peer, "Plimsoll and the ceiling only");
  app.add_option("--nodes", arguments.nodes, "of loads whose pods are there first")
      ->check(CLI::PositiveNumber);
  app.add_option("--pods", arguments.pods, "of loads whose pods are there first")
      ->check(CLI::PositiveNumber);
  app.add_option("-o,--output", arguments.output, "all figures, as JSON");
  CLI11_PARSE(app, argc, argv);
  if (arguments.programs.peers.empty()) arguments.without_peer = true;
  if (arguments.rounds == 0) arguments.rounds = arguments.is_short ? 1 : 3;
  return plimsoll::bench::compare(arguments);
}
