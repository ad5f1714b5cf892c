#pragma once
// The scores of one Score plugin in a class table (class_table.hpp). Scheduler loop only.

#include <cstdint>
#include <span>

#include "framework/placement/narrow_column.hpp"
#include "framework/runtime/framework.hpp"

namespace plimsoll {

// Whether a verdict or a score that rests on these may be kept until one of them changes.
[[nodiscard]] inline bool can_be_kept(uint32_t aspects) {
  return aspects != 0 && (aspects & PLIMSOLL_ASPECT_CLUSTER) == 0;
}

struct KeptScore {
  PluginIndex plugin;
  int64_t weight;
  uint32_t aspects;
  bool normalizes;
  NarrowColumn raw;         // by slot
  NarrowColumn normalised;  // by slot, 0..100; empty if it does not normalize
  // If it normalizes: of the raw scores of counted rows; how many have the extreme.
  int64_t low = 0, high = 0;
  size_t at_low = 0, at_high = 0;
  bool extremes_stale = false;
  // Those that `normalised` was made with.
  bool normalized = false;
  int64_t normalized_low = 0, normalized_high = 0;

  void count(int64_t value);
  void uncount(int64_t value);
  // These are all counted rows.
  void find_extremes(std::span<const uint32_t> slots);
  // totals[i] += weight * raw score of the row. False, with no meaning of the totals, if one of
  // them is no score: the plugin's error is still to be told.
  [[nodiscard]] bool add_raw(NodeRows rows, int64_t* totals) const;
  [[nodiscard]] const NarrowColumn& weighed() const { return normalizes ? normalised : raw; }
};

// Plugins that are asked each time.
struct FreshFilter {
  PluginIndex plugin;
  size_t position;  // among all filters of the profile
};
struct FreshScore {
  PluginIndex plugin;
  int64_t weight;
};

}  // namespace plimsoll
