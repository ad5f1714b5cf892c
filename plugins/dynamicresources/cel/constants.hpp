#pragma once

#include "plugins/dynamicresources/cel/expression.hpp"
#include "plugins/dynamicresources/cel/problem.hpp"

namespace plimsoll::dra::cel {

// As the reference does before it runs an expression: converts literals (a failure is a problem of
// the expression, not of a device), compiles patterns that stand in the text.
// What patterns may still take up is counted down.
void prepare_constants(Node& call, size_t* pattern_room, FirstProblem* problem);

}  // namespace plimsoll::dra::cel
