#include "plugins/dynamicresources/selectors.hpp"

#include <memory>
#include <unordered_map>

#include "plugins/dynamicresources/cel/selector.hpp"

namespace plimsoll::dra {
namespace {

using Compiled = tl::expected<cel::Selector, cel::CompileError>;

// Classes have few; claims may have one of their own each, and are gone again.
constexpr size_t kMostCompiled = 1'024;

}  // namespace

Judge cel_judge(const sdk::Host& host) {
  const auto unsupported = host.counter(
      "claim_selectors_unsupported_total",
      "Selectors of resource claims and classes that use what this scheduler leaves out.");
  auto known = std::make_shared<std::unordered_map<std::string, Compiled>>();
  return [known, unsupported](const std::string& expression, std::string_view driver,
                              const Device& device) -> Judgement {
    auto found = known->find(expression);
    if (found == known->end()) {
      if (known->size() >= kMostCompiled) known->clear();
      found = known->emplace(expression, cel::Selector::compile(expression)).first;
      const Compiled& made = found->second;
      if (!made && made.error().kind == cel::CompileError::Kind::kUnsupported) unsupported.add(1);
    }
    const Compiled& selector = found->second;
    if (!selector) return {Judgement::Kind::kCompileError, selector.error().text, 0};
    uint64_t steps = 0;
    const auto verdict = selector->matches(driver, device, &steps);
    if (!verdict) return {Judgement::Kind::kRuntimeError, verdict.error(), steps};
    return {*verdict ? Judgement::Kind::kTrue : Judgement::Kind::kFalse, {}, steps};
  };
}

}  // namespace plimsoll::dra
