#pragma once
// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. Pure
// functions, any thread.

#include <cstddef>
#include <string_view>

namespace plimsoll {

// The length of the character at the start of `text`, 0 if the bytes there are none.
[[nodiscard]] std::size_t utf8_character(std::string_view text);

// The offset of the first byte that is not part of a character; npos if all of the text is UTF-8.
[[nodiscard]] std::size_t find_invalid_utf8(std::string_view text);

}  // namespace plimsoll
