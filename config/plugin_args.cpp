#include "config/plugin_args.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "config/field_rules.hpp"
#include "config/fields.hpp"
#include "config/scheduler_config.hpp"

namespace plimsoll::config {
namespace {

std::string in_range(std::int64_t low, std::int64_t high) {
  return "not in valid range [" + std::to_string(low) + ", " + std::to_string(high) + "]";
}

std::string number(std::int64_t value) {
  return std::to_string(value);
}

void check_qualified_name(const std::string& name, const std::string& path, Position at,
                          Problems& problems) {
  for (const std::string& error : qualified_name_errors(name)) {
    problems.push_back({path, at, invalid_value(quoted(name), error)});
  }
}

Value strings(const std::vector<std::string>& texts) {
  Value out = Value::sequence();
  for (const std::string& text : texts) out.add(Value::string(text));
  return out;
}

struct ResourceSpec {
  std::string name;
  std::int64_t weight = 0;
};

Value to_value(const std::vector<ResourceSpec>& resources) {
  Value out = Value::sequence();
  for (const ResourceSpec& resource : resources) {
    out.add(Value::mapping()
                .set("name", Value::string(resource.name))
                .set("weight", Value::integer(resource.weight)));
  }
  return out;
}

// resources: [{name, weight}]; weight 0 or absent means 1, no resources at all means cpu and
// memory.
std::vector<ResourceSpec> read_resources(Fields& fields, Problems& problems,
                                         bool (*check)(const ResourceSpec&, std::string&)) {
  std::vector<ResourceSpec> out;
  std::set<std::string> seen;
  fields.each("resources", [&](const Value& item, const std::string& path) {
    Fields entry(&item, path, problems);
    ResourceSpec resource;
    entry.read("name", resource.name);
    entry.read("weight", resource.weight);
    entry.finish();
    if (!entry.present()) return;
    if (resource.weight == 0) resource.weight = 1;
    if (resource.name.empty()) entry.problem("name", required_value());
    if (!seen.insert(resource.name).second) {
      entry.problem("name", duplicate_value(resource.name));
    }
    std::string message;
    if (!check(resource, message)) {
      entry.problem("weight", invalid_value(number(resource.weight), message));
    }
    out.push_back(std::move(resource));
  });
  if (out.empty()) out = {{"cpu", 1}, {"memory", 1}};
  return out;
}

// validateFunctionShape: utilization 0..100 strictly increasing, score 0..10.
Value read_shape(Fields& fields, Problems& problems) {
  constexpr std::int32_t kMaxUtilization = 100, kMaxScore = 10;
  Value out = Value::sequence();
  std::optional<std::int32_t> last;
  bool sorted = true;
  fields.each("shape", [&](const Value& item, const std::string& path) {
    Fields point(&item, path, problems);
    std::int32_t utilization = 0, score = 0;
    point.read("utilization", utilization);
    point.read("score", score);
    point.finish();
    if (!point.present()) return;
    if (sorted && last && *last >= utilization) {
      sorted = false;
      point.problem("utilization", invalid_value(number(utilization),
                                                 "values must be sorted in increasing order"));
    }
    last = utilization;
    if (utilization < 0 || utilization > kMaxUtilization) {
      point.problem("utilization",
                    invalid_value(number(utilization), in_range(0, kMaxUtilization)));
    }
    if (score < 0 || score > kMaxScore) {
      point.problem("score", invalid_value(number(score), in_range(0, kMaxScore)));
    }
    out.add(Value::mapping()
                .set("utilization", Value::integer(utilization))
                .set("score", Value::integer(score)));
  });
  if (out.items.empty()) {
    fields.problem("shape", required_value("at least one point must be specified"));
  }
  return out;
}

Value read_scoring_strategy(Fields& args, Problems& problems) {
  constexpr std::string_view kRatio = "RequestedToCapacityRatio";
  const std::vector<std::string> types = {"LeastAllocated", "MostAllocated", std::string(kRatio)};
  const Value* given = args.get("scoringStrategy");
  Fields strategy(given, args.path("scoringStrategy"), problems);
  std::string type = given == nullptr ? "LeastAllocated" : "";
  strategy.read("type", type);
  const auto check = [](const ResourceSpec& resource, std::string& message) {
    message = "resource weight of " + resource.name + " not in valid range (0, 100]";
    return resource.weight > 0 && resource.weight <= 100;
  };
  const auto resources = read_resources(strategy, problems, check);
  const bool known = std::find(types.begin(), types.end(), type) != types.end();
  if (strategy.present() && !known) strategy.problem("type", unsupported_value(type, types));
  Value out = Value::mapping();
  out.set("type", Value::string(type)).set("resources", to_value(resources));
  const Value* ratio = strategy.get("requestedToCapacityRatio");
  if (type == kRatio && ratio == nullptr) {
    strategy.problem("requestedToCapacityRatio",
                     required_value("must be specified when type is RequestedToCapacityRatio"));
  } else if (ratio != nullptr) {
    Fields fields(ratio, strategy.path("requestedToCapacityRatio"), problems);
    if (type == kRatio) {
      out.set("requestedToCapacityRatio",
              Value::mapping().set("shape", read_shape(fields, problems)));
      fields.finish();
    } else {
      strategy.problem("requestedToCapacityRatio",
                       forbidden("must be nil when type is not RequestedToCapacityRatio"));
    }
  }
  strategy.finish();
  return out;
}

Value read_fit(Fields& args, Problems& problems) {
  Value ignored = Value::sequence(), groups = Value::sequence();
  const auto read_names = [&](std::string_view field, Value& out, bool is_group) {
    args.each(field, [&](const Value& item, const std::string& path) {
      if (!item.is_string()) {
        problems.push_back({path, item.at, wrong_type_message(item, "a string")});
        return;
      }
      if (is_group && item.text.find('/') != std::string::npos) {
        problems.push_back(
            {path, item.at,
             invalid_value(quoted(item.text), "resource group name can't contain '/'")});
      }
      check_qualified_name(item.text, path, item.at, problems);
      out.add(Value::string(item.text));
    });
  };
  read_names("ignoredResources", ignored, false);
  read_names("ignoredResourceGroups", groups, true);
  Value out = Value::mapping();
  out.set("ignoredResources", std::move(ignored)).set("ignoredResourceGroups", std::move(groups));
  out.set("scoringStrategy", read_scoring_strategy(args, problems));
  return out;
}

Value read_balanced(Fields& args, Problems& problems) {
  const auto check = [](const ResourceSpec& resource, std::string& message) {
    message = "must be 1";
    return resource.weight == 1;
  };
  Value out = Value::mapping();
  out.set("resources", to_value(read_resources(args, problems, check)));
  return out;
}

// One requirement of a node selector; `field` tells matchFields, which knows metadata.name only.
Value read_requirement(const Value& item, const std::string& path, bool field, Problems& problems) {
  const std::vector<std::string> operators = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
  Fields fields(&item, path, problems);
  std::string key, op;
  std::vector<std::string> values;
  fields.read("key", key);
  fields.read("operator", op);
  fields.read("values", values);
  fields.finish();
  Value out = Value::mapping();
  out.set("key", Value::string(key)).set("operator", Value::string(op));
  out.set("values", strings(values));
  if (!fields.present()) return out;
  const std::string shown = to_json(strings(values));
  if (field) {
    if (op != "In" && op != "NotIn")
      fields.problem("operator", unsupported_value(op, {"In", "NotIn"}));
    if (values.size() != 1) fields.problem("values", required_value("must have one element"));
    if (key != "metadata.name") {
      fields.problem("key", invalid_value(quoted(key), "not a valid field selector key"));
    }
    return out;
  }
  check_qualified_name(key, fields.path("key"), fields.at("key"), problems);
  if (op == "In" || op == "NotIn") {
    if (values.empty()) {
      fields.problem(
          "values", invalid_value(shown, "for 'in', 'notin' operators, values set can't be empty"));
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) {
      fields.problem(
          "values", invalid_value(shown, "values set must be empty for exists and does not exist"));
    }
  } else if (op == "Gt" || op == "Lt") {
    if (values.size() != 1) {
      fields.problem(
          "values",
          invalid_value(shown, "for 'Gt', 'Lt' operators, exactly one value is required"));
    } else {
      std::int64_t parsed = 0;
      const char* end = values[0].data() + values[0].size();
      const auto result = std::from_chars(values[0].data(), end, parsed);
      if (result.ec != std::errc() || result.ptr != end) {
        fields.problem("values",
                       invalid_value(quoted(values[0]),
                                     "for 'Gt', 'Lt' operators, the value must be an integer"));
      }
    }
  } else {
    fields.problem("operator", unsupported_value(op, operators));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const std::string& error : label_value_errors(values[i])) {
      problems.push_back({index_path(fields.path("values"), i),
                          locate(item, "values[" + number(static_cast<std::int64_t>(i)) + "]"),
                          invalid_value(quoted(values[i]), error)});
    }
  }
  return out;
}

Value read_term(const Value* item, const std::string& path, Problems& problems) {
  Fields term(item, path, problems);
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

Value read_node_affinity(Fields& args, Problems& problems) {
  Value out = Value::mapping();
  const Value* given = args.get("addedAffinity");
  if (given == nullptr) return out;
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
  Fields affinity(given, args.path("addedAffinity"), problems);
  Value added = Value::mapping();
  if (const Value* required = affinity.get(kRequired)) {
    Fields selector(required, affinity.path(kRequired), problems);
    Value terms = Value::sequence();
    selector.each("nodeSelectorTerms", [&](const Value& item, const std::string& path) {
      terms.add(read_term(&item, path, problems));
    });
    selector.finish();
    if (selector.present() && terms.items.empty()) {
      selector.problem("nodeSelectorTerms",
                       required_value("must have at least one node selector term"));
    }
    added.set(std::string(kRequired), Value::mapping().set("nodeSelectorTerms", std::move(terms)));
  }
  Value preferred = Value::sequence();
  affinity.each(kPreferred, [&](const Value& item, const std::string& path) {
    constexpr std::int32_t kMaxWeight = 100;
    Fields term(&item, path, problems);
    std::int32_t weight = 0;
    term.read("weight", weight);
    Value preference = read_term(term.get("preference"), term.path("preference"), problems);
    term.finish();
    if (term.present() && (weight < 1 || weight > kMaxWeight)) {
      term.problem("weight", invalid_value(number(weight), "must be in the range 1-100"));
    }
    preferred.add(Value::mapping()
                      .set("weight", Value::integer(weight))
                      .set("preference", std::move(preference)));
  });
  affinity.finish();
  if (!preferred.items.empty()) added.set(std::string(kPreferred), std::move(preferred));
  out.set("addedAffinity", std::move(added));
  return out;
}

// One constraint of pod topology spread; (topologyKey, whenUnsatisfiable) must be unique among
// them.
Value read_constraint(const Value& item, const std::string& path,
                      std::set<std::pair<std::string, std::string>>& seen, Problems& problems) {
  Fields fields(&item, path, problems);
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
      fields.problem(policy, unsupported_value(value, {"Honor", "Ignore"}));
    }
    out.set(std::string(policy), Value::string(value));
  }
  std::vector<std::string> label_keys;
  if (fields.read("matchLabelKeys", label_keys)) out.set("matchLabelKeys", strings(label_keys));
  const bool has_selector = fields.get("labelSelector") != nullptr;
  fields.finish();
  if (!fields.present()) return out;
  if (max_skew <= 0) {
    fields.problem("maxSkew", invalid_value(number(max_skew), "not in valid range (0, inf)"));
  }
  if (key.empty()) {
    fields.problem("topologyKey", required_value("can not be empty"));
  } else {
    check_qualified_name(key, fields.path("topologyKey"), fields.at("topologyKey"), problems);
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
    problems.push_back({path, item.at, duplicate_value("{" + key + ", " + action + "}")});
  }
  return out;
}

