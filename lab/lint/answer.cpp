#include "lab/lint/answer.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace plimsoll::lint {
namespace {

constexpr int kFilter = static_cast<int>(Part::kFilter);
constexpr int kScore = static_cast<int>(Part::kScore);

constexpr size_t kMostKept = 1000;  // failures
constexpr std::string_view kReturnNothing[] = {"node_event", "pod_event",   "object_event",
                                               "unreserve",  "run_on_loop", "api_request"};

std::vector<uint32_t> slots_of(const Rows& rows) {
  std::vector<uint32_t> slots;
  for (const plimsoll_node_info* row : rows) slots.push_back(row->slot);
  return slots;
}

}  // namespace

std::string part_name(Part part) {
  return part == Part::kFilter ? "filter" : "score";
}

void CallNote::about_to(std::string_view what, std::string_view detail) {
  look_at_errors();
  doing_ = what;
  if (!detail.empty()) doing_.append(" of ").append(detail);
  if (place_.empty()) return;
  std::string text = plugin_ + ": " + doing_ + ", cluster " + std::to_string(round_);
  text.resize(std::min(text.size(), place_.size() - 1));
  std::memcpy(place_.data(), text.c_str(), text.size() + 1);
  if (calls_ != nullptr) calls_->fetch_add(1, std::memory_order_relaxed);
}

void CallNote::failed(std::string_view function, std::string_view error) {
  if (error.empty() || failures_.size() == kMostKept) return;
  failures_.push_back({std::string(function), std::string(error), doing_});
}

// A function that returns nothing threw: the SDK logs "FUNCTION: TEXT". Other errors that a plugin
// logs are its own affair.
void CallNote::look_at_errors() {
  for (const auto& [plugin, text] : errors_.take()) {
    const size_t colon = text.find(": ");
    if (colon == std::string::npos || plugin != plugin_) continue;
    const std::string function = text.substr(0, colon);
    const bool threw = std::ranges::find(kReturnNothing, function) != std::end(kReturnNothing);
    if (threw) failed(function, text.substr(colon + 2));
  }
}

std::vector<CallNote::Failure> CallNote::take_failures() {
  look_at_errors();
  return std::exchange(failures_, {});
}

Plugin::Plugin(TrialCluster& cluster, CallNote& note, const std::string& name)
    : cluster_(cluster),
      framework_(cluster.framework()),
      note_(note),
      has_{!framework_.at(ExtensionPoint::kFilter).empty(),
           !framework_.at(ExtensionPoint::kScore).empty()} {
  for (PluginIndex i = 0; i < framework_.plugin_count(); ++i) {
    if (framework_.plugin_name(i) == name) index_ = i;
  }
}

std::vector<Said> Plugin::say(Part part, const CycleContext& cycle, const PodRef& pod,
                              const Rows& rows, bool with_columns, std::string& error) {
  const std::vector<uint32_t> slots = slots_of(rows);
  const NodeRows batch(rows, slots, with_columns ? &cluster_.state().columns() : nullptr);
  std::vector<uint8_t> codes(rows.size());
  std::vector<uint32_t> reasons(rows.size());
  std::vector<int64_t> scores(rows.size());
  note_.about_to(part_name(part), full_name(*pod));
  const Status status = part == Part::kFilter
                            ? framework_.run_filter(index_, cycle, *pod, batch, codes, reasons)
                            : framework_.run_raw_score(index_, cycle, *pod, batch, scores);
  std::vector<Said> all;
  if (!status.ok()) error = status.error;
  for (size_t i = 0; i < rows.size() && status.ok(); ++i) {
    all.push_back({true, part == Part::kFilter ? codes[i] : scores[i], reasons[i]});
  }
  return all;
}

Status Plugin::normalize(const CycleContext& cycle, const PodRef& pod, const Rows& rows,
                         std::vector<int64_t>& scores) {
  note_.about_to("normalize", full_name(*pod));
  const std::vector<uint32_t> slots = slots_of(rows);
  return framework_.run_normalize(index_, cycle, *pod, {rows, slots, &cluster_.state().columns()},
                                  scores);
}

Answer Plugin::ask(const PodRef& pod, uint32_t without) {
  const std::string name = full_name(*pod);
  Answer answer;
  note_.about_to("sign", name);
  answer.signable = framework_.run_sign(*pod, answer.signature).none();
  for (auto& said : answer.said) said.resize(cluster_.state().slot_count());
  answer.cycle = framework_.new_cycle();
  const auto take = [&](Part part) {
    std::vector<Said> all = say(part, *answer.cycle, pod, answer.feasible, true, answer.error);
    const int at = static_cast<int>(part);
    if (all.size() != answer.feasible.size()) {
      answer.failed = part_name(part);
      for (const plimsoll_node_info* row : answer.feasible) {
        std::string error;
        if (!say(part, *answer.cycle, pod, {row}, true, error).empty()) continue;
        answer.failed_on = view(row->node->meta.name);
        break;
      }
    }
    answer.called[at] = answer.complete[at] = all.size() == answer.feasible.size();
    for (size_t i = 0; i < all.size(); ++i) answer.said[at][answer.feasible[i]->slot] = all[i];
  };

  note_.about_to("pre_filter", name);
  const PreFilterOutcome outcome = framework_.run_pre_filter(*answer.cycle, *pod);
  if (outcome.status.is_error()) {
    answer.error = outcome.status.error;
    answer.failed = "pre_filter";
  }
  if (!outcome.status.ok() || outcome.narrowed) return answer;
  answer.feasible = cluster_.state().rows();
  for (const plimsoll_node_info* row : answer.feasible) answer.said[kFilter][row->slot] = {true};
  answer.complete[kFilter] = true;
  if (has(Part::kFilter) && !answer.cycle->skip_filter.test(index_)) take(Part::kFilter);
  std::erase_if(answer.feasible, [&](const plimsoll_node_info* row) {
    return row->slot == without || answer.said[kFilter][row->slot].value != PLIMSOLL_SUCCESS;
  });

  if (!has(Part::kScore) || !answer.complete[kFilter] || answer.feasible.empty()) return answer;
  note_.about_to("pre_score", name);
  const std::vector<uint32_t> slots = slots_of(answer.feasible);
  const Status status = framework_.run_pre_score(
      *answer.cycle, *pod, {answer.feasible, slots, &cluster_.state().columns()});
  if (!status.ok()) {
    answer.error = status.error;
    answer.failed = "pre_score";
  }
  if (status.ok() && !answer.cycle->skip_score.test(index_)) take(Part::kScore);
  return answer;
}

std::string Plugin::text(Part part, const Said& said) const {
  if (part == Part::kScore) return "score " + std::to_string(said.value);
  const std::string code = code_name(static_cast<int32_t>(said.value));
  return said.reason == 0 ? code : code + " (" + cluster_.reason_text(said.reason) + ")";
}

}  // namespace plimsoll::lint
