#pragma once
// A look at YAML text before it is turned into a graph.

#include <string>

#include "framework/base/result.hpp"

namespace plimsoll::informer {

// Reads all documents of `text` and keeps nothing. kInvalid, with line and column: it is not YAML,
// or it is text that yaml-cpp would take without complaint but not to any good end: a token that it
// reads as empty documents for ever, or an alias to the value that it is part of. Any thread.
[[nodiscard]] Result<void> check_yaml(const std::string& text);

}  // namespace plimsoll::informer
