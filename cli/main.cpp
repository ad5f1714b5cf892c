// The `plimsoll` program.

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/completion.hpp"
#include "cli/crash_report.hpp"
#include "cli/kubectl_main.hpp"
#include "cli/lint_command.hpp"
#include "cli/show_options.hpp"
#include "cli/usage.hpp"
#include "framework/base/log.hpp"

namespace {

using namespace plimsoll;
using namespace plimsoll::cli;

void add_plugin_option(CLI::App& command, std::vector<std::string>& directories) {
  command.add_option(
      "--plugin-dir", directories,
      "Folder with plugin .so files besides the one installed with the program; may be "
      "repeated; what comes first wins");
}

// An option whose value is one of a few words. `words` lives as long as the program.
template <typename Value>
void add_choice(CLI::App& command, const std::string& flag, Value& into,
                const std::map<std::string, Value>& words, const std::string& text) {
  std::vector<std::string> known;
  std::string now;
  for (const auto& [word, value] : words) {
    known.push_back(word);
    if (value == into) now = word;
  }
  command
      .add_option_function<std::string>(
          flag, [&into, &words](const std::string& word) { into = words.at(word); }, text)
      ->check(CLI::IsMember(known))
      ->default_str(now);
}

void add_log_options(CLI::App& command, LogLevel& level, LogFormat& format) {
  static const std::map<std::string, LogLevel> kLevels{{"debug", LogLevel::kDebug},
                                                       {"info", LogLevel::kInfo},
                                                       {"warn", LogLevel::kWarn},
                                                       {"error", LogLevel::kError}};
  static const std::map<std::string, LogFormat> kFormats{{"text", LogFormat::kText},
                                                         {"json", LogFormat::kJson}};
  add_choice(command, "--log-level", level, kLevels, "How much is written to standard error");
  add_choice(command, "--log-format", format, kFormats, "How it is written");
}

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

void add_socket_option(CLI::App& command, std::string& socket) {
  command.add_option("--socket", socket, "Local socket of the scheduler, as given to run");
}

void add_lenient_flag(CLI::App& command, bool& lenient) {
  command.add_flag("--lenient", lenient,
                   "Take files with unknown fields of pods, with controllers among the pods, or "
                   "without any object");
}

void add_explain_command(CLI::App& app, ExplainArguments& arguments, std::string& socket) {
  CLI::App* command = app.add_subcommand(
      "explain",
      "Say why a pod waits, or why it is where it is; asks a running scheduler, or "
      "reads a cluster from files");
  command->add_option("pod", arguments.pod, "NAMESPACE/NAME")->required();
  add_socket_option(*command, socket);
  command->add_option("--config", arguments.config, "Profile file, with --cluster");
  command->add_option("--cluster", arguments.cluster, "Exported objects, YAML or JSON");
  command->add_option("--pods", arguments.pods, "Further pods, YAML or JSON, with --cluster");
  add_lenient_flag(*command, arguments.lenient);
  add_explain_output(*command, arguments);
  add_plugin_option(*command, arguments.plugin_directories);
}

void add_debug_commands(CLI::App& app, DebugArguments& arguments) {
  CLI::App* command = app.add_subcommand("debug", "Look into a running scheduler");
  command->require_subcommand(1);
  CLI::App* dump = command->add_subcommand(
      "dump", "Print nodes, pods and the queue as the scheduler knows them, as JSON");
  add_socket_option(*dump, arguments.socket);
  CLI::App* compare = command->add_subcommand(
      "compare",
      "Compare what the scheduler knows with the API server; exit status 0: equal, 1: "
      "differences, 2: failed");
  add_socket_option(*compare, arguments.socket);
  compare
      ->add_option("--settle", arguments.settle_s,
                   "How many seconds a difference must last to be called one")
      ->check(CLI::Range(0.0, 600.0));
  compare->add_option("-o,--output", arguments.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

void add_lint_command(CLI::App& plugins, LintArguments& arguments) {
  CLI::App* command = plugins.add_subcommand("lint",
                                             "Find what plugins read and do not declare, by random "
                                             "pods, nodes and changes; exit status 0: "
                                             "nothing was found, 1: something was, 2: failed");
  command->add_option("files", arguments.files,
                      "Plugin files; each is looked at, with the services of the others");
  command->add_option("--builtin", arguments.builtin, "A built-in plugin, or all; may be repeated");
  command->add_option("--plugin", arguments.plugins,
                      "Look at this one only, the others are there for their services; may be "
                      "repeated");
  command->add_option("--args", arguments.args,
                      "FILE or NAME=FILE: a plugin's args, as in a profile; YAML or JSON");
  command->add_option("--objects", arguments.objects,
                      "Nodes, pods and what the plugins watch, YAML or JSON; may be repeated");
  command->add_option(
      "--words", arguments.words,
      "Further labels, annotations, taints and resources that mean something to the "
      "plugin, besides the texts in its file");
  command->add_option("--rounds", arguments.rounds, "How many clusters to try")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}))
      ->capture_default_str();
  command->add_option("--seed", arguments.seed, "Decides what is tried")->capture_default_str();
  command->add_option("-o,--output", arguments.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

// Delays and faults of the reports of simulated nodes.
void add_simulated_reports(CLI::App& command, SimulateArguments& arguments) {
  command
      .add_option("--report-kind", arguments.report_kind,
                  "What nodes report: facts, all that kubelets know, or counts, as exporters do")
      ->check(CLI::IsMember({"facts", "counts"}));
  command
      .add_option("--report-jitter", arguments.report_jitter,
                  "By what fraction each report's delay varies, so that their order changes")
      ->check(CLI::Range(0.0, 1.0));
  command
      .add_option("--report-transit-ms", arguments.report_transit_ms,
                  "How old reports are when they arrive")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--report-loss", arguments.report_loss, "Probability that a report is lost")
      ->check(CLI::Range(0.0, 0.99));
  command
      .add_option("--report-period-ms", arguments.report_period_ms,
                  "After what time a node reports again if a report was lost")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--agent-restarts", arguments.agent_restarts,
                  "Probability that a node's agent restarts when it should report")
      ->check(CLI::Range(0.0, 0.99));
  command
      .add_option("--agent-pause-ms", arguments.agent_pause_ms,
                  "How long an agent that restarts is away")
      ->check(CLI::NonNegativeNumber);
}

// Two lines that work as they are, for each command.
void add_examples(CLI::App& app) {
  const std::vector<std::pair<const char*, std::vector<const char*>>> examples{
      {"run",
       {"plimsoll run --config examples/profiles/topology.yaml",
        "plimsoll run --config profile.yaml --kubeconfig ~/.kube/config --log-format json"}},
      {"simulate",
       {"plimsoll simulate --config profile.yaml --cluster cluster.json --pods my-pods.yaml",
        "plimsoll simulate --config profile.yaml --cluster cluster.json --pods my-pods.yaml "
        "--report -o json"}},
      {"export",
       {"plimsoll export -o cluster.json", "plimsoll export --anonymise -o cluster.json"}},
      {"validate",
       {"plimsoll validate profile.yaml", "plimsoll validate profile.yaml --show-effective"}},
      {"explain",
       {"plimsoll explain default/my-pod",
        "plimsoll explain default/my-pod --config profile.yaml --cluster cluster.json"}},
      {"top", {"plimsoll top", "plimsoll top --limit all -o json"}},
      {"queue", {"plimsoll queue", "plimsoll queue --socket /run/plimsoll/control.sock"}},
      {"debug", {"plimsoll debug dump", "plimsoll debug compare --settle 5"}},
      {"debug dump",
       {"plimsoll debug dump > state.json",
        "plimsoll debug dump --socket /run/plimsoll/scheduler.sock"}},
      {"debug compare", {"plimsoll debug compare --settle 5", "plimsoll debug compare -o json"}},
      {"plugins", {"plimsoll plugins", "plimsoll plugins --plugin-dir build/my-plugins -o json"}},
      {"plugins lint",
       {"plimsoll plugins lint build/my-plugin.so",
        "plimsoll plugins lint build/my-plugin.so --args my-args.yaml --objects cluster.json"}},
      {"completion",
       {"source <(plimsoll completion bash)",
        "plimsoll completion fish > ~/.config/fish/completions/plimsoll.fish"}},
  };
  for (const auto& [command, lines] : examples) {
    std::string text = "Examples:";
    for (const char* line : lines) text += std::string("\n  ") + line;
    CLI::App* named = &app;
    std::istringstream words(command);
    for (std::string word; words >> word;) named = named->get_subcommand(word);
    named->footer(text);
  }
}

// A list that is empty has no default to show.
void hide_empty_defaults(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_default_str() == "[]") option->default_str("");
  }
  for (CLI::App* below : command.get_subcommands({})) hide_empty_defaults(*below);
}

