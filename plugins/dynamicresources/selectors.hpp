#pragma once
// What the allocator asks of expressions, answered by CEL.

#include <plimsoll/host.hpp>

#include "plugins/dynamicresources/allocator/known_slice.hpp"

namespace plimsoll::dra {

// Compiles each text once, as long as there are not too many, and counts those that use what this
// scheduler leaves out. For one thread.
[[nodiscard]] Judge cel_judge(const sdk::Host& host);

}  // namespace plimsoll::dra
