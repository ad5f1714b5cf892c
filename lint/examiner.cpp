#include "lint/examiner.hpp"

#include <algorithm>
#include <utility>

#include "framework/api/decode.hpp"
#include "lint/comparing.hpp"

namespace plimsoll::lint {
namespace {

constexpr size_t kProbes = 6;

}  // namespace

Examiner::Examiner(TrialCluster& cluster, const Examined& examined, Dice& dice, Vocabulary& words,
                   const Options& options, CallNote& note, Notes& notes)
    : cluster_(cluster),
      examined_(examined),
      dice_(dice),
      words_(words),
      note_(note),
      notes_(notes),
      changes_(cluster, dice, words, options, note) {}

Result<void> Examiner::run() {
  if (auto filled = changes_.fill(); !filled) return filled;
  notes_.watched.insert(cluster_.watched().begin(), cluster_.watched().end());
  make_probes();
  for (Probe& probe : probes_) {
    check_steady(probe);
    check_rows(probe);
    check_feasible_set(probe);
    check_scores(probe);
    check_pod_fields(probe);
  }
  for (const size_t which : changes_.all()) {
    if (const auto change = changes_.apply(which)) check_change(*change);
    if (!dice_.one_in(3)) continue;
    Probe& probe = probes_[dice_.below(probes_.size())];
    if (const auto change = changes_.reserve(probe.answer, probe.pod)) {
      check_change(*change);
    } else if (const auto back = changes_.give_back()) {
      check_change(*back);
    }
  }
  for (Probe& probe : probes_) check_scores(probe);
  probes_.clear();  // answers hold plugins' state
  return {};
}

void Examiner::make_probes() {
  while (probes_.size() < kProbes) {
    const std::string name = "pod-" + std::to_string(probes_.size());
    Json json = random_pod(dice_, words_, name);
    auto decoded = decode_pod(json.dump(), cluster_.symbols());
    if (!decoded) continue;  // a template's texts at odds with a random change
    Probe probe{std::move(json), std::move(*decoded), {}};
    probe.asked_at = cluster_.log_end();
    probe.answer = ask_about(probe.pod);
    probes_.push_back(std::move(probe));
  }
}

Answer Examiner::ask_about(const PodRef& pod, uint32_t without) {
  Answer answer = ask(cluster_, examined_, pod, note_, without);
  count(answer);
  return answer;
}

void Examiner::count(const Answer& answer) {
  if (answer.signable) notes_.report.signs = true;
  if (!answer.error.empty()) ++notes_.errors[answer.error.substr(0, answer.error.find('\n'))];
  if (answer.filtered && examined_.filters && !answer.cycle->skip_filter.test(examined_.plugin)) {
    PartReport& filter = notes_.report.filter;
    filter.answers += cluster_.state().node_count();
    filter.refused += answer.refused();
  }
  if (answer.scored) notes_.report.score.answers += answer.feasible.size();
}

std::string Examiner::node_name(uint32_t slot) const {
  const NodeInfo* node = cluster_.state().node_at(slot);
  return node == nullptr ? "" : node->name();
}

// ---- the same question again

void Examiner::check_steady(Probe& probe) {
  const Answer again = ask_about(probe.pod);
  for (const Part part : {Part::kFilter, Part::kScore}) {
    const uint32_t slot = difference(part, probe.answer, again);
    if (slot == kNoSlot) continue;
    notes_.find_unsteady(
        part, std::string(part_name(part)) + " answers the same question in different ways",
        "pod " + full_name(*probe.pod) + ", node " + node_name(slot) + ": " +
            answer_text(cluster_, part, probe.answer.by_slot[slot]) + ", and asked again " +
            answer_text(cluster_, part, again.by_slot[slot]),
        "let it rest on nothing but the pod, the node and what events told: no counters, no "
        "randomness, no clock");
  }
}

void Examiner::check_rows(const Probe& probe) {
  const Answer& answer = probe.answer;
  const std::string advice =
      "decide about each row by itself: the scheduler asks about all nodes, some, or one";
  const auto check = [&](Part part, std::span<const plimsoll_node_info* const> rows) {
    const std::string text = ask_rows(cluster_, examined_, probe.pod, answer, rows,
                                      rows.size() != 1, part == Part::kScore, note_);
    if (text.empty()) return;
    notes_.find(part,
                std::string(part_name(part)) +
                    " answers about a node depend on which other nodes are asked about with it",
                text, advice);
  };
  if (examined_.filters && answer.filtered && !answer.cycle->skip_filter.test(examined_.plugin)) {
    std::vector<const plimsoll_node_info*> rows = cluster_.state().rows();
    for (const plimsoll_node_info* row : rows) check(Part::kFilter, std::span(&row, 1));
    std::reverse(rows.begin(), rows.end());
    check(Part::kFilter, rows);
  }
  // A score that is asked for each time may rank all nodes together.
  const uint32_t aspects = declared(Part::kScore);
  if (answer.scored && aspects != 0 && (aspects & PLIMSOLL_ASPECT_CLUSTER) == 0) {
    std::vector<const plimsoll_node_info*> rows = answer.feasible;
    for (const plimsoll_node_info* row : rows) check(Part::kScore, std::span(&row, 1));
    std::reverse(rows.begin(), rows.end());
    check(Part::kScore, rows);
  }
}

// Raw scores are kept while other nodes come to fit, or no longer do.
void Examiner::check_feasible_set(const Probe& probe) {
  const uint32_t aspects = declared(Part::kScore);
  if (!probe.answer.scored || probe.answer.feasible.size() < 2) return;
  const uint32_t without = dice_.of(probe.answer.feasible)->slot;
  const Answer fewer = ask_about(probe.pod, without);
  const uint32_t slot = difference(Part::kScore, probe.answer, fewer);
  if (slot == kNoSlot) return;
  notes_.needs_cluster[static_cast<int>(Part::kScore)] = true;
  if (aspects == 0 || (aspects & PLIMSOLL_ASPECT_CLUSTER) != 0) return;
  notes_.find(Part::kScore, "score rests on which other nodes fit the pod",
              "pod " + full_name(*probe.pod) + ", node " + node_name(slot) + ": " +
                  score_text(probe.answer.by_slot[slot]) + ", and without node " +
                  node_name(without) + " " + score_text(fewer.by_slot[slot]),
              "add PLIMSOLL_ASPECT_CLUSTER to score_aspects, or let normalize compare the nodes",
              !probe.answer.signable);
}

}  // namespace plimsoll::lint
