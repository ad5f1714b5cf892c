#pragma once
// One scheduling cycle for people: PreFilter, Filter and Score of one pod over all nodes, with
// every verdict and every score kept. It changes nothing: no Reserve, no PostFilter, and the state
// that plugins keep is only read.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "framework/cluster/cluster_state.hpp"
#include "framework/cycle/explain.hpp"
#include "framework/cycle/nominator.hpp"
#include "framework/runtime/framework.hpp"

namespace plimsoll {

struct PlacementQuestion {
  Framework& framework;
  const ClusterState& cluster;
  const Nominator& nominator;
  const ReasonTable& reasons;
  PodRef pod;      // as it would be tried: without a node
  PodRef on_node;  // the same pod with the node it has, which is looked at without it; null: none
  size_t texts_per_reason;
  // When a node was last chosen, by slot: among nodes of equal score the lowest wins.
  std::function<uint64_t(uint32_t)> last_chosen;
};

// Scheduler loop only. Takes about as long as one attempt that is decided without any cache, and
// the plugins' own words on top.
[[nodiscard]] PlacementReport report_placement(const PlacementQuestion& question);

}  // namespace plimsoll
