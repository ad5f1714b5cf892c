#include "serving/http_session.hpp"

#include <algorithm>
#include <cctype>

namespace plimsoll::serving {

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

std::string bearer_token(std::string_view header) {
  while (header.starts_with(' ')) header.remove_prefix(1);
  const std::size_t space = header.find(' ');
  if (space == std::string_view::npos || in_small_letters(header.substr(0, space)) != "bearer") {
    return {};
  }
  const std::string_view rest = header.substr(space + 1);
  return std::string(rest.substr(0, rest.find(' ')));
}

}  // namespace plimsoll::serving
