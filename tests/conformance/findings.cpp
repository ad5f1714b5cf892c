#include "tests/conformance/findings.hpp"

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

const Json& member(const Json& object, std::string_view key) {
  static const Json none;
  if (!object.is_object()) return none;
  auto at = object.find(key);
  return at == object.end() ? none : *at;
}

}  // namespace plimsoll::conformance
