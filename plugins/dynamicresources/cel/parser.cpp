#include "plugins/dynamicresources/cel/parser.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "plugins/dynamicresources/cel/macros.hpp"
#include "plugins/dynamicresources/cel/text/numbers.hpp"
#include "plugins/dynamicresources/cel/text/token.hpp"

namespace plimsoll::dra::cel {
namespace {

constexpr std::string_view kReserved[] = {
    "as",       "break",   "const",  "continue", "else", "false", "for",
    "function", "if",      "import", "in",       "let",  "loop",  "namespace",
    "null",     "package", "return", "true",     "var",  "void",  "while"};

bool is_reserved(std::string_view name) {
  return std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
}

enum class Rule : uint8_t { kExpr, kOr, kAnd, kRelation, kCalc, kUnary, kMember, kPrimary, kEnd };

struct Infix {
  std::string_view mark, function;
  int strength;
};

constexpr Infix kRelations[] = {{"<", "_<_", 0}, {"<=", "_<=_", 0}, {">=", "_>=_", 0},
                                {">", "_>_", 0}, {"==", "_==_", 0}, {"!=", "_!=_", 0},
                                {"in", "@in", 0}};
constexpr Infix kCalculations[] = {
    {"*", "_*_", 2}, {"/", "_/_", 2}, {"%", "_%_", 2}, {"+", "_+_", 1}, {"-", "_-_", 1}};

class Parser {
 public:
  Parser(std::string_view text, FirstProblem* problem) : text_(text), problem_(*problem) {
    advance();
  }

  Expression parse() {
    out_.root = expression();
    if (token_.word != Word::kEnd) unexpected();
    return std::move(out_);
  }

 private:
  // Counts how deep a rule stands in itself; a chain of operators counts as well.
  class Level {
   public:
    Level(Parser& parser, Rule rule) : parser_(parser), rule_(static_cast<size_t>(rule)) { more(); }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { parser_.levels_[rule_] -= added_; }
    void more() {
      ++added_;
      if (++parser_.levels_[rule_] > kMostLevels)
        parser_.wrong("expression recursion limit exceeded");
    }

   private:
    Parser& parser_;
    size_t rule_;
    int added_ = 0;
  };

  // After a problem everything ends at once: no token is left.
  void wrong(std::string text) {
    problem_.add(Problem::Kind::kWrong, token_.at, std::move(text));
    token_ = Token{Word::kEnd, {}, token_.at};
  }
  void unexpected() {
    const std::string shown(token_.text.substr(0, 40));
    wrong("Syntax error: " + (token_.word == Word::kEnd ? "unexpected end of the expression"
                                                        : "unexpected '" + shown + "'"));
  }
  [[nodiscard]] bool failed() const { return problem_.get().has_value(); }

  void advance() {
    if (failed()) return;
    token_ = next_token(text_, token_.at + token_.text.size());
    if (token_.word == Word::kWrong) unexpected();
  }
  bool take(std::string_view mark) {
    if (!token_.is(mark)) return false;
    advance();
    return true;
  }
  void expect(std::string_view mark) {
    if (!take(mark)) unexpected();
  }

  Node* node(Op op, size_t at, std::string text = {}, std::vector<Node*> kids = {}) {
    Node& made = out_.nodes.emplace_back();
    made.op = op;
    made.at = static_cast<uint32_t>(at);
    made.text = std::move(text);
    made.kids = std::move(kids);
    return &made;
  }
  Node* literal(size_t at, Value value) {
    Node* made = node(Op::kLiteral, at);
    made->literal = value;
    return made;
  }

  Node* expression() {
    const Level level(*this, Rule::kExpr);
    Node* condition = chain(Rule::kOr);
    const size_t at = token_.at;
    if (!take("?")) return condition;
    Node* yes = chain(Rule::kOr);
    expect(":");
    Node* no = expression();
    return node(Op::kTernary, at, "_?_:_", {condition, yes, no});
  }

