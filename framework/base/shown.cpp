#include "framework/base/shown.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "framework/base/utf8.hpp"

namespace plimsoll {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

bool is_plain_ascii(char c) {
  return c >= 0x20 && c < 0x7f;
}

// What must not be raw, beyond ASCII: C1; ALM, LRM, RLM; LS, PS; embeddings, overrides, isolates.
bool is_control(uint32_t code) {
  return (code >= 0x80 && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

std::string escaped(uint32_t code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      std::array<char, 8> text{};
      std::snprintf(text.data(), text.size(), "\\u%04x", static_cast<unsigned>(code & 0xffff));
      return text.data();
  }
}

std::string shown_but(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_plain_ascii);
    const auto plain = static_cast<size_t>(end - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const ShownCharacter next = shown_character(text);
    if (next.kind == ShownCharacter::Kind::kInvalid) {
      out += kReplacement;
    } else if (next.kind == ShownCharacter::Kind::kPlain || kept.find(text[0]) != kept.npos) {
      out += text.substr(0, next.length);
    } else {
      out += escaped(next.code);
    }
    text.remove_prefix(next.length);
  }
  return out;
}

}  // namespace

ShownCharacter shown_character(std::string_view text) {
  using Kind = ShownCharacter::Kind;
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[i])); };
  if (byte(0) < 0x80) {
    return {1, byte(0), is_plain_ascii(text[0]) ? Kind::kPlain : Kind::kControl};
  }
  const size_t length = utf8_character(text);
  if (length == 0) return {1, 0, Kind::kInvalid};
  // None of them takes more than three bytes.
  const uint32_t code = length == 2 ? (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f)
                        : length == 3
                            ? (byte(0) & 0xf) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f)
                            : 0;
  return {length, code, is_control(code) ? Kind::kControl : Kind::kPlain};
}

std::string shown(std::string_view text) {
  return shown_but(text, "");
}

std::string shown_lines(std::string_view text) {
  return shown_but(text, "\n\t");
}

ShownOutput::~ShownOutput() {
  sync();
  stream_.rdbuf(raw_);
}

ShownOutput::int_type ShownOutput::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  return xsputn(&one, 1) == 1 ? c : traits_type::eof();
}

std::streamsize ShownOutput::xsputn(const char* text, std::streamsize size) {
  pending_.append(text, static_cast<size_t>(size));
  return write() ? size : 0;
}

bool ShownOutput::write() {
  const size_t end = pending_.rfind('\n');
  if (end == std::string::npos) return true;
  const std::string lines = shown_lines(std::string_view(pending_).substr(0, end + 1));
  pending_.erase(0, end + 1);
  const auto size = static_cast<std::streamsize>(lines.size());
  return raw_->sputn(lines.data(), size) == size;
}

int ShownOutput::sync() {
  const std::string rest = shown_lines(pending_);
  pending_.clear();
  const auto size = static_cast<std::streamsize>(rest.size());
  return raw_->sputn(rest.data(), size) == size ? raw_->pubsync() : -1;
}

}  // namespace plimsoll
