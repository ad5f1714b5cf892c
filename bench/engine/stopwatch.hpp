#pragma once
// What each decision costs: a plugin that looks at the clock of the loop's thread whenever a pod is
// reserved. From one pod to the next lies all that the loop did for it, from the queue to the
// binder. One scheduler at a time.

#include <cstddef>
#include <vector>

#include "framework/runtime/modules.hpp"

namespace plimsoll::bench {

inline constexpr const char* kStopwatch = "Stopwatch";

[[nodiscard]] const std::vector<StaticModule>& stopwatch_module();

// Forgets what was measured, and makes room for so many. Before the loop decides.
void reset_stopwatch(size_t decisions);

// The time within which `share` (0 to 1) of the decisions were made, in microseconds of CPU time;
// the first decision is not among them. 0: fewer than two were made. After the loop has ended.
[[nodiscard]] double decision_us(double share);

}  // namespace plimsoll::bench
