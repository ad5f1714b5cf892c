#pragma once
// Why a node has no devices for a pod, for people. Pure; any thread.

#include <string>

#include "plugins/nodedevice/allocator.hpp"

namespace plimsoll::devices {

// For each device type that is asked for, how many devices are wanted and how many there are, and
// for each device what keeps it from being one of them:
//   gpu: 2 wanted, 1 short: of 2 devices 1 fits
//     minor 0: has koordinator.sh/gpu-core 40 free, 100 wanted
std::string explain_devices(const DeviceTypes& types, const NodeState& node,
                            const PodDemand& demand);

}  // namespace plimsoll::devices
