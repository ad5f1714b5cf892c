#include "config/text/yaml_scalar.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>

namespace plimsoll::config {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool is_yaml_float(std::string_view text) {
  const auto sign = [&text] {
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  };
  const auto digits = [&text] {
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(end);
    return end > 0;
  };
  sign();
  const bool whole = digits();
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    if (!digits() && !whole) return false;
  } else if (!whole) {
    return false;
  }
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  sign();
  return all_digits(text);
}

// An integer in any base of YAML 1.1 and Go: 12, -3, 0644, 0o644, 0x1f, 0b101. Empty if it is not
// an integer.
std::string integer_text(std::string_view word) {
  const bool negative = word[0] == '-';
  if (negative || word[0] == '+') word.remove_prefix(1);
  int base = 10;
  if (word.size() > 1 && word[0] == '0') {
    const char mark = word[1] | 0x20;  // lower case
    base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
    word.remove_prefix(mark == 'x' || mark == 'b' || mark == 'o' ? 2 : 1);
  }
  std::uint64_t number = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number, base);
  if (word.empty() || stop != end) return {};
  if (error != std::errc()) {
    // Beyond 64 bits: a decimal number keeps its digits, like Go's big integers.
    return base == 10 && all_digits(word) ? (negative ? "-" : "") + std::string(word) : "";
  }
  return (negative && number != 0 ? "-" : "") + std::to_string(number);
}

Value typed(Value::Kind kind, std::string text, std::string_view word, Position at) {
  Value out;
  out.kind = kind;
  out.at = at;
  out.text = std::move(text);
  if (out.text != word) out.written = word;
  return out;
}

}  // namespace

Value type_plain_scalar(std::string_view word, Position at, Problems& problems) {
  using Kind = Value::Kind;
  if (is_one_of(word, {"", "~", "null", "Null", "NULL"})) return typed(Kind::kNull, "", "", at);
  if (is_one_of(word, {"true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})) {
    return typed(Kind::kBool, "true", word, at);
  }
  if (is_one_of(word,
                {"false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF"})) {
    return typed(Kind::kBool, "false", word, at);
  }
  if (is_one_of(word, {".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF",
                       "-.inf", "-.Inf", "-.INF"})) {
    problems.push_back({"", at, std::string(word) + " has no form in JSON: write a finite number"});
    return typed(Kind::kNull, "", "", at);
  }
  const char first = word[0];
  if ((first < '0' || first > '9') && first != '-' && first != '+' && first != '.') {
    return typed(Kind::kString, std::string(word), word, at);
  }
  std::string plain(word);
  if (first != '.') std::erase(plain, '_');
  const std::string integer = first == '.' || plain.empty() ? "" : integer_text(plain);
  if (!integer.empty()) return typed(Kind::kInteger, integer, word, at);
  if (is_yaml_float(plain)) {
    double number = 0;
    const char* begin = plain.data() + (plain[0] == '+' ? 1 : 0);
    const auto parsed = std::from_chars(begin, plain.data() + plain.size(), number);
    if (parsed.ec == std::errc() && std::isfinite(number)) {
      char shortest[40];
      const auto end = std::to_chars(shortest, shortest + sizeof shortest, number);
      return typed(Kind::kFloat, std::string(shortest, end.ptr), word, at);
    }
  }
  return typed(Kind::kString, std::string(word), word, at);
}

}  // namespace plimsoll::config
