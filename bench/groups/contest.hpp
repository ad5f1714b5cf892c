#pragma once
// One scheduler on one fresh API server with gangs: how soon one is bound, how soon one that does
// not fit is told so, and how soon room that comes free for it is used.

#include <optional>

#include "bench/peers/contest.hpp"

namespace plimsoll::bench {

// kLoop makes Plimsoll's writes and decides nothing.
enum class GangContestant { kPlimsoll, kKubeScheduler, kCoscheduling, kLoop };
[[nodiscard]] const char* name_of(GangContestant contestant);

struct GangLoad {
  int nodes = 500;
  int pods = 512;  // of each gang, of 4 CPUs each
  int zones = 2;   // of a node of 64 CPUs
  // How long the second gang stays refused before room comes free.
  std::chrono::milliseconds hold{20'000};
  // That no step may exceed; and the last pod's verdict after the first, which not every scheduler
  // writes.
  std::chrono::milliseconds patience{300'000};
  std::chrono::milliseconds patience_for_all{30'000};
};

// Seconds; nothing: not within the patience.
struct GangMeasure {
  std::optional<double> bound;      // from the creation of the last pod until all are bound
  std::optional<double> told;       // from then until the first verdict is written
  std::optional<double> all_told;   // until each pod has one
  std::optional<double> room_used;  // from the last deletion until all are bound
};

// From the program's main thread only. Blocks. Programs as for run_contest.
[[nodiscard]] Result<GangMeasure> run_gang_contest(const GangLoad& load, GangContestant contestant,
                                                   const Programs& programs);

}  // namespace plimsoll::bench
