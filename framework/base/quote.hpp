#pragma once
// Texts in double quotes. Quotes, backslashes and control characters are escaped; everything else
// is unchanged.

#include <string>
#include <string_view>

namespace plimsoll {

// As a JSON string, for code that writes JSON without building a tree.
void append_json_string(std::string& out, std::string_view text);

// As Go's %q shows it, for messages.
[[nodiscard]] std::string go_quoted(std::string_view text);

}  // namespace plimsoll
