#pragma once
// From text to a tree. The grammar is CEL's with optional fields, and the macros are expanded into
// nodes of their own.

#include <string_view>

#include "plugins/dynamicresources/cel/expression.hpp"
#include "plugins/dynamicresources/cel/problem.hpp"

namespace plimsoll::dra::cel {

// As the reference counts them: how often a rule of the grammar may stand in itself.
constexpr int kMostLevels = 250;

// The tree is complete if there is no problem.
[[nodiscard]] Expression parse(std::string_view text, FirstProblem* problem);

}  // namespace plimsoll::dra::cel
