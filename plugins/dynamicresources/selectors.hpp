#pragma once
// What the allocator asks of expressions, answered by CEL.

#include "plugins/dynamicresources/allocator/known_slice.hpp"

namespace plimsoll::dra {

// Compiles each text once, as long as there are not too many. For one thread.
[[nodiscard]] Judge cel_judge();

}  // namespace plimsoll::dra
