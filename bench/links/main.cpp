// Measures how well the cards are linked that pods get. docs/performance.md shows the table that
// this prints.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "bench/links/experiment.hpp"

namespace {

using namespace plimsoll::links_bench;

struct Options {
  std::string plugin;
  int steps = 1500;
  int seeds = 4;
};

int usage() {
  std::fprintf(stderr, "usage: links_bench --plugin NodeDevice.so [--steps N] [--seeds N]\n");
  return 2;
}

void print_cell(const Outcome& outcome) {
  if (outcome.pods == 0) {
    std::printf(" - |");
    return;
  }
  std::printf(" %.2f (%.0f %%) |", outcome.mean_lanes(), outcome.unlinked_percent());
}

void print_rows(const Options& options, const Machine& machine) {
  constexpr std::pair<Told, const char*> kTold[] = {
      {Told::kMinors, "minors"}, {Told::kTopology, "PCIe ids and zones"}, {Told::kLinks, "links"}};
  for (const double stay : {4.0, 5.0, 6.0, 8.0}) {
    for (const auto& [told, name] : kTold) {
      Load load = usual_load(machine);
      load.mean_stay = stay;
      load.steps = options.steps;
      load.seeds = options.seeds;
      const Outcomes outcomes = run(options.plugin, machine, told, load);
      std::printf("| %s | %.0f | %s |", machine.name.c_str(), stay, name);
      for (const size_t cards : {2, 3, 4}) print_cell(outcomes[cards]);
      std::printf("\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (argc % 2 == 0) return usage();
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--plugin")
      options.plugin = argv[i + 1];
    else if (name == "--steps")
      options.steps = std::atoi(argv[i + 1]);
    else if (name == "--seeds")
      options.seeds = std::atoi(argv[i + 1]);
    else
      return usage();
  }
  if (options.plugin.empty() || options.steps < 1 || options.seeds < 1) return usage();
  try {
    std::printf(
        "Lanes of the fastest ring through a pod's cards, in the mean (and pods without such a "
        "ring)\n\n| machine | mean stay | what is known of it | 2 cards | 3 cards | 4 cards |\n"
        "| --- | --- | --- | --- | --- | --- |\n");
    print_rows(options, dgx1());
    print_rows(options, rtx8000());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
