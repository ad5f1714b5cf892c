#pragma once
// A text as a JSON string, for those who write JSON without building a tree.

#include <string>
#include <string_view>

namespace plimsoll {

// Appends the text in double quotes; control characters are escaped, everything else is left as it
// is.
void append_json_string(std::string& out, std::string_view text);

}  // namespace plimsoll
