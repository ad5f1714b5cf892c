#include "framework/base/quote.hpp"

#include <array>
#include <cstdio>

namespace plimsoll {
namespace {

// `control`: how printf writes a control character. DEL is one, too: no YAML text may have it.
void append_quoted(std::string& out, std::string_view text, const char* control) {
  out += '"';
  for (const char c : text) {
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
        if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') {
          std::array<char, 8> code{};
          std::snprintf(code.data(), code.size(), control, static_cast<unsigned>(c));
          out += code.data();
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  append_quoted(out, text, "\\u%04x");
}

std::string go_quoted(std::string_view text) {
  std::string out;
  append_quoted(out, text, "\\x%02x");
  return out;
}

std::string without_last_newlines(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

}  // namespace plimsoll
