#include "config/text/json_text.hpp"

#include "framework/base/utf8.hpp"

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

// Reads the elements after the opening bracket with `element`, up to `close`.
template <typename Element>
bool JsonScanner::each(char close, const Element& element) {
  if (++depth_ > kMaxDepth) return fail("nested too deeply");
  ++next_;
  skip_space();
  bool done = peek() == close;
  if (done) ++next_;
  while (!done) {
    skip_space();
    if (!element()) return false;
    skip_space();
    done = peek() == close;
    if (!done && peek() != ',') {
      return fail(at_end() ? std::string("the JSON text ends before '") + close + "'"
                           : std::string("expected ',' or '") + close + "'");
    }
    ++next_;
  }
  --depth_;
  return true;
}

// Reads a field's name, the colon after it, and the space after that.
bool JsonScanner::field_name(std::string* name) {
  if (peek() != '"') return fail("expected a field name in double quotes");
  if (!string(name)) return false;
  skip_space();
  if (peek() != ':') return fail("expected ':' after the field name");
  ++next_;
  skip_space();
  return true;
}

bool JsonScanner::object(Value* out) {
  if (out == nullptr) return each('}', [&] { return field_name(nullptr) && value(nullptr); });
  out->kind = Value::Kind::kMapping;
  return each('}', [&] {
    Member member;
    member.at = position();
    if (!field_name(&member.key)) return false;
    out->members.push_back(std::move(member));
    return value(&out->members.back().value);
  });
}

bool JsonScanner::array(Value* out) {
  if (out == nullptr) return each(']', [&] { return value(nullptr); });
  out->kind = Value::Kind::kSequence;
  return each(']', [&] { return value(&out->items.emplace_back()); });
}

bool JsonScanner::span(JsonSpan span, std::vector<JsonSpan>& out) {
  span.begin = next_;
  span.at = position();
  if (!value(nullptr)) return false;
  span.end = next_;
  out.push_back(std::move(span));
  return true;
}

bool JsonScanner::members(std::vector<JsonSpan>& out) {
  skip_space();
  if (peek() != '{') return fail("expected an object");
  return each('}', [&] {
    JsonSpan member;
    return field_name(&member.key) && span(std::move(member), out);
  });
}

bool JsonScanner::elements(std::vector<JsonSpan>& out) {
  skip_space();
  if (peek() != '[') return fail("expected a list");
  return each(']', [&] { return span({}, out); });
}

bool JsonScanner::string(std::string* out) {
  ++next_;
  while (true) {
    // Copies the bytes up to the next relevant one at once.
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
  const std::size_t length = utf8_character(text_.substr(next_));
  if (length == 0) return fail("the text is not valid UTF-8");
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
    // 10.0 is 10, as in YAML.
    if (const auto whole = integral ? std::nullopt : out->as_int64()) {
      out->text = std::to_string(*whole);
    }
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
