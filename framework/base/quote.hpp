#pragma once
// Texts for messages. In double quotes: quotes, backslashes and what must not be raw (shown.hpp)
// are escaped; everything else is unchanged.

#include <string>
#include <string_view>

namespace plimsoll {

// As a JSON string, for code that writes JSON without building a tree.
void append_json_string(std::string& out, std::string_view text);

// As Go's %q shows it, for messages: of a long text the beginning, and "...".
[[nodiscard]] std::string go_quoted(std::string_view text);

// Without the line ends that a program's output or a list of problems has last.
[[nodiscard]] std::string without_last_newlines(std::string text);

}  // namespace plimsoll
