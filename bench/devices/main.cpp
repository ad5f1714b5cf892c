// Measures what NodeDevice costs the scheduler. docs/performance.md shows the table that this
// prints.
//
//   devices_bench --plugin build/release/plugins/NodeDevice.so [--nodes 1024] [--pods 6000]
//                 [--seed 1] [--rounds 3] [--args '{"scoringStrategy":{"type":"MostAllocated"}}']
//
// The pods of a mix arrive one by one at nodes that are empty at first and fill up. The framework's
// runtime decides each pod on one thread: Filter for all nodes, Score for the nodes that fit.
// Figures are CPU time of that thread.

#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/devices/fleet.hpp"
#include "bench/devices/scheduler.hpp"

namespace {

using namespace plimsoll;
using namespace plimsoll::bench;

struct Options {
  std::string plugin;
  int nodes = 1024;
  int pods = 6000;
  uint64_t seed = 1;
  std::string args = "{}";
  int rounds = 3;
};

struct Figures {
  std::vector<double> device_us;
  double device_sum = 0;
  double whole_sum = 0;
  std::vector<double> reserve_us;
  size_t placed = 0;
};

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto at = static_cast<size_t>(q * static_cast<double>(values.size()));
  return values[std::min(at, values.size() - 1)];
}

void row(Variety variety, std::string_view what, const Figures& figures) {
  std::printf("| %s | %s | %zu | %zu | %.0f | %.0f | %.0f %% | %.0f |\n",
              std::string(name_of(variety)).c_str(), std::string(what).c_str(),
              figures.device_us.size(), figures.placed, quantile(figures.device_us, 0.5),
              quantile(figures.device_us, 0.99),
              100 * figures.device_sum / std::max(figures.whole_sum, 1e-9),
              quantile(figures.reserve_us, 0.99));
}

void add(Figures& figures, const Decision& decision) {
  figures.device_us.push_back(decision.device_us);
  figures.device_sum += decision.device_us;
  figures.whole_sum += decision.whole_us;
  if (decision.node.empty()) return;
  ++figures.placed;
  figures.reserve_us.push_back(decision.reserve_us);
}

struct Measured {
  Ask ask;
  Decision decision;
};

std::vector<Measured> fill(const Options& options, Variety variety) {
  BenchScheduler scheduler(options.plugin, options.args);
  for (int node = 0; node < options.nodes; ++node)
    scheduler.add_node(make_node(node, scheduler.symbols()), node_name(node), device_json(node));
  Dice dice(options.seed);
  std::vector<Measured> measured;
  for (int number = 0; number < options.pods; ++number) {
    const Ask ask = next_ask(dice);
    measured.push_back(
        {ask, scheduler.schedule(make_pod(number, ask, variety, dice, scheduler.symbols()))});
  }
  return measured;
}

// Returns how many pods got a node.
size_t run(const Options& options, Variety variety) {
  std::vector<Measured> least = fill(options, variety);
  for (int round = 1; round < options.rounds; ++round) {
    const std::vector<Measured> again = fill(options, variety);
    for (size_t i = 0; i < least.size(); ++i) {
      Decision& decision = least[i].decision;
      const Decision& other = again[i].decision;
      if (other.node != decision.node) throw std::runtime_error("two rounds decided differently");
      decision.device_us = std::min(decision.device_us, other.device_us);
      decision.whole_us = std::min(decision.whole_us, other.whole_us);
      decision.reserve_us = std::min(decision.reserve_us, other.reserve_us);
    }
  }
  std::map<Ask, Figures> by_ask;
  Figures all;
  for (const auto& [ask, decision] : least) {
    add(by_ask[ask], decision);
    add(all, decision);
  }
  for (const Ask ask : kAsks) row(variety, name_of(ask), by_ask[ask]);
  row(variety, "all", all);
  return all.placed;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--plugin") options.plugin = argv[i + 1];
    if (name == "--nodes") options.nodes = std::stoi(argv[i + 1]);
    if (name == "--pods") options.pods = std::stoi(argv[i + 1]);
    if (name == "--seed") options.seed = std::stoull(argv[i + 1]);
    if (name == "--rounds") options.rounds = std::stoi(argv[i + 1]);
    if (name == "--args") options.args = argv[i + 1];
  }
  std::printf(
      "%d nodes of 8 GPUs and 4 NICs, %d pods; NodeDevice's Filter and Score of one pod, in "
      "microseconds of one core\n\n"
      "| pods | ask for | number | placed | p50 | p99 | of the whole decision | Reserve p99 |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n",
      options.nodes, options.pods);
  size_t placed = 0;
  for (const Variety variety : {Variety::kIdentical, Variety::kDifferent, Variety::kSelectors})
    placed += run(options, variety);
  return placed > 0 ? 0 : 1;
}
