#pragma once
// Reads vector files: JSON Lines, plain or compressed with gzip.

#include <functional>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"

namespace plimsoll::conformance {

// Calls visit(line) for every line that is not empty, until it returns false. Fails if the file
// cannot be read to its end.
[[nodiscard]] Result<void> for_each_line(const std::string& path,
                                         const std::function<bool(std::string_view)>& visit);

}  // namespace plimsoll::conformance
