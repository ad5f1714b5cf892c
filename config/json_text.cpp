#include "config/json_text.hpp"

#include <algorithm>

namespace plimsoll::config {

JsonScanner::JsonScanner(std::string_view text, std::size_t offset, Position at)
    : text_(text), next_(offset), line_(at.line), line_start_(offset), column_base_(at.column) {}

Position JsonScanner::position() const {
  return {line_, column_base_ + static_cast<int>(next_ - line_start_)};
}

bool JsonScanner::fail(std::string message) {
  problem_ = {"", position(), std::move(message)};
  return false;
}

void JsonScanner::skip_space() {
  for (; next_ < text_.size(); ++next_) {
    const char c = text_[next_];
    if (c == '\n') {
      ++line_;
      line_start_ = next_ + 1;
      column_base_ = 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

bool JsonScanner::value(Value* out) {
  skip_space();
  if (out != nullptr) out->at = position();
  switch (peek()) {
    case '{':
      return object(out);
    case '[':
      return array(out);
    case '"':
      if (out != nullptr) out->kind = Value::Kind::kString;
      return string(out != nullptr ? &out->text : nullptr);
    case 't':
      if (out != nullptr) out->kind = Value::Kind::kBool, out->text = "true";
      return word("true");
    case 'f':
      if (out != nullptr) out->kind = Value::Kind::kBool, out->text = "false";
      return word("false");
    case 'n':
      return word("null");
    default:
      break;
  }
  if (at_end()) return fail("the JSON text ends where a value should be");
  return number(out);
}

bool JsonScanner::word(std::string_view word) {
  if (text_.substr(next_, word.size()) != word) {
    return fail("not a JSON value: strings need double quotes");
  }
  next_ += word.size();
  return true;
}

// After a member: ',' goes on, `close` ends. done is set at the end.
bool JsonScanner::separator(char close, bool& done) {
  skip_space();
  if (peek() == close) {
    done = true;
  } else if (peek() != ',') {
    return fail(at_end() ? std::string("the JSON text ends before '") + close + "'"
                         : std::string("expected ',' or '") + close + "'");
  }
  ++next_;
  return true;
}

bool JsonScanner::object(Value* out) {
  if (++depth_ > kMaxDepth) return fail("nested too deeply");
  if (out != nullptr) out->kind = Value::Kind::kMapping;
  ++next_;
  skip_space();
  bool done = peek() == '}';
  if (done) ++next_;
  while (!done) {
    skip_space();
    const Position at = position();
    if (peek() != '"') return fail("expected a field name in double quotes");
    std::string key;
    if (!string(out != nullptr ? &key : nullptr)) return false;
    skip_space();
    if (peek() != ':') return fail("expected ':' after the field name");
    ++next_;
    if (out != nullptr) {
      out->members.push_back(Member{std::move(key), at, {}});
      if (!value(&out->members.back().value)) return false;
    } else if (!value(nullptr)) {
      return false;
    }
    if (!separator('}', done)) return false;
  }
  --depth_;
  return true;
}

bool JsonScanner::array(Value* out) {
  if (++depth_ > kMaxDepth) return fail("nested too deeply");
  if (out != nullptr) out->kind = Value::Kind::kSequence;
  ++next_;
  skip_space();
  bool done = peek() == ']';
  if (done) ++next_;
  while (!done) {
    if (out != nullptr) {
      out->items.emplace_back();
      if (!value(&out->items.back())) return false;
    } else if (!value(nullptr)) {
      return false;
    }
    if (!separator(']', done)) return false;
  }
  --depth_;
  return true;
}

bool JsonScanner::members(std::vector<JsonSpan>& out) {
  skip_space();
  if (peek() != '{') return fail("expected an object");
  ++next_;
  skip_space();
  bool done = peek() == '}';
  if (done) ++next_;
  while (!done) {
    skip_space();
    if (peek() != '"') return fail("expected a field name in double quotes");
    JsonSpan span;
    if (!string(&span.key)) return false;
    skip_space();
    if (peek() != ':') return fail("expected ':' after the field name");
    ++next_;
    skip_space();
    span.begin = next_;
    span.at = position();
    if (!value(nullptr)) return false;
    span.end = next_;
    out.push_back(std::move(span));
    if (!separator('}', done)) return false;
  }
  return true;
}

bool JsonScanner::elements(std::vector<JsonSpan>& out) {
  skip_space();
  if (peek() != '[') return fail("expected a list");
  ++next_;
  skip_space();
  bool done = peek() == ']';
  if (done) ++next_;
  while (!done) {
    skip_space();
    JsonSpan span;
    span.begin = next_;
    span.at = position();
    if (!value(nullptr)) return false;
    span.end = next_;
    out.push_back(std::move(span));
    if (!separator(']', done)) return false;
  }
  return true;
}

bool JsonScanner::string(std::string* out) {
  ++next_;
  while (true) {
    // The stretch up to the next byte that needs care is copied at once.
    std::size_t stop = next_;
    while (stop < text_.size()) {
      const auto c = static_cast<unsigned char>(text_[stop]);
      if (c == '"' || c == '\\' || c < 0x20 || c >= 0x80) break;
      ++stop;
    }
    if (out != nullptr) out->append(text_.substr(next_, stop - next_));
    next_ = stop;
    if (at_end()) return fail("the JSON text ends inside a string");
    const auto c = static_cast<unsigned char>(text_[next_]);
    if (c == '"') {
      ++next_;
      return true;
    }
    if (c == '\\') {
      if (!escape(out)) return false;
    } else if (c < 0x20) {
      return fail("a control character inside a string: write it as an escape");
    } else if (!utf8(out)) {
      return false;
    }
  }
}

bool JsonScanner::utf8(std::string* out) {
  const auto byte = [&](std::size_t i) {
    return next_ + i < text_.size() ? static_cast<unsigned char>(text_[next_ + i]) : 0U;
  };
  const unsigned lead = byte(0);
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  unsigned code = lead & (0xffU >> (length + 1));
  bool good = lead >= 0xc2 && lead <= 0xf4;
  for (std::size_t i = 1; i < length && good; ++i) {
    good = (byte(i) & 0xc0U) == 0x80U;
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr unsigned kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  good = good && code >= kSmallest[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  if (!good) return fail("the text is not valid UTF-8");
  if (out != nullptr) out->append(text_.substr(next_, length));
  next_ += length;
  return true;
}

namespace {

void append_utf8(unsigned code, std::string& out) {
  const auto put = [&out](unsigned byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0U | code >> 6U), put(0x80U | (code & 0x3fU));
  } else if (code < 0x10000) {
    put(0xe0U | code >> 12U), put(0x80U | (code >> 6U & 0x3fU)), put(0x80U | (code & 0x3fU));
  } else {
    put(0xf0U | code >> 18U), put(0x80U | (code >> 12U & 0x3fU));
    put(0x80U | (code >> 6U & 0x3fU)), put(0x80U | (code & 0x3fU));
  }
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

bool JsonScanner::hex4(unsigned& code) {
  code = 0;
  for (int i = 0; i < 4; ++i, ++next_) {
    const char c = peek();
    const int digit = is_digit(c)            ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return fail("\\u needs four hexadecimal digits");
    code = code * 16 + static_cast<unsigned>(digit);
  }
  return true;
}

bool JsonScanner::escape(std::string* out) {
  ++next_;
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  const char name = peek();
  const std::size_t which = at_end() ? std::string_view::npos : kNames.find(name);
  if (which != std::string_view::npos) {
    ++next_;
    if (out != nullptr) *out += kMeant[which];
    return true;
  }
  if (name != 'u') return fail("an unknown escape in a string");
  ++next_;
  unsigned code = 0;
  if (!hex4(code)) return false;
  if (code >= 0xd800 && code <= 0xdbff) {
    unsigned low = 0;
    if (text_.substr(next_, 2) != "\\u") return fail("half of a surrogate pair in a string");
    next_ += 2;
    if (!hex4(low)) return false;
    if (low < 0xdc00 || low > 0xdfff) return fail("half of a surrogate pair in a string");
    code = 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00);
  } else if (code >= 0xdc00 && code <= 0xdfff) {
    return fail("half of a surrogate pair in a string");
  }
  if (out != nullptr) append_utf8(code, *out);
  return true;
}

bool JsonScanner::number(Value* out) {
  const std::size_t begin = next_;
  const auto digits = [this] {
    const std::size_t from = next_;
    while (is_digit(peek())) ++next_;
    return next_ > from;
  };
  bool integral = true;
  if (peek() == '-') ++next_;
  const bool leading_zero = peek() == '0';
  const std::size_t first = next_;
  if (!digits()) {
    next_ = begin;
    return fail("not a JSON value: strings need double quotes");
  }
  if (leading_zero && next_ - first > 1) return fail("a number must not start with 0");
  if (peek() == '.') {
    integral = false;
    ++next_;
    if (!digits()) return fail("a digit is missing after the decimal point");
  }
  if (peek() == 'e' || peek() == 'E') {
    integral = false;
    ++next_;
    if (peek() == '+' || peek() == '-') ++next_;
    if (!digits()) return fail("a digit is missing in the exponent");
  }
  if (out != nullptr) {
    out->kind = integral ? Value::Kind::kInteger : Value::Kind::kFloat;
    out->text = text_.substr(begin, next_ - begin);
  }
  return true;
}

std::optional<Value> parse_json(std::string_view text, Problem& problem) {
  JsonScanner scanner(text);
  Value root;
  if (!scanner.value(&root)) {
    problem = scanner.problem();
    return std::nullopt;
  }
  scanner.skip_space();
  if (!scanner.at_end()) {
    problem = {"", scanner.position(), "text after the end of the JSON value"};
    return std::nullopt;
  }
  return root;
}

}  // namespace plimsoll::config
