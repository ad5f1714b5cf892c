// The -l syntax of kubectl: "app=web,tier in (a,b),!old,cpus>4".
#include <plimsoll/join.hpp>

#include <algorithm>
#include <charconv>
#include <set>

#include "framework/api/selectors.hpp"

namespace plimsoll {
namespace {

using Op = LabelQuery::Op;
using Requirement = LabelQuery::Requirement;

enum class Token {
  kError,
  kEnd,
  kClose,
  kComma,
  kNot,
  kDoubleEquals,
  kEquals,
  kGt,
  kWord,
  kIn,
  kLt,
  kNotEquals,
  kNotIn,
  kOpen
};

struct Item {
  Token token;
  std::string_view text;
};

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
bool is_special(char c) {
  return std::string_view("=!(),><").find(c) != std::string_view::npos;
}

Token symbol_token(std::string_view text) {
  if (text == ")") return Token::kClose;
  if (text == ",") return Token::kComma;
  if (text == "!") return Token::kNot;
  if (text == "==") return Token::kDoubleEquals;
  if (text == "=") return Token::kEquals;
  if (text == ">") return Token::kGt;
  if (text == "<") return Token::kLt;
  if (text == "!=") return Token::kNotEquals;
  if (text == "(") return Token::kOpen;
  return Token::kError;
}

std::vector<Item> scan(std::string_view text) {
  std::vector<Item> items;
  size_t at = 0;
  while (true) {
    while (at < text.size() && is_space(text[at])) ++at;
    if (at == text.size()) break;
    size_t end = at + 1;
    if (is_special(text[at])) {
      if (symbol_token(text.substr(at, 2)) != Token::kError) end = std::min(at + 2, text.size());
      const std::string_view symbol = text.substr(at, end - at);
      items.push_back({symbol_token(symbol), symbol});
    } else {
      while (end < text.size() && !is_special(text[end]) && !is_space(text[end])) ++end;
      const std::string_view word = text.substr(at, end - at);
      items.push_back({word == "in"      ? Token::kIn
                       : word == "notin" ? Token::kNotIn
                                         : Token::kWord,
                       word});
    }
    at = end;
  }
  items.push_back({Token::kEnd, ""});
  return items;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : items_(scan(text)) {}

  Result<std::vector<Requirement>> parse() {
    std::vector<Requirement> requirements;
    if (peek() == Token::kEnd) return requirements;
    while (true) {
      if (auto parsed = requirement(); !parsed)
        return fail(parsed.error());
      else
        requirements.push_back(std::move(*parsed));
      if (peek() == Token::kEnd) return requirements;
      if (peek() != Token::kComma) return unexpected("',' or 'end of string'");
      ++at_;
      if (peek() != Token::kWord && peek() != Token::kNot)
        return unexpected("identifier after ','");
    }
  }

 private:
  // Where a name or a value is expected, "in" and "notin" are ordinary words.
  [[nodiscard]] Token peek() const {
    const Token token = items_[at_].token;
    return token == Token::kIn || token == Token::kNotIn ? Token::kWord : token;
  }

  // Never moves beyond the last item, which is the end.
  Item take() {
    const Item item{peek(), items_[at_].text};
    if (at_ + 1 < items_.size()) ++at_;
    return item;
  }

  [[nodiscard]] tl::unexpected<Error> unexpected(std::string_view expected) const {
    return fail(ErrorCode::kInvalid, "found '" + std::string(items_[at_].text) +
                                         "', expected: " + std::string(expected));
  }

  Result<Requirement> requirement() {
    Requirement result{{}, Op::kExists, {}};
    if (peek() == Token::kNot) {
      result.op = Op::kNotExists;
      ++at_;
    }
    if (peek() != Token::kWord) return unexpected("!, identifier, or 'end of string'");
    result.key = take().text;
    if (!is_label_key(result.key)) {
      return fail(ErrorCode::kInvalid, "'" + result.key + "' is not a valid label key");
    }
    if (peek() == Token::kEnd || peek() == Token::kComma) return result;
    if (result.op == Op::kNotExists) return result;
    return with_operator(std::move(result));
  }

  Result<Requirement> with_operator(Requirement result) {
    switch (items_[at_].token) {
      case Token::kIn:
        result.op = Op::kIn;
        break;
      case Token::kNotIn:
        result.op = Op::kNotIn;
        break;
      case Token::kEquals:
        result.op = Op::kEquals;
        break;
      case Token::kDoubleEquals:
        result.op = Op::kDoubleEquals;
        break;
      case Token::kNotEquals:
        result.op = Op::kNotEquals;
        break;
      case Token::kGt:
        result.op = Op::kGt;
        break;
      case Token::kLt:
        result.op = Op::kLt;
        break;
      default:
        return unexpected("in, notin, =, ==, !=, gt, lt");
    }
    ++at_;
    std::set<std::string> values;
    const bool set = result.op == Op::kIn || result.op == Op::kNotIn;
    if (auto read = set ? value_set(&values) : value(&values); !read) return fail(read.error());
    result.values.assign(values.begin(), values.end());
    for (const std::string& each : result.values) {
      if (!is_label_value(each)) {
        return fail(ErrorCode::kInvalid, "'" + each + "' is not a valid label value");
      }
      if (result.op != Op::kGt && result.op != Op::kLt) continue;
      int64_t number = 0;
      auto [end, error] = std::from_chars(each.data(), each.data() + each.size(), number);
      if (error != std::errc() || end != each.data() + each.size()) {
        return fail(ErrorCode::kInvalid,
                    "'" + each + "': for '>' and '<' the value must be an integer");
      }
    }
    return result;
  }

  Result<void> value(std::set<std::string>* values) {
    if (peek() == Token::kEnd || peek() == Token::kComma) {
      values->insert("");
      return {};
    }
    if (peek() != Token::kWord) return unexpected("identifier");
    values->emplace(take().text);
    return {};
  }

  // "(a,b)". Nothing between two commas is the empty value.
  Result<void> value_set(std::set<std::string>* values) {
    if (peek() != Token::kOpen) return unexpected("'('");
    ++at_;
    bool word_before = false;
    while (true) {
      if (peek() == Token::kWord) {
        if (word_before) return unexpected("',' or ')'");
        values->emplace(take().text);
        word_before = true;
      } else if (peek() == Token::kComma || peek() == Token::kClose) {
        if (!word_before) values->insert("");
        if (take().token == Token::kClose) return {};
        word_before = false;
      } else {
        return unexpected("',', ')' or identifier");
      }
    }
  }

  std::vector<Item> items_;
  size_t at_ = 0;
};

bool meets(const Requirement& requirement, const plimsoll_list& labels) {
  const plimsoll_str* value = find_label(labels, str(requirement.key));
  const auto listed = [&] {
    return std::binary_search(requirement.values.begin(), requirement.values.end(), view(*value));
  };
  switch (requirement.op) {
    case Op::kEquals:
    case Op::kDoubleEquals:
    case Op::kIn:
      return value != nullptr && listed();
    case Op::kNotEquals:
    case Op::kNotIn:
      return value == nullptr || !listed();
    case Op::kExists:
      return value != nullptr;
    case Op::kNotExists:
      return value == nullptr;
    default:
      break;
  }
  if (value == nullptr) return false;
  plimsoll_str bound = str(requirement.values.front());
  const plimsoll_requirement comparison{
      str(requirement.key),
      {&bound, 1, sizeof(bound)},
      requirement.op == Op::kGt ? uint32_t{PLIMSOLL_OP_GT} : uint32_t{PLIMSOLL_OP_LT},
      0};
  return matches(comparison, labels);
}

std::string text_of(const Requirement& requirement) {
  std::string values;
  for (const std::string& value : requirement.values) {
    if (&value != &requirement.values.front()) values += ',';
    values += value;
  }
  switch (requirement.op) {
    case Op::kEquals:
      return requirement.key + "=" + values;
    case Op::kDoubleEquals:
      return requirement.key + "==" + values;
    case Op::kNotEquals:
      return requirement.key + "!=" + values;
    case Op::kIn:
      return requirement.key + " in (" + values + ")";
    case Op::kNotIn:
      return requirement.key + " notin (" + values + ")";
    case Op::kNotExists:
      return "!" + requirement.key;
    case Op::kGt:
      return requirement.key + ">" + values;
    case Op::kLt:
      return requirement.key + "<" + values;
    default:
      return requirement.key;
  }
}

}  // namespace

Result<LabelQuery> LabelQuery::parse(std::string_view text) {
  auto requirements = Parser(text).parse();
  if (!requirements) return fail(requirements.error().within("unable to parse requirement"));
  LabelQuery query;
  query.requirements_ = std::move(*requirements);
  std::stable_sort(query.requirements_.begin(), query.requirements_.end(),
                   [](const Requirement& a, const Requirement& b) { return a.key < b.key; });
  return query;
}

bool LabelQuery::matches(const plimsoll_list& labels) const {
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const Requirement& requirement) { return meets(requirement, labels); });
}

std::string LabelQuery::text() const {
  return sdk::join(requirements_, ",", [](const Requirement& each) { return text_of(each); });
}

}  // namespace plimsoll
