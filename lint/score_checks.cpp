// What normalize makes of scores.

#include <algorithm>

#include "lint/examiner.hpp"

namespace plimsoll::lint {
namespace {

constexpr int64_t kLowest = 0;
constexpr int64_t kHighest = 100;
constexpr size_t kTrials = 4;

}  // namespace

// False: it failed, or left the range, which is noted.
bool Examiner::normalize(const Probe& probe, std::vector<const plimsoll_node_info*> rows,
                         std::vector<int64_t>& scores) {
  note_.about_to("normalize", full_name(*probe.pod));
  const std::vector<int64_t> raw = scores;
  const Status status =
      cluster_.framework().run_normalize(examined_.plugin, *probe.answer.cycle, *probe.pod,
                                         BatchOf(cluster_, rows, true).rows(), scores);
  if (status.ok()) return true;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] >= kLowest && scores[i] <= kHighest) continue;
    notes_.find_always(
        notes_.report.normalizes ? "normalize leaves scores outside of 0 to 100"
                                 : "score leaves 0 to 100, and there is no normalize",
        "pod " + full_name(*probe.pod) + ", node " + std::string(view(rows[i]->node->meta.name)) +
            ": " + std::to_string(raw[i]) +
            (notes_.report.normalizes ? " becomes " + std::to_string(scores[i]) : ""),
        "bring the scores into 0 to 100: an attempt with others is given up as an error");
    return false;
  }
  ++notes_.errors[status.error];
  return false;
}

void Examiner::check_scores(Probe& probe) {
  const Answer& answer = probe.answer;
  if (!answer.scored || answer.feasible.size() < 2) return;
  std::vector<int64_t> raw;
  for (const plimsoll_node_info* row : answer.feasible)
    raw.push_back(answer.by_slot[row->slot].raw);
  std::vector<int64_t> all = raw;
  if (!normalize(probe, answer.feasible, all) || !notes_.report.normalizes) return;
  probe.raws.insert(probe.raws.end(), raw.begin(), raw.end());

  // Scores that this pod got at some time, among them the extremes: each must become what it
  // becomes beside the extremes alone.
  for (size_t trial = 0; trial < kTrials; ++trial) {
    std::vector<int64_t> some = raw;
    if (trial != 0) {
      for (int64_t& score : some) score = dice_.of(probe.raws);
    }
    std::vector<int64_t> together = some;
    if (!normalize(probe, answer.feasible, together)) return;
    const auto [low, high] = std::minmax_element(some.begin(), some.end());
    const auto row_of = [&](auto at) {
      return answer.feasible[static_cast<size_t>(at - some.begin())];
    };
    for (size_t i = 0; i < some.size(); ++i) {
      std::vector<int64_t> alone = {*low, *high, some[i]};
      if (!normalize(probe, {row_of(low), row_of(high), answer.feasible[i]}, alone)) return;
      ++notes_.normalized;
      if (alone[2] == together[i]) continue;
      notes_.normalizes_by_more = true;
      if (!notes_.report.by_extremes) return;
      std::string texts;
      for (const int64_t score : some) texts += (texts.empty() ? "" : ", ") + std::to_string(score);
      notes_.find(
          Part::kScore,
          "normalize looks at more than a score and the extremes, and declares that it does "
          "not",
          "pod " + full_name(*probe.pod) + ": " + std::to_string(some[i]) + " of " + texts +
              " becomes " + std::to_string(together[i]) + ", and beside " + std::to_string(*low) +
              " and " + std::to_string(*high) + " alone " + std::to_string(alone[2]),
          "leave out normalizes_by_extremes (PLIMSOLL_FLAG_NORMALIZES_BY_EXTREMES)");
      return;
    }
  }
}

}  // namespace plimsoll::lint