Value read_topology_spread(Fields& args, Problems& problems) {
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
                 invalid_value(quoted(type), "when .defaultConstraints are not empty"));
  }
  Value out = Value::mapping();
  out.set("defaultConstraints", std::move(constraints)).set("defaultingType", Value::string(type));
  return out;
}

Value read_inter_pod_affinity(Fields& args, Problems&) {
  constexpr std::int32_t kMaxWeight = 100;
  std::int32_t weight = 1;
  bool ignore = false;
  args.read("hardPodAffinityWeight", weight);
  args.read("ignorePreferredTermsOfExistingPods", ignore);
  if (weight < 0 || weight > kMaxWeight) {
    args.problem("hardPodAffinityWeight", invalid_value(number(weight), in_range(0, kMaxWeight)));
  }
  Value out = Value::mapping();
  out.set("hardPodAffinityWeight", Value::integer(weight));
  out.set("ignorePreferredTermsOfExistingPods", Value::boolean(ignore));
  return out;
}

Value read_default_preemption(Fields& args, Problems&) {
  std::int32_t percentage = 10, absolute = 100;
  args.read("minCandidateNodesPercentage", percentage);
  args.read("minCandidateNodesAbsolute", absolute);
  if (percentage < 0 || percentage > 100) {
    args.problem("minCandidateNodesPercentage",
                 invalid_value(number(percentage), in_range(0, 100)));
  }
  if (absolute < 0) {
    args.problem("minCandidateNodesAbsolute",
                 invalid_value(number(absolute), "not in valid range [0, inf)"));
  }
  if (percentage == 0 && absolute == 0) {
    args.problem(
        "minCandidateNodesPercentage",
        invalid_value("0", "cannot be zero at the same time as minCandidateNodesAbsolute"));
    args.problem(
        "minCandidateNodesAbsolute",
        invalid_value("0", "cannot be zero at the same time as minCandidateNodesPercentage"));
  }
  Value out = Value::mapping();
  out.set("minCandidateNodesPercentage", Value::integer(percentage));
  out.set("minCandidateNodesAbsolute", Value::integer(absolute));
  return out;
}

