#include "plugins/dynamicresources/cel/text/token.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace plimsoll::dra::cel {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_quoted_name(char c) {
  return is_name(c) || c == '.' || c == '-' || c == '/' || c == ' ';
}

size_t count_while(std::string_view text, size_t from, bool (*is)(char)) {
  size_t end = from;
  while (end < text.size() && is(text[end])) ++end;
  return end - std::min(from, end);
}

// Blanks and comments.
size_t skip_blanks(std::string_view text, size_t at) {
  while (true) {
    at = std::min(text.find_first_not_of(" \t\r\n\f", at), text.size());
    if (!text.substr(at).starts_with("//")) return at;
    at = std::min(text.find('\n', at), text.size());
  }
}

// The length of an exponent at `at`, 0 if there is none.
size_t exponent_length(std::string_view text, size_t at) {
  if (at >= text.size() || (text[at] != 'e' && text[at] != 'E')) return 0;
  const size_t sign = at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-') ? 1 : 0;
  const size_t digits = count_while(text, at + 1 + sign, is_digit);
  return digits == 0 ? 0 : 1 + sign + digits;
}

Token with_unsigned_suffix(std::string_view text, size_t length) {
  const bool is_unsigned = length < text.size() && (text[length] == 'u' || text[length] == 'U');
  return is_unsigned ? Token{Word::kUint, text.substr(0, length + 1)}
                     : Token{Word::kInt, text.substr(0, length)};
}

// `text` begins with a digit, or with a point and a digit.
Token number_token(std::string_view text) {
  const size_t hex = text.starts_with("0x") ? count_while(text, 2, is_hex) : 0;
  if (hex > 0) return with_unsigned_suffix(text, 2 + hex);
  size_t length = count_while(text, 0, is_digit);
  size_t behind = length;
  if (length < text.size() && text[length] == '.') {
    const size_t digits = count_while(text, length + 1, is_digit);
    if (digits > 0) behind = length + 1 + digits;
  }
  behind += exponent_length(text, behind);
  if (behind > length) return {Word::kDouble, text.substr(0, behind)};
  return with_unsigned_suffix(text, length);
}

struct Quotes {
  bool bytes = false, raw = false;
  size_t prefix = 0;
  std::string_view mark;  // what ends it
};

