#include "plugins/topology/scoring_args.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace plimsoll::topology {
namespace {

using Json = nlohmann::json;

// By the value of Strategy; PreserveLargeZones last.
constexpr std::string_view kStrategies[] = {"LeastAllocated", "MostAllocated", "BalancedAllocation",
                                            "LeastNUMANodes", "PreserveLargeZones"};

// Letters to insert, delete or replace, whatever their case.
size_t edit_distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

void read_type(const Json& value, ScoringStrategy& strategy, Offered offered,
               std::vector<std::string>& errors) {
  if (!value.is_null() && !value.is_string()) {
    errors.push_back("scoringStrategy.type: Invalid value: " + value.dump() + ": must be a string");
    return;
  }
  const std::string name = value.is_null() ? "" : value.get<std::string>();
  const std::span<const std::string_view> known(
      kStrategies, std::size(kStrategies) - (offered == Offered::kAll ? 0 : 1));
  const auto found = std::find(known.begin(), known.end(), name);
  if (found != known.end()) {
    strategy.type = static_cast<Strategy>(found - known.begin());
    return;
  }
  const std::string hint = name == kStrategies[std::size(kStrategies) - 1]
                               ? ", only TopologyScore has it"
                               : did_you_mean(name, known);
  errors.push_back("scoringStrategy.type: Invalid value: \"" + name +
                   "\": invalid ScoringStrategyType" + hint);
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

ScoringStrategy parse_scoring_strategy(std::string_view json, std::vector<std::string>& errors,
                                       Offered offered) {
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
  read_type(value.contains("type") ? value["type"] : Json(), strategy, offered, errors);
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

std::string did_you_mean(std::string_view value, std::span<const std::string_view> known) {
  constexpr size_t kLongest = 100;  // nobody mistypes longer names
  if (value.size() > kLongest) return "";
  std::string_view best;
  size_t best_distance = value.size() / 3 + 1;
  for (const std::string_view candidate : known) {
    const size_t distance = edit_distance(value, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best.empty() ? "" : ", did you mean \"" + std::string(best) + "\"?";
}

std::string aggregate(const std::vector<std::string>& errors) {
  if (errors.size() == 1) return errors[0];
  std::string text = "[";
  for (size_t i = 0; i < errors.size(); ++i) text += (i == 0 ? "" : ", ") + errors[i];
  return text + "]";
}

}  // namespace plimsoll::topology