  // Operands with || or, inside, && between them.
  Node* chain(Rule rule) {
    const Level level(*this, rule);
    const bool is_or = rule == Rule::kOr;
    const auto operand = [&] { return is_or ? chain(Rule::kAnd) : relation(); };
    Node* first = operand();
    if (!token_.is(is_or ? "||" : "&&")) return first;
    Node* all = node(is_or ? Op::kOr : Op::kAnd, token_.at, {}, {first});
    while (take(is_or ? "||" : "&&")) all->kids.push_back(operand());
    return all;
  }

  template <size_t N>
  [[nodiscard]] const Infix* infix(const Infix (&all)[N], int least) const {
    for (const Infix& one : all)
      if (one.strength >= least && token_.is(one.mark)) return &one;
    return nullptr;
  }

  Node* relation() {
    Level level(*this, Rule::kRelation);
    Node* left = calculation(0);
    while (const Infix* found = infix(kRelations, 0)) {
      const size_t at = token_.at;
      advance();
      left = node(Op::kCall, at, std::string(found->function), {left, calculation(0)});
      level.more();
    }
    return left;
  }

  Node* calculation(int least) {
    Level level(*this, Rule::kCalc);
    Node* left = unary();
    while (const Infix* found = infix(kCalculations, least)) {
      const size_t at = token_.at;
      advance();
      Node* right = calculation(found->strength + 1);
      left = node(Op::kCall, at, std::string(found->function), {left, right});
      level.more();
    }
    return left;
  }

  [[nodiscard]] bool number_follows() const {
    const Word word = next_token(text_, token_.at + token_.text.size()).word;
    return word == Word::kInt || word == Word::kDouble;
  }

  Node* unary() {
    const Level level(*this, Rule::kUnary);
    const std::string_view mark = token_.is("!") ? "!" : "-";
    const size_t at = token_.at;
    size_t count = 0;
    while (token_.is(mark) && !(mark == "-" && count == 0 && number_follows())) {
      advance();
      ++count;
    }
    Node* operand = member();
    if (count % 2 == 0) return operand;
    return node(Op::kCall, at, mark == "!" ? "!_" : "-_", {operand});
  }

  Node* member() {
    Level level(*this, Rule::kMember);
    Node* left = primary();
    while (true) {
      const size_t at = token_.at;
      if (take("."))
        left = selection(left, at);
      else if (take("["))
        left = index_of(left, at);
      else if (token_.is("{") && is_qualified(*left))
        return message(*left);
      else
        return left;
      level.more();
    }
  }

  Node* selection(Node* left, size_t at) {
    const bool optional = take("?");
    const Token name = token_;
    if (name.word != Word::kName && name.word != Word::kQuotedName) unexpected();
    advance();
    std::string field(name.text);
    const bool call = name.word == Word::kName && !optional && token_.is("(");
    if (name.word == Word::kQuotedName) field = field.substr(1, field.size() - 2);
    if (call) return member_call(left, std::move(field), name.at);
    Node* made = node(Op::kField, at, std::move(field), {left});
    made->optional = optional;
    return made;
  }

  Node* index_of(Node* left, size_t at) {
    const bool optional = take("?");
    Node* key = expression();
    expect("]");
    Node* made = node(Op::kIndex, at, optional ? "_[?_]" : "_[_]", {left, key});
    made->optional = optional;
    return made;
  }

  Node* member_call(Node* target, std::string function, size_t at) {
    std::vector<Node*> kids = arguments();
    kids.insert(kids.begin(), target);
    Node* made = node(Op::kCall, at, std::move(function), std::move(kids));
    made->member = true;
    expand_macro(*made, &problem_);
    return made;
  }

  std::vector<Node*> arguments() {
    std::vector<Node*> all;
    expect("(");
    if (take(")")) return all;
    do all.push_back(expression());
    while (take(","));
    expect(")");
    return all;
  }

