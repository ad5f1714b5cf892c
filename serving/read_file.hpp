#pragma once
// Reads small files whose paths the operator gave.

#include <string>

#include "framework/base/result.hpp"

namespace plimsoll::serving {

// At most 1 MiB. The error says what the system says. Blocks on the disk only: what is no regular
// file is an error.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

}  // namespace plimsoll::serving
