#pragma once
// Texts as code points; in the language places in a string count these.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace plimsoll::dra::cel {

// How many bytes the code point at the beginning has; of a text that is not well formed one byte is
// taken for a code point. 0 for an empty text.
[[nodiscard]] size_t first_size(std::string_view text);
[[nodiscard]] bool is_utf8(std::string_view text);
[[nodiscard]] size_t count_points(std::string_view text);
// Where each code point begins, and the end.
[[nodiscard]] std::vector<size_t> starts_of(std::string_view text);

}  // namespace plimsoll::dra::cel
