// Plimsoll plugin SDK, a part of Args: a reader of JSON, no larger than args need.
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace plimsoll::sdk {

// A value of JSON. What it was read from must outlive it.
struct ArgsValue {
  enum class Type { kNull, kBool, kNumber, kString, kList, kObject };
  Type type = Type::kNull;
  std::string_view written;                              // as it stands in the JSON
  std::string text;                                      // of a string, without quotes and escapes
  std::vector<ArgsValue> items;                          // of a list
  std::map<std::string, ArgsValue, std::less<>> fields;  // of an object; the last of equal names

  [[nodiscard]] bool is_text(std::string_view wanted) const {
    return type == Type::kString && text == wanted;
  }
  // A whole number that fits.
  [[nodiscard]] bool whole(int64_t& out) const {
    const char* end = written.data() + written.size();
    const auto [at, error] = std::from_chars(written.data(), end, out);
    return type == Type::kNumber && error == std::errc() && at == end;
  }
};

namespace detail {

class ArgsReader {
 public:
  explicit ArgsReader(std::string_view json) : rest_(json) {}

  // False: the text is not JSON.
  bool read(ArgsValue& out) {
    if (!value(out, kDeepest)) return false;
    skip_blanks();
    return rest_.empty();
  }

 private:
  static constexpr int kDeepest = 512;  // the scheduler's own reader of profiles allows less

  bool value(ArgsValue& out, int depth) {
    using Type = ArgsValue::Type;
    skip_blanks();
    const std::string_view before = rest_;
    if (before.empty() || depth == 0) return false;
    bool good = false;
    switch (before[0]) {
      case '{':
        out.type = Type::kObject;
        good = members('}', [&] {
          std::string name;
          if (!string(name) || !take(':')) return false;
          return value(out.fields[name] = {}, depth - 1);
        });
        break;
      case '[':
        out.type = Type::kList;
        good = members(']', [&] { return value(out.items.emplace_back(), depth - 1); });
        break;
      case '"':
        out.type = Type::kString;
        good = string(out.text);
        break;
      case 'n':
        good = word("null");
        break;
      case 't':
      case 'f':
        out.type = Type::kBool;
        good = word(before[0] == 't' ? "true" : "false");
        break;
      default:
        out.type = Type::kNumber;
        good = number();
    }
    out.written = before.substr(0, before.size() - rest_.size());
    return good;
  }

  template <typename Member>
  bool members(char end, const Member& member) {
    rest_.remove_prefix(1);
    if (take(end)) return true;
    do {
      if (!member()) return false;
    } while (take(','));
    return take(end);
  }

  bool string(std::string& out) {
    if (!take('"')) return false;
    while (!rest_.empty()) {
      const char c = next();
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        out += c;
      } else if (!escape(out)) {
        return false;
      }
    }
    return false;
  }
  bool escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (take_any("u")) return unicode(out);
    const size_t at = rest_.empty() ? std::string_view::npos : kLetters.find(next());
    if (at == std::string_view::npos) return false;
    out += kMeanings[at];
    return true;
  }
  // What stands after \u, as UTF-8; it may be two halves of one character.
  bool unicode(std::string& out) {
    uint32_t code = 0;
    if (!hex(code) || (code >= 0xDC00 && code < 0xE000)) return false;
    if (code >= 0xD800 && code < 0xDC00) {
      uint32_t low = 0;
      if (!word("\\u") || !hex(low) || low < 0xDC00 || low >= 0xE000) return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    const int further = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr uint32_t kFirst[] = {0, 0xC0, 0xE0, 0xF0};
    out += static_cast<char>(kFirst[further] | (code >> (6 * further)));
    for (int i = further; i-- > 0;) out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3F));
    return true;
  }
  bool hex(uint32_t& out) {
    if (rest_.size() < 4) return false;
    const char* end = rest_.data() + 4;
    const bool good = std::from_chars(rest_.data(), end, out, 16).ptr == end;
    rest_.remove_prefix(4);
    return good;
  }

  bool number() {
    take_any("-");
    if (!take_any("0") && !digits()) return false;
    if (take_any(".") && !digits()) return false;
    if (!take_any("eE")) return true;
    take_any("+-");
    return digits();
  }
  bool digits() {
    bool any = false;
    while (take_any("0123456789")) any = true;
    return any;
  }

  bool word(std::string_view wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }
  // The next character if it is one of these.
  bool take_any(std::string_view wanted) {
    if (rest_.empty() || wanted.find(rest_[0]) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // After blanks, this character.
  bool take(char wanted) {
    skip_blanks();
    return take_any({&wanted, 1});
  }
  void skip_blanks() {
    while (take_any(" \t\r\n")) {
    }
  }
  char next() {
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  std::string_view rest_;
};

}  // namespace detail

}  // namespace plimsoll::sdk
