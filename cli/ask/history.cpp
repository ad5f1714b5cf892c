#include "cli/ask/history.hpp"

#include <plimsoll/join.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace plimsoll::cli {
namespace {

using nlohmann::json;

struct Total {
  std::string resource;
  size_t nodes = 0;  // that have it
  double used = 0, allocatable = 0;
};

json totals_of(const StateSnapshot& snapshot) {
  std::vector<Total> totals;
  for (const std::string& name : snapshot.resource_names) totals.push_back({name});
  for (const StateSnapshot::Node& node : snapshot.nodes) {
    for (size_t i = 0; i < std::min(totals.size(), node.allocatable.size()); ++i) {
      if (node.allocatable[i] <= 0) continue;
      ++totals[i].nodes;
      totals[i].allocatable += static_cast<double>(node.allocatable[i]);
      if (i < node.requested.size()) totals[i].used += static_cast<double>(node.requested[i]);
    }
  }
  std::ranges::stable_sort(totals, std::greater<>(), &Total::nodes);
  json out = json::object();
  for (const Total& total : totals) {
    if (total.nodes == 0 || out.size() == History::kMostResources) break;
    out[total.resource] = {{"used", total.used}, {"allocatable", total.allocatable}};
  }
  return out;
}

}  // namespace

void History::take(const StateSnapshot& snapshot, int64_t now_ms) {
  if (!snapshot.synced || snapshot.standby) return;
  int64_t longest_ms = 0;
  std::map<std::string, size_t> refused_by;
  for (const StateSnapshot::QueuedPod& pod : snapshot.queued) {
    longest_ms = std::max(longest_ms, pod.waiting_ms);
    const std::set<std::string> plugins(pod.rejected_by.begin(), pod.rejected_by.end());
    for (const std::string& plugin : plugins) ++refused_by[plugin];
  }
  const json sample{{"at", now_ms},
                    {"waiting", snapshot.queued.size()},
                    {"longest", static_cast<double>(longest_ms) / 1000},
                    {"refusedBy", refused_by},
                    {"totals", totals_of(snapshot)}};
  std::string text = sample.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::lock_guard lock(mutex_);
  samples_.push_back(std::move(text));
  if (samples_.size() > kMostSamples) samples_.pop_front();
}

std::string History::samples_json() const {
  const std::lock_guard lock(mutex_);
  return R"({"samples":[)" + sdk::join(samples_, ",") + "]}";
}

}  // namespace plimsoll::cli