Value read_volume_binding(Fields& args, Problems&) {
  constexpr std::int64_t kDefaultTimeout = 600;
  std::int64_t timeout = kDefaultTimeout;
  args.read("bindTimeoutSeconds", timeout);
  if (timeout < 0) {
    args.problem("bindTimeoutSeconds",
                 invalid_value(number(timeout),
                               "invalid BindTimeoutSeconds, should not be a negative value"));
  }
  if (const Value* shape = args.get("shape")) {
    args.problem("shape",
                 invalid_value(to_json(*shape),
                               "unexpected field `shape`, remove it or turn on the feature "
                               "gate StorageCapacityScoring"));
  }
  Value out = Value::mapping();
  out.set("bindTimeoutSeconds", Value::integer(timeout));
  return out;
}

Value read_dynamic_resources(Fields& args, Problems&) {
  using std::chrono::seconds;
  std::chrono::nanoseconds filter = seconds(10), binding = seconds(600);
  args.read("filterTimeout", filter);
  args.read("bindingTimeout", binding);
  if (filter.count() < 0) {
    args.problem("filterTimeout",
                 invalid_value(quoted(format_duration(filter)), "must be zero or positive"));
  }
  if (binding < seconds(1)) {
    args.problem("bindingTimeout",
                 invalid_value(quoted(format_duration(binding)), "must be at least 1 second"));
  }
  Value out = Value::mapping();
  out.set("filterTimeout", Value::string(format_duration(filter)));
  out.set("bindingTimeout", Value::string(format_duration(binding)));
  return out;
}

