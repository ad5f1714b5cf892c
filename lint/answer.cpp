#include "lint/answer.hpp"

#include <algorithm>
#include <cstring>

namespace plimsoll::lint {

void CallNote::about_to(std::string_view what, std::string_view detail) {
  if (place_.empty()) return;
  std::string text = plugin_ + ": " + std::string(what);
  if (!detail.empty()) text += " of " + std::string(detail);
  text += ", cluster " + std::to_string(round_);
  text.resize(std::min(text.size(), place_.size() - 1));
  std::memcpy(place_.data(), text.c_str(), text.size() + 1);
}

BatchOf::BatchOf(const TrialCluster& cluster, std::span<const plimsoll_node_info* const> rows,
                 bool with_columns)
    : rows_(rows), columns_(with_columns ? &cluster.state().columns() : nullptr) {
  for (const plimsoll_node_info* row : rows) slots_.push_back(row->slot);
}

size_t Answer::refused() const {
  return static_cast<size_t>(std::count_if(
      by_slot.begin(), by_slot.end(),
      [](const NodeAnswer& node) { return node.present && node.code != PLIMSOLL_SUCCESS; }));
}

namespace {

void ask_filter(TrialCluster& cluster, const Examined& examined, const plimsoll_pod& pod,
                Answer& answer, CallNote& note, const std::string& name) {
  Framework& framework = cluster.framework();
  note.about_to("pre_filter", name);
  const PreFilterOutcome outcome = framework.run_pre_filter(*answer.cycle, pod);
  if (outcome.status.is_error()) answer.error = outcome.status.error;
  if (!outcome.status.ok() || outcome.narrowed) return;
  answer.feasible = cluster.state().rows();
  if (!examined.filters || answer.cycle->skip_filter.test(examined.plugin)) {
    answer.filtered = true;
    return;
  }
  std::vector<uint8_t> codes(answer.feasible.size());
  std::vector<uint32_t> reasons(codes.size());
  note.about_to("filter", name);
  const Status status =
      framework.run_filter(examined.plugin, *answer.cycle, pod, answer.feasible, codes, reasons);
  if (!status.ok()) {
    answer.error = status.error;
    return;
  }
  answer.filtered = true;
  size_t kept = 0;
  for (size_t i = 0; i < codes.size(); ++i) {
    NodeAnswer& node = answer.by_slot[answer.feasible[i]->slot];
    node.code = codes[i];
    node.reason = reasons[i];
    if (codes[i] == PLIMSOLL_SUCCESS) answer.feasible[kept++] = answer.feasible[i];
  }
  answer.feasible.resize(kept);
}

void ask_score(TrialCluster& cluster, const Examined& examined, const plimsoll_pod& pod,
               Answer& answer, CallNote& note, const std::string& name) {
  if (!examined.scores || !answer.filtered || answer.feasible.empty()) return;
  Framework& framework = cluster.framework();
  const BatchOf batch(cluster, answer.feasible, true);
  note.about_to("pre_score", name);
  if (const Status status = framework.run_pre_score(*answer.cycle, pod, batch.rows());
      !status.ok()) {
    answer.error = status.error;
    return;
  }
  if (answer.cycle->skip_score.test(examined.plugin)) return;
  std::vector<int64_t> scores(answer.feasible.size());
  note.about_to("score", name);
  if (const Status status =
          framework.run_raw_score(examined.plugin, *answer.cycle, pod, batch.rows(), scores);
      !status.ok()) {
    answer.error = status.error;
    return;
  }
  answer.scored = true;
  for (size_t i = 0; i < scores.size(); ++i) {
    NodeAnswer& node = answer.by_slot[answer.feasible[i]->slot];
    node.scored = true;
    node.raw = scores[i];
  }
}

}  // namespace

Answer ask(TrialCluster& cluster, const Examined& examined, const PodRef& pod, CallNote& note,
           uint32_t without) {
  const std::string name = full_name(*pod);
  Answer answer;
  note.about_to("sign", name);
  answer.signable = cluster.framework().run_sign(*pod, answer.signature).none();
  answer.by_slot.resize(cluster.state().slot_count());
  for (const plimsoll_node_info* row : cluster.state().rows()) {
    answer.by_slot[row->slot].present = true;
  }
  answer.cycle = cluster.framework().new_cycle();
  ask_filter(cluster, examined, *pod, answer, note, name);
  std::erase_if(answer.feasible,
                [without](const plimsoll_node_info* row) { return row->slot == without; });
  ask_score(cluster, examined, *pod, answer, note, name);
  note.idle();
  return answer;
}

std::string ask_rows(TrialCluster& cluster, const Examined& examined, const PodRef& pod,
                     const Answer& answer, std::span<const plimsoll_node_info* const> rows,
                     bool with_columns, bool with_scores, CallNote& note) {
  Framework& framework = cluster.framework();
  const BatchOf batch(cluster, rows, with_columns);
  const std::string name = full_name(*pod);
  const auto differs = [&](const plimsoll_node_info& row, const std::string& before,
                           const std::string& now) {
    return "pod " + name + ", node " + std::string(view(row.node->meta.name)) + ": " + before +
           " among all nodes, " + now + " among " + std::to_string(rows.size()) +
           (with_columns ? "" : " without columns");
  };
  if (!with_scores) {
    std::vector<uint8_t> codes(rows.size());
    std::vector<uint32_t> reasons(rows.size());
    note.about_to("filter", name);
    if (!framework.run_filter(examined.plugin, *answer.cycle, *pod, batch.rows(), codes, reasons)
             .ok()) {
      return {};
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      NodeAnswer now = answer.by_slot[rows[i]->slot];
      if (now.code == codes[i] && now.reason == reasons[i]) continue;
      const std::string before = verdict_text(cluster, now);
      now.code = codes[i];
      now.reason = reasons[i];
      return differs(*rows[i], before, verdict_text(cluster, now));
    }
    return {};
  }
  std::vector<int64_t> scores(rows.size());
  note.about_to("score", name);
  if (!framework.run_raw_score(examined.plugin, *answer.cycle, *pod, batch.rows(), scores).ok())
    return {};
  for (size_t i = 0; i < rows.size(); ++i) {
    NodeAnswer now = answer.by_slot[rows[i]->slot];
    if (now.raw == scores[i]) continue;
    const std::string before = score_text(now);
    now.raw = scores[i];
    return differs(*rows[i], before, score_text(now));
  }
  return {};
}

std::string verdict_text(const TrialCluster& cluster, const NodeAnswer& answer) {
  std::string text = code_name(answer.code);
  if (answer.reason != 0) text += " (" + cluster.reason_text(answer.reason) + ")";
  return text;
}

std::string score_text(const NodeAnswer& answer) {
  return "score " + std::to_string(answer.raw);
}

}  // namespace plimsoll::lint
