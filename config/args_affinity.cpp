// NodeAffinityArgs and InterPodAffinityArgs.
#include "config/args_readers.hpp"

#include <algorithm>
#include <charconv>

#include "config/field_rules.hpp"

namespace plimsoll::config {
namespace {

std::string joined(const std::vector<std::string>& errors) {
  std::string out;
  for (const std::string& error : errors) out += (out.empty() ? "" : "; ") + error;
  return out;
}

struct Requirement {
  std::string key;
  std::string op;
  std::vector<std::string> values;

  [[nodiscard]] Value to_value() const {
    return Value::mapping()
        .set("key", Value::string(key))
        .set("operator", Value::string(op))
        .set("values", string_list(values));
  }
  [[nodiscard]] std::string shown_values() const { return to_json(string_list(values)); }
};

// nodeSelectorRequirementsAsFieldSelector. Another field than metadata.name is taken there, and
// then no node has it.
void check_field_requirement(const Requirement& requirement, Fields& fields, Problems& warnings) {
  if (requirement.op != "In" && requirement.op != "NotIn") {
    fields.problem("operator", unsupported_value(requirement.op, {"In", "NotIn"}));
  } else if (requirement.values.size() != 1) {
    fields.problem("values", invalid_value(requirement.shown_values(), "must have one element"));
  }
  if (requirement.key != "metadata.name") {
    warnings.push_back({fields.path("key"), fields.at("key"),
                        "nodes have no field " + go_quoted(requirement.key) +
                            " to select by: only metadata.name"});
  }
}

bool is_integer(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  std::int64_t parsed = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, parsed);
  return result.ec == std::errc() && result.ptr == end;
}

// labels.NewRequirement.
void check_label_requirement(const Requirement& requirement, const Value& item, Fields& fields,
                             Problems& errors) {
  const std::vector<std::string> operators = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
  const std::string& op = requirement.op;
  if (std::find(operators.begin(), operators.end(), op) == operators.end()) {
    fields.problem("operator", unsupported_value(op, operators));
    return;
  }
  if (const auto broken = qualified_name_errors(requirement.key); !broken.empty()) {
    fields.problem("key", invalid_value(go_quoted(requirement.key), joined(broken)));
  }
  const bool numeric = op == "Gt" || op == "Lt";
  const std::size_t count = requirement.values.size();
  const auto wrong_values = [&](std::string_view why) {
    fields.problem("values", invalid_value(requirement.shown_values(), why));
  };
  if ((op == "In" || op == "NotIn") && count == 0) {
    wrong_values("for 'in', 'notin' operators, values set can't be empty");
  } else if ((op == "Exists" || op == "DoesNotExist") && count != 0) {
    wrong_values("values set must be empty for exists and does not exist");
  } else if (numeric && count != 1) {
    wrong_values("for 'Gt', 'Lt' operators, exactly one value is required");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& value = requirement.values[i];
    const auto wrong_value = [&](std::string_view why) {
      errors.push_back({index_path(fields.path("values"), i),
                        locate(item, "values[" + std::to_string(i) + "]"),
                        invalid_value(go_quoted(value), why)});
    };
    if (numeric && !is_integer(value)) {
      wrong_value("for 'Gt', 'Lt' operators, the value must be an integer");
    }
    if (const auto broken = label_value_errors(value); !broken.empty()) {
      wrong_value(joined(broken));
    }
  }
}

// One requirement of a node selector; `by_field` tells matchFields.
Value read_requirement(const Value& item, const std::string& path, bool by_field,
                       ArgsProblems problems) {
  Fields fields(&item, path, problems.errors);
  Requirement requirement;
  fields.read("key", requirement.key);
  fields.read("operator", requirement.op);
  fields.read("values", requirement.values);
  fields.finish();
  if (!fields.present()) return requirement.to_value();
  if (by_field) {
    check_field_requirement(requirement, fields, problems.warnings);
  } else {
    check_label_requirement(requirement, item, fields, problems.errors);
  }
  return requirement.to_value();
}

Value read_term(const Value* item, const std::string& path, ArgsProblems problems) {
  Fields term(item, path, problems.errors);
  Value out = Value::mapping();
  for (const std::string_view list : {"matchExpressions", "matchFields"}) {
    Value requirements = Value::sequence();
    term.each(list, [&](const Value& requirement, const std::string& requirement_path) {
      requirements.add(
          read_requirement(requirement, requirement_path, list == "matchFields", problems));
    });
    if (!requirements.items.empty()) out.set(std::string(list), std::move(requirements));
  }
  term.finish();
  return out;
}

// NewPreferredSchedulingTerms: a term of weight 0 is passed over, whatever it says. Null for that.
Value read_preferred_term(const Value& item, const std::string& path, ArgsProblems problems) {
  constexpr std::int32_t kMaxWeight = 100;
  Fields term(&item, path, problems.errors);
  std::int32_t weight = 0;
  term.read("weight", weight);
  Problems passed_over;
  const ArgsProblems inner{weight == 0 ? passed_over : problems.errors,
                           weight == 0 ? passed_over : problems.warnings};
  Value preference = read_term(term.get("preference"), term.path("preference"), inner);
  term.finish();
  if (!term.present()) return Value::null();
  if (weight < 1 || weight > kMaxWeight) {
    problems.warnings.push_back(
        {term.path("weight"), term.at("weight"),
         weight == 0 ? "a term of weight 0 has no effect"
                     : "the weight of a preferred term should be in the range 1-100"});
  }
  if (weight == 0) return Value::null();
  return Value::mapping()
      .set("weight", Value::integer(weight))
      .set("preference", std::move(preference));
}

}  // namespace

