#include "plugins/builtin/node_affinity_args.hpp"

#include <plimsoll/args.hpp>

#include "framework/api/decode/decode.hpp"
#include "framework/api/selectors.hpp"
#include "framework/base/quote.hpp"
#include "plugins/builtin/columns/label_rules.hpp"

namespace plimsoll::builtin {
namespace {

using sdk::Args;

using Words = std::vector<std::pair<std::string_view, uint32_t>>;

// PLIMSOLL_OP_IN and those after it, up to this one, by name.
Words operators_to(uint32_t last) {
  Words words;
  for (uint32_t op = PLIMSOLL_OP_IN; op <= last; ++op) words.emplace_back(operator_name(op), op);
  return words;
}

// False: they are not what they must be, so that their number says nothing.
bool read_values(Args& requirement, std::vector<std::string>& values) {
  return !requirement.has("values") || requirement.read("values", values);
}

// nodeSelectorRequirementsAsFieldSelector. Another field than metadata.name is taken there, and
// then no node has it.
void check_field(Args& field) {
  std::string key;
  std::vector<std::string> values;
  uint32_t op = 0;
  field.read("key", key);
  field.require("operator");
  field.choice("operator", op, operators_to(PLIMSOLL_OP_NOT_IN));
  const bool listed = read_values(field, values);
  if (listed && values.size() != 1) field.problem("values", "must have one element");
  if (key == "metadata.name") return;
  field.warn("key", "nodes have no field " + go_quoted(key) + " to select by: only metadata.name");
}

// labels.NewRequirement.
void check_expression(Args& expression) {
  std::string key;
  std::vector<std::string> values;
  uint32_t op = 0;
  expression.read("key", key);
  require_label_key(expression, expression.path("key"), key);
  const bool listed = read_values(expression, values);
  expression.require("operator");
  if (!expression.choice("operator", op, operators_to(PLIMSOLL_OP_LT)) || !listed) return;
  const bool lists = op == PLIMSOLL_OP_IN || op == PLIMSOLL_OP_NOT_IN;
  const bool compares = op == PLIMSOLL_OP_GT || op == PLIMSOLL_OP_LT;
  if (lists && values.empty()) expression.problem("values", "must not be empty for In and NotIn");
  if (!lists && !compares && !values.empty()) {
    expression.problem("values", "must be empty for Exists and DoesNotExist");
  }
  if (compares && values.size() != 1) {
    expression.problem("values", "must have one element for Gt and Lt");
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string path = expression.path("values") + "[" + std::to_string(i) + "]";
    require_label_value(expression, path, values[i]);
    if (!compares || selector_number(values[i])) continue;
    expression.problem_at(path,
                          "must be a whole number for Gt and Lt, not " + go_quoted(values[i]));
  }
}

void check_term(Args& term) {
  term.each_object("matchExpressions", check_expression);
  term.each_object("matchFields", check_field);
}

void check_required(Args& selector) {
  constexpr std::string_view kTerms = "nodeSelectorTerms";
  bool any = false;
  selector.each_object(kTerms, [&any](Args& term) {
    any = true;
    check_term(term);
  });
  if (!any) selector.warn(kTerms, "without a term it selects no node: the profile places no pod");
}

// A term of weight 0 is passed over, whatever it says.
void check_preferred(Args& term) {
  constexpr int32_t kMaxWeight = 100;
  int32_t weight = 0;
  term.read("weight", weight);
  if (weight == 0) {
    term.warn("weight", "a term of weight 0 has no effect");
    static_cast<void>(term.has("preference"));  // known, and not looked at
    return;
  }
  if (weight < 1 || weight > kMaxWeight) {
    term.warn("weight", "the weight of a preferred term should be in the range 1-100");
  }
  term.object("preference", check_term);
}

void check_affinity(Args& affinity) {
  affinity.object("requiredDuringSchedulingIgnoredDuringExecution", check_required);
  affinity.each_object("preferredDuringSchedulingIgnoredDuringExecution", check_preferred);
}

}  // namespace

AddedAffinity read_added_affinity(const sdk::Host& host, std::string_view json) {
  AddedAffinity added;
  sdk::read_args(host, json, {"NodeAffinityArgs"}, [&added](Args& args) {
    constexpr std::string_view kAdded = "addedAffinity";
    if (!args.object(kAdded, check_affinity)) return;
    auto decoded = decode_node_affinity(args.member(kAdded)->written);
    if (!decoded) return args.problem(kAdded, decoded.error().message);
    added = std::move(*decoded);
  });
  return added;
}

}  // namespace plimsoll::builtin
