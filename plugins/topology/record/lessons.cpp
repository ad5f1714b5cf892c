#include "plugins/topology/record/lessons.hpp"

#include <algorithm>
#include <functional>

#include "plugins/topology/possible/arrival.hpp"
#include "plugins/topology/record/node_record.hpp"

namespace plimsoll::topology {
namespace {

constexpr size_t kMaxRefusals = 8;  // remembered per node
// A kubelet that was reconfigured without its node being drained is tried again after that long,
// and so is one that refused for what no report shows.
constexpr int64_t kWholeCoresMs = 3'600'000;
constexpr int64_t kRefusalMs = 600'000;

bool asks_for_half_cores(const kubelet::PodDemand& pod) {
  return pod.guaranteed &&
         std::any_of(pod.containers.begin(), pod.containers.end(),
                     [](const auto& container) { return container.whole_cpus() % 2 != 0; });
}

}  // namespace

void Lessons::stop(int64_t now_ms) {
  stopped_ms_ = std::max<int64_t>(1, now_ms);
}

// full-pcpus-only is not in the counts; a kubelet that minds odd numbers has two threads per core
// or more. Whatever else a kubelet minds, it will mind again as long as nothing comes free: without
// that a workload's pods would be bound and refused there one after the other.
void Lessons::learn(const NodeReport& report,
                    const std::shared_ptr<const kubelet::PodDemand>& refused, bool whole_cores,
                    int64_t now_ms) {
  if (report.exact || !refused) return;
  if (whole_cores && !report.state.knows_cpus() && asks_for_half_cores(*refused)) {
    whole_cores_ms_ = now_ms;
    return;
  }
  if (refusals_.size() == kMaxRefusals) refusals_.erase(refusals_.begin());
  refusals_.push_back({refused, {}, now_ms});
}

Verdict Lessons::verdict(const kubelet::PodDemand& pod) const {
  if (whole_cores_ms_ != 0 && asks_for_half_cores(pod)) return Verdict::kNotWholeCores;
  const bool refused = std::any_of(refusals_.begin(), refusals_.end(), [&](const Refusal& refusal) {
    return same_demand(*refusal.demand, pod);
  });
  return refused ? Verdict::kUncertain : Verdict::kFits;
}

// What is available by the first report after a refusal is too little; one that shows more in some
// zone ends it. Facts say themselves what a kubelet minds.
bool Lessons::unlearn(const NodeReport& report) {
  stopped_ms_ = 0;
  bool unlearned = whole_cores_ms_ != 0 && report.state.knows_cpus();
  if (unlearned) whole_cores_ms_ = 0;
  if (refusals_.empty()) return unlearned;
  const plimsoll_numa_node& zones = report.zones.view();
  const int64_t* available = report.zones.available();
  const std::vector<int64_t> now(available,
                                 available + size_t{zones.zone_count} * zones.resource_count);
  unlearned |=
      std::erase_if(refusals_, [&](Refusal& refusal) {
        if (report.exact) return true;
        if (refusal.available.empty()) refusal.available = now;
        const std::vector<int64_t>& then = refusal.available;
        return !std::equal(now.begin(), now.end(), then.begin(), then.end(), std::less_equal<>());
      }) > 0;
  return unlearned;
}

int64_t Lessons::due_ms() const {
  int64_t due = stopped() ? stopped_ms_ + kDoubtMs : INT64_MAX;
  if (whole_cores_ms_ != 0) due = std::min(due, whole_cores_ms_ + kWholeCoresMs);
  for (const Refusal& refusal : refusals_) due = std::min(due, refusal.ms + kRefusalMs);
  return due;
}

void Lessons::pass_time(int64_t now_ms) {
  if (stopped() && stopped_ms_ + kDoubtMs <= now_ms) stopped_ms_ = 0;
  if (whole_cores_ms_ != 0 && whole_cores_ms_ + kWholeCoresMs <= now_ms) whole_cores_ms_ = 0;
  std::erase_if(refusals_,
                [&](const Refusal& refusal) { return refusal.ms + kRefusalMs <= now_ms; });
}

}  // namespace plimsoll::topology
