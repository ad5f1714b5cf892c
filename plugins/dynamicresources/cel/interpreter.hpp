#pragma once

#include <vector>

#include "plugins/dynamicresources/cel/data/run.hpp"
#include "plugins/dynamicresources/cel/expression.hpp"
#include "plugins/dynamicresources/cel/functions/functions.hpp"

namespace plimsoll::dra::cel {

// Errors are values; && and ||, all and exists absorb them as the reference does.
[[nodiscard]] Value evaluate(const Expression& expression, Run& run);

// The first overload that fits the arguments, which are no errors.
[[nodiscard]] Value call_overload(Run& run, const std::vector<Overload>& overloads, bool member,
                                  Arguments arguments);

}  // namespace plimsoll::dra::cel
