#pragma once
// Types unquoted words of YAML like Kubernetes: by YAML 1.1, with Go's integers. Pure functions,
// any thread.

#include <string_view>

#include "config/text/problem.hpp"
#include "config/text/value.hpp"

namespace plimsoll::config {

// Types an unquoted YAML word; `at` is kept. If JSON cannot represent the value, adds a problem and
// returns null.
[[nodiscard]] Value type_plain_scalar(std::string_view word, Position at, Problems& problems);

}  // namespace plimsoll::config
