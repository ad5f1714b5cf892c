#include "config/load.hpp"

#include <algorithm>

#include "config/extenders.hpp"
#include "config/leader_election.hpp"
#include "config/manifest.hpp"
#include "config/profile/profile_decode.hpp"
#include "config/text/fields.hpp"
#include "config/text/yaml_document.hpp"

namespace plimsoll::config {
namespace {

// Fields of earlier versions and of other places, with what to write instead.
const std::map<std::string, std::string, std::less<>>& hints_for_other_fields() {
  constexpr const char* kAddress =
      "it was removed with version v1beta3: the address is given on the command line";
  constexpr const char* kPolicy = "policies were removed with Kubernetes 1.23: use profiles";
  static const std::map<std::string, std::string, std::less<>> kHints = {
      {"healthzBindAddress", kAddress},
      {"metricsBindAddress", kAddress},
      {"algorithmSource", "it was removed with version v1beta1: use profiles"},
      {"policy", kPolicy},
      {"hardPodAffinitySymmetricWeight",
       "it was removed with version v1beta1: it is hardPodAffinityWeight of the args of "
       "InterPodAffinity"},
      {"bindTimeoutSeconds",
       "it was removed with version v1beta1: it belongs to the args of VolumeBinding"},
      {"disablePreemption",
       "it was removed with version v1beta1: disable DefaultPreemption at postFilter"},
      {"featureGates", "feature gates are no part of a profile file: remove it"},
      {"logging", "logging is set on the command line: --log-level, --log-format"},
      {"schedulerName", "it belongs to a profile: profiles[0].schedulerName"},
      {"plugins", "it belongs to a profile: profiles[0].plugins"},
      {"pluginConfig", "it belongs to a profile: profiles[0].pluginConfig"},
  };
  return kHints;
}

// Returns false if the file has another type, so that reading on is useless.
bool check_type(Fields& fields) {
  constexpr std::string_view kGroup = "kubescheduler.config.k8s.io/";
  std::string api_version, kind;
  const bool has_version = fields.read("apiVersion", api_version);
  const bool has_kind = fields.read("kind", kind);
  if (!has_version) {
    fields.problem("apiVersion",
                   required_value("add the line apiVersion: " + std::string(kConfigApiVersion)));
  } else if (api_version != kConfigApiVersion) {
    const bool older = api_version.rfind(kGroup, 0) == 0;
    fields.problem(
        "apiVersion",
        invalid_value(go_quoted(api_version),
                      older ? "only version v1 is supported: change it to " +
                                  std::string(kConfigApiVersion) +
                                  " and correct the fields that are then reported"
                            : "a profile file needs apiVersion " + std::string(kConfigApiVersion)));
  }
  if (!has_kind) {
    fields.problem("kind", required_value("add the line kind: " + std::string(kConfigKind)));
  } else if (kind != kConfigKind) {
    fields.problem("kind", invalid_value(go_quoted(kind),
                                         "a profile file needs kind " + std::string(kConfigKind)));
    return false;
  }
  return true;
}

void warn_idle(const Fields& fields, std::string_view name, std::string_view why,
               Problems& warnings) {
  warnings.push_back({fields.path(name), fields.at(name), "has no effect: " + std::string(why)});
}

void read_client_connection(const Value* value, const std::string& path, ClientConnection& out,
                            Problems& errors, Problems& warnings) {
  const ClientConnection defaults;
  Fields fields(value, path, errors);
  fields.read("kubeconfig", out.kubeconfig);
  fields.read("acceptContentTypes", out.accept_content_types);
  fields.read("contentType", out.content_type);
  fields.read("qps", out.qps);
  fields.read("burst", out.burst);
  fields.finish();
  if (out.content_type.empty()) out.content_type = defaults.content_type;
  if (out.qps == 0) out.qps = defaults.qps;
  if (out.burst < 0) {
    fields.problem("burst", invalid_value(std::to_string(out.burst), "must be non-negative"));
  }
  if (out.burst == 0) out.burst = defaults.burst;
  if (out.qps != defaults.qps || out.burst != defaults.burst) {
    constexpr std::string_view kLimits =
        "the number of requests under way is limited, not their rate";
    warn_idle(fields, out.qps != defaults.qps ? "qps" : "burst", kLimits, warnings);
  }
  const bool json = out.content_type == "application/json";
  if (!json && out.content_type != defaults.content_type) {
    warn_idle(fields, "contentType",
              "pods and nodes are asked for in protobuf, or in JSON if it is application/json",
              warnings);
  }
  if (!out.accept_content_types.empty()) {
    warn_idle(fields, "acceptContentTypes", "Plimsoll chooses the encoding itself", warnings);
  }
}

void read_leader_election(const Value* value, const std::string& path, LeaderElection& out,
                          Problems& errors) {
  const LeaderElection defaults;
  Fields fields(value, path, errors);
  fields.read("leaderElect", out.leader_elect);
  fields.read("leaseDuration", out.lease_duration);
  fields.read("renewDeadline", out.renew_deadline);
  fields.read("retryPeriod", out.retry_period);
  fields.read("resourceLock", out.resource_lock);
  fields.read("resourceName", out.resource_name);
  fields.read("resourceNamespace", out.resource_namespace);
  fields.finish();
  // An empty or zero value means the default, as everywhere in Kubernetes' component configuration.
  if (out.lease_duration.count() == 0) out.lease_duration = defaults.lease_duration;
  if (out.renew_deadline.count() == 0) out.renew_deadline = defaults.renew_deadline;
  if (out.retry_period.count() == 0) out.retry_period = defaults.retry_period;
  if (out.resource_lock.empty()) out.resource_lock = defaults.resource_lock;
  if (out.resource_namespace.empty()) out.resource_namespace = defaults.resource_namespace;
  for (const LeaderElectionProblem& problem : leader_election_problems(out)) {
    fields.problem(problem.field, problem.text);
  }
}

void read_numbers(Fields& fields, SchedulerConfig& out, Problems& warnings) {
  fields.read("parallelism", out.parallelism);
  if (out.parallelism <= 0) {
    fields.problem("parallelism", invalid_value(std::to_string(out.parallelism),
                                                "should be an integer value greater than zero"));
  } else if (out.parallelism != SchedulerConfig().parallelism) {
    warn_idle(fields, "parallelism", "one thread evaluates the nodes, and remembers the results",
              warnings);
  }
  fields.read("percentageOfNodesToScore", out.percentage_of_nodes_to_score);
  check_percentage(fields, out.percentage_of_nodes_to_score, warnings);
  fields.read("podInitialBackoffSeconds", out.pod_initial_backoff_seconds);
  fields.read("podMaxBackoffSeconds", out.pod_max_backoff_seconds);
  if (out.pod_initial_backoff_seconds <= 0) {
    fields.problem(
        "podInitialBackoffSeconds",
        invalid_value(std::to_string(out.pod_initial_backoff_seconds), "must be greater than 0"));
  }
  if (out.pod_max_backoff_seconds < out.pod_initial_backoff_seconds) {
    fields.problem("podMaxBackoffSeconds",
                   invalid_value(std::to_string(out.pod_max_backoff_seconds),
                                 "must be greater than or equal to PodInitialBackoffSeconds"));
  }
}

void read_profiles(Fields& fields, SchedulerConfig& out, Problems& errors, Problems& warnings) {
  bool unnamed = true;  // the last profile has no name; an empty name stays empty
  fields.each("profiles", [&](const Value& item, const std::string& path) {
    const Value* name = item.find("schedulerName");
    unnamed = name == nullptr || name->is_null();
    out.profiles.push_back(decode_profile(item, path, errors, warnings));
  });
  if (out.profiles.empty())
    out.profiles.push_back(decode_profile(Value::mapping(), "profiles[0]", errors, warnings));
  // With several profiles each needs a name.
  if (out.profiles.size() == 1 && unnamed) out.profiles[0].scheduler_name = kDefaultSchedulerName;
  check_profiles_together(out.profiles, errors);
}

// Sets the default name of the lease, and warns of legal settings that would conflict with the
// cluster's own scheduler.
void settle_with_the_default_scheduler(Fields& fields, SchedulerConfig& config,
                                       Problems& warnings) {
  bool serves_default = false;
  for (const Profile& profile : config.profiles) {
    if (profile.scheduler_name != kDefaultSchedulerName) continue;
    serves_default = true;
    warnings.push_back({child_path(profile.path, "schedulerName"), profile.at,
                        "kube-scheduler serves the pods of \"default-scheduler\": two schedulers "
                        "would work on the same pods unless it is stopped"});
  }
  LeaderElection& election = config.leader_election;
  if (election.resource_name.empty()) {
    election.resource_name = serves_default ? kKubeSchedulerLease : "plimsoll";
  } else if (!serves_default && election.leader_elect &&
             election.resource_name == kKubeSchedulerLease &&
             election.resource_namespace == LeaderElection().resource_namespace) {
    warnings.push_back(
        {"leaderElection.resourceName", fields.at("leaderElection"),
         "is kube-scheduler's own lease, kube-system/kube-scheduler: only one of the "
         "two would run; give it a name of its own or set leaderElect: false"});
  }
}

}  // namespace

LoadedConfig load_config_text(std::string_view text, std::string file) {
  LoadedConfig out;
  out.file = std::move(file);
  ParsedText parsed = parse_single_document(text);
  out.errors = std::move(parsed.problems);
  if (!parsed.documents.empty()) {
    SchedulerConfig config;
    Fields fields(&parsed.documents[0], "", out.errors);
    if (fields.present() && check_type(fields)) {
      read_numbers(fields, config, out.warnings);
      fields.read("enableProfiling", config.enable_profiling);
      config.enable_contention_profiling = config.enable_profiling;
      fields.read("enableContentionProfiling", config.enable_contention_profiling);
      fields.read("delayCacheUntilActive", config.delay_cache_until_active);
      read_client_connection(fields.get("clientConnection"), "clientConnection",
                             config.client_connection, out.errors, out.warnings);
      read_leader_election(fields.get("leaderElection"), "leaderElection", config.leader_election,
                           out.errors);
      read_profiles(fields, config, out.errors, out.warnings);
      config.extenders = read_extenders(fields, out.errors);
      fields.finish(hints_for_other_fields());
      settle_with_the_default_scheduler(fields, config, out.warnings);
      out.config = std::move(config);
    }
  }
  sort_by_position(out.errors);
  sort_by_position(out.warnings);
  return out;
}

LoadedConfig load_config_file(const std::string& path) {
  Result<std::string> text = read_text_file(path);
  if (text) return load_config_text(*text, path);
  LoadedConfig out;
  out.file = path;
  std::string message = text.error().message;
  if (message.rfind(path + ": ", 0) == 0) message.erase(0, path.size() + 2);
  out.errors.push_back({"", {}, "the profile file cannot be read: " + message});
  return out;
}

}  // namespace plimsoll::config
