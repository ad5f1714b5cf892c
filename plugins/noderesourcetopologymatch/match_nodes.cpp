// Filter and Score of many nodes.

#include <algorithm>
#include <array>
#include <span>

#include "plugins/noderesourcetopologymatch/noderesourcetopologymatch.hpp"
#include "plugins/topology/columns/zone_loops.hpp"
#include "plugins/topology/score/alike_scores.hpp"

namespace plimsoll::topology {

using sdk::Nodes;
using sdk::Pod;
using sdk::Status;

namespace {

// Of one call of filter_many; kept per thread, so that a call allocates nothing.
struct Room {
  std::vector<uint32_t> rows;  // that are open, unless all are
  std::vector<uint32_t> listed;
  std::vector<uint8_t> admitted;
  std::vector<uint32_t> closer;  // positions in the slots that are asked about
  std::vector<uint32_t> closer_slots;
  std::vector<uint32_t> refused;  // positions in `closer`
  std::vector<Judgement> judgements;
};

bool only_adds(const auto& changes) {
  return std::all_of(changes.begin(), changes.end(),
                     [](const auto& change) { return change.net > 0; });
}

}  // namespace

// Before anybody was refused anything there is nothing to correct.
void NodeResourceTopologyMatch::note(const plimsoll_pod& pod, const Asked& asked,
                                     FilterRound& round) const {
  // Its own nomination and claims, which stand in the way of the others of its kind, did not count.
  round.has_claims = pod.resource_claims.count != 0;
  if (round.has_claims || !sdk::view(pod.nominated_node_name).empty()) round.asked = round.refused;
  if (round.asked.empty() && round.tried_without.empty()) return;
  if (round.refused.empty() && round.doubted.empty() && refusals_.empty()) return;
  Wait wait;
  if (!round.asked.empty() && round.no == round.open && round.uncertain != UINT32_MAX) {
    wait = {host_.now_ms(), round.uncertain, ledger_->doubt(round.uncertain)};
  }
  refusals_.note(hash_requests(pod), asked.inquiry, round, wait);
}

// Nodes as they are. Usually the call is for all nodes, the scheduler lists their slots, and most
// clearly fit.
template <typename Refuse>
void NodeResourceTopologyMatch::filter_many(const Asked& asked, Nodes nodes,
                                            const sdk::Verdicts& verdicts, FilterRound& round,
                                            const Refuse& refuse) const {
  thread_local Room room;
  auto& [rows, listed, admitted, closer, closer_slots, refused, judgements] = room;
  std::span<const uint32_t> slots = nodes.slots();
  bool all = !slots.empty();
  for (size_t i = 0; all && i < nodes.size(); ++i) all = verdicts.open(i);
  if (!all) {
    rows.clear();
    listed.clear();
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!verdicts.open(i)) continue;
      rows.push_back(static_cast<uint32_t>(i));
      listed.push_back(nodes[i].slot());
    }
    slots = listed;
  }
  round.open = slots.size();
  if (slots.empty()) return;
  admitted.resize(slots.size());
  ledger_->admits_many(slots, *asked.inquiry, admitted.data());
  const size_t left = static_cast<size_t>(std::count(admitted.begin(), admitted.end(), 0));
  closer.clear();
  closer_slots.clear();
  for (size_t i = 0; closer.size() < left; ++i) {
    if (admitted[i] != 0) continue;
    closer.push_back(static_cast<uint32_t>(i));
    closer_slots.push_back(slots[i]);
  }
  judgements.resize(left);
  ledger_->judge_many(closer_slots, *asked.inquiry, judgements);
  refused.clear();
  for (size_t i = 0; i < left; ++i) {
    if (!judgements[i].fits()) refused.push_back(static_cast<uint32_t>(i));
  }
  if (refused.empty() && refusals_.empty()) return;  // nothing to note
  const uint32_t most = highest(slots.data(), slots.size());
  round.asked.set_all(slots, most);
  round.refused.reserve(most);
  for (const uint32_t i : refused) {
    round.refused.set(closer_slots[i]);
    refuse(all ? closer[i] : rows[closer[i]], judgements[i], false);
  }
}

