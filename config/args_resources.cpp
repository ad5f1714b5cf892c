// NodeResourcesFitArgs and NodeResourcesBalancedAllocationArgs.
#include "config/args_readers.hpp"

#include <algorithm>
#include <set>

namespace plimsoll::config {
namespace {

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

// What a type of args says about one entry of its resources.
struct ResourceRules {
  // Whether the weight is good; if not, *why says it.
  bool (*check)(const ResourceSpec&, std::string* why);
  bool unique;  // a name given twice is an error; otherwise each entry counts
};

// resources: [{name, weight}]; weight 0 or absent means 1, no resources at all means cpu and
// memory.
std::vector<ResourceSpec> read_resources(Fields& fields, ArgsProblems problems,
                                         const ResourceRules& rules) {
  std::vector<ResourceSpec> out;
  std::set<std::string> seen;
  fields.each("resources", [&](const Value& item, const std::string& path) {
    Fields entry(&item, path, problems.errors);
    ResourceSpec resource;
    entry.read("name", resource.name);
    entry.read("weight", resource.weight);
    entry.finish();
    if (!entry.present()) return;
    if (resource.weight == 0) resource.weight = 1;
    const auto warn = [&](std::string message) {
      problems.warnings.push_back({entry.path("name"), entry.at("name"), std::move(message)});
    };
    if (resource.name.empty()) warn("names no resource: the entry has no effect");
    if (!seen.insert(resource.name).second) {
      if (rules.unique) {
        entry.problem("name", duplicate_value(resource.name));
      } else {
        warn("the resource " + go_quoted(resource.name) + " is listed before: both weights count");
      }
    }
    std::string why;
    if (!rules.check(resource, &why)) {
      entry.problem("weight", invalid_value(std::to_string(resource.weight), why));
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
      point.problem("utilization", invalid_value(std::to_string(utilization),
                                                 "values must be sorted in increasing order"));
    }
    last = utilization;
    if (utilization < 0 || utilization > kMaxUtilization) {
      point.problem("utilization",
                    invalid_value(std::to_string(utilization), not_in_range(0, kMaxUtilization)));
    }
    if (score < 0 || score > kMaxScore) {
      point.problem("score", invalid_value(std::to_string(score), not_in_range(0, kMaxScore)));
    }
    out.add(Value::mapping()
                .set("utilization", Value::integer(utilization))
                .set("score", Value::integer(score)));
  });
  if (out.items.empty()) {
    problems.push_back({fields.path("shape"), fields.at("shape"),
                        required_value("at least one point must be specified")});
  }
  return out;
}

Value read_scoring_strategy(Fields& args, ArgsProblems problems) {
  constexpr std::string_view kRatio = "RequestedToCapacityRatio";
  const std::vector<std::string> types = {"LeastAllocated", "MostAllocated", std::string(kRatio)};
  const Value* given = args.get("scoringStrategy");
  Fields strategy(given, args.path("scoringStrategy"), problems.errors);
  std::string type = given == nullptr ? "LeastAllocated" : "";
  strategy.read("type", type);
  const auto check = [](const ResourceSpec& resource, std::string* why) {
    *why = "resource weight of " + resource.name + " not in valid range (0, 100]";
    return resource.weight > 0 && resource.weight <= 100;
  };
  const auto resources = read_resources(strategy, problems, {check, false});
  const bool known = std::find(types.begin(), types.end(), type) != types.end();
  if (strategy.present() && !known) strategy.problem("type", unsupported_value(type, types));
  Value out = Value::mapping();
  out.set("type", Value::string(type)).set("resources", to_value(resources));
  const Value* ratio = strategy.get("requestedToCapacityRatio");
  if (type == kRatio && ratio == nullptr) {
    strategy.problem("requestedToCapacityRatio",
                     required_value("must be specified when type is RequestedToCapacityRatio"));
  } else if (ratio != nullptr) {
    Problems out_of_place;  // what the shape is wrong in does not matter where it may not be
    Fields fields(ratio, strategy.path("requestedToCapacityRatio"), problems.errors);
    Value shape = read_shape(fields, type == kRatio ? problems.errors : out_of_place);
    fields.finish();
    if (type == kRatio) {
      out.set("requestedToCapacityRatio", Value::mapping().set("shape", std::move(shape)));
    } else {
      strategy.problem("requestedToCapacityRatio",
                       forbidden("must be nil when type is not RequestedToCapacityRatio"));
    }
  }
  strategy.finish();
  return out;
}

}  // namespace

Value read_fit_args(Fields& args, ArgsProblems problems) {
  Value ignored = Value::sequence(), groups = Value::sequence();
  const auto read_names = [&](std::string_view field, Value& out, bool is_group) {
    args.each(field, [&](const Value& item, const std::string& path) {
      if (!item.is_string()) {
        problems.errors.push_back({path, item.at, wrong_type_message(item, "a string")});
        return;
      }
      if (is_group && item.text.find('/') != std::string::npos) {
        problems.errors.push_back(
            {path, item.at,
             invalid_value(go_quoted(item.text), "resource group name can't contain '/'")});
      }
      check_qualified_name(item.text, path, item.at, problems.errors);
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

Value read_balanced_allocation_args(Fields& args, ArgsProblems problems) {
  const auto check = [](const ResourceSpec& resource, std::string* why) {
    *why = "must be 1";
    return resource.weight == 1;
  };
  Value out = Value::mapping();
  out.set("resources", to_value(read_resources(args, problems, {check, true})));
  return out;
}

}  // namespace plimsoll::config
