#include "plugins/dynamicresources/cel/interpreter.hpp"

#include <algorithm>
#include <string>

#include "plugins/dynamicresources/cel/functions/patterns.hpp"

namespace plimsoll::dra::cel {
namespace {

class Interpreter {
 public:
  Interpreter(const Expression& expression, Run& run)
      : run_(run), variables_(static_cast<size_t>(expression.slots)) {}

  Value evaluate(const Node& node) {
    const Run::Level level(run_);
    if (!run_.charge(1)) return Run::out_of_steps();
    const Value value = evaluate_op(node);
    return run_.spent() ? Run::out_of_steps() : value;
  }

 private:
  // What a variable stands for. That of bind is computed when it is first read.
  struct Variable {
    Value value;
    const Node* pending = nullptr;
  };

  Value evaluate_op(const Node& node) {
    switch (node.op) {
      case Op::kLiteral:
        return node.literal;
      case Op::kName:
        return node.slot < 0 ? Value::of_map(&device_) : read(variables_[slot_of(node)]);
      case Op::kField:
        return field(node);
      case Op::kHas:
        return has(node);
      case Op::kIndex:
        return indexed(node);
      case Op::kCall:
        return call(node);
      case Op::kOrElse:
        return or_else(node);
      case Op::kList:
        return list(node);
      case Op::kMap:
        return map(node);
      case Op::kAnd:
        return unless(node, false);
      case Op::kOr:
        return unless(node, true);
      case Op::kTernary:
        return ternary(node);
      case Op::kBind:
        variables_[slot_of(node)] = {{}, node.kids[0]};
        return evaluate(*node.kids[1]);
      case Op::kOptMap:
      case Op::kOptFlatMap:
        return map_optional(node);
      default:
        return fold(node);
    }
  }

  static size_t slot_of(const Node& node) { return static_cast<size_t>(node.slot); }

  Value read(Variable& variable) {
    if (variable.pending != nullptr) {
      variable.value = evaluate(*variable.pending);
      variable.pending = nullptr;
    }
    return variable.value;
  }

  Value field(const Node& node) {
    const Value operand = evaluate(*node.kids[0]);
    if (operand.is_error()) return operand;
    return at_key(operand, Value::of_string(node.text), node.optional);
  }

  // Of what has no keys, nothing optional is there, and everything else is an error.
  Value at_key(const Value& container, const Value& key, bool optional) {
    const bool keyed = container.kind == Kind::kMap || container.kind == Kind::kList ||
                       container.kind == Kind::kOptional;
    if (!keyed && optional) return Value::of_optional(nullptr);
    return index(run_, container, key, optional);
  }

  Value has(const Node& node) {
    const Value operand = evaluate(*node.kids[0]);
    if (operand.is_error()) return operand;
    const Value there = at_key(operand, Value::of_string(node.text), true);
    return there.is_error() ? there : Value::of_bool(there.optional != nullptr);
  }

  Value indexed(const Node& node) {
    const Value container = evaluate(*node.kids[0]);
    const bool none = container.kind == Kind::kOptional && container.optional == nullptr;
    if (container.is_error() || none) return container;
    const Value key = evaluate(*node.kids[1]);
    if (key.is_error()) return key;
    if (!key.may_be_key()) return Value::of_error("invalid qualifier type");
    return at_key(container, key, node.optional);
  }

  // What is in an empty list is known without looking, and so it is no error.
  static bool is_in_nothing(const Node& node) {
    return node.text == "@in" && node.kids[1]->op == Op::kList && node.kids[1]->kids.empty();
  }

