#pragma once
// What a scheduler was like, each minute of the last day: pods that waited and who refused them,
// and what was in use. For the page, which otherwise knows only what it saw itself.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "framework/cycle/inspect/snapshot.hpp"

namespace plimsoll::cli {

class History {
 public:
  static constexpr size_t kMostSamples = 24 * 60;
  // Those that most nodes have; a name costs memory for a day.
  static constexpr size_t kMostResources = 32;
  // What it needs to be shown.
  static StateChoice wanted() { return {.plugins = false, .kinds = false}; }

  // `now_ms`: since 1970. Nothing is kept of a scheduler that does not decide (yet).
  void take(const StateSnapshot& snapshot, int64_t now_ms);

  // {"samples": [...]}, the oldest first: "at" (milliseconds since 1970), "waiting" (pods),
  // "longest" (seconds), "refusedBy" (pods by plugin), "totals" (by resource "used" and
  // "allocatable", in the units of `top`). Any thread.
  [[nodiscard]] std::string samples_json() const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> samples_;  // each as JSON
};

}  // namespace plimsoll::cli
