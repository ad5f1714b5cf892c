#pragma once
// A look at YAML text before it is turned into a graph.

#include <string>

#include "framework/base/result.hpp"

namespace plimsoll::informer {

// Reads all documents of `text` and keeps nothing. kInvalid, with the line: it is not UTF-8, not
// YAML, or it goes beyond what YAML text may make of itself (YamlBounds). Any thread.
[[nodiscard]] Result<void> check_yaml(const std::string& text);

}  // namespace plimsoll::informer