Status NodeResourceTopologyMatch::filter(const plimsoll_cycle& cycle, Pod pod, Nodes nodes,
                                         sdk::Verdicts verdicts) const {
  Asked asked = ask(pod);
  if (!matters(asked)) return Status::success();
  const WhatIf* what_if = host_.state<WhatIf>(cycle);
  FilterRound round;
  // There are few reasons: each is requested from the host once.
  std::vector<std::pair<Judgement, uint32_t>> reasons;
  const auto reason_for = [&](const Judgement& judgement) {
    for (const auto& [known, reason] : reasons) {
      if (known.verdict == judgement.verdict && known.resource == judgement.resource) return reason;
    }
    return reasons.emplace_back(judgement, reason_of(judgement, pod)).second;
  };
  const auto refuse = [&](size_t i, const Judgement& judgement, bool changed) {
    // The next report will show more room, or a doubt ends by itself: evicting more pods does not
    // help.
    const bool soon = waits(judgement.verdict) || (!changed && fits_soon(asked, nodes[i]));
    ++round.no;
    if (waits(judgement.verdict)) round.uncertain = nodes[i].slot();
    const uint32_t reason = reason_for(judgement);
    verdicts.set(i, soon ? Status::pending(reason) : Status::unschedulable(reason));
  };
  if (what_if == nullptr && by_kubelet()) {
    filter_many(asked, nodes, verdicts, round, refuse);
    note(*pod, asked, round);
    return Status::success();
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!verdicts.open(i)) continue;
    ++round.open;
    const WhatIf::Changes* changes = changes_on(what_if, nodes[i]);
    const Judgement judgement = judge(changes, asked, nodes[i]);
    // Verdicts for preemption, with pods removed, say nothing about the node as it is.
    if (changes == nullptr || (!judgement.fits() && only_adds(*changes))) {
      round.asked.set(nodes[i].slot());
      if (!judgement.fits()) round.refused.set(nodes[i].slot());
    } else if (!only_adds(*changes)) {
      round.tried_without.set(nodes[i].slot());
      if (waits(judgement.verdict)) round.doubted.set(nodes[i].slot());
    }
    if (!judgement.fits()) refuse(i, judgement, changes != nullptr);
  }
  note(*pod, asked, round);
  return Status::success();
}

void NodeResourceTopologyMatch::score_as_they_are(const NodeScore& score, Nodes nodes,
                                                  std::span<int64_t> scores,
                                                  Scratch& scratch) const {
  std::array<uint32_t, AlikeScores::kBatch> slots;
  std::array<plimsoll_numa_landing, AlikeScores::kBatch> views;
  if (nodes.slots().empty() || !score.covers_alike()) {
    for (size_t begin = 0; begin < nodes.size(); begin += slots.size()) {
      const auto batch = slots_of(nodes, begin, slots);
      ledger_->land_many(batch, nullptr, std::span(views).first(batch.size()));
      for (size_t i = 0; i < batch.size(); ++i) {
        scores[begin + i] = score.on(views[i].node, scratch);
      }
    }
    return;
  }
  AlikeScores known(nodes.slots());
  ledger_->alike(nodes.size(), nullptr, [&](const plimsoll_numa_alike& alike) {
    known.put(alike, [&](const auto& group, uint8_t* out) { score.on_alike(group, out); });
  });
  known.fill(scores, [&](std::span<const uint32_t> places) {
    for (size_t i = 0; i < places.size(); ++i) slots[i] = nodes.slots()[places[i]];
    ledger_->land_many(std::span(slots).first(places.size()), nullptr,
                       std::span(views).first(places.size()));
    for (size_t i = 0; i < places.size(); ++i) {
      scores[places[i]] = score.on(views[i].node, scratch);
    }
  });
}

Status NodeResourceTopologyMatch::score(const plimsoll_cycle& cycle, Pod pod, Nodes nodes,
                                        std::span<int64_t> scores) const {
  const auto like = scored_.of(*pod, [this](const plimsoll_pod& first) {
    const auto reading = ledger_.read(first);
    return std::make_shared<const Scored>(
        Scored{reading, NodeScore(args_.scoring, reading->request)});
  });
  const NodeScore& score = like->score;
  Scratch scratch;
  score_as_they_are(score, nodes, scores, scratch);
  const WhatIf* what_if = host_.state<WhatIf>(cycle);
  if (what_if == nullptr) return Status::success();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const WhatIf::Changes* changes = changes_on(what_if, nodes[i]);
    if (changes == nullptr) continue;
    scores[i] = 0;
    fits_changed(*changes, nodes[i], [&](const plimsoll_numa_node& zones) {
      scores[i] = score.on(&zones, scratch);
      return true;  // what is sure will do
    });
  }
  return Status::success();
}

}  // namespace plimsoll::topology
