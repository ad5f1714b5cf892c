#pragma once
// Measures how well the cards are linked that NodeDevice gives to pods, on one machine where pods
// arrive and leave. The plugin is the real one from its .so, on the SDK's fake host.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/links/machines.hpp"

namespace plimsoll::links_bench {

struct Load {
  std::vector<double> shares;  // of pods of one card, two cards, ...
  // One pod arrives in every step. A pod that does not fit leaves at once; the others stay for an
  // exponentially distributed time with this mean, in steps.
  double mean_stay = 5;
  int steps = 1500;
  int seeds = 4;  // the number of runs; each starts with an empty machine
};

// The result for the pods of one size.
struct Outcome {
  int64_t pods = 0;
  int64_t lanes = 0;     // of the fastest ring through each pod's cards, added up
  int64_t unlinked = 0;  // pods without a ring of links

  [[nodiscard]] double mean_lanes() const {
    return pods == 0 ? 0 : static_cast<double>(lanes) / static_cast<double>(pods);
  }
  [[nodiscard]] double unlinked_percent() const {
    return pods == 0 ? 0 : 100 * static_cast<double>(unlinked) / static_cast<double>(pods);
  }
};
using Outcomes = std::array<Outcome, 9>;  // by number of cards

// The mix that comparisons of device scheduling usually have: 40, 30, 10 and 20 % of the pods
// request 1, 2, 3 and 4 cards. On a machine with four cards, half of the pods request one and half
// two.
[[nodiscard]] Load usual_load(const Machine& machine);

// `plugin_file`: NodeDevice.so. Throws std::runtime_error if it cannot be loaded, or gives a card
// twice.
[[nodiscard]] Outcomes run(const std::string& plugin_file, const Machine& machine, Told told,
                           const Load& load);

}  // namespace plimsoll::links_bench