  // In the hash tables of the reference a version cannot be a key. Lists of literals are such.
  static Value unhashable() {
    return Value::of_error("internal error: hash of unhashable type kubernetes.Semver");
  }
  static bool is_hashed(const Value& container) {
    return container.kind == Kind::kMap && container.map->form == Map::Form::kEntries &&
           !container.map->entries.empty();
  }
  static bool is_list_of_literals(const Node& node) {
    return node.op == Op::kList && std::all_of(node.kids.begin(), node.kids.end(), [](Node* kid) {
             return kid->op == Op::kLiteral && kid->literal.may_be_key();
           });
  }
  static bool looks_up_version(const Node& node, Arguments arguments) {
    return node.text == "@in" && arguments[0].kind == Kind::kSemver &&
           (is_hashed(arguments[1]) || is_list_of_literals(*node.kids[1]));
  }

  Value call(const Node& node) {
    if (is_in_nothing(node)) return Value::of_bool(false);
    constexpr size_t kMost = 4;
    Value arguments[kMost];
    const size_t count = std::min(node.kids.size(), kMost);
    for (size_t i = 0; i < count; ++i) {
      arguments[i] = evaluate(*node.kids[i]);
      if (arguments[i].is_error()) return arguments[i];
    }
    if (node.regex != nullptr)
      return compute_pattern(run_, node.text, *node.regex, {arguments, count});
    if (looks_up_version(node, {arguments, count})) return unhashable();
    return call_overload(run_, *node.overloads, node.member, {arguments, count});
  }

  Value or_else(const Node& node) {
    const Value first = evaluate(*node.kids[0]);
    if (first.is_error()) return first;
    if (first.kind != Kind::kOptional) return no_such_overload();
    if (first.optional == nullptr) return evaluate(*node.kids[1]);
    return node.text == "or" ? first : *first.optional;
  }

  // Of an element or an entry with "?": nothing if it is to be left out.
  static bool take_optional(Value& value) {
    if (value.kind != Kind::kOptional) {
      value = Value::of_error(
          "cannot initialize an optional element from a value that is not optional");
      return true;
    }
    if (value.optional == nullptr) return false;
    value = *value.optional;
    return true;
  }

  Value list(const Node& node) {
    const auto items = run_.room<Value>(node.kids.size());
    if (items.size() != node.kids.size()) return Run::out_of_steps();
    size_t count = 0;
    for (size_t i = 0; i < node.kids.size(); ++i) {
      Value item = evaluate(*node.kids[i]);
      if (!item.is_error() && node.optional_kids[i] && !take_optional(item)) continue;
      if (item.is_error()) return item;
      items[count++] = item;
    }
    return run_.list(items.first(count));
  }

  // Later entries replace earlier ones with the same key.
  void put(std::vector<Entry>& entries, const Entry& entry, bool there) {
    const auto same = std::find_if(entries.begin(), entries.end(), [&](const Entry& other) {
      return other.key.kind == entry.key.kind && is_equal(run_, other.key, entry.key);
    });
    if (same != entries.end()) entries.erase(same);
    if (there) entries.push_back(entry);
  }

  Value map(const Node& node) {
    std::vector<Entry> entries;
    for (size_t i = 0; i + 1 < node.kids.size(); i += 2) {
      const Value key = evaluate(*node.kids[i]);
      if (key.is_error()) return key;
      if (key.kind == Kind::kSemver) return unhashable();
      Value value = evaluate(*node.kids[i + 1]);
      bool there = true;
      if (!value.is_error() && node.optional_kids[i / 2]) there = take_optional(value);
      if (value.is_error()) return value;
      put(entries, {key, value}, there);
    }
    const auto kept = run_.room<Entry>(entries.size());
    if (kept.size() != entries.size()) return Run::out_of_steps();
    std::copy(entries.begin(), entries.end(), kept.begin());
    return Value::of_map(run_.one(Map{Map::Form::kEntries, false, {}, kept}));
  }

  // Remembers the first error among operands; what is no bool is an error.
  static void remember(Value& error, const Value& value) {
    if (error.is_error() || value.kind == Kind::kBool) return;
    error = value.is_error() ? value : no_such_overload();
  }

