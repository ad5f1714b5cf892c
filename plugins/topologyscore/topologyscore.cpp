#include "plugins/topologyscore/topologyscore.hpp"

#include <vector>

#include "plugins/topology/numa_node.hpp"
#include "plugins/topology/signature.hpp"
#include "plugins/topology/zone_score.hpp"

namespace plimsoll::topology {

TopologyScore::TopologyScore(sdk::Host host, std::string_view args_json)
    : args_(parse_score_args(args_json)), ledger_(host) {}

sdk::Status TopologyScore::score(const plimsoll_cycle&, sdk::Pod pod, sdk::Nodes nodes,
                                 std::span<int64_t> scores) const {
  if (args_.view == ZoneView::kMinimum) {
    const auto reading = ledger_.read(*pod);
    const PodRequest& request = reading->request;
    Scratch scratch;
    for (size_t i = 0; i < nodes.size(); ++i) {
      scores[i] = score_node(args_.strategy, request, ledger_.node(nodes[i].slot()), scratch);
    }
    return sdk::Status::success();
  }
  // Nodes lie scattered, and most of the time would go by waiting for memory: so all are found
  // first, and what they have is asked for some nodes ahead.
  constexpr size_t kAhead = 8;
  std::vector<const plimsoll_numa_node*> zones(nodes.size());
  std::vector<NodeCpu> cpus(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    zones[i] = ledger_.node(nodes[i].slot());
    cpus[i].requested = nodes[i].requested(PLIMSOLL_RESOURCE_CPU);
  }
  const std::shared_ptr<const Asked> like = kinds_.of(*pod, [this](const plimsoll_pod& first) {
    const auto reading = ledger_.read(first);
    const bool tied = reading->inquiry != nullptr;
    return std::make_shared<Asked>(
        Asked{reading, ZoneScore(args_.strategy, first, reading->request, tied)});
  });
  const LedgerAccess::Inquiry& asked = like->pod->inquiry;
  const ZoneScore& score = like->score;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i + 2 * kAhead < nodes.size()) __builtin_prefetch(zones[i + 2 * kAhead]);
    if (i + kAhead < nodes.size() && zones[i + kAhead] != nullptr) {
      prefetch_cells(*zones[i + kAhead]);
    }
    const bool lands = asked != nullptr && zones[i] != nullptr;
    scores[i] = score.on(zones[i], lands ? ledger_.use(nodes[i].slot(), asked) : nullptr, cpus[i]);
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
