#pragma once
// Checks YAML text before it is parsed into a graph.

#include <string>

#include "framework/base/result.hpp"

namespace plimsoll::informer {

// Parses all documents of `text` and keeps nothing. Fails with kInvalid and the line if the text is
// not UTF-8, is not YAML, or exceeds the limits on what it may expand to (YamlBounds). Any thread.
[[nodiscard]] Result<void> check_yaml(const std::string& text);

}  // namespace plimsoll::informer
