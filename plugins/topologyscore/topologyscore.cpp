#include "plugins/topologyscore/topologyscore.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "plugins/topology/scoring_args.hpp"
#include "plugins/topology/signature.hpp"

namespace plimsoll::topology {

ScoringStrategy parse_score_args(std::string_view json) {
  using Json = nlohmann::json;
  ScoringStrategy strategy;
  if (json.empty()) return strategy;
  const Json value = Json::parse(json, nullptr, false);
  if (value.is_null()) return strategy;
  if (!value.is_object()) throw std::runtime_error("TopologyScoreArgs: must be an object");
  std::vector<std::string> errors;
  for (const auto& [key, item] : value.items()) {
    if (key == "scoringStrategy") {
      strategy = parse_scoring_strategy(item.dump(), errors);
    } else if (key != "apiVersion" && key != "kind") {
      errors.push_back("unknown field \"" + key + "\"");
    }
  }
  if (!errors.empty()) throw std::runtime_error(aggregate(errors));
  return strategy;
}

TopologyScore::TopologyScore(sdk::Host host, std::string_view args_json)
    : strategy_(parse_score_args(args_json)), ledger_(host) {}

sdk::Status TopologyScore::score(const plimsoll_cycle&, sdk::Pod pod, sdk::Nodes nodes,
                                 std::span<int64_t> scores) const {
  const PodRequest request(*pod);
  Scratch scratch;
  for (size_t i = 0; i < nodes.size(); ++i) {
    scores[i] = score_node(strategy_, request, ledger_.node(nodes[i].slot()), scratch);
  }
  return sdk::Status::success();
}

sdk::Status TopologyScore::sign(sdk::Pod pod, sdk::Sink& sink) {
  sign_requests(*pod, sink);
  return sdk::Status::success();
}

void TopologyScore::node_event(sdk::NodeEvent type, sdk::Node node, uint32_t) {
  ledger_.node_event(type, node);
}

void TopologyScore::pod_event(sdk::PodEvent type, sdk::Pod pod, std::string_view node_name) {
  ledger_.pod_event(type, pod, node_name);
}

void TopologyScore::object_event(const sdk::ObjectEvent& event) {
  ledger_.object_event(event);
}

}  // namespace plimsoll::topology
