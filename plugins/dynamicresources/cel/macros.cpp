#include "plugins/dynamicresources/cel/macros.hpp"

#include <algorithm>

namespace plimsoll::dra::cel {
namespace {

struct Macro {
  std::string_view name;
  size_t arguments;  // behind the point
  Op op;
};

constexpr Macro kMacros[] = {
    {"all", 2, Op::kAll},
    {"exists", 2, Op::kExists},
    {"exists_one", 2, Op::kExistsOne},
    {"filter", 2, Op::kFilter},
    {"map", 2, Op::kTransform},
    {"map", 3, Op::kTransform},
    {"optMap", 2, Op::kOptMap},
    {"optFlatMap", 2, Op::kOptFlatMap},
};

// With two variables, or sorting by a key.
constexpr Macro kUnsupported[] = {
    {"all", 3, Op::kAll},
    {"exists", 3, Op::kAll},
    {"exists_one", 3, Op::kAll},
    {"existsOne", 3, Op::kAll},
    {"transformList", 3, Op::kAll},
    {"transformList", 4, Op::kAll},
    {"transformMap", 3, Op::kAll},
    {"transformMap", 4, Op::kAll},
    {"transformMapEntry", 3, Op::kAll},
    {"transformMapEntry", 4, Op::kAll},
    {"sortBy", 2, Op::kAll},
};

template <size_t N>
const Macro* find_macro(const Macro (&macros)[N], const Node& call) {
  const auto found = std::find_if(std::begin(macros), std::end(macros), [&](const Macro& macro) {
    return macro.name == call.text && macro.arguments + 1 == call.kids.size();
  });
  return found == std::end(macros) ? nullptr : found;
}

// kids: what it is over, the variable's name, the rest. The name becomes the node's text.
void declare(Node& call, Op op, FirstProblem* problem) {
  const Node& variable = *call.kids[1];
  if (variable.op != Op::kName)
    problem->add(Problem::Kind::kWrong, variable.at, "argument must be a simple name");
  if (variable.text == "__result__")
    problem->add(Problem::Kind::kWrong, variable.at, "the name __result__ is taken");
  call.op = op;
  call.text = variable.text;
  call.kids.erase(call.kids.begin() + 1);
}

void make_has(Node& call, FirstProblem* problem) {
  const Node& field = *call.kids[0];
  if (field.op != Op::kField || field.optional)
    return problem->add(Problem::Kind::kWrong, field.at, "invalid argument to has() macro");
  call.op = Op::kHas;
  call.text = field.text;
  call.kids = field.kids;
}

}  // namespace

void expand_macro(Node& call, FirstProblem* problem) {
  if (!call.member) {
    if (call.text == "has" && call.kids.size() == 1) make_has(call, problem);
    return;
  }
  const Node& target = *call.kids[0];
  if (call.text == "bind" && call.kids.size() == 4 && target.op == Op::kName &&
      target.text == "cel") {
    call.kids.erase(call.kids.begin());
    std::swap(call.kids[0], call.kids[1]);
    return declare(call, Op::kBind, problem);
  }
  if ((call.text == "or" || call.text == "orValue") && call.kids.size() == 2) call.op = Op::kOrElse;
  if (const Macro* macro = find_macro(kMacros, call)) return declare(call, macro->op, problem);
  if (find_macro(kUnsupported, call) != nullptr)
    problem->add(Problem::Kind::kUnsupported, call.at,
                 call.text + " with " + std::to_string(call.kids.size() - 1) + " arguments");
}

}  // namespace plimsoll::dra::cel
