// `plimsoll run` on the command line.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cli/line/options.hpp"
#include "cli/run/commands.hpp"
#include "cli/run/run_options.hpp"

namespace plimsoll::cli {
namespace {

// kube-scheduler's flags.
void add_leader_election_options(CLI::App& command, LeaderElectionArguments& into) {
  const auto add = [&command](const char* flag, std::optional<std::string>& value,
                              const char* text) {
    command.add_option(flag, value, text)->group("Leader election (wins over the profile file)");
  };
  command
      .add_flag_function(
          "--leader-elect{true}", [&into](std::int64_t yes) { into.leader_elect = yes > 0; },
          "Schedule only while holding a lease that all replicas share "
          "(--leader-elect=false: always)")
      ->take_last()
      ->group("Leader election (wins over the profile file)");
  add("--leader-elect-lease-duration", into.lease_duration,
      "How long a standby waits after the last renewal that it saw, before it takes over");
  add("--leader-elect-renew-deadline", into.renew_deadline,
      "How long after its last renewal the leader leads");
  add("--leader-elect-retry-period", into.retry_period,
      "How often the lease is renewed, or asked for");
  add("--leader-elect-resource-lock", into.resource_lock, "leases");
  add("--leader-elect-resource-name", into.resource_name, "Name of the lease");
  add("--leader-elect-resource-namespace", into.resource_namespace, "Namespace of the lease");
}

void add_serving_options(CLI::App& command, ServingArguments& into) {
  const auto in_group = [](CLI::Option* option) { option->group("Metrics and health"); };
  in_group(command
               .add_option("--bind-address", into.bind_address,
                           "IP address to serve metrics and health on (0.0.0.0: all)")
               ->capture_default_str());
  in_group(
      command.add_option("--port", into.port, "Its port (0: serve nothing and measure nothing)")
          ->capture_default_str());
  in_group(command.add_flag("--secure-loopback", into.secure_loopback,
                            "Serve over TLS and check who asks on a loopback address too"));
  in_group(command.add_option("--tls-cert-file", into.tls.cert_file,
                              "Certificate (PEM, with its chain), read again when it changes "
                              "(default: a self-signed one, except on loopback)"));
  in_group(command.add_option("--tls-private-key-file", into.tls.private_key_file,
                              "Private key of the certificate (PEM)"));
  in_group(command.add_option("--cert-dir", into.tls.cert_dir,
                              "Folder that keeps the self-signed certificate (default: memory)"));
  in_group(
      command.add_option("--tls-min-version", into.tls.min_version, "VersionTLS12 or VersionTLS13")
          ->capture_default_str());
  in_group(command
               .add_option("--tls-cipher-suites", into.tls.cipher_suites,
                           "IANA names, separated by commas (default: all safe ones)")
               ->delimiter(','));
  in_group(command.add_option("--client-ca-file", into.tls.client_ca_file,
                              "Authorities (PEM) whose client certificates say who asks: CN is "
                              "the user, O the groups"));
  in_group(command
               .add_option("--authorization-always-allow-paths", into.always_allow_paths,
                           "Paths for everybody, separated by commas; a '*' at the end stands for "
                           "any ending, \"\" for no path")
               ->delimiter(',')
               ->capture_default_str());
}

}  // namespace

RunCommand add_run(CLI::App& command) {
  const auto arguments = std::make_shared<RunArguments>();
  const auto log = std::make_shared<LogArguments>();
  command.add_option("--config", arguments->config, "Profile file (KubeSchedulerConfiguration)")
      ->required();
  command.add_option("--kubeconfig", arguments->kubeconfig,
                     "Kubeconfig file (default: clientConnection.kubeconfig, $KUBECONFIG, the "
                     "pod's service account)");
  command.add_option("--context", arguments->context, "Context in the kubeconfig");
  command
      .add_flag("--no-classes", arguments->no_classes,
                "Ask every plugin about every node for each pod, though like pods get like answers")
      ->group("Like pods");
  command
      .add_option("--class-check", arguments->class_check,
                  "Make one in so many decisions again without what like pods share, and compare "
                  "(0: none, 1: all)")
      ->capture_default_str()
      ->group("Like pods");
  static const std::map<std::string, ScheduledEvents> kEvents{{"always", ScheduledEvents::kAlways},
                                                              {"waited", ScheduledEvents::kWaited},
                                                              {"never", ScheduledEvents::kNever}};
  add_choice(command, "--scheduled-events", arguments->scheduled_events, kEvents,
             "Which pods get an event Scheduled (waited: those not bound at their first attempt)");
  command.add_option("--write-config-to", arguments->write_config_to,
                     "Write the profile file with all defaults to this file (-: standard "
                     "output) and end");
  command.add_flag("--as-a-reload", arguments->as_a_reload)->group("");
  add_plugin_option(command, arguments->plugin_directories);
  add_leader_election_options(command, arguments->leader_election);
  command
      .add_flag("--without-kube-scheduler", arguments->without_kube_scheduler,
                "No kube-scheduler runs in this cluster: pods of default-scheduler may be served "
                "under another lease than kube-system/kube-scheduler, or under none")
      ->group("Leader election (wins over the profile file)");
  command
      .add_option("--fallback-config", arguments->fallback_config,
                  "Profile file to start with while that of --config is not usable, such as the "
                  "one that --keep-config-in has kept")
      ->group("A broken profile");
  command
      .add_option("--keep-config-in", arguments->keep_config_in,
                  "NAMESPACE/NAME of a ConfigMap: whoever schedules keeps the profile in force "
                  "there, as profile.yaml")
      ->check([](const std::string& text) {
        const std::size_t slash = text.find('/');
        const bool good = slash != 0 && slash != text.npos && slash + 1 != text.size() &&
                          text.find('/', slash + 1) == text.npos;
        return good ? std::string() : "\"" + text + "\" is not NAMESPACE/NAME";
      })
      ->group("A broken profile");
  add_serving_options(command, arguments->serving);
  command.add_option("--socket", arguments->socket,
                     "Local socket for explain and debug, or none (default: in "
                     "$XDG_RUNTIME_DIR/plimsoll, /run/plimsoll or /tmp/plimsoll-UID)");
  add_log_options(command, *log);
  return [arguments, log](const Words& words) {
    log_to_stderr(log->level, log->format);
    for (size_t i = 1; i < words.size(); ++i) {
      arguments->given += (i == 1 ? "" : " ") + words[i];
    }
    return run(*arguments);
  };
}

}  // namespace plimsoll::cli
