#pragma once
// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF. Pure
// functions; any thread.

#include <cstddef>
#include <string_view>

namespace plimsoll {

// The length of the character at the start of `text`; 0 if there is no valid character.
[[nodiscard]] std::size_t utf8_character(std::string_view text);

// The offset of the first byte that is not part of a valid character; npos if the whole text is
// UTF-8.
[[nodiscard]] std::size_t find_invalid_utf8(std::string_view text);

}  // namespace plimsoll
