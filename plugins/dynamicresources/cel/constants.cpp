#include "plugins/dynamicresources/cel/constants.hpp"

#include <algorithm>

#include "plugins/dynamicresources/cel/functions/patterns.hpp"
#include "plugins/dynamicresources/cel/interpreter.hpp"

namespace plimsoll::dra::cel {
namespace {

void convert(Node& call, FirstProblem* problem) {
  const Device none;
  Run run("", none);
  const Value value = call_overload(run, *call.overloads, false, {&call.kids[0]->literal, 1});
  if (value.is_error())
    return problem->add(Problem::Kind::kWrong, call.at, std::string(value.text));
  call.op = Op::kLiteral;
  call.literal = value;
  if (value.kind != Kind::kString && value.kind != Kind::kBytes) return;
  call.text = value.text;
  call.literal.text = call.text;
}

void compile_pattern(Node& call, size_t* room, FirstProblem* problem) {
  constexpr size_t at = 1;
  if (problem->get()) return;  // a pattern may take long, and is not needed any more
  if (call.kids.size() <= at || call.kids[at]->op != Op::kLiteral) return;
  const Value& pattern = call.kids[at]->literal;
  if (pattern.kind != Kind::kString) return;
  call.regex = Regex::compile(pattern.text);
  const size_t size = call.regex != nullptr ? call.regex->size() : 0;
  if (size > *room) problem->add(Problem::Kind::kWrong, call.at, "the patterns are too large");
  *room -= std::min(size, *room);
  if (call.regex == nullptr)
    problem->add(Problem::Kind::kWrong, call.kids[at]->at,
                 "invalid " + call.text + " argument: error parsing regexp");
}

}  // namespace

void prepare_constants(Node& call, size_t* pattern_room, FirstProblem* problem) {
  if (call.op != Op::kCall) return;
  if (takes_pattern(call.text)) return compile_pattern(call, pattern_room, problem);
  const bool literal = call.kids.size() == 1 && call.kids[0]->op == Op::kLiteral;
  if (!call.member && literal && is_conversion(call.text)) convert(call, problem);
}

}  // namespace plimsoll::dra::cel
