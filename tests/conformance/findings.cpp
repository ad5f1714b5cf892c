#include "tests/conformance/findings.hpp"

#include <utility>

namespace plimsoll::conformance {
namespace {

bool is_nothing(const Json& value) {
  return value.is_null() || value == false || value == "" ||
         (value.is_structured() && value.empty());
}

}  // namespace

void Findings::expect(std::string_view what, const Json& expected, const Json& actual) {
  if (expected == actual || (is_nothing(expected) && is_nothing(actual))) return;
  add(std::string(what) + ": expected " + expected.dump() + ", got " + actual.dump());
}

Judged& Judged::operator+=(const Judged& other) {
  right += other.right;
  false_admits += other.false_admits;
  false_rejects += other.false_rejects;
  return *this;
}

void Findings::judge(const std::string& row, Judgement judgement) {
  Judged& judged = judged_[row];
  if (judgement == Judgement::kRight) ++judged.right;
  if (judgement == Judgement::kFalseAdmit) ++judged.false_admits;
  if (judgement == Judgement::kFalseReject) ++judged.false_rejects;
}

bool RuleOrder::operator()(const std::string& a, const std::string& b) const {
  return std::pair(a.find(' '), std::string_view(a)) < std::pair(b.find(' '), std::string_view(b));
}

void Findings::decide(const std::set<std::string>& rules) {
  ++differences_.decisions;
  if (!rules.empty()) ++differences_.different;
  for (const std::string& rule : rules) ++differences_.by_rule[rule];
}

void Findings::add_differences(const Differences& more) {
  differences_.decisions += more.decisions;
  differences_.different += more.different;
  for (const auto& [rule, count] : more.by_rule) differences_.by_rule[rule] += count;
}

const Json& member(const Json& object, std::string_view key) {
  static const Json none;
  if (!object.is_object()) return none;
  auto at = object.find(key);
  return at == object.end() ? none : *at;
}

}  // namespace plimsoll::conformance