Value read_node_affinity_args(Fields& args, ArgsProblems problems) {
  Value out = Value::mapping();
  const Value* given = args.get("addedAffinity");
  if (given == nullptr) return out;
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
  Fields affinity(given, args.path("addedAffinity"), problems.errors);
  Value added = Value::mapping();
  if (const Value* required = affinity.get(kRequired)) {
    Fields selector(required, affinity.path(kRequired), problems.errors);
    Value terms = Value::sequence();
    selector.each("nodeSelectorTerms", [&](const Value& item, const std::string& path) {
      terms.add(read_term(&item, path, problems));
    });
    selector.finish();
    if (selector.present() && terms.items.empty()) {
      problems.warnings.push_back(
          {selector.path("nodeSelectorTerms"), selector.at("nodeSelectorTerms"),
           "without a term it selects no node: the profile can place no pod"});
    }
    added.set(std::string(kRequired), Value::mapping().set("nodeSelectorTerms", std::move(terms)));
  }
  Value preferred = Value::sequence();
  affinity.each(kPreferred, [&](const Value& item, const std::string& path) {
    Value term = read_preferred_term(item, path, problems);
    if (!term.is_null()) preferred.add(std::move(term));
  });
  affinity.finish();
  if (!preferred.items.empty()) added.set(std::string(kPreferred), std::move(preferred));
  out.set("addedAffinity", std::move(added));
  return out;
}

Value read_inter_pod_affinity_args(Fields& args, ArgsProblems) {
  constexpr std::int32_t kMaxWeight = 100;
  std::int32_t weight = 1;
  bool ignore = false;
  args.read("hardPodAffinityWeight", weight);
  args.read("ignorePreferredTermsOfExistingPods", ignore);
  if (weight < 0 || weight > kMaxWeight) {
    args.problem("hardPodAffinityWeight",
                 invalid_value(std::to_string(weight), not_in_range(0, kMaxWeight)));
  }
  Value out = Value::mapping();
  out.set("hardPodAffinityWeight", Value::integer(weight));
  out.set("ignorePreferredTermsOfExistingPods", Value::boolean(ignore));
  return out;
}

}  // namespace plimsoll::config