// Nothing: no string begins here.
std::optional<Quotes> quotes_at(std::string_view text) {
  Quotes quotes;
  const auto take = [&](char lower, char upper) {
    const bool there = quotes.prefix < text.size() &&
                       (text[quotes.prefix] == lower || text[quotes.prefix] == upper);
    quotes.prefix += there ? 1 : 0;
    return there;
  };
  quotes.bytes = take('b', 'B');
  quotes.raw = take('r', 'R');
  const std::string_view rest = text.substr(quotes.prefix);
  for (std::string_view mark : {R"(""")", "'''", "\"", "'"}) {
    if (!rest.starts_with(mark)) continue;
    quotes.mark = mark;
    return quotes;
  }
  return std::nullopt;
}

Token string_token(std::string_view text, const Quotes& quotes) {
  const bool one_line = quotes.mark.size() == 1;
  size_t at = quotes.prefix + quotes.mark.size();
  for (; at < text.size(); ++at) {
    if (text.substr(at).starts_with(quotes.mark))
      return {quotes.bytes ? Word::kBytes : Word::kString, text.substr(0, at + quotes.mark.size())};
    if (one_line && (text[at] == '\n' || text[at] == '\r')) break;
    if (!quotes.raw && text[at] == '\\') ++at;
  }
  return {Word::kWrong, text.substr(0, 1)};
}

Token mark_token(std::string_view text) {
  for (std::string_view mark : {"==", "!=", "<=", ">=", "&&", "||"})
    if (text.starts_with(mark)) return {Word::kMark, text.substr(0, 2)};
  const bool known = std::string_view("<>[]{}().,-!?:+*/%").find(text[0]) != std::string_view::npos;
  return {known ? Word::kMark : Word::kWrong, text.substr(0, 1)};
}

Token name_token(std::string_view text) {
  const std::string_view name = text.substr(0, count_while(text, 0, is_name));
  for (std::string_view keyword : {"in", "true", "false", "null"})
    if (name == keyword) return {Word::kKeyword, name};
  return {Word::kName, name};
}

Token quoted_name_token(std::string_view text) {
  const size_t length = count_while(text, 1, is_quoted_name);
  if (length == 0 || 1 + length >= text.size() || text[1 + length] != '`')
    return {Word::kWrong, text.substr(0, 1)};
  return {Word::kQuotedName, text.substr(0, length + 2)};
}

Token token_at(std::string_view text) {
  if (text.empty()) return {};
  if (is_digit(text[0]) || (text[0] == '.' && text.size() > 1 && is_digit(text[1])))
    return number_token(text);
  if (const auto quotes = quotes_at(text)) return string_token(text, *quotes);
  if (text[0] == '`') return quoted_name_token(text);
  return is_name(text[0]) ? name_token(text) : mark_token(text);
}

// --- escapes ---

bool is_code_point(uint32_t point) {
  return point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
}

// One escape; `rest` begins behind the backslash and is moved behind the escape.
class Escape {
 public:
  Escape(std::string_view* rest, bool bytes) : rest_(*rest), bytes_(bytes) {}

  bool append_to(std::string& text) {
    if (rest_.empty()) return false;
    const char kind = rest_[0];
    if (kind >= '0' && kind <= '3') return append_code(text, 0, 3, 8, !bytes_);
    if (kind == 'x' || kind == 'X') return append_code(text, 1, 2, 16, !bytes_);
    if (kind == 'u' && !bytes_) return append_code(text, 1, 4, 16, true);
    if (kind == 'U' && !bytes_) return append_code(text, 1, 8, 16, true);
    return append_letter(text, kind);
  }

 private:
  bool append_letter(std::string& text, char letter) {
    constexpr std::string_view kLetters = "abfnrtv\\\"'?`", kMeaning = "\a\b\f\n\r\t\v\\\"'?`";
    const size_t at = kLetters.find(letter);
    if (at == std::string_view::npos) return false;
    text += kMeaning[at];
    rest_.remove_prefix(1);
    return true;
  }

  bool append_code(std::string& text, size_t skip, size_t digits, int base, bool is_point) {
    const std::string_view code = rest_.substr(skip, digits);
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), value, base);
    if (code.size() != digits || error != std::errc() || end != code.data() + digits) return false;
    if (is_point && !is_code_point(value)) return false;
    if (is_point)
      append_utf8(text, value);
    else
      text += static_cast<char>(value);
    rest_.remove_prefix(skip + digits);
    return true;
  }

  std::string_view& rest_;
  bool bytes_;
};

// All line ends are read as \n.
void append_plain(std::string& text, std::string_view* rest) {
  if (rest->starts_with("\r\n")) rest->remove_prefix(1);
  text += rest->front() == '\r' ? '\n' : rest->front();
  rest->remove_prefix(1);
}

}  // namespace

Token next_token(std::string_view text, size_t from) {
  const size_t at = skip_blanks(text, from);
  Token token = token_at(text.substr(at));
  token.at = at;
  return token;
}

std::optional<std::string> unquoted(const Token& token) {
  const auto quotes = quotes_at(token.text);
  if (!quotes) return std::nullopt;
  std::string_view rest = token.text.substr(quotes->prefix + quotes->mark.size());
  rest.remove_suffix(quotes->mark.size());
  std::string text;
  while (!rest.empty()) {
    if (quotes->raw || rest[0] != '\\') {
      append_plain(text, &rest);
      continue;
    }
    rest.remove_prefix(1);
    if (!Escape(&rest, quotes->bytes).append_to(text)) return std::nullopt;
  }
  return text;
}

void append_utf8(std::string& text, uint32_t point) {
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  const auto add_tail = [&](uint32_t shift) { add(0x80 | ((point >> shift) & 0x3F)); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xC0 | (point >> 6));
  } else if (point < 0x10000) {
    add(0xE0 | (point >> 12));
    add_tail(6);
  } else {
    add(0xF0 | (point >> 18));
    add_tail(12);
    add_tail(6);
  }
  add_tail(0);
}

}  // namespace plimsoll::dra::cel
