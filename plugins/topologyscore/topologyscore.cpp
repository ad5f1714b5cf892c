#include "plugins/topologyscore/topologyscore.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "plugins/topology/signature.hpp"
#include "plugins/topology/zone_score.hpp"

namespace plimsoll::topology {
namespace {

// Nodes that the ledger is asked about at once: as many as stay in a cache until they are scored.
constexpr size_t kBatch = 64;

}  // namespace

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
  const std::shared_ptr<const Asked> like = kinds_.of(*pod, [this](const plimsoll_pod& first) {
    const auto reading = ledger_.read(first);
    const bool tied = reading->inquiry != nullptr;
    return std::make_shared<Asked>(
        Asked{reading, ZoneScore(args_.strategy, first, reading->request, tied)});
  });
  const LedgerAccess::Inquiry& asked = like->pod->inquiry;
  const ZoneScore& score = like->score;
  OneZoneUse room;
  std::array<uint32_t, kBatch> listed;
  std::array<plimsoll_numa_landing, kBatch> landings;
  for (size_t begin = 0; begin < nodes.size(); begin += kBatch) {
    const auto slots = slots_of(nodes, begin, listed);
    ledger_.land_many(slots, asked, std::span(landings).first(slots.size()));
    for (size_t i = 0; i < slots.size(); ++i) {
      NodeCpu cpu;
      if (score.reads_cpu()) cpu.requested = nodes[begin + i].requested(PLIMSOLL_RESOURCE_CPU);
      const plimsoll_numa_landing& landing = landings[i];
      if (landing.taking != nullptr) {
        scores[begin + i] = score.on(landing, cpu, room);
        continue;
      }
      const bool lands = asked != nullptr && landing.node != nullptr;
      scores[begin + i] =
          score.on(landing.node, lands ? ledger_.use(slots[i], asked) : nullptr, cpu);
    }
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
