#pragma once
// `plimsoll-lab simulate`: the real scheduler on a copy of a cluster, in this process.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::cli {

struct SimulateArguments {
  std::string config;  // empty: the default profile and every plugin from a folder
  std::string cluster;
  std::vector<std::string> more_of_cluster;  // further files
  std::string pods;
  std::string expect;           // empty: no expectations
  bool lenient = false;         // what is not understood is noted, not refused
  std::string output = "text";  // or json, or csv
  bool report = false;          // print the topology report
  std::string html;             // file for the page that shows the result; empty: none
  std::optional<double> until;  // when the run ends, in seconds; null: when nothing moves
  std::vector<std::string> as_schedulers;    // whose waiting pods are taken
  std::string unknown_zones = "optimistic";  // or pessimistic
  double speed = 0;                   // highest, of the simulated clock; 0: as fast as possible
  bool oracle = false;                // ask the kubelets themselves instead of reports
  uint64_t seed = 1;                  // of random variations and faults
  std::string report_kind = "facts";  // or counts
  int64_t report_delay_ms = 500;      // from admission to the node's next topology report
  double report_jitter = 0;           // fraction by which that varies
  int64_t report_transit_ms = 0;      // the age of a report on arrival
  double report_loss = 0;             // probability that a report is lost
  int64_t report_period_ms = 60000;   // when a node reports again after that
  double agent_restarts = 0;          // probability that the agent restarts instead of reporting
  int64_t agent_pause_ms = 10000;     // how long a restart takes
  std::string events;                 // a file of objects that come, change and go; empty: none
  double bind_failures = 0;           // probability that a Binding fails
  int64_t timeout_s = 120;
  std::string nodes = "20";          // how many of them are shown, or "all"
  std::vector<std::string> explain;  // pods to be explained at the end
  std::vector<std::string> plugin_directories;
  std::map<std::string, std::vector<std::string>> flags;  // as they were given, for the result
};
// Returns the exit status. `page`: gets the document that the page shows (docs/ui.md), and nothing
// is printed but what is wrong; left alone if there is no result.
[[nodiscard]] int simulate(const SimulateArguments& arguments, std::string* page = nullptr);

// What `simulate -o json` printed, as such a document.
[[nodiscard]] std::string page_of_result(const nlohmann::json& result);

}  // namespace plimsoll::cli
