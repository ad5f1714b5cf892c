#pragma once
// What strangers' pods of hostile sizes cost the loop: labels, requirements, values and terms, each
// alone and against one another.

#include <vector>

#include "framework/runtime/plugin/modules.hpp"

namespace plimsoll::bench {

// Prints a table: for each kind and size, what a pod costs the loop from the watch to its binding,
// and what another tenant's plain pod costs beside all of them. `sizes`: entries of a list.
void measure_hostile(const Modules& modules, const std::vector<size_t>& sizes);

}  // namespace plimsoll::bench
