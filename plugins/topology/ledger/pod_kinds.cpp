#include "plugins/topology/ledger/pod_kinds.hpp"

#include <utility>

#include "plugins/topology/base/mix.hpp"
#include "plugins/topology/possible/arrival.hpp"

namespace plimsoll::topology {
namespace {

uint64_t hash_of(const kubelet::PodDemand& pod) {
  uint64_t hash = pod.containers.size() * 4 + (pod.guaranteed ? 2 : 0) + (pod.pod_level ? 1 : 0);
  const auto add = [&](const kubelet::Needs& needs) {
    for (const kubelet::Need& need : needs) {
      hash = mix(mix(hash, need.resource), static_cast<uint64_t>(need.amount));
    }
  };
  for (const kubelet::ContainerDemand& container : pod.containers) {
    hash = mix(hash, static_cast<uint64_t>(container.cpu_milli));
    add(container.memory);
    add(container.devices);
  }
  return hash;
}

}  // namespace

PodKind::PodKind(const plimsoll_pod& pod) : request(pod), inquiry(pod) {
  request.keep_names(names);
  if (request.has_pinned) kept = std::make_shared<const PodRequest>(request.without_views());
}

std::shared_ptr<PodKind> PodKinds::of(const plimsoll_pod& pod) {
  return kinds_.of(pod, [this](const plimsoll_pod& first) {
    auto kind = std::make_shared<PodKind>(first);
    if (kind->inquiry.matters()) share_demand(kind->inquiry.demand);
    return kind;
  });
}

// Pods that differ only in names share their PodDemand.
void PodKinds::share_demand(std::shared_ptr<const kubelet::PodDemand>& demand) {
  const uint64_t hash = hash_of(*demand);
  const auto [begin, end] = demands_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    auto known = at->second.lock();
    if (!known || !same_demand(*known, *demand)) continue;
    demand = std::move(known);
    return;
  }
  demands_.emplace(hash, demand);
  if (demands_.size() > sweep_at_) {
    std::erase_if(demands_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = 2 * demands_.size() + 1024;
  }
}

}  // namespace plimsoll::topology
