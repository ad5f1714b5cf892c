#pragma once
// What the commands that make or check a scheduler take. Each function returns the process's exit
// status. 0: success. 1: failure, with the reason on standard error.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

struct ValidateArguments {
  std::string config;
  bool show_effective = false;
  std::vector<std::string> plugin_directories;
};
[[nodiscard]] int validate_profile(const ValidateArguments& arguments);

struct PluginsArguments {
  std::string output = "text";
  std::vector<std::string> plugin_directories;
};
[[nodiscard]] int list_plugins(const PluginsArguments& arguments);

}  // namespace plimsoll::cli
