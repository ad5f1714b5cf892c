#pragma once
// What zones get back when pods go, if nobody knows for sure which zones those pods hold.
//
// A report says how much of each zone is in use, not by whom. Of the pods that it counts some have
// been located (a report changed by exactly their amounts, where they were predicted); the others,
// and what is used by nobody known, are somewhere. Two things can still be said for sure:
//   - what a zone has in use and neither the pods that stay nor the unknown can account for comes
//     free, wherever the pods are;
//   - each container that goes (scope pod: each pod) lies in one zone that has that much in use.
//     There are only so many ways to lay them out; what fits in each of them fits.
// A prediction that no report has confirmed is not relied on: pods bound at the same moment may
// have changed places.
//
// The second rule is for policies that demand alignment; under the others containers may lie
// anywhere. Pure; any thread.

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "plugins/topology/ledger_service.h"
#include "plugins/topology/pod_request.hpp"

namespace plimsoll::topology {

// So many ways to lay out what goes, and so many containers, are looked at; with more, only the
// first rule counts. Preemption asks for every victim of every candidate node.
inline constexpr size_t kMaxLayouts = 128;
inline constexpr size_t kMaxUnits = 12;

// What one zone holds as a whole: (row of the node, amount).
struct ReleasedUnit {
  std::vector<std::pair<uint32_t, int64_t>> amounts;
  friend auto operator<=>(const ReleasedUnit&, const ReleasedUnit&) = default;
};

// A node whose pods go. Cells and rows as in plimsoll_numa_node; `node` outlives it.
class Release {
 public:
  // Begins as the node is, `available` being what the report says.
  Release(const plimsoll_numa_node& node, const int64_t* available);

  // Of a pod that goes and is known to hold this: it is free then. `reported`: the report counts it
  // as in use; if not, it was only promised.
  void free_at(uint32_t resource, uint32_t zone_id, int64_t amount, bool reported);
  // Of a pod that stays: the report counts it there.
  void keep_at(uint32_t resource, uint32_t zone_id, int64_t amount);
  // Of what is free already although the report counts it: a located pod that went away.
  void forgive_at(uint32_t resource, uint32_t zone_id, int64_t amount);
  // A pod that the report counts, in zones that are not known.
  void free_somewhere(const PodRequest& pod);
  void keep_somewhere(const PodRequest& pod);
  // The report is not one to draw conclusions from: what is somewhere stays where it is.
  void give_up() { uncertain_ = true; }

  // How what goes may lie.
  enum class Lay : uint8_t {
    kInOneZone,  // each container (scope pod: each pod) as the policies that align have it
    kAnywhere,   // spread over any zones: only the first rule counts
    kWherever    // the same, but the question is about sums over all zones: any place will do
  };
  void lay(Lay how) { lay_ = how; }

  // Whether `fits` holds of the node afterwards, whatever the truth is. Calls it with the node as
  // it will surely be at least, and if that does not do, with each way it may be; the first call is
  // always the former.
  using Fits = std::function<bool(const plimsoll_numa_node& node)>;
  [[nodiscard]] bool fits(const Fits& fits);

 private:
  using Cells = std::vector<int64_t>;
  struct Search;

  [[nodiscard]] size_t cell(uint32_t row, uint32_t column) const {
    return size_t{row} * node_.zone_count + column;
  }
  [[nodiscard]] int64_t* at(Cells& cells, uint32_t resource, uint32_t zone_id) const;
  [[nodiscard]] std::vector<ReleasedUnit> units_of(const PodRequest& pod) const;
  void forget_untracked();
  [[nodiscard]] bool adds_up();
  [[nodiscard]] bool fits_wherever(const Fits& fits) const;

  const plimsoll_numa_node& node_;
  Cells free_;
  Cells used_;      // what the report shows in use, less what goes from known places
  Cells kept_;      // of that, what is known to stay
  Cells floating_;  // by row: what stays besides, somewhere
  std::vector<ReleasedUnit> units_;
  bool uncertain_ = false;
  Lay lay_ = Lay::kInOneZone;
};

}  // namespace plimsoll::topology
