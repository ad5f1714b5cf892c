#pragma once
// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF. Pure
// functions; any thread.

#include <cstddef>
#include <string_view>

namespace plimsoll {

// The length of the character at the start of `text`; 0 if there is no valid character.
[[nodiscard]] std::size_t utf8_character(std::string_view text);

// The offset of the first byte that no YAML text may have: it is not part of a valid character, or
// is a control character other than tab, line feed and carriage return (YAML 1.2.2, section 5.1);
// npos if there is none.
[[nodiscard]] std::size_t find_unprintable(std::string_view text);

}  // namespace plimsoll
