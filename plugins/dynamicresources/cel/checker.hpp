#pragma once
// Finds what is wrong with an expression before there is a device: names, fields and types.

#include "plugins/dynamicresources/cel/expression.hpp"
#include "plugins/dynamicresources/cel/problem.hpp"

namespace plimsoll::dra::cel {

// Also fills in what the interpreter needs: slots, overloads, constants and patterns.
void check(Expression& expression, FirstProblem* problem);

}  // namespace plimsoll::dra::cel
