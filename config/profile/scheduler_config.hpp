#pragma once
// The profile file: KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1, decoded and
// defaulted.
//
// Field names, defaults and meaning are kube-scheduler's. Plimsoll adds no field, so that a file
// stays valid for kube-scheduler; its own settings are command-line flags. Plain values that can be
// copied.

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/problem.hpp"
#include "config/text/value.hpp"
#include "framework/extenders/extender.hpp"
#include "framework/runtime/plugin/profile_spec.hpp"

namespace plimsoll::config {

inline constexpr std::string_view kConfigApiVersion = "kubescheduler.config.k8s.io/v1";
inline constexpr std::string_view kConfigKind = "KubeSchedulerConfiguration";

// "preFilter", the field's name in the file.
[[nodiscard]] std::string_view field_name(ExtensionPoint point);
[[nodiscard]] std::array<ExtensionPoint, kExtensionPoints> all_extension_points();

// A plugin in a set. `name` is its name here, with aliases (DeviceShare) resolved; `written` is the
// name in the file.
struct PluginRef {
  std::string name;
  std::optional<std::int32_t> weight;
  std::string written;
  std::string path;
  Position at;
};

struct PluginSet {
  std::vector<PluginRef> enabled;
  std::vector<PluginRef> disabled;                // the name "*" stands for all
  bool operator==(const PluginSet& other) const;  // by names and weights
};

struct Plugins {
  PluginSet multi_point;
  PerExtensionPoint<PluginSet> points;
};

// The args of one plugin as they are written, as JSON text without apiVersion and kind
// (plugin_args.hpp). `source` is the value in the file, for the places of errors.
struct PluginArgs {
  std::string name;
  std::string json;
  std::string written;  // the plugin's name in the file
  std::string path;     // profiles[0].pluginConfig[1].args; empty for args that are not in the file
  Value source;
  Position named_at = {};  // where the plugin is enabled; of args that are not in the file

  // A problem that the plugin found at `path_in_args` (such as scoringStrategy.type), with its
  // place.
  [[nodiscard]] Problem problem(std::string_view path_in_args, std::string message) const;
};

struct Profile {
  std::string scheduler_name;
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  Plugins plugins;
  std::vector<PluginArgs> plugin_args;  // those in the file, in its order
  std::string path;                     // profiles[0]
  Position at;
};

struct ClientConnection {
  std::string kubeconfig;
  std::string accept_content_types;
  std::string content_type = "application/vnd.kubernetes.protobuf";
  double qps = 50;
  std::int32_t burst = 100;
};

struct LeaderElection {
  bool leader_elect = true;
  std::string resource_lock = "leases";
  std::string resource_namespace = "kube-system";
  // The default is "plimsoll", so that a second scheduler does not wait for the lease of the
  // cluster's own. It is "kube-scheduler" if a profile serves the pods of "default-scheduler",
  // because then only one of the two may run.
  std::string resource_name;
  std::chrono::nanoseconds lease_duration = std::chrono::seconds(15);
  std::chrono::nanoseconds renew_deadline = std::chrono::seconds(10);
  std::chrono::nanoseconds retry_period = std::chrono::seconds(2);
};

struct SchedulerConfig {
  std::int32_t parallelism = 16;
  std::int32_t percentage_of_nodes_to_score = 0;  // accepted; every node is always evaluated
  std::int64_t pod_initial_backoff_seconds = 1;
  std::int64_t pod_max_backoff_seconds = 10;
  bool enable_profiling = true;
  bool enable_contention_profiling = true;
  bool delay_cache_until_active = false;
  ClientConnection client_connection;
  LeaderElection leader_election;
  std::vector<Profile> profiles;
  std::vector<ExtenderSpec> extenders;  // those that are ignorable last
};

}  // namespace plimsoll::config
