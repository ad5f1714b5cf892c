#pragma once
// On what InterPodAffinity's word about a node rests beyond the node, as a number: so that like
// preemptors share dry runs (framework/runtime/plugin/dry_run_keeper.hpp) although it looks at
// other nodes.

#include <plimsoll/plugin.hpp>

#include <cstdint>
#include <span>

namespace plimsoll::builtin {

// The plugin publishes it as a service. Any instance answers for the cycles of all. Loop only.
class AffinityBasis {
 public:
  static constexpr const char* kService = "plimsoll.inter-pod-affinity-basis";

  virtual ~AffinityBasis() = default;
  // After PreFilter, not within a what-if. If two pods have equal numbers for a node, Filter says
  // the same of both there, with and without these nominated pods, whichever of the node's own pods
  // RemovePod takes away, as long as no change of the node is logged.
  [[nodiscard]] virtual uint64_t of(const plimsoll_cycle& cycle, sdk::Pod pod, sdk::Node node,
                                    std::span<const sdk::Pod> nominated) const = 0;
};

}  // namespace plimsoll::builtin