int main_with_exceptions(int argc, char** argv) {
  CLI::App app{"Plimsoll: a topology-aware secondary Kubernetes scheduler.", "plimsoll"};
  app.set_version_flag("--version", PLIMSOLL_VERSION);
  app.set_help_all_flag("--help-all", "Print help for all commands and exit");
  app.require_subcommand(0, 1);
  app.option_defaults()->always_capture_default();
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;

  RunArguments run_arguments;
  CLI::App* run_command = app.add_subcommand("run", "Schedule the pods of a cluster");
  run_command
      ->add_option("--config", run_arguments.config, "Profile file (KubeSchedulerConfiguration)")
      ->required();
  run_command->add_option("--kubeconfig", run_arguments.kubeconfig,
                          "Kubeconfig file (default: clientConnection.kubeconfig, $KUBECONFIG, the "
                          "pod's service account)");
  run_command->add_option("--context", run_arguments.context, "Context in the kubeconfig");
  run_command
      ->add_flag(
          "--no-classes", run_arguments.no_classes,
          "Ask every plugin about every node for each pod, though like pods get like answers")
      ->group("Like pods");
  run_command
      ->add_option("--class-check", run_arguments.class_check,
                   "Make one in so many decisions again without what like pods share, and compare "
                   "(0: none, 1: all)")
      ->capture_default_str()
      ->group("Like pods");
  static const std::map<std::string, ScheduledEvents> kEvents{{"always", ScheduledEvents::kAlways},
                                                              {"waited", ScheduledEvents::kWaited},
                                                              {"never", ScheduledEvents::kNever}};
  add_choice(*run_command, "--scheduled-events", run_arguments.scheduled_events, kEvents,
             "Which pods get an event Scheduled (waited: those not bound at their first attempt)");
  run_command->add_option("--write-config-to", run_arguments.write_config_to,
                          "Write the profile file with all defaults to this file (-: standard "
                          "output) and end");
  add_plugin_option(*run_command, run_arguments.plugin_directories);
  add_leader_election_options(*run_command, run_arguments.leader_election);
  add_serving_options(*run_command, run_arguments.serving);
  run_command->add_option("--socket", run_arguments.socket,
                          "Local socket for explain and debug, or none (default: in "
                          "$XDG_RUNTIME_DIR/plimsoll, /run/plimsoll or /tmp/plimsoll-UID)");
  add_log_options(*run_command, level, format);
  // The check of a changed profile file says these once more (profile_reload.hpp).
  for (const char* flag : {"--write-config-to", "--log-level", "--log-format"})
    run_command->get_option(flag)->take_last();

  SimulateArguments simulate_arguments;
  CLI::App* simulate_command =
      app.add_subcommand("simulate", "Schedule pods on a copy of a cluster, in this process");
  simulate_command->add_option("--config", simulate_arguments.config, "Profile file")->required();
  simulate_command
      ->add_option("--cluster", simulate_arguments.cluster, "Exported objects, YAML or JSON")
      ->required();
  simulate_command->add_option("--pods", simulate_arguments.pods, "Pods to schedule, YAML or JSON");
  simulate_command->add_option("--expect", simulate_arguments.expect, "What must hold at the end");
  add_lenient_flag(*simulate_command, simulate_arguments.lenient);
  simulate_command->add_option("-o,--output", simulate_arguments.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  simulate_command
      ->add_option("--report-delay-ms", simulate_arguments.report_delay_ms,
                   "How late nodes report their topology")
      ->check(CLI::NonNegativeNumber);
  add_simulated_reports(*simulate_command, simulate_arguments);
  simulate_command->add_flag("--report", simulate_arguments.report,
                             "Print what became of topology: refusals, held-back pods, zones");
  simulate_command
      ->add_option(
          "--speed", simulate_arguments.speed,
          "Highest speed of the simulated clock; without it, as fast as it can be computed")
      ->check(CLI::Range(0.001, 10000.0));
  // What every simulation does now; older scripts still say it.
  simulate_command->add_flag("--wait-for-scheduler")->group("");
  simulate_command->add_flag("--oracle", simulate_arguments.oracle,
                             "In place of NodeResourceTopologyMatch, a plugin that asks the "
                             "kubelets themselves: what perfect knowledge would make of it");
  simulate_command->add_option("--seed", simulate_arguments.seed,
                               "Decides what varies and what goes wrong");
  simulate_command->add_option("--explain", simulate_arguments.explain,
                               "NAMESPACE/NAME of a pod to explain at the end; may be repeated");
  simulate_command
      ->add_option("--nodes", simulate_arguments.nodes,
                   "How many nodes to show, or all (-o json: all)")
      ->check(CLI::PositiveNumber | CLI::IsMember({"all"}));
  simulate_command
      ->add_option("--timeout", simulate_arguments.timeout_s,
                   "Give up after so many seconds of the real time")
      ->check(CLI::PositiveNumber);
  add_plugin_option(*simulate_command, simulate_arguments.plugin_directories);
  LogLevel quiet = LogLevel::kWarn;
  add_log_options(*simulate_command, quiet, format);

  ExportArguments export_arguments;
  CLI::App* export_command = app.add_subcommand(
      "export", "Write what simulate and explain need of a cluster: it only reads there");
  export_command->add_option("--kubeconfig", export_arguments.kubeconfig,
                             "Kubeconfig file (default: $KUBECONFIG, ~/.kube/config)");
  export_command->add_option("--context", export_arguments.context, "Context in the kubeconfig");
  export_command->add_option("-o,--output", export_arguments.output, "File (-: standard output)");
  export_command->add_flag("--anonymise", export_arguments.anonymise,
                           "Replace names, label values and keys that are the cluster's own");

  ValidateArguments validate_arguments;
  CLI::App* validate_command = app.add_subcommand("validate", "Check a profile file");
  validate_command->add_option("file", validate_arguments.config, "Profile file")->required();
  validate_command->add_flag("--show-effective", validate_arguments.show_effective,
                             "Print the merged result");
  add_plugin_option(*validate_command, validate_arguments.plugin_directories);

  std::string socket;
  ExplainArguments explain_arguments;
  add_explain_command(app, explain_arguments, socket);
  ShowArguments show_arguments;
  for (const auto& [name, text] :
       {std::pair("top",
                  "Show what nodes, zones and devices have and how much of it pods use, as a "
                  "running scheduler counts"),
        std::pair("queue", "Show the pods that wait in a running scheduler, and why")}) {
    CLI::App* command = app.add_subcommand(name, text);
    add_socket_option(*command, socket);
    add_show_options(*command, show_arguments);
  }
  DebugArguments debug_arguments;
  add_debug_commands(app, debug_arguments);

  PluginsArguments plugins_arguments;
  CLI::App* plugins_command = app.add_subcommand(
      "plugins", "List plugins: what is loaded from where, and what was refused");
  plugins_command->add_option("-o,--output", plugins_arguments.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  add_plugin_option(*plugins_command, plugins_arguments.plugin_directories);
  LintArguments lint_arguments;
  add_lint_command(*plugins_command, lint_arguments);

  std::string shell;
  CLI::App* completion_command =
      app.add_subcommand("completion", "Print a script that completes commands and options");
  completion_command->add_option("shell", shell, "The shell")
      ->check(CLI::IsMember({"bash", "fish", "zsh"}))
      ->required();
  std::vector<std::string> topic;
  CLI::App* help_command = app.add_subcommand("help", "Print what a command does and takes");
  help_command->add_option("command", topic, "The command, as it is typed");
  CLI::App* version_command = app.add_subcommand("version", "Print the version");
  add_examples(app);
  hide_empty_defaults(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_parsing(app, error);
  }
  if (help_command->parsed() || app.get_subcommands().empty()) return print_help(app, topic);
  if (version_command->parsed()) {
    std::cout << "plimsoll " << PLIMSOLL_VERSION << "\n";
    return 0;
  }
  if (completion_command->parsed()) {
    std::cout << completion_script(app, shell);
    return 0;
  }
  // The lint follows its plugins from another process, and says itself what became of them.
  if (!plugins_command->got_subcommand("lint")) report_crashes();
  if (run_command->parsed()) {
    log_to_stderr(level, format);
    for (int i = 2; i < argc; ++i) {
      run_arguments.given += (i == 2 ? "" : " ") + std::string(argv[i]);
    }
    return run(run_arguments);
  }
  if (simulate_command->parsed()) {
    log_to_stderr(quiet, format);
    return simulate(simulate_arguments);
  }
  if (export_command->parsed()) {
    log_to_stderr(LogLevel::kWarn, format);
    return export_cluster(export_arguments);
  }
  if (app.got_subcommand("explain")) {
    log_to_stderr(LogLevel::kWarn, format);
    return explain(explain_arguments, ask_on_socket(socket));
  }
  if (app.got_subcommand("top")) return show_use(show_arguments, ask_on_socket(socket));
  if (app.got_subcommand("queue")) return show_queue(show_arguments, ask_on_socket(socket));
  if (app.got_subcommand("debug")) {
    const bool compares = app.get_subcommand("debug")->got_subcommand("compare");
    return compares ? debug_compare(debug_arguments) : debug_dump(debug_arguments);
  }
  if (plugins_command->got_subcommand("lint")) {
    log_to_stderr(LogLevel::kOff, format);
    return lint_plugins(lint_arguments);
  }
  // The output of these two commands already contains the rejected plugins.
  log_to_stderr(plugins_command->parsed() ? LogLevel::kOff : LogLevel::kWarn, format);
  return validate_command->parsed() ? validate_profile(validate_arguments)
                                    : list_plugins(plugins_arguments);
}

}  // namespace

int main(int argc, char** argv) {
  // A peer or an output reader that disconnects is a write error; it must not end the process.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const std::string name = std::filesystem::path(argc > 0 ? argv[0] : "").filename().string();
    return name == kKubectlName ? kubectl_main(argc, argv) : main_with_exceptions(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "plimsoll: " << error.what() << "\n";
    return 1;
  }
}
