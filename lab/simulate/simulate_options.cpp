// `plimsoll simulate` on the command line.

#include <memory>

#include "cli/line/options.hpp"
#include "lab/simulate/simulate_command.hpp"
#include "lab/simulate/simulate_options.hpp"

namespace plimsoll::cli {
namespace {

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

RunCommand add_simulate(CLI::App& command) {
  const auto arguments = std::make_shared<SimulateArguments>();
  const auto log = std::make_shared<LogArguments>(LogArguments{LogLevel::kWarn, LogFormat::kText});
  command.add_option("--config", arguments->config, "Profile file")->required();
  command.add_option("--cluster", arguments->cluster, "Exported objects, YAML or JSON")->required();
  command.add_option("--pods", arguments->pods, "Pods to schedule, YAML or JSON");
  command.add_option("--events", arguments->events,
                     "Objects of any kind that come, change and go at times in their annotations");
  command
      .add_option("--bind-failures", arguments->bind_failures, "Probability that a Binding fails")
      ->check(CLI::Range(0.0, 0.99));
  command.add_option("--expect", arguments->expect, "What must hold at the end");
  add_lenient_flag(command, arguments->lenient);
  command
      .add_option("-o,--output", arguments->output,
                  "text, json (docs/simulation.schema.json), or csv: the pods alone; with --report "
                  "the figures alone")
      ->check(CLI::IsMember({"text", "json", "csv"}));
  command.add_option("--html", arguments->html,
                     "Also write the result as a page for browsers into this file: one file, which "
                     "asks nobody for anything (docs/ui.md)");
  command
      .add_option("--report-delay-ms", arguments->report_delay_ms,
                  "How late nodes report their topology")
      ->check(CLI::NonNegativeNumber);
  add_simulated_reports(command, *arguments);
  command.add_flag("--report", arguments->report,
                   "Print what became of topology: refusals, held-back pods, zones");
  command
      .add_option("--until", arguments->until,
                  "When the run ends, in simulated seconds since the scheduler was ready, and with "
                  "it the averages; without it, when nothing moves any more")
      ->check(CLI::Range(0.0, 1e9));
  command
      .add_option("--unknown-zones", arguments->unknown_zones,
                  "Where running pods are whose zones no report shows: packed into few zones "
                  "(optimistic), or each in every zone (pessimistic)")
      ->check(CLI::IsMember({"optimistic", "pessimistic"}));
  command.add_option(
      "--as-scheduler", arguments->as_schedulers,
      "Name of a scheduler whose waiting pods are taken by the first profile; may be "
      "repeated. A name of the profile file takes those of all other schedulers");
  command
      .add_option("--speed", arguments->speed,
                  "Highest speed of the simulated clock; without it, as fast as it can be computed")
      ->check(CLI::Range(0.001, 10000.0));
  // What every simulation does now; older scripts still say it.
  command.add_flag("--wait-for-scheduler")->group("");
  command.add_flag("--oracle", arguments->oracle,
                   "In place of NodeResourceTopologyMatch, a plugin that asks the "
                   "kubelets themselves: what perfect knowledge would make of it");
  command.add_option("--seed", arguments->seed, "Decides what varies and what goes wrong");
  command.add_option("--explain", arguments->explain,
                     "NAMESPACE/NAME of a pod to explain at the end; may be repeated");
  command.add_option("--nodes", arguments->nodes, "How many nodes to show, or all (-o json: all)")
      ->check(CLI::PositiveNumber | CLI::IsMember({"all"}));
  command
      .add_option("--timeout", arguments->timeout_s,
                  "Give up after so many seconds of the real time")
      ->check(CLI::PositiveNumber);
  add_plugin_option(command, arguments->plugin_directories);
  add_log_options(command, *log);
  return [arguments, log, &command](const Words&) {
    for (const CLI::Option* option : command.get_options()) {
      if (option->count() > 0) arguments->flags[option->get_name()] = option->reduced_results();
    }
    log_to_stderr(log->level, log->format);
    return simulate(*arguments);
  };
}

}  // namespace

Command simulate_command() {
  return {"simulate",
          "Schedule pods on a copy of a cluster, in this process",
          {"plimsoll simulate --config profile.yaml --cluster cluster.json --pods my-pods.yaml",
           "plimsoll simulate --config profile.yaml --cluster cluster.json --pods my-pods.yaml "
           "--report -o json"},
          &add_simulate};
}

}  // namespace plimsoll::cli
