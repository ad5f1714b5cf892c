#pragma once
// A text as a JSON string, for code that writes JSON without building a tree.

#include <string>
#include <string_view>

namespace plimsoll {

// Appends the text in double quotes. Control characters are escaped; everything else is unchanged.
void append_json_string(std::string& out, std::string_view text);

}  // namespace plimsoll
