#include "serving/request.hpp"

#include <algorithm>

#include "framework/base/split.hpp"

namespace plimsoll::serving {

std::string decode_url(std::string_view text, bool plus_is_space) {
  std::string out;
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::vector<std::string> Request::parameters(std::string_view name) const {
  std::vector<std::string> values;
  for (const std::string_view part : split(query, "&")) {
    const size_t equals = std::min(part.find('='), part.size());
    if (part.empty() || decode_url(part.substr(0, equals), true) != name) continue;
    values.push_back(equals == part.size() ? "" : decode_url(part.substr(equals + 1), true));
  }
  return values;
}

}  // namespace plimsoll::serving
