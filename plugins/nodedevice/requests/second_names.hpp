#pragma once
// Other names (SameHardware) under which a container asks for what it asks for anyway: a device
// plugin may want a name of its own beside the one by which devices are given here, and an amount
// belongs to the devices beside it. Told container by container: what one container asks for is
// other hardware than what another asks for. Pure; any thread.

#include <span>
#include <vector>

#include "plugins/nodedevice/requests/container_parts.hpp"

namespace plimsoll::devices {

// Takes what is a second name in its container out of the pod's requests. `containers` are in the
// order of the pod, init containers first. What no container explains stays.
void leave_out_second_names(const DeviceTypes& types, std::span<const ContainerRequests> containers,
                            std::vector<ResourceQuantity>& requests);

}  // namespace plimsoll::devices
