#include "plugins/topology/scoring_args.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll::topology {
namespace {

using Json = nlohmann::json;

void read_type(const Json& value, ScoringStrategy& strategy, std::vector<std::string>& errors) {
  struct Row {
    std::string_view name;
    Strategy type;
  };
  static constexpr Row kRows[] = {{"LeastAllocated", Strategy::kLeastAllocated},
                                  {"MostAllocated", Strategy::kMostAllocated},
                                  {"BalancedAllocation", Strategy::kBalancedAllocation},
                                  {"LeastNUMANodes", Strategy::kLeastNumaNodes}};
  if (!value.is_null() && !value.is_string()) {
    errors.push_back("scoringStrategy.type: Invalid value: " + value.dump() + ": must be a string");
    return;
  }
  const std::string name = value.is_null() ? "" : value.get<std::string>();
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    strategy.type = row.type;
    return;
  }
  errors.push_back("scoringStrategy.type: Invalid value: \"" + name +
                   "\": invalid ScoringStrategyType");
}

void read_resource(const Json& value, const std::string& path, ScoringStrategy& strategy,
                   std::vector<std::string>& errors) {
  if (!value.is_object()) {
    errors.push_back(path + ": Invalid value: " + value.dump() + ": must be an object");
    return;
  }
  ResourceWeight entry;
  for (const auto& [key, item] : value.items()) {
    if (key == "name" && item.is_string()) {
      entry.name = item.get<std::string>();
    } else if (key == "weight" && item.is_number_integer()) {
      entry.weight = item.get<int64_t>();
    } else if (key == "name" || key == "weight") {
      errors.push_back(path + "." + key + ": Invalid value: " + item.dump() + ": must be " +
                       (key == "name" ? "a string" : "a whole number"));
    } else {
      errors.push_back(path + ": unknown field \"" + key + "\"");
    }
  }
  if (entry.name.empty()) errors.push_back(path + ".name: Required value");
  strategy.resources.push_back(std::move(entry));
}

}  // namespace

ScoringStrategy parse_scoring_strategy(std::string_view json, std::vector<std::string>& errors) {
  ScoringStrategy strategy;
  const Json value = Json::parse(json, nullptr, false);
  if (value.is_null()) return strategy;
  if (!value.is_object()) {
    errors.push_back("scoringStrategy: Invalid value: must be an object");
    return strategy;
  }
  for (const auto& [key, item] : value.items()) {
    if (key != "type" && key != "resources") {
      errors.push_back("scoringStrategy: unknown field \"" + key + "\"");
    }
  }
  read_type(value.contains("type") ? value["type"] : Json(), strategy, errors);
  if (!value.contains("resources") || value["resources"].is_null()) return strategy;
  const Json& resources = value["resources"];
  if (!resources.is_array()) {
    errors.push_back("scoringStrategy.resources: Invalid value: must be a list");
    return strategy;
  }
  if (!resources.empty()) strategy.resources.clear();
  for (size_t i = 0; i < resources.size(); ++i) {
    read_resource(resources[i], "scoringStrategy.resources[" + std::to_string(i) + "]", strategy,
                  errors);
  }
  return strategy;
}

std::string aggregate(const std::vector<std::string>& errors) {
  if (errors.size() == 1) return errors[0];
  std::string text = "[";
  for (size_t i = 0; i < errors.size(); ++i) text += (i == 0 ? "" : ", ") + errors[i];
  return text + "]";
}

}  // namespace plimsoll::topology
