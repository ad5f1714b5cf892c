#pragma once
// How long a list of labels, requirements or values may be that is searched from its beginning,
// which is faster then. Longer ones are searched by their order.

#include <cstddef>

namespace plimsoll {

inline constexpr size_t kShortList = 16;

}  // namespace plimsoll