  // && (`decides` is false) and || (true): one operand decides, whatever the others are.
  Value unless(const Node& node, bool decides) {
    Value error;
    for (const Node* kid : node.kids) {
      const Value value = evaluate(*kid);
      if (run_.spent() || value.is_bool(decides)) return value;
      remember(error, value);
    }
    return error.is_error() ? error : Value::of_bool(!decides);
  }

  Value ternary(const Node& node) {
    const Value condition = evaluate(*node.kids[0]);
    if (condition.is_error()) return condition;
    if (condition.kind != Kind::kBool) return no_such_overload();
    return evaluate(*node.kids[condition.boolean ? 1 : 2]);
  }

  Value map_optional(const Node& node) {
    const Value optional = evaluate(*node.kids[0]);
    if (optional.is_error()) return optional;
    if (optional.kind != Kind::kOptional) return no_such_overload();
    if (optional.optional == nullptr) return optional;
    variables_[slot_of(node)] = {*optional.optional, nullptr};
    const Value result = evaluate(*node.kids[1]);
    if (result.is_error() || node.op == Op::kOptFlatMap) return result;
    return Value::of_optional(run_.one(result));
  }

  // --- over the elements of a list, or the keys of a map ---

  Value fold(const Node& node) {
    const Value range = evaluate(*node.kids[0]);
    if (range.is_error()) return range;
    if (range.kind != Kind::kList && range.kind != Kind::kMap)
      return run_.fail("got '" + std::string(name_of(range.kind)) + "', expected iterable type");
    const auto items = range.kind == Kind::kList ? range.list->items : keys_of(run_, *range.map);
    if (node.op == Op::kAll || node.op == Op::kExists)
      return quantified(node, items, node.op == Op::kExists);
    return node.op == Op::kExistsOne ? exists_one(node, items) : collected(node, items);
  }

  Value with_item(const Node& node, const Value& item, const Node& kid) {
    variables_[slot_of(node)] = {item, nullptr};
    return evaluate(kid);
  }

  Value quantified(const Node& node, std::span<const Value> items, bool decides) {
    Value error;
    for (const Value& item : items) {
      const Value value = with_item(node, item, *node.kids[1]);
      if (run_.spent() || value.is_bool(decides)) return value;
      remember(error, value);
    }
    return error.is_error() ? error : Value::of_bool(!decides);
  }

  Value exists_one(const Node& node, std::span<const Value> items) {
    size_t count = 0;
    for (const Value& item : items) {
      const Value value = with_item(node, item, *node.kids[1]);
      if (value.kind != Kind::kBool) return value.is_error() ? value : no_such_overload();
      count += value.boolean ? 1 : 0;
    }
    return Value::of_bool(count == 1);
  }

  // map and filter.
  Value collected(const Node& node, std::span<const Value> items) {
    const auto room = run_.room<Value>(items.size());
    if (room.size() != items.size()) return Run::out_of_steps();
    const bool transform = node.op == Op::kTransform;
    const Node* predicate = !transform || node.kids.size() == 3 ? node.kids[1] : nullptr;
    size_t count = 0;
    for (const Value& item : items) {
      if (predicate != nullptr) {
        const Value wanted = with_item(node, item, *predicate);
        if (wanted.kind != Kind::kBool) return wanted.is_error() ? wanted : no_such_overload();
        if (!wanted.boolean) continue;
      }
      room[count] = transform ? with_item(node, item, *node.kids.back()) : item;
      if (room[count++].is_error()) return room[count - 1];
    }
    return run_.list(room.first(count));
  }

  Run& run_;
  std::vector<Variable> variables_;
  const Map device_{Map::Form::kDevice, false, {}, {}};
};

}  // namespace

Value evaluate(const Expression& expression, Run& run) {
  return Interpreter(expression, run).evaluate(*expression.root);
}

Value call_overload(Run& run, const std::vector<Overload>& overloads, bool member,
                    Arguments arguments) {
  for (const Overload& overload : overloads)
    if (overload.member == member && overload.fits(arguments))
      return overload.compute(run, arguments);
  return no_such_overload();
}

}  // namespace plimsoll::dra::cel
