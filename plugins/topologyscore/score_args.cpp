#include "plugins/topologyscore/score_args.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "plugins/topology/scoring_args.hpp"

namespace plimsoll::topology {
namespace {

using Json = nlohmann::json;

ZoneView read_view(const Json& value, std::vector<std::string>& errors) {
  static constexpr std::string_view kViews[] = {"Predicted", "Minimum"};  // by value of ZoneView
  if (value.is_null()) return ZoneView::kPredicted;
  if (!value.is_string()) {
    errors.push_back("zoneView: Invalid value: " + value.dump() + ": must be a string");
    return ZoneView::kPredicted;
  }
  const auto name = value.get<std::string>();
  if (name == kViews[0]) return ZoneView::kPredicted;
  if (name == kViews[1]) return ZoneView::kMinimum;
  errors.push_back("zoneView: Unsupported value: \"" + name +
                   "\": supported values: \"Minimum\", \"Predicted\"" + did_you_mean(name, kViews));
  return ZoneView::kPredicted;
}

}  // namespace

ScoreArgs parse_score_args(std::string_view json) {
  ScoreArgs args;
  if (json.empty()) return args;
  const Json value = Json::parse(json, nullptr, false);
  if (value.is_null()) return args;
  if (!value.is_object()) throw std::runtime_error("TopologyScoreArgs: must be an object");
  std::vector<std::string> errors;
  for (const auto& [key, item] : value.items()) {
    if (key == "scoringStrategy") {
      args.strategy = parse_scoring_strategy(item.dump(), errors, Offered::kAll);
    } else if (key == "zoneView") {
      args.view = read_view(item, errors);
    } else if (key != "apiVersion" && key != "kind") {
      errors.push_back("unknown field \"" + key + "\"");
    }
  }
  if (args.strategy.type == Strategy::kPreserveLargeZones && args.view == ZoneView::kMinimum) {
    errors.emplace_back(
        "zoneView: Invalid value: \"Minimum\": PreserveLargeZones needs the view Predicted");
  }
  if (!errors.empty()) throw std::runtime_error(aggregate(errors));
  return args;
}

}  // namespace plimsoll::topology
