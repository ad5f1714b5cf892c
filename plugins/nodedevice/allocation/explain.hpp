#pragma once
// Why a node has no devices for a pod, for people. Pure; any thread.

#include <string>

#include "plugins/nodedevice/allocation/allocator.hpp"

namespace plimsoll::devices {

// For each device type that is asked for, how many devices are wanted and how many there are, and
// for each device what keeps it from being one of them:
//   gpu: 2 wanted, 1 short: of 2 devices 1 fits
//     minor 0: has koordinator.sh/gpu-core 40 free, 100 wanted
// The same for each container, if each asks for itself ("gpu of container a: ..."), and where each
// finds enough, whether all of them do.
std::string explain_devices(const DeviceTypes& types, const NodeState& node,
                            const PodDemand& demand);

// Of devices that would be given and whose links decided, how they are linked:
//   gpu 0 3: the fastest ring through them has 50Gi/s, all their links 50Gi/s; to others they leave
//   links of 200Gi/s
// (one line). Empty: links had no say.
std::string explain_links(const DeviceTypes& types, const NodeState& node,
                          const Allocation& chosen);

}  // namespace plimsoll::devices
