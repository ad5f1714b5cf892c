#pragma once
// One function per command; each returns the process's exit status. 0: success. 1: failure, with
// the reason on standard error.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/asking.hpp"
#include "framework/cycle/scheduler_options.hpp"
#include "serving/access.hpp"
#include "serving/tls_options.hpp"

namespace plimsoll::cli {

// --leader-elect and the related flags: they override the file. Durations as in the file ("15s").
struct LeaderElectionArguments {
  std::optional<bool> leader_elect;
  std::optional<std::string> lease_duration;
  std::optional<std::string> renew_deadline;
  std::optional<std::string> retry_period;
  std::optional<std::string> resource_lock;
  std::optional<std::string> resource_name;
  std::optional<std::string> resource_namespace;
};

// Where metrics and health are served, and to whom.
struct ServingArguments {
  std::string bind_address = "127.0.0.1";
  std::uint16_t port = 10251;    // 0: no server, and no metrics are collected
  bool secure_loopback = false;  // TLS and the check who asks on loopback too
  serving::TlsOptions tls;
  std::vector<std::string> always_allow_paths = serving::AccessOptions{}.always_allow_paths;
};

struct RunArguments {
  std::string given;  // the command line behind "run", for the log
  std::string config;
  std::string
      kubeconfig;  // empty: the file's clientConnection.kubeconfig, otherwise kubectl's rules
  std::string context;
  // Write the effective configuration there ("-": standard output) and exit, without a cluster.
  std::string write_config_to;
  // With that: reads the files that the configuration names, too. For a profile file that changed.
  bool as_a_reload = false;
  std::vector<std::string> plugin_directories;
  LeaderElectionArguments leader_election;
  bool without_kube_scheduler = false;  // the operator says that none runs in this cluster
  std::string fallback_config;  // a profile file for a start at which `config` is not usable
  std::string keep_config_in;   // NAMESPACE/NAME of the ConfigMap that holds the profile in force
  ServingArguments serving;
  std::string socket;  // for explain and debug; empty: default_socket_path(), "none": no socket
  ScheduledEvents scheduled_events = ScheduledEvents::kAlways;
  bool no_classes = false;  // no reuse of results between equal pods
  uint32_t class_check =
      1000;  // one in this many kept decisions is repeated without the table; 0: none
};
[[nodiscard]] int run(const RunArguments& arguments);

struct SimulateArguments {
  std::string config;
  std::string cluster;
  std::string pods;
  std::string expect;                 // empty: no expectations
  bool lenient = false;               // what is not understood is noted, not refused
  std::string output = "text";        // or json
  bool report = false;                // print the topology report
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
  int64_t timeout_s = 120;
  std::string nodes = "20";          // how many of them are shown, or "all"
  std::vector<std::string> explain;  // pods to be explained at the end
  std::vector<std::string> plugin_directories;
};
[[nodiscard]] int simulate(const SimulateArguments& arguments);

struct ValidateArguments {
  std::string config;
  bool show_effective = false;
  std::vector<std::string> plugin_directories;
};
[[nodiscard]] int validate_profile(const ValidateArguments& arguments);

struct ExportArguments {
  std::string kubeconfig;  // empty: kubectl's rules
  std::string context;
  std::string output = "-";  // a file; "-": standard output
  bool anonymise = false;
  // Whose plugins are asked what they watch: those of the profile, without one all of the folders.
  std::string config;
  std::vector<std::string> plugin_directories;
};
[[nodiscard]] int export_cluster(const ExportArguments& arguments);

struct ExplainArguments {
  std::string pod;  // NAMESPACE/NAME
  // Files to use instead of a running scheduler, read as by `simulate`. Nothing is bound.
  std::string config;
  std::string cluster;
  std::string pods;
  std::string nodes;            // number of nodes shown, or "all"; empty: depends on the output
  std::string output = "text";  // or json
  std::vector<std::string> plugin_directories;
  bool lenient = false;  // see SimulateArguments
};
// `ask`: a running scheduler.
[[nodiscard]] int explain(const ExplainArguments& arguments, const Ask& ask);

struct ShowArguments {
  std::string limit;            // how many nodes or pods, or "all"; empty: 50
  std::string output = "text";  // or json
};
// What nodes, zones and devices have and how much of it is used, as the scheduler counts.
[[nodiscard]] int show_use(const ShowArguments& arguments, const Ask& ask);
// The pods that wait.
[[nodiscard]] int show_queue(const ShowArguments& arguments, const Ask& ask);

struct DebugArguments {
  double settle_s = 5;  // how long a difference must last
  std::string output = "text";
};
// Exit status 2: failure.
[[nodiscard]] int debug_dump(const Ask& ask);
// Exit status 0: equal, 1: differences, 2: failure.
[[nodiscard]] int debug_compare(const DebugArguments& arguments, const Ask& ask);
// Prints the log level, or sets it: `level` is not empty.
[[nodiscard]] int debug_log_level(const std::string& level, const Ask& ask);

struct PluginsArguments {
  std::string output = "text";
  std::vector<std::string> plugin_directories;
};
[[nodiscard]] int list_plugins(const PluginsArguments& arguments);

// Prints on standard error why a command failed, and returns its exit status, 1.
int failure(std::string_view command, std::string_view message);

}  // namespace plimsoll::cli
