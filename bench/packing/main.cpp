// Compares how much is packed, and what is rejected, depending on what is known of the nodes: see
// docs/topology.md.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "bench/packing/runs.hpp"
#include "framework/base/log.hpp"

namespace {

using namespace plimsoll;
using namespace plimsoll::packing;

void print_head(const Load& load, const LoadOptions& options, const RunOptions& runs) {
  std::printf(
      "%zu nodes with %.0f CPUs and %.0f devices, %zu pods in %.0f s (speed %g), seed %llu\n\n",
      options.nodes, load.cpus, load.devices, load.pods.size(), load.last_arrival, runs.speed,
      static_cast<unsigned long long>(options.seed));
  std::printf(
      "| | TopologyAffinityErrors | other refusals | pods run | CPUs packed | of the oracle's | "
      "pinned CPUs | "
      "of the oracle's | devices | of the oracle's | waiting at the end | held back | waited on "
      "average | cross-zone |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  std::fflush(stdout);
}

void print(const Way& way, const Figures& f, const Figures& oracle) {
  std::printf(
      "| %s | %llu | %llu | %zu | %.0f | %.2f %% | %.0f | %.2f %% | %.0f | %.2f %% | %zu | %zu | "
      "%.1f s | %.1f %% |\n",
      way.name.c_str(), static_cast<unsigned long long>(f.topology_errors),
      static_cast<unsigned long long>(f.other_refusals), f.ran, f.cpus, 100 * f.cpus / oracle.cpus,
      f.pinned, 100 * f.pinned / oracle.pinned, f.devices, 100 * f.devices / oracle.devices,
      f.waiting, f.held_back, f.wait_seconds, 100 * f.cross_zone);
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %.0f s, %llu attempts, %.2f %% predicted\n", way.name.c_str(),
               f.seconds, static_cast<unsigned long long>(f.attempts), 100 * f.predicted);
  for (std::size_t i = 0; i < std::min<std::size_t>(f.refused.size(), 10); ++i) {
    std::fprintf(stderr, "  refused: %s\n", f.refused[i].c_str());
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(f.held_back_why.size(), 10); ++i) {
    std::fprintf(stderr, "  held back: %s\n", f.held_back_why[i].c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{"Packs one load in several ways and prints what came of it."};
  LoadOptions load_options;
  load_options.scheduler_name = "packing";
  RunOptions runs;
  int64_t delay_ms = runs.report_delay.count();
  std::vector<std::string> only;
  app.add_option("--nodes", load_options.nodes, "Nodes")->capture_default_str();
  app.add_option("--pods", load_options.pods, "Pods")->capture_default_str();
  app.add_option("--load", load_options.load, "CPUs asked for, of those that there are")
      ->capture_default_str();
  app.add_option("--mean-seconds", load_options.mean_seconds, "That a pod runs")
      ->capture_default_str();
  app.add_option("--seed", load_options.seed, "Of the load")->capture_default_str();
  app.add_option("--speed", runs.speed, "Of the simulated clock")->capture_default_str();
  app.add_option("--report-delay-ms", delay_ms, "How late reports are")->capture_default_str();
  app.add_option("--report-jitter", runs.report_jitter, "By what fraction that varies")
      ->capture_default_str();
  app.add_option("--only", only, "Names of ways");
  app.add_option("--plugin-dir", runs.plugin_directories, "Folder with the plugins");
  CLI11_PARSE(app, argc, argv);
  log_to_stderr(LogLevel::kWarn, LogFormat::kText);
  runs.report_delay = std::chrono::milliseconds(delay_ms);
  runs.seed = load_options.seed;

  const Load load = make_load(load_options);
  print_head(load, load_options, runs);
  Figures oracle;
  for (const Way& way : all_ways()) {
    if (!only.empty() && std::find(only.begin(), only.end(), way.name) == only.end()) continue;
    const auto figures = run(way, load, runs);
    if (!figures) {
      std::cerr << "packing: " << way.name << ": " << figures.error().message << "\n";
      return 1;
    }
    if (oracle.cpus == 0) oracle = *figures;
    print(way, *figures, oracle);
  }
  return 0;
}
