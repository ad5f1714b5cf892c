#pragma once
// The topology manager's merge: one list of hints per resource in, one affinity out
// (policy.go: filterProvidersHints, HintMerger).
//
// The kubelet walks the cross product of all lists. Its comparison of candidates is a total order,
// so the outcome depends only on which candidates exist: a mask that every list prefers, else the
// masks reachable by intersecting one hint of each list. Those are found without the cross
// product, at a cost of lists x zones x 2^zones at most. Pure; any thread with a scratch of its
// own.

#include <cstdint>
#include <span>
#include <vector>

#include "plugins/topology/kubelet/node.hpp"

namespace plimsoll::topology::kubelet {

struct Hint {
  ZoneMask mask = 0;
  bool any = false;  // no NUMA affinity (nil in the kubelet); mask says nothing then
  bool preferred = false;

  static Hint anywhere(bool preferred) { return {0, true, preferred}; }
  bool operator==(const Hint& other) const {
    return any == other.any && preferred == other.preferred && (any || mask == other.mask);
  }
};

// A provider's hints for one resource.
struct HintList {
  bool no_preference = false;  // nil: any zone is as good
  std::vector<Hint> hints;     // empty and not no_preference: not available
};

struct Affinity {
  Hint hint;
  bool admit = false;
};

// Up to this number of zones (named in any hint) the result is exact for all lists. Above it, a
// mask that all lists prefer is still found; without one, the affinity is all zones once there are
// too many reachable masks. Kubelets refuse to start with more than 8 zones unless
// max-allowable-numa-nodes allows it.
inline constexpr uint32_t kExactZones = 12;

// Memory that calls reuse. One per thread.
struct MergeScratch {
  std::vector<uint32_t> seen;
  std::vector<int64_t> reached;
  std::vector<int64_t> list;
  std::vector<ZoneMask> masks;
  std::vector<ZoneMask> other;
  std::vector<ZoneMask> next;
};

// The model provides policy, prefer-closest-numa-nodes, zones and distances. Hints name only zones
// of the model; masks of 0 count as none.
[[nodiscard]] Affinity merge(const NodeModel& model, std::span<const HintList> lists,
                             MergeScratch& scratch);

// bitmask.IsNarrowerThan and its refinements: whether `a` is preferred to `b` of the same kind.
// Fewer zones win, then (by_distance) the smaller average distance, then the lower mask.
[[nodiscard]] bool is_fitter(const NodeModel& model, ZoneMask a, ZoneMask b, bool by_distance);

}  // namespace plimsoll::topology::kubelet
