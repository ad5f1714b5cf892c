#pragma once
// Chooses among sets of whole devices by how they are linked (private to the allocator).

#include <functional>

#include "plugins/nodedevice/allocation/device_choice.hpp"

namespace plimsoll::devices {

// Links have a say: some sets are better linked than others, and each of `candidates` would be
// taken as a whole.
[[nodiscard]] bool links_decide(const DeviceType& type, const TypeState& state,
                                const TypeLinks* links, const Want& want,
                                const Positions& candidates);

// How good a set of devices is for its pod, and what it leaves to others. Greater is better; the
// first that differs decides.
struct LinkRank {
  int64_t ring = 0;        // the slowest link of the set's fastest ring
  int64_t pairs = 0;       // all its links together
  int64_t left = 0;        // LinkGraph::offer of the devices that nobody uses then
  int64_t left_pairs = 0;  // all links among these together

  auto operator<=>(const LinkRank&) const = default;
};

// Of a graph that is exact. `minors` that the node has.
[[nodiscard]] LinkRank rank_by_links(const TypeState& state, const TypeLinks& links,
                                     const std::vector<int32_t>& minors);

// `want.count` of `candidates` (by minor), not further apart than the scope of `want`, and only a
// set that `accepts` takes (empty: any): the one of the highest rank. Among equals, the set whose
// members come first in `order`, which has the same devices as `candidates`; if it is empty, the
// order is that of choose_by_topology. Empty: there is none.
//
// Every set is looked at, of 16 devices at most 12,870. A graph of more than 16 devices is not
// exact: there a set is grown from each candidate by the best linked next one, and the sets so
// found are compared by the sum of their links; a single device is the one with the slowest links
// to the others that nobody uses. With `accepts`, such a set may be missed.
[[nodiscard]] Positions choose_by_links(const TypeState& state, const TypeLinks& links,
                                        const Want& want, const Positions& candidates,
                                        const Positions& order,
                                        const std::function<bool(const Positions&)>& accepts = {});

}  // namespace plimsoll::devices
