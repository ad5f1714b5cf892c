#include "plugins/topologyscore/topologyscore.hpp"

#include "plugins/topology/signature.hpp"
#include "plugins/topology/zone_score.hpp"

namespace plimsoll::topology {

TopologyScore::TopologyScore(sdk::Host host, std::string_view args_json)
    : args_(parse_score_args(args_json)), ledger_(host) {}

sdk::Status TopologyScore::score(const plimsoll_cycle&, sdk::Pod pod, sdk::Nodes nodes,
                                 std::span<int64_t> scores) const {
  const PodRequest request(*pod);
  if (args_.view == ZoneView::kMinimum) {
    Scratch scratch;
    for (size_t i = 0; i < nodes.size(); ++i) {
      scores[i] = score_node(args_.strategy, request, ledger_.node(nodes[i].slot()), scratch);
    }
    return sdk::Status::success();
  }
  const ZoneScore score(args_.strategy, request);
  ZoneUse use;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeCpu cpu{nodes[i].requested(PLIMSOLL_RESOURCE_CPU)};
    scores[i] = score.on(ledger_.node(nodes[i].slot()), cpu, use);
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
