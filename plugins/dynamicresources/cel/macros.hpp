#pragma once

#include "plugins/dynamicresources/cel/expression.hpp"
#include "plugins/dynamicresources/cel/problem.hpp"

namespace plimsoll::dra::cel {

// Makes the node of a macro from a call that has a macro's name and number of arguments; other
// calls are left alone.
void expand_macro(Node& call, FirstProblem* problem);

}  // namespace plimsoll::dra::cel
