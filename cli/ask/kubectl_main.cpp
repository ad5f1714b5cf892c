#include "cli/ask/kubectl_main.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/ask/ask_options.hpp"
#include "cli/ask/asking.hpp"
#include "cli/ask/commands.hpp"
#include "cli/line/failure.hpp"
#include "cli/line/usage.hpp"
#include "framework/base/log.hpp"

namespace plimsoll::cli {
namespace {

// Endings of the service accounts that are shipped with the scheduler (deploy/base/rbac.yaml).
constexpr const char* kViewer = "-viewer";
constexpr const char* kOperator = "-operator";

void add_remote_options(CLI::App& command, RemoteArguments& into) {
  const auto add = [&command](const char* flag, auto& value, const char* text) {
    return command.add_option(flag, value, text)->group("The way to the scheduler");
  };
  add("--kubeconfig", into.kubeconfig, "Kubeconfig file (default: $KUBECONFIG, ~/.kube/config)");
  add("--context", into.context, "Context in the kubeconfig");
  add("--service-account", into.service_account,
      "NAMESPACE/NAME: ask as this service account, whose token is asked of the API server "
      "(default: LEASE-viewer where the scheduler runs; of debug, LEASE-operator)");
  add("--token", into.token, "Ask with this bearer token instead");
  add("--scheduler-namespace", into.scheduler_namespace, "Where the scheduler runs")
      ->capture_default_str();
  add("--lease", into.lease,
      "Its lease, which names the leader's pod; its Service and accounts are named like it")
      ->capture_default_str();
  add("--pod", into.pod, "Ask this pod instead of the leader's");
  add("--port", into.port, "The port of the pod")->capture_default_str();
  add("--server", into.server,
      "https://HOST:PORT, instead of a forwarded port of the leader's pod");
  add("--certificate-authority", into.certificate_authority,
      "PEM file with which to check the server (with --server)");
  command
      .add_flag("--insecure-skip-tls-verify", into.insecure_skip_tls_verify,
                "Believe whoever answers (with --server)")
      ->group("The way to the scheduler");
}

// `account`: whose rights the command takes.
RemoteArguments as(const char* account, RemoteArguments way) {
  if (way.service_account.empty())
    way.service_account = way.scheduler_namespace + "/" + way.lease + account;
  return way;
}

int ask_remotely(const char* command, const RemoteArguments& given, const char* account,
                 const std::function<int(RemoteScheduler&, const Ask&)>& run) {
  const RemoteArguments way = as(account, given);
  const auto scheduler = RemoteScheduler::reach(way);
  if (!scheduler) return failure(command, scheduler.error().message);
  return run(**scheduler, [&scheduler](const informer::HttpRequest& question) {
    return (*scheduler)->ask(question);
  });
}

}  // namespace

int kubectl_main(int argc, char** argv) {
  CLI::App app{"Ask the Plimsoll scheduler of a cluster.", "kubectl plimsoll"};
  app.set_version_flag("--version", PLIMSOLL_VERSION);
  app.set_help_all_flag("--help-all", "Print help for all commands and exit");
  app.require_subcommand(0, 1);
  app.option_defaults()->always_capture_default();
  app.option_defaults()->take_last();
  RemoteArguments way;

  ExplainArguments explain_arguments;
  std::string ns;
  CLI::App* explain_command =
      app.add_subcommand("explain", "Say why a pod waits, or why it is where it is");
  explain_command->add_option("pod", explain_arguments.pod, "NAME, or NAMESPACE/NAME")->required();
  explain_command->add_option("-n,--namespace", ns,
                              "Of the pod (default: that of the kubeconfig's context)");
  add_explain_output(*explain_command, explain_arguments);
  explain_command->footer(
      "Examples:\n  kubectl plimsoll explain my-pod -n my-namespace\n"
      "  kubectl plimsoll explain my-namespace/my-pod --service-account my-team/plimsoll-reader");

  ShowArguments show_arguments;
  CLI::App* top_command = app.add_subcommand(
      "top", "Show what nodes, zones and devices have and how much of it pods use");
  CLI::App* queue_command = app.add_subcommand("queue", "Show the pods that wait, and why");
  for (CLI::App* command : {top_command, queue_command}) {
    add_show_options(*command, show_arguments);
    const std::string name = command->get_name();
    command->footer("Examples:\n  kubectl plimsoll " + name + "\n  kubectl plimsoll " + name +
                    " -o json --server https://10.0.0.7:10259 --certificate-authority ca.crt");
  }

  PageArguments page_arguments;
  CLI::App* page_command =
      app.add_subcommand("ui", "Show nodes, zones, devices and the queue as a page in a browser");
  add_page_options(*page_command, page_arguments);
  page_command->footer("Examples:\n  kubectl plimsoll ui --open");

  DebugArguments debug_arguments;
  std::string level;
  CLI::App* debug_command = app.add_subcommand("debug", "Look into the scheduler");
  debug_command->require_subcommand(1);
  CLI::App* dump_command = debug_command->add_subcommand(
      "dump", "Print nodes, pods and the queue as the scheduler knows them, as JSON");
  dump_command->footer("Examples:\n  kubectl plimsoll debug dump > state.json");
  CLI::App* compare_command = debug_command->add_subcommand(
      "compare",
      "Compare what the scheduler knows with the API server; exit status 0: equal, 1: differences, "
      "2: failed");
  add_compare_options(*compare_command, debug_arguments);
  compare_command->footer("Examples:\n  kubectl plimsoll debug compare --settle 5");
  CLI::App* level_command =
      debug_command->add_subcommand("log-level", "Print the log level of a replica, or set it");
  add_level_option(*level_command, level);
  level_command->footer(
      "Examples:\n  kubectl plimsoll debug log-level\n"
      "  kubectl plimsoll debug log-level debug --pod plimsoll-6c9d8f7b5-x2x4z");
  for (CLI::App* command : {explain_command, top_command, queue_command, page_command, dump_command,
                            compare_command, level_command})
    add_remote_options(*command, way);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_parsing(app, error);
  }
  log_to_stderr(LogLevel::kWarn, LogFormat::kText);
  if (explain_command->parsed()) {
    return ask_remotely("explain", way, kViewer, [&](RemoteScheduler& scheduler, const Ask& ask) {
      std::string& pod = explain_arguments.pod;
      if (pod.find('/') == std::string::npos)
        pod.insert(0, (ns.empty() ? scheduler.default_namespace() : ns) + "/");
      return explain(explain_arguments, ask);
    });
  }
  if (top_command->parsed() || queue_command->parsed()) {
    const bool top = top_command->parsed();
    return ask_remotely(top ? "top" : "queue", way, kViewer, [&](RemoteScheduler&, const Ask& ask) {
      return top ? show_use(show_arguments, ask) : show_queue(show_arguments, ask);
    });
  }
  if (page_command->parsed()) {
    return show_page(page_arguments, [way = as(kViewer, way)]() -> Result<Ask> {
      auto reached = RemoteScheduler::reach(way);
      if (!reached) return fail(reached.error());
      return [scheduler = std::shared_ptr<RemoteScheduler>(std::move(*reached))](
                 const informer::HttpRequest& question) { return scheduler->ask(question); };
    });
  }
  if (debug_command->parsed()) {
    return ask_remotely("debug", way, kOperator, [&](RemoteScheduler&, const Ask& ask) {
      return dump_command->parsed()      ? debug_dump(ask)
             : compare_command->parsed() ? debug_compare(debug_arguments, ask)
                                         : debug_log_level(level, ask);
    });
  }
  return print_help(app, {});
}

}  // namespace plimsoll::cli
