#pragma once
// Unquoted words of YAML, typed as Kubernetes types them: by YAML 1.1, with Go's integers. Pure
// functions, any thread.

#include <string_view>

#include "config/problem.hpp"
#include "config/value.hpp"

namespace plimsoll::config {

// How an unquoted YAML word is typed; `at` is kept. Not representable in JSON: the problem is added
// and the value is null.
[[nodiscard]] Value type_plain_scalar(std::string_view word, Position at, Problems& problems);

}  // namespace plimsoll::config
