#pragma once
// The parts of a text between marks.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// "a,,b," at ",": "a", "", "b", "". An empty text has one part, which is empty.
[[nodiscard]] inline std::vector<std::string> split(std::string_view text, std::string_view mark) {
  std::vector<std::string> parts;
  for (size_t begin = 0;;) {
    const size_t end = std::min(text.find(mark, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == text.size()) return parts;
    begin = end + mark.size();
  }
}

}  // namespace plimsoll
