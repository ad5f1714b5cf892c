#pragma once
// The annotation scheduling.koordinator.sh/device-allocated: which devices a pod was given. It is
// the only durable record of an allocation, and what Koordinator's node agent reads. Pure; any
// thread.

#include <string>
#include <string_view>
#include <vector>

#include "plugins/nodedevice/accounts/node_state.hpp"
#include "plugins/nodedevice/text/problem_list.hpp"

namespace plimsoll::devices {

inline constexpr std::string_view kAllocatedAnnotation =
    "scheduling.koordinator.sh/device-allocated";

// {"gpu":[{"minor":1,"resources":{...},"id":"GPU-.."}]}, types and minors in ascending order, so
// that the same allocation always gives the same text. Ids come from the node's Device object.
[[nodiscard]] std::string write_allocation(const DeviceTypes& types, const Allocation& allocation,
                                           const NodeState& node);

// What can be read of an annotation. It is bounded by what its pod asks for before it counts
// (entitlement.hpp).
struct ReadAllocation {
  Allocation shares;      // no minor of a type twice; `whole`: its virtual functions cannot be read
  uint32_t left_out = 0;  // bit t: it names devices of type t, which was not wanted
  ProblemList problems;   // each names the place that is wrong
};
// Bit t of `wanted`: what it says about type t is read.
[[nodiscard]] ReadAllocation read_allocation(const DeviceTypes& types, std::string_view text,
                                             uint32_t wanted = UINT32_MAX);

}  // namespace plimsoll::devices