  static bool is_qualified(const Node& left) {
    return left.op == Op::kName ||
           (left.op == Op::kField && !left.optional && is_qualified(*left.kids[0]));
  }
  Node* message(Node& name) {
    problem_.add(Problem::Kind::kUnsupported, name.at, "messages");
    wrong({});
    return &name;
  }

  Node* primary() {
    const Level level(*this, Rule::kPrimary);
    const size_t at = token_.at;
    if (take("(")) {
      Node* inner = expression();
      expect(")");
      return inner;
    }
    if (take("[")) return list(at);
    if (take("{")) return map(at);
    if (take(".")) return name(at, ".");
    if (token_.word == Word::kName) return name(at, "");
    return constant();
  }

  Node* name(size_t at, std::string prefix) {
    const std::string_view word = token_.text;
    if (token_.word != Word::kName)
      unexpected();
    else if (is_reserved(word))
      wrong("reserved identifier: " + std::string(word));
    advance();
    if (!token_.is("(")) return node(Op::kName, at, prefix.append(word));
    Node* made = node(Op::kCall, at, std::string(word), arguments());
    expand_macro(*made, &problem_);
    return made;
  }

  // Elements with perhaps a "?" in front, up to the end mark; a comma may stand before that.
  template <typename Element>
  void elements(Node& made, std::string_view end, Element element) {
    while (!take(end)) {
      made.optional_kids.push_back(take("?"));
      element();
      if (take(",")) continue;
      expect(end);
      return;
    }
  }

  Node* list(size_t at) {
    Node* made = node(Op::kList, at);
    if (take(","))
      expect("]");
    else
      elements(*made, "]", [&] { made->kids.push_back(expression()); });
    return made;
  }

  Node* map(size_t at) {
    Node* made = node(Op::kMap, at);
    if (take(",")) {
      expect("}");
      return made;
    }
    elements(*made, "}", [&] {
      made->kids.push_back(expression());
      expect(":");
      made->kids.push_back(expression());
    });
    return made;
  }

  Node* constant() {
    const size_t at = token_.at;
    const bool negative = token_.is("-") && number_follows();
    if (negative) advance();
    const Token token = token_;
    if (token.word == Word::kKeyword && token.text != "in") {
      advance();
      return literal(at, token.text == "null" ? Value() : Value::of_bool(token.text == "true"));
    }
    if (token.word == Word::kString || token.word == Word::kBytes) return string(token);
    const auto number = read_number(token, negative);
    if (!number) unexpected();
    advance();
    return literal(at, number.value_or(Value()));
  }

  std::optional<Value> read_number(const Token& token, bool negative) {
    std::string text = (negative ? "-" : "") + std::string(token.text);
    if (token.word == Word::kDouble) {
      const auto value = double_of(text);
      return value ? std::optional(Value::of_double(*value)) : std::nullopt;
    }
    if (token.word == Word::kUint) {
      text.pop_back();
      const auto value = literal_int<uint64_t>(text);
      return value ? std::optional(Value::of_uint(*value)) : std::nullopt;
    }
    if (token.word != Word::kInt) return std::nullopt;
    const auto value = literal_int<int64_t>(text);
    return value ? std::optional(Value::of_int(*value)) : std::nullopt;
  }

  Node* string(const Token& token) {
    auto text = unquoted(token);
    if (!text) unexpected();
    Node* made = node(Op::kLiteral, token.at, text.value_or(""));
    made->literal =
        token.word == Word::kBytes ? Value::of_bytes(made->text) : Value::of_string(made->text);
    advance();
    return made;
  }

  std::string_view text_;
  FirstProblem& problem_;
  Token token_;
  Expression out_;
  std::array<int, static_cast<size_t>(Rule::kEnd)> levels_{};
};

}  // namespace

Expression parse(std::string_view text, FirstProblem* problem) {
  return Parser(text, problem).parse();
}

}  // namespace plimsoll::dra::cel