using Reader = Value (*)(Fields&, Problems&);

Reader reader_of(std::string_view plugin) {
  static const std::map<std::string_view, Reader> kReaders = {
      {"NodeResourcesFit", read_fit},
      {"NodeResourcesBalancedAllocation", read_balanced},
      {"NodeAffinity", read_node_affinity},
      {"PodTopologySpread", read_topology_spread},
      {"InterPodAffinity", read_inter_pod_affinity},
      {"DefaultPreemption", read_default_preemption},
      {"VolumeBinding", read_volume_binding},
      {"DynamicResources", read_dynamic_resources},
  };
  const auto found = kReaders.find(plugin);
  return found == kReaders.end() ? nullptr : found->second;
}

// Args may say which type they are; then it must be the plugin's.
void check_type(std::string_view plugin, Fields& args) {
  const std::string expected = std::string(plugin) + "Args";
  std::string api_version, kind;
  if (args.read("apiVersion", api_version) && api_version != kConfigApiVersion) {
    args.problem("apiVersion", unsupported_value(api_version, {std::string(kConfigApiVersion)}));
  }
  if (args.read("kind", kind) && kind != expected) {
    constexpr std::string_view kGroup = ".kubescheduler.config.k8s.io";
    args.problem("kind", "args for plugin " + std::string(plugin) + " were not of type " +
                             expected + std::string(kGroup) + ", got " + kind +
                             std::string(kGroup));
  }
}

}  // namespace

bool has_known_args(std::string_view plugin) {
  return reader_of(plugin) != nullptr;
}

std::string normalise_args(std::string_view plugin, const Value* args, const std::string& path,
                           Problems& problems) {
  Fields fields(args, path, problems);
  check_type(plugin, fields);
  const Value normalised = reader_of(plugin)(fields, problems);
  fields.finish();
  return to_json(normalised);
}

std::string default_args(std::string_view plugin) {
  if (!has_known_args(plugin)) return "{}";
  Problems none;
  return normalise_args(plugin, nullptr, "", none);
}

std::string passed_on_args(std::string_view plugin, std::string_view written_name,
                           const Value* args) {
  if (args == nullptr || args->is_null()) return "{}";
  if (!args->is_mapping()) return to_json(*args);
  const Value* kind = args->find("kind");
  const bool usual =
      kind == nullptr || (kind->is_string() && (kind->text == std::string(plugin) + "Args" ||
                                                kind->text == std::string(written_name) + "Args"));
  if (!usual) return to_json(*args);
  Value out = *args;
  std::erase_if(out.members, [](const Member& member) {
    return member.key == "apiVersion" || member.key == "kind";
  });
  return to_json(out);
}

}  // namespace plimsoll::config
