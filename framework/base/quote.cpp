#include "framework/base/quote.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "framework/base/shown.hpp"

namespace plimsoll {
namespace {

constexpr std::size_t kLongest = 200;  // who needs to see more looks into the file

// `control`: how printf writes a control character of ASCII.
void append_quoted(std::string& out, std::string_view text, const char* control) {
  const auto escape = [&](const char* format, uint32_t code) {
    std::array<char, 8> escaped{};
    std::snprintf(escaped.data(), escaped.size(), format, static_cast<unsigned>(code & 0xffff));
    out += escaped.data();
  };
  out += '"';
  while (!text.empty()) {
    const ShownCharacter next = shown_character(text);
    const char c = text[0];
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (next.kind == ShownCharacter::Kind::kPlain) {
          out += text.substr(0, next.length);
        } else if (next.kind == ShownCharacter::Kind::kControl) {
          escape(next.code < 0x80 ? control : "\\u%04x", next.code);
        } else {
          out += "\xef\xbf\xbd";  // U+FFFD
        }
    }
    text.remove_prefix(next.length);
  }
  out += '"';
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  append_quoted(out, text, "\\u%04x");
}

std::string go_quoted(std::string_view text) {
  std::size_t end = std::min(text.size(), kLongest);
  // Not within a character.
  while (end < text.size() && end > 0 && (text[end] & 0xc0) == 0x80) --end;
  std::string out;
  append_quoted(out, text.substr(0, end), "\\x%02x");
  if (end < text.size()) out.insert(out.size() - 1, "...");
  return out;
}

std::string without_last_newlines(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

}  // namespace plimsoll
