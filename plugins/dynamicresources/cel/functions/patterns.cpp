// Functions of strings that take a regular expression. A pattern that stands in the text was
// compiled with the expression; the interpreter calls these for the others.
#include <memory>
#include <vector>

#include "plugins/dynamicresources/cel/functions/functions.hpp"
#include "plugins/dynamicresources/cel/functions/patterns.hpp"
#include "plugins/dynamicresources/cel/text/points.hpp"

namespace plimsoll::dra::cel {
namespace {

bool charge_match(Run& run, const Regex& regex, std::string_view text) {
  // At worst RE2 looks at each character with each part of its program, as it does not remember all
  // that it has found out.
  return run.charge(1 + text.size() * (1 + regex.size() / 2));
}

Value match_in(Run& run, const Regex& regex, Arguments a) {
  if (!charge_match(run, regex, a[0].text)) return Run::out_of_steps();
  return Value::of_bool(regex.is_in(a[0].text));
}

Value find_in(Run& run, const Regex& regex, Arguments a) {
  if (!charge_match(run, regex, a[0].text)) return Run::out_of_steps();
  return Value::of_string(regex.find(a[0].text).value_or(std::string_view()));
}

// As Go does: an empty match beside the one before it does not count.
Value find_all_in(Run& run, const Regex& regex, Arguments a) {
  const std::string_view text = a[0].text;
  const int64_t most = a.size() > 2 ? a[2].integer : -1;
  std::vector<Value> found;
  size_t from = 0;
  std::optional<size_t> last_end;
  while (from <= text.size() && static_cast<int64_t>(found.size()) != most) {
    if (!charge_match(run, regex, text.substr(from)) || !run.charge(1)) return Run::out_of_steps();
    const auto match = regex.find(text, from);
    if (!match) break;
    const auto begin = static_cast<size_t>(match->data() - text.data());
    const size_t end = begin + match->size();
    const bool counts = end != from || begin != last_end;
    if (counts) found.push_back(Value::of_string(*match));
    from = end != from ? end : from + std::max<size_t>(first_size(text.substr(from)), 1);
    last_end = end;
  }
  const auto items = run.room<Value>(found.size());
  if (items.size() == found.size()) std::copy(found.begin(), found.end(), items.begin());
  return run.list(items);
}

using WithRegex = Value (*)(Run&, const Regex&, Arguments);

template <WithRegex compute>
Value with_pattern(Run& run, Arguments a) {
  // To compile costs much more than to match, and most of all where it fails for its size.
  if (!run.charge(1000 + a[1].text.size() * 20)) return Run::out_of_steps();
  size_t size = 0;
  const auto regex = Regex::compile(a[1].text, &size);
  if (!run.charge(size * 20)) return Run::out_of_steps();
  if (regex == nullptr) return Value::of_error("error parsing regexp");
  return compute(run, *regex, a);
}

constexpr Function kPatterns[] = {
    {"matches", "string.(string) bool|(string, string) bool", with_pattern<match_in>},
    {"find", "string.(string) string", with_pattern<find_in>},
    {"findAll", "string.(string) list(string)|string.(string, int) list(string)",
     with_pattern<find_all_in>},
};

}  // namespace

std::span<const Function> pattern_functions() {
  return kPatterns;
}

bool takes_pattern(std::string_view function) {
  return function == "matches" || function == "find" || function == "findAll";
}

Value compute_pattern(Run& run, std::string_view function, const Regex& regex, Arguments a) {
  if (a[0].kind != Kind::kString || (a.size() > 2 && a[2].kind != Kind::kInt))
    return no_such_overload();
  if (function == "matches") return match_in(run, regex, a);
  return function == "find" ? find_in(run, regex, a) : find_all_in(run, regex, a);
}

}  // namespace plimsoll::dra::cel
