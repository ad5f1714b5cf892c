#pragma once
// The CPUs that the static policy allocates (cpu_assignment.go): takeByTopologyNUMAPacked, and
// takeByTopologyNUMADistributed with distribute-cpus-across-numa. Pure; any thread.

#include <cstdint>
#include <vector>

#include "plugins/topology/kubelet/cpu_layout.hpp"
#include "plugins/topology/kubelet/node.hpp"

namespace plimsoll::topology::kubelet {

// Takes `count` of `available` into `taken`, by the managers' options; false if there are too few.
// `available` lies within the layout. Whole zones first, then sockets, [uncore caches,] cores, then
// single CPUs; among equals those that leave the least behind, then the lowest id.
[[nodiscard]] bool take_cpus(const CpuLayout& layout, const Managers& managers,
                             const CpuSet& available, int64_t count, CpuSet& taken);

// takeByTopologyNUMAPacked alone.
[[nodiscard]] bool take_packed(const CpuLayout& layout, bool spread_over_cores, bool align_uncore,
                               const CpuSet& available, int64_t count, CpuSet& taken);

// takeByTopologyNUMADistributed: an even split over as few zones as possible, the one that leaves
// the zones most alike. Threads of a core are never split with full-pcpus-only. With
// align-by-socket since 1.37, zones of one socket come before others, and where a zone cannot carry
// its even share, all carry less. With four zones, or six and more, the kubelet mixes up zones that
// it compared: so does this.
[[nodiscard]] bool take_distributed(const CpuLayout& layout, const Managers& managers,
                                    const CpuSet& available, int64_t count, CpuSet& taken);

// The same if only counts per column are known: whole zones first, then zones with the least left,
// the lowest first. Adds to `taken`; `available` is limited to the allowed zones already.
[[nodiscard]] bool take_counts(const NodeModel& model, std::span<const int64_t> available,
                               int64_t count, std::span<int64_t> taken);

}  // namespace plimsoll::topology::kubelet
