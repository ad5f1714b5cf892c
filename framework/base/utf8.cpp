#include "framework/base/utf8.hpp"

namespace plimsoll {

std::size_t utf8_character(std::string_view text) {
  const auto byte = [&text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return text.empty() ? 0 : 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  unsigned code = lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr unsigned kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code >= kSmallest[length] && code <= 0x10ffff && !surrogate ? length : 0;
}

std::size_t find_unprintable(std::string_view text) {
  const auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') ||
           c == '\x7f';
  };
  for (std::size_t next = 0; next < text.size();) {
    const std::size_t length = utf8_character(text.substr(next));
    if (length == 0 || is_control(text[next])) return next;
    next += length;
  }
  return std::string_view::npos;
}

}  // namespace plimsoll
