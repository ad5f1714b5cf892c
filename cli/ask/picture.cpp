#include "cli/ask/picture.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <ranges>
#include <utility>

#include "cli/ask/cluster_use.hpp"

namespace plimsoll::cli {

using nlohmann::json;

std::optional<StateChoice> Picture::question(int64_t now_ms,
                                             const std::vector<std::string>& first) {
  const std::lock_guard lock(asking_);
  if (now_ms - requested_ms_ > kForgottenMs) mark_.reset();
  requested_ms_ = now_ms;
  for (const std::string& name : first | std::views::take(kMostOfPage))
    if (!name.empty() && first_.size() < kMostFirst) first_.insert(name);
  if (under_way_ || (mark_ && now_ms - asked_ms_ < kSoonestMs)) return std::nullopt;
  StateChoice choice{.plugins = true, .strays = false, .queue = false, .kinds = false};
  if (mark_) {
    const double us = static_cast<double>(now_ms - asked_ms_) * 1e3 * kLoopShare;
    const double allowed_us = std::min(allowed_us_ + us, kMostSavedMs * 1e3 * kLoopShare);
    if (allowed_us <= 0) return std::nullopt;
    allowed_us_ = allowed_us;
    choice.most = 1 + static_cast<size_t>(allowed_us_ * told_nodes_ / std::max(1.0, told_us_));
    choice.since = mark_;
  }
  asked_ms_ = now_ms;
  choice.first.assign(first_.begin(), first_.end());
  first_.clear();
  under_way_ = true;
  return choice;
}

void Picture::arrived(StateSnapshot said, int64_t now_ms) {
  const std::lock_guard lock(asking_);
  const auto took = static_cast<double>(said.took_us);
  if (said.changes_only) allowed_us_ -= took;
  if (!said.nodes.empty()) {
    told_us_ = 0.9 * told_us_ + took;
    told_nodes_ = 0.9 * told_nodes_ + static_cast<double>(said.nodes.size());
  }
  mark_ = said.mark;
  under_way_ = false;
  known_ = true;
  arrived_.push_back({std::move(said), now_ms});
}

bool Picture::known() const {
  const std::lock_guard lock(asking_);
  return known_;
}

void Picture::forget(int64_t now_ms) {
  std::vector<Arrived> arrived;  // freed when the loop may have the lock again
  std::map<std::string, Node> nodes;
  const std::scoped_lock lock(asking_, drawing_);
  if (under_way_ || now_ms - requested_ms_ <= kForgottenMs) return;
  mark_.reset();
  known_ = false;
  arrived.swap(arrived_);
  nodes.swap(nodes_);
  begin_ = version_ + 1;  // no state from before is of the next picture
  all_ = {};
  untold_ = {};
}

void Picture::merge(const Arrived& arrived) {
  const StateSnapshot& said = arrived.said;
  ++version_;
  if (nodes_.empty()) begin_ = version_;
  standby_ = said.standby;
  std::map<std::string, std::string> texts = use_of_nodes(said);
  std::optional<std::vector<std::string>> all = said.names;
  if (!said.changes_only) {
    all.emplace();
    for (const auto& [name, text] : texts) all->push_back(name);
  }
  if (all) {
    std::ranges::sort(*all);
    if (*all != all_) names_ = version_;
    all_ = std::move(*all);
    std::erase_if(
        nodes_, [this](const auto& node) { return !std::ranges::binary_search(all_, node.first); });
  }
  for (auto& [name, text] : texts) {
    Node& node = nodes_[name];
    if (node.text != text) node = {std::move(text), version_};
  }
  std::unordered_map<uint32_t, int64_t> untold;
  for (const uint32_t slot : said.mark.untold) {
    const auto before = untold_.find(slot);
    untold.emplace(slot, before == untold_.end() ? drawn_ms_ : before->second);
  }
  untold_ = std::move(untold);
  drawn_ms_ = arrived.at_ms;
}

std::optional<uint64_t> Picture::version_of(std::string_view state) const {
  if (!state.starts_with(era_)) return std::nullopt;
  state.remove_prefix(era_.size());
  uint64_t version = 0;
  const auto read = std::from_chars(state.data(), state.data() + state.size(), version);
  if (read.ec != std::errc() || read.ptr != state.data() + state.size()) return std::nullopt;
  return version < begin_ || version > version_ ? std::nullopt : std::optional(version);
}

std::string Picture::answer(std::string_view since, int64_t now_ms) {
  const std::lock_guard lock(drawing_);
  std::vector<Arrived> fresh;
  {
    const std::lock_guard asking(asking_);
    fresh = std::exchange(arrived_, {});
  }
  try {
    for (const Arrived& each : fresh) merge(each);
  } catch (...) {  // what was lost comes with the next picture, a whole one
    const std::lock_guard asking(asking_);
    mark_.reset();
    throw;
  }
  const std::optional<uint64_t> version = version_of(since);
  int64_t oldest_ms = drawn_ms_;
  for (const auto& [slot, as_of_ms] : untold_) oldest_ms = std::min(oldest_ms, as_of_ms);
  json head{{"standby", standby_},
            {"state", era_ + std::to_string(version_)},
            {"behind", untold_.size()},
            {"drawn", static_cast<double>(std::max<int64_t>(0, now_ms - drawn_ms_)) / 1000},
            {"age", static_cast<double>(std::max<int64_t>(0, now_ms - oldest_ms)) / 1000}};
  if (version) head["changes"] = true;
  if (version && names_ > *version) head["names"] = all_;
  std::string out = head.dump(-1, ' ', false, json::error_handler_t::replace);
  out.back() = ',';  // instead of its end
  out += R"("nodes":[)";
  const char* comma = "";
  for (const auto& [name, node] : nodes_) {
    if (version && node.version <= *version) continue;
    out.append(comma).append(node.text);
    comma = ",";
  }
  return out + "]}";
}

}  // namespace plimsoll::cli
