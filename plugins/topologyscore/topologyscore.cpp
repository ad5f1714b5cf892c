#include "plugins/topologyscore/topologyscore.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "plugins/topology/pod/signature.hpp"
#include "plugins/topology/score/alike_scores.hpp"
#include "plugins/topology/score/zone_score.hpp"

namespace plimsoll::topology {
namespace {

// Nodes that the ledger is asked about at once: as many as stay in a cache until they are scored.
constexpr size_t kBatch = AlikeScores::kBatch;

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
      scores[i] = score_node(args_.strategy, request, ledger_->node(nodes[i].slot()), scratch);
    }
    return sdk::Status::success();
  }
  const std::shared_ptr<const Asked> like = kinds_.of(*pod, [this](const plimsoll_pod& first) {
    const auto reading = ledger_.read(first);
    const bool tied = reading->inquiry != nullptr;
    return std::make_shared<Asked>(
        Asked{reading, ZoneScore(args_.strategy, first, reading->request, tied)});
  });
  const LedgerAccess::Asked& asked = like->pod->inquiry;
  const ZoneScore& score = like->score;
  if (score.is_always_most()) {
    std::fill(scores.begin(), scores.end(), kMaxScore);
    return sdk::Status::success();
  }
  if (!score.covers_alike() || nodes.slots().empty()) {
    score_one_by_one(asked, score, nodes, scores);
    return sdk::Status::success();
  }
  AlikeScores known(nodes.slots());
  ledger_->alike(nodes.size(), asked.get(), [&](const plimsoll_numa_alike& alike) {
    if (alike.taking == nullptr) return;
    known.put(alike, [&](const auto& group, uint8_t* out) { score.on_alike(group, out); });
  });
  OneZoneUse room;
  known.fill(scores, [&](std::span<const uint32_t> places) {
    score_places(asked, score, nodes, places, scores, room);
  });
  return sdk::Status::success();
}

void TopologyScore::score_one_by_one(const LedgerAccess::Asked& asked, const ZoneScore& score,
                                     sdk::Nodes nodes, std::span<int64_t> scores) const {
  OneZoneUse room;
  std::array<uint32_t, kBatch> places;
  for (size_t begin = 0; begin < nodes.size(); begin += kBatch) {
    const size_t count = std::min(kBatch, nodes.size() - begin);
    std::iota(places.begin(), places.begin() + count, static_cast<uint32_t>(begin));
    score_places(asked, score, nodes, std::span(places).first(count), scores, room);
  }
}

// At most kBatch of them.
void TopologyScore::score_places(const LedgerAccess::Asked& asked, const ZoneScore& score,
                                 sdk::Nodes nodes, std::span<const uint32_t> places,
                                 std::span<int64_t> scores, OneZoneUse& room) const {
  std::array<uint32_t, kBatch> slots{};
  std::array<plimsoll_numa_landing, kBatch> landings;
  const auto listed = nodes.slots();
  for (size_t i = 0; i < places.size(); ++i) {
    slots[i] = listed.empty() ? nodes[places[i]].slot() : listed[places[i]];
  }
  ledger_->land_many(std::span(slots).first(places.size()), asked.get(),
                     std::span(landings).first(places.size()));
  for (size_t i = 0; i < places.size(); ++i) {
    NodeCpu cpu;
    if (score.reads_cpu()) cpu.requested = nodes[places[i]].requested(PLIMSOLL_RESOURCE_CPU);
    const plimsoll_numa_landing& landing = landings[i];
    if (landing.taking != nullptr) {
      scores[places[i]] = score.on(landing, cpu, room);
      continue;
    }
    const bool lands = asked != nullptr && landing.node != nullptr;
    scores[places[i]] =
        score.on(landing.node, lands ? ledger_->use(slots[i], *asked) : nullptr, cpu);
  }
}

sdk::Status TopologyScore::sign(sdk::Pod pod, sdk::Sink& sink) {
  sign_requests(*pod, sink);
  return sdk::Status::success();
}

bool TopologyScore::rests_on(sdk::Pod pod, std::string_view resource) const {
  return is_report(resource) && ledger_.ties(*pod);
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
