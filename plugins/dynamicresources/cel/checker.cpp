#include "plugins/dynamicresources/cel/checker.hpp"

#include <algorithm>

#include "plugins/dynamicresources/cel/constants.hpp"
#include "plugins/dynamicresources/cel/data/types.hpp"
#include "plugins/dynamicresources/cel/functions/functions.hpp"

namespace plimsoll::dra::cel {
namespace {

// "a.b.c" if the node is a name with fields; "" otherwise.
std::string qualified_name(const Node& node) {
  if (node.op == Op::kName) return node.text;
  if (node.op != Op::kField || node.optional) return {};
  const std::string prefix = qualified_name(*node.kids[0]);
  return prefix.empty() ? prefix : prefix + "." + node.text;
}

class Checker {
 public:
  Checker(Expression& expression, FirstProblem* problem)
      : expression_(expression), problem_(*problem) {}

  void check() {
    const Type* result = types_.settled(check(*expression_.root));
    if (result->kind != Kind::kBool && result->kind != Kind::kDyn)
      wrong(*expression_.root,
            "must evaluate to bool or the unknown type, not " + text_of(*result));
    for (const auto& [literal, elements] : literals_) check_alike(*literal, elements);
    if (types_.spent()) wrong(*expression_.root, "the types are too large");
  }

 private:
  struct Variable {
    std::string_view name;
    const Type* type;
    int slot;
  };

  const Type* wrong(const Node& node, std::string text) {
    problem_.add(Problem::Kind::kWrong, node.at, std::move(text));
    return error();
  }
  const Type* unsupported(const Node& node, std::string text) {
    problem_.add(Problem::Kind::kUnsupported, node.at, std::move(text));
    return error();
  }
  const Type* error() { return of(Kind::kError); }
  const Type* of(Kind kind) { return types_.make(kind); }
  const Type* list_of(const Type* element) { return types_.make(Kind::kList, element); }
  const Type* optional_of(const Type* type) { return types_.make(Kind::kOptional, type); }

  const Type* check(Node& node) {
    if (problem_.get() || types_.spent()) return error();
    switch (node.op) {
      case Op::kLiteral:
        return of(node.literal.kind);
      case Op::kName:
        return check_name(node);
      case Op::kField:
        return check_field(node);
      case Op::kHas:
        field_type(node);
        return of(Kind::kBool);
      case Op::kList:
        return check_list(node);
      case Op::kMap:
        return check_map(node);
      case Op::kAnd:
      case Op::kOr:
        for (Node* kid : node.kids) expect_bool(*kid, check(*kid));
        return of(Kind::kBool);
      case Op::kCall:
      case Op::kOrElse:
      case Op::kIndex:
      case Op::kTernary:
        return check_call(node);
      default:
        return check_macro(node);
    }
  }

  // --- names and fields ---

  const Type* check_name(Node& node) {
    std::string_view name = node.text;
    const bool global = name.starts_with('.');
    if (global) name.remove_prefix(1);
    const auto known = std::find_if(variables_.rbegin(), variables_.rend(),
                                    [&](const Variable& one) { return one.name == name; });
    if (!global && known != variables_.rend()) {
      node.slot = known->slot;
      return known->type;
    }
    if (name == "device") return of(Kind::kDevice);
    if (const Type* type = type_named(name)) {
      node.op = Op::kLiteral;
      node.literal = Value::of_type(name_of(type->first->kind));
      return type;
    }
    return undeclared(node, name);
  }

  const Type* undeclared(const Node& node, std::string_view name) {
    if (is_unsupported(name)) return unsupported(node, std::string(name));
    return wrong(node, "undeclared reference to '" + std::string(name.substr(0, 100)) + "'");
  }

  // The type of the value that a type's name stands for; nullptr: it is no type's name.
  const Type* type_named(std::string_view name) {
    const auto made = [&](const Type* type) { return types_.make(Kind::kType, type); };
    const Type* dyn = of(Kind::kDyn);
    if (name == "list") return made(list_of(dyn));
    if (name == "map") return made(types_.make(Kind::kMap, dyn, dyn));
    if (name == "optional_type") return made(optional_of(dyn));
    if (name == "type") return made(made(dyn));
    for (Kind kind : {Kind::kNull, Kind::kBool, Kind::kInt, Kind::kUint, Kind::kDouble,
                      Kind::kString, Kind::kBytes})
      if (name == name_of(kind)) return made(of(kind));
    return nullptr;
  }

  const Type* check_field(Node& node) {
    const std::string name = qualified_name(node);
    if (is_unsupported(name)) return unsupported(node, name);
    return types_.resolved(field_type(node));
  }

  const Type* field_type(Node& node) {
    const Type* operand = types_.resolved(check(*node.kids[0]));
    const bool optional = operand->kind == Kind::kOptional;
    if (optional) operand = operand->first;
    const Type* type = field_of(node, *operand);
    return optional || node.optional ? optional_of(type) : type;
  }

