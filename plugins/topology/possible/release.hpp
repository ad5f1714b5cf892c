#pragma once
// What is freed in which zone when pods leave and it is not certain which zones they hold.
//
// A report shows how much of each zone is in use, but not by whom. Some of the pods that it counts
// have been located: one report after the other showed where they came (ledger/places.hpp). The
// zones of the others, and of unknown users, are not known. Two statements are still certain:
//   - What is in use in a zone beyond the amounts of the remaining pods and the unknown users is
//     freed, wherever the pods are.
//   - Each container that leaves (scope pod: each pod) lies in one zone that has that much in use.
//     The number of possible layouts is limited; what fits in each of them fits.
// A prediction that no report has confirmed is not used: pods bound at the same moment may have
// swapped places.
//
// The second rule is for policies that enforce alignment; under the others, containers may lie
// anywhere. Pure; any thread.

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "plugins/topology/abi/ledger_types.hpp"
#include "plugins/topology/pod/pod_request.hpp"

namespace plimsoll::topology {

// Limits on the layouts and containers that are tried; beyond them only the first rule is used.
// Preemption asks for every victim of every candidate node.
inline constexpr size_t kMaxLayouts = 128;
inline constexpr size_t kMaxUnits = 12;

// What one zone holds as a whole: (row of the node, amount).
struct ReleasedUnit {
  std::vector<std::pair<uint32_t, int64_t>> amounts;
  friend auto operator<=>(const ReleasedUnit&, const ReleasedUnit&) = default;
};

// What reports count of a pod on this node: its sidecars and app containers.
[[nodiscard]] std::vector<ReleasedUnit> released_units(const plimsoll_numa_node& node,
                                                       const PodRequest& pod);

// A node whose pods leave. Cells and rows as in plimsoll_numa_node; `node` outlives it.
class Release {
 public:
  // Starts with the node as it is; `available` is from the report.
  Release(const plimsoll_numa_node& node, const int64_t* available);

  // A leaving pod is known to hold this amount, which is freed. `reported`: the report counts it as
  // in use; if not, it was only promised.
  void free_at(uint32_t resource, uint32_t zone_id, int64_t amount, bool reported);
  // A remaining pod holds this amount, and the report counts it there.
  void keep_at(uint32_t resource, uint32_t zone_id, int64_t amount);
  // This amount is already free although the report counts it: it belonged to a located pod that
  // left.
  void forgive_at(uint32_t resource, uint32_t zone_id, int64_t amount);
  // A pod that the report counts in unknown zones.
  void free_somewhere(const PodRequest& pod);
  void keep_somewhere(const PodRequest& pod);
  // No conclusions can be drawn from the report: amounts in unknown zones stay in use.
  void give_up() { uncertain_ = true; }

  // Where the amounts that are freed may lie.
  enum class Lay : uint8_t {
    kInOneZone,  // each container (scope pod: each pod) in one zone, as aligning policies enforce
    kAnywhere,   // spread over any zones: only the first rule counts
    kWherever    // the same, for questions about sums over all zones: the zone does not matter
  };
  void lay(Lay how) { lay_ = how; }

  // Whether `fits` holds for the node afterwards, in every possible case. The first call is for the
  // least that the node will have for sure. If that is not enough, there is a call for each
  // possible layout.
  using Fits = std::function<bool(const plimsoll_numa_node& node)>;
  [[nodiscard]] bool fits(const Fits& fits);

 private:
  using Cells = std::vector<int64_t>;
  struct Search;

  [[nodiscard]] size_t cell(uint32_t row, uint32_t column) const {
    return size_t{row} * node_.zone_count + column;
  }
  [[nodiscard]] int64_t* at(Cells& cells, uint32_t resource, uint32_t zone_id) const;
  void forget_untracked();
  [[nodiscard]] bool adds_up();
  [[nodiscard]] bool fits_wherever(const Fits& fits) const;

  const plimsoll_numa_node& node_;
  Cells free_;
  Cells used_;      // in use according to the report, minus what leaves from known zones
  Cells kept_;      // the part of it that is known to stay
  Cells floating_;  // by row: what also stays, in unknown zones
  std::vector<ReleasedUnit> units_;
  bool uncertain_ = false;
  Lay lay_ = Lay::kInOneZone;
};

}  // namespace plimsoll::topology
