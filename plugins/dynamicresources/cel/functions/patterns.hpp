#pragma once

#include <string_view>

#include "plugins/dynamicresources/cel/functions/functions.hpp"
#include "plugins/dynamicresources/cel/text/regex.hpp"

namespace plimsoll::dra::cel {

// Is the second argument of this function a regular expression?
[[nodiscard]] bool takes_pattern(std::string_view function);
// The function with a pattern that is compiled already.
[[nodiscard]] Value compute_pattern(Run& run, std::string_view function, const Regex& regex,
                                    Arguments arguments);

}  // namespace plimsoll::dra::cel