  const Type* field_of(const Node& node, const Type& operand) {
    switch (operand.kind) {
      case Kind::kMap:
        return operand.second;
      case Kind::kDevice:
        return device_field(node);
      case Kind::kParam:
        types_.assignable(of(Kind::kDyn), &operand);
        return of(Kind::kDyn);
      case Kind::kDyn:
      case Kind::kError:
        return of(Kind::kDyn);
      case Kind::kQuantity:
      case Kind::kSemver:
        return wrong(node, "undefined field '" + node.text + "'");
      default:
        return wrong(node, "type '" + text_of(operand) + "' does not support field selection");
    }
  }

  const Type* device_field(const Node& node) {
    const auto map_to = [&](const Type* value) {
      const Type* name = of(Kind::kString);
      return types_.make(Kind::kMap, name, types_.make(Kind::kMap, name, value));
    };
    if (node.text == "driver") return of(Kind::kString);
    if (node.text == "allowMultipleAllocations") return of(Kind::kBool);
    if (node.text == "attributes") return map_to(of(Kind::kDyn));
    if (node.text == "capacity") return map_to(of(Kind::kQuantity));
    return wrong(node, "undefined field '" + node.text + "'");
  }

  // --- lists and maps ---

  // The type of all elements so far and one more.
  const Type* joined(const Node& node, const Type* before, const Type* type) {
    if (before == nullptr) return type;
    if (types_.assignable(before, type)) return types_.more_general(before, type);
    return mismatch(node, before, type);
  }

  const Type* mismatch(const Node& node, const Type* wanted, const Type* found) {
    return wrong(node, "expected type '" + text_of(*types_.settled(wanted)) + "' but found '" +
                           text_of(*types_.settled(found)) + "'");
  }

  // Of a kid that perhaps has a "?" in front.
  const Type* check_element(Node& kid, bool optional) {
    const Type* type = check(kid);
    if (!optional) return type;
    if (type->kind == Kind::kOptional) return type->first;
    return type->kind == Kind::kDyn || type->kind == Kind::kError
               ? type
               : mismatch(kid, optional_of(type), type);
  }

  const Type* check_list(Node& node) {
    const Type* all = nullptr;
    std::vector<const Type*> each;
    for (size_t i = 0; i < node.kids.size(); ++i) {
      each.push_back(check_element(*node.kids[i], node.optional_kids[i]));
      all = joined(*node.kids[i], all, each.back());
    }
    literals_.emplace_back(&node, std::move(each));
    return list_of(all != nullptr ? all : types_.fresh());
  }

  const Type* check_map(Node& node) {
    const Type *key = nullptr, *value = nullptr;
    std::vector<const Type*> each;
    for (size_t i = 0; i + 1 < node.kids.size(); i += 2) {
      each.push_back(check(*node.kids[i]));
      key = joined(*node.kids[i], key, each.back());
      each.push_back(check_element(*node.kids[i + 1], node.optional_kids[i / 2]));
      value = joined(*node.kids[i + 1], value, each.back());
    }
    literals_.emplace_back(&node, std::move(each));
    if (key == nullptr) key = types_.fresh(), value = types_.fresh();
    return types_.make(Kind::kMap, key, value);
  }

  // Elements must not only fit together, they must in the end be of one type.
  void check_alike(const Node& literal, const std::vector<const Type*>& elements) {
    const size_t step = literal.op == Op::kMap ? 2 : 1;
    for (size_t i = step; i < elements.size(); ++i) {
      const Type* wanted = types_.settled(elements[i % step]);
      if (wanted != types_.settled(elements[i])) mismatch(*literal.kids[i], wanted, elements[i]);
    }
  }

  // --- calls ---

  const Type* check_call(Node& node) {
    if (node.member) make_qualified(node);
    if (is_unsupported(node.text) || node.text.starts_with("format."))
      return unsupported(node, node.text);
    const std::vector<Overload>* overloads = find_function(node.text);
    // Arguments first, then what stands in front of the point.
    std::vector<const Type*> types(node.kids.size());
    for (size_t i = node.member ? 1 : 0; i < node.kids.size(); ++i) types[i] = check(*node.kids[i]);
    if (node.member && !types.empty()) types[0] = check(*node.kids[0]);
    if (problem_.get()) return error();
    if (overloads == nullptr) return undeclared(node, node.text);
    node.overloads = overloads;
    const Type* result = resolve(*overloads, node.member, types);
    if (result == nullptr) return no_overload(node, types);
    if (node.op == Op::kIndex && node.kids[1]->op == Op::kLiteral &&
        !node.kids[1]->literal.may_be_key())
      return wrong(*node.kids[1], "invalid qualifier type");
    prepare_constants(node, &pattern_room_, &problem_);
    return result;
  }

