#include "bench/packing/runs.hpp"

#include <algorithm>

namespace plimsoll::packing {
namespace {

constexpr const char* kKubelet = "bench/packing/profiles/kubelet.yaml";
constexpr const char* kReference = "bench/packing/profiles/reference.yaml";

// The share of the time between `from` and `to` during which the pod ran.
double share(const sandbox::PodLife& life, double from, double to) {
  const double end = life.ended < 0 ? to : std::min(life.ended, to);
  return std::max(0.0, end - std::max(life.admitted, from)) / (to - from);
}

Figures figures_of(const cli::SimulationResult& result, const Load& load) {
  Figures figures;
  const double from = load.full_since;
  const double to = std::min(load.last_arrival, result.simulated_seconds);
  std::size_t exclusive = 0;
  std::size_t crossing = 0;
  for (const sandbox::PodLife& life : result.lives) {
    const Offer& offer = load.offers.at(life.pod);
    const double part = share(life, from, to);
    figures.cpus += part * offer.cpus;
    figures.pinned += offer.pins ? part * offer.cpus : 0;
    figures.devices += part * offer.devices;
    figures.wait_seconds += std::max(0.0, life.admitted - offer.arrives);
    exclusive += life.exclusive ? 1 : 0;
    crossing += life.cross_zone ? 1 : 0;
  }
  figures.ran = result.lives.size();
  if (figures.ran > 0) figures.wait_seconds /= static_cast<double>(figures.ran);
  if (exclusive > 0) {
    figures.cross_zone = static_cast<double>(crossing) / static_cast<double>(exclusive);
  }
  const sandbox::KubeletStats& kubelets = result.kubelets;
  figures.topology_errors = kubelets.topology_rejections;
  figures.other_refusals = kubelets.rejected - kubelets.topology_rejections;
  figures.bound = result.bound;
  figures.waiting = result.placements.size() - result.bound;
  figures.held_back = result.held_back.size();
  for (const cli::HeldBackPod& pod : result.held_back) {
    figures.held_back_why.push_back(pod.pod + " (" + pod.node + " would): " + pod.message);
  }
  if (kubelets.predicted_pods > 0) {
    figures.predicted = static_cast<double>(kubelets.predictions_right) /
                        static_cast<double>(kubelets.predicted_pods);
  }
  for (const cli::Placement& placement : result.placements) {
    if (placement.failure.empty()) continue;
    figures.refused.push_back(placement.pod + " on " + placement.node + ": " + placement.failure);
  }
  figures.attempts = result.scheduler.attempts;
  return figures;
}

}  // namespace

std::vector<Way> all_ways() {
  return {{"oracle", kKubelet, true},
          {"Kubelet", kKubelet},
          {"Kubelet, counts", kKubelet, false, node::ReportKind::kCounts},
          {"Reference", kReference}};
}

Result<Figures> run(const Way& way, const Load& load, const RunOptions& options) {
  auto modules = way.oracle ? cli::load_modules(options.plugin_directories, cli::oracle_modules())
                            : cli::load_modules(options.plugin_directories);
  if (!modules) return fail(modules.error());
  const auto configuration = cli::load_configuration(way.profile, *modules);
  if (!configuration) return fail(configuration.error());
  cli::SimulationOptions simulation;
  simulation.cluster = load.cluster;
  simulation.pods = load.pods;
  simulation.speed = options.speed;
  simulation.kubelets.seed = options.seed;
  simulation.kubelets.reports.kind = way.reports;
  simulation.kubelets.reports.delay =
      way.oracle ? std::chrono::milliseconds(0) : options.report_delay;
  simulation.kubelets.reports.jitter = options.report_jitter;
  simulation.timeout = std::chrono::seconds(1200);
  simulation.oracle = way.oracle;
  simulation.until = load.last_arrival;
  const auto begin = std::chrono::steady_clock::now();
  const auto result = cli::run_simulation(*configuration, *modules, simulation, options.progress);
  if (!result) return fail(result.error());
  Figures figures = figures_of(*result, load);
  figures.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return figures;
}

}  // namespace plimsoll::packing
