#include "plugins/dynamicresources/cel/selector.hpp"

#include <algorithm>

#include "plugins/dynamicresources/cel/checker.hpp"
#include "plugins/dynamicresources/cel/interpreter.hpp"
#include "plugins/dynamicresources/cel/parser.hpp"

namespace plimsoll::dra::cel {
namespace {

CompileError error_of(const Problem& problem, std::string_view text) {
  const std::string_view before = text.substr(0, std::min(problem.at, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t column = before.size() - (before.rfind('\n') + 1);
  CompileError error;
  error.text = std::to_string(line) + ":" + std::to_string(column + 1) + ": ";
  if (problem.kind == Problem::Kind::kUnsupported) {
    error.kind = CompileError::Kind::kUnsupported;
    error.text += "not supported by this scheduler: ";
  }
  error.text += problem.text;
  return error;
}

// A version that cannot be read fails the device, also if the expression does not look at it.
bool is_sound(const AttributeValue& attribute) {
  const auto sound = [](const Version& version) { return Semver::parse(version.text).has_value(); };
  if (const auto* version = std::get_if<Version>(&attribute)) return sound(*version);
  const auto* versions = std::get_if<std::vector<Version>>(&attribute);
  return versions == nullptr || std::all_of(versions->begin(), versions->end(), sound);
}

}  // namespace

tl::expected<Selector, CompileError> Selector::compile(std::string_view text) {
  if (text.size() > kLongest)
    return tl::unexpected(CompileError{
        CompileError::Kind::kInvalid, "1:1: the expression has " + std::to_string(text.size()) +
                                          " bytes, " + std::to_string(kLongest) + " are the most"});
  FirstProblem problem;
  auto expression = std::make_shared<Expression>(parse(text, &problem));
  if (!problem.get()) check(*expression, &problem);
  if (problem.get()) return tl::unexpected(error_of(*problem.get(), text));
  return Selector(std::move(expression));
}

tl::expected<bool, std::string> Selector::matches(std::string_view driver, const Device& device,
                                                  uint64_t* steps) const {
  for (const auto& [name, attribute] : device.attributes) {
    if (std::holds_alternative<std::monostate>(attribute))
      return tl::unexpected("attribute " + name + ": unsupported attribute value");
    if (!is_sound(attribute))
      return tl::unexpected("attribute " + name + ": parse semantic version: not a version");
  }
  Run run(driver, device);
  Value result = evaluate(*expression_, run);
  if (steps != nullptr) *steps += run.steps();
  while (result.kind == Kind::kOptional && result.optional != nullptr) result = *result.optional;
  if (result.is_error()) return tl::unexpected(std::string(result.text));
  if (result.kind == Kind::kBool) return result.boolean;
  return tl::unexpected("CEL result of type " + std::string(name_of(result.kind)) +
                        " could not be converted to bool");
}

}  // namespace plimsoll::dra::cel
