// PodTopologySpreadArgs.
#include "config/args_readers.hpp"

#include <set>
#include <utility>

namespace plimsoll::config {
namespace {

// One constraint of pod topology spread; (topologyKey, whenUnsatisfiable) must be unique among
// them.
Value read_constraint(const Value& item, const std::string& path,
                      std::set<std::pair<std::string, std::string>>& seen, ArgsProblems problems) {
  Fields fields(&item, path, problems.errors);
  std::int32_t max_skew = 0;
  std::string key, action;
  fields.read("maxSkew", max_skew);
  fields.read("topologyKey", key);
  fields.read("whenUnsatisfiable", action);
  Value out = Value::mapping();
  out.set("maxSkew", Value::integer(max_skew)).set("topologyKey", Value::string(key));
  out.set("whenUnsatisfiable", Value::string(action));
  std::int32_t min_domains = 0;
  if (fields.read("minDomains", min_domains)) out.set("minDomains", Value::integer(min_domains));
  for (const std::string_view policy : {"nodeAffinityPolicy", "nodeTaintsPolicy"}) {
    std::string value;
    if (!fields.read(policy, value)) continue;
    if (value != "Honor" && value != "Ignore") {
      problems.warnings.push_back(
          {fields.path(policy), fields.at(policy),
           go_quoted(value) + " is neither Honor nor Ignore: it counts as Ignore"});
    }
    out.set(std::string(policy), Value::string(value));
  }
  std::vector<std::string> label_keys;
  if (fields.read("matchLabelKeys", label_keys)) out.set("matchLabelKeys", string_list(label_keys));
  const bool has_selector = fields.get("labelSelector") != nullptr;
  fields.finish();
  if (!fields.present()) return out;
  if (max_skew <= 0) {
    fields.problem("maxSkew",
                   invalid_value(std::to_string(max_skew), "not in valid range (0, inf)"));
  }
  if (key.empty()) {
    fields.problem("topologyKey", required_value("can not be empty"));
  } else {
    check_qualified_name(key, fields.path("topologyKey"), fields.at("topologyKey"),
                         problems.errors);
  }
  if (action.empty()) {
    fields.problem("whenUnsatisfiable", required_value("can not be empty"));
  } else if (action != "DoNotSchedule" && action != "ScheduleAnyway") {
    fields.problem("whenUnsatisfiable",
                   unsupported_value(action, {"DoNotSchedule", "ScheduleAnyway"}));
  }
  if (has_selector) {
    fields.problem(
        "labelSelector",
        forbidden("constraint must not define a selector, as they deduced for each pod"));
  }
  if (!seen.emplace(key, action).second) {
    problems.errors.push_back({path, item.at, duplicate_value("{" + key + ", " + action + "}")});
  }
  return out;
}

}  // namespace

Value read_topology_spread_args(Fields& args, ArgsProblems problems) {
  std::string type = "System";
  args.read("defaultingType", type);
  if (type.empty()) type = "System";
  Value constraints = Value::sequence();
  std::set<std::pair<std::string, std::string>> seen;
  args.each("defaultConstraints", [&](const Value& item, const std::string& path) {
    constraints.add(read_constraint(item, path, seen, problems));
  });
  if (type != "System" && type != "List") {
    args.problem("defaultingType", unsupported_value(type, {"System", "List"}));
  } else if (type == "System" && !constraints.items.empty()) {
    args.problem("defaultingType",
                 invalid_value(go_quoted(type), "when .defaultConstraints are not empty"));
  }
  Value out = Value::mapping();
  out.set("defaultConstraints", std::move(constraints)).set("defaultingType", Value::string(type));
  return out;
}

}  // namespace plimsoll::config
