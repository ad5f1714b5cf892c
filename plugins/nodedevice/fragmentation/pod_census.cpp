#include "plugins/nodedevice/fragmentation/pod_census.hpp"

#include <tuple>

namespace plimsoll::devices {
namespace {

constexpr int kCoveredPercent = 95;
constexpr uint64_t kStillShare = 20;

}  // namespace

bool PodCensus::Less::operator()(const TypicalPod& a, const TypicalPod& b) const {
  return std::tie(a.gpus, a.gpu_milli, a.cpu_milli, a.models) <
         std::tie(b.gpus, b.gpu_milli, b.cpu_milli, b.models);
}

void PodCensus::erase(std::unordered_map<std::string, Record>::iterator it) {
  if (it->second.waiting) waiting_.erase(*it->second.waiting);
  if (--it->second.kind->second == 0) kinds_.erase(it->second.kind);
  pods_.erase(it);
}

void PodCensus::put(std::string_view uid, TypicalPod pod, bool waiting) {
  pod.weight = 1;
  std::string key(uid);
  if (const auto it = pods_.find(key); it != pods_.end()) {
    Record& known = it->second;
    const bool same = known.kind->first == pod;
    if (waiting && !known.waiting) return;  // it has a node: that counts
    if (same && waiting) {
      waiting_.splice(waiting_.end(), waiting_, *known.waiting);
      return;
    }
    if (same) {
      if (known.waiting) waiting_.erase(*known.waiting);
      known.waiting.reset();
      return;
    }
    erase(it);
  }
  auto kind = kinds_.find(pod);
  if (kind == kinds_.end()) {
    if (kinds_.size() >= kMaxKinds) return;
    kind = kinds_.emplace(std::move(pod), 0).first;
  }
  ++kind->second;
  ++changes_;
  Record record{kind, {}};
  if (waiting) record.waiting = waiting_.insert(waiting_.end(), key);
  pods_.emplace(std::move(key), record);
  if (waiting_.size() > kMaxWaiting) erase(pods_.find(waiting_.front()));
}

void PodCensus::waits(std::string_view uid, TypicalPod pod) {
  put(uid, std::move(pod), true);
}

void PodCensus::assigned(std::string_view uid, TypicalPod pod) {
  put(uid, std::move(pod), false);
}

void PodCensus::gone(std::string_view uid) {
  const auto it = pods_.find(std::string(uid));
  if (it == pods_.end()) return;
  ++changes_;
  erase(it);
}

std::optional<std::vector<TypicalPod>> PodCensus::changed_mix() {
  if (taken_ && (changes_ == 0 || changes_ * kStillShare < pods_.size())) return std::nullopt;
  taken_ = true;
  changes_ = 0;
  std::vector<TypicalPod> all;
  all.reserve(kinds_.size());
  for (const auto& [kind, count] : kinds_) {
    all.push_back(kind);
    all.back().weight = count;
  }
  std::vector<TypicalPod> mix = GpuMix::most_popular(std::move(all), kCoveredPercent);
  if (mix.size() > kMaxTypical) mix.resize(kMaxTypical);
  return mix;
}

}  // namespace plimsoll::devices