  // sets.contains(a, b) is a function with a long name.
  void make_qualified(Node& node) {
    const std::string prefix = qualified_name(*node.kids[0]);
    const std::string name = prefix + "." + node.text;
    const bool known = find_function(name) != nullptr || prefix == "format" || is_unsupported(name);
    if (prefix.empty() || !known) return;
    node.text = name;
    node.member = false;
    node.op = Op::kCall;
    node.kids.erase(node.kids.begin());
  }

  // The result of all signatures that fit: any type if these have different ones. Nullptr: none
  // fits.
  const Type* resolve(const std::vector<Overload>& overloads, bool member,
                      const std::vector<const Type*>& types) {
    const Type* result = nullptr;
    for (const Overload& overload : overloads) {
      if (overload.member != member || overload.parameters.size() != types.size()) continue;
      std::vector<const Type*> mine, parameters;
      for (const Type* parameter : overload.parameters)
        parameters.push_back(types_.instantiate(*parameter, &mine));
      const Type* returned = types_.instantiate(*overload.result, &mine);
      if (!types_.all_assignable(types, parameters)) continue;
      returned = types_.resolved(returned);
      if (result == nullptr)
        result = returned;
      else if (result->kind != Kind::kDyn && result != returned)
        result = of(Kind::kDyn);
    }
    return result;
  }

  const Type* no_overload(const Node& node, const std::vector<const Type*>& types) {
    std::string text = "found no matching overload for '" + node.text + "' applied to '";
    for (size_t i = 0; i < types.size(); ++i) {
      if (node.member && i == 0) continue;
      text += (i == (node.member ? 1 : 0) ? "(" : ", ") + text_of(*types_.settled(types[i]));
    }
    if (node.member) text += " of " + text_of(*types_.settled(types[0]));
    return wrong(node, text + ")'");
  }

  // --- macros ---

  void expect_bool(const Node& node, const Type* type) {
    if (!types_.assignable(type, of(Kind::kBool))) mismatch(node, of(Kind::kBool), type);
  }

  // Checks a kid in which the macro's variable is known.
  const Type* check_with(Node& macro, Node& kid, const Type* variable) {
    variables_.push_back({macro.text, variable, macro.slot});
    const Type* type = check(kid);
    variables_.pop_back();
    return type;
  }

  const Type* check_macro(Node& node) {
    const Type* first = types_.resolved(check(*node.kids[0]));
    node.slot = expression_.slots++;
    if (node.op == Op::kBind) return check_with(node, *node.kids[1], first);
    if (node.op == Op::kOptMap || node.op == Op::kOptFlatMap) return check_optional(node, first);
    return check_fold(node, element_of(*node.kids[0], first));
  }

  const Type* element_of(const Node& node, const Type* range) {
    switch (range->kind) {
      case Kind::kList:
      case Kind::kMap:
        return range->first;
      case Kind::kDyn:
      case Kind::kError:
      case Kind::kParam:
        types_.assignable(of(Kind::kDyn), range);
        return of(Kind::kDyn);
      default:
        return wrong(node, "expression of type '" + text_of(*range) +
                               "' cannot be range of a comprehension (must be list, map, or "
                               "dynamic)");
    }
  }

  const Type* check_fold(Node& node, const Type* element) {
    const bool transform = node.op == Op::kTransform;
    if (!transform || node.kids.size() == 3) {
      const Type* predicate = check_with(node, *node.kids[1], element);
      expect_bool(*node.kids[1], predicate);
    }
    if (node.op == Op::kFilter) return list_of(types_.resolved(element));
    if (!transform) return of(Kind::kBool);
    return types_.resolved(list_of(check_with(node, *node.kids.back(), element)));
  }

  const Type* check_optional(Node& node, const Type* optional) {
    const Type* inner = types_.fresh();
    if (!types_.assignable(optional, optional_of(inner)))
      return mismatch(*node.kids[0], optional_of(inner), optional);
    const Type* result = check_with(node, *node.kids[1], types_.resolved(inner));
    if (node.op == Op::kOptMap) return types_.resolved(optional_of(result));
    const Type* none = optional_of(types_.fresh());
    if (!types_.assignable(result, none)) return mismatch(*node.kids[1], none, result);
    return types_.resolved(types_.more_general(result, none));
  }

  Expression& expression_;
  FirstProblem& problem_;
  Unifier types_;
  size_t pattern_room_ = 20'000;  // sizes of programs
  std::vector<Variable> variables_;
  std::vector<std::pair<const Node*, std::vector<const Type*>>> literals_;
};

}  // namespace

void check(Expression& expression, FirstProblem* problem) {
  Checker(expression, problem).check();
}

}  // namespace plimsoll::dra::cel
