#pragma once
// Device types from the plugin's args: a new kind of device is a few lines of a profile, not code.
// Pure.

#include <vector>

#include "plugins/nodedevice/devices/device_types.hpp"

namespace plimsoll::sdk {
class Args;
}

namespace plimsoll::devices {

// Reads the field `deviceTypes`, a list, on top of `types`: an entry with a new name is a new type,
// one with a known name adds resources and combinations to it. Two forms:
//
//   {name: dpu, resource: example.com/dpu}      # asked for in hundredths of a device, like rdma
//
//   name: gpu                                   # as in the Device object's spec.devices[].type
//   resources: [example.com/lanes]              # what such a device reports
//   combinations:                               # what a pod may ask for together
//   - requests: [example.com/gpu]
//     count: {kind: Value, of: example.com/gpu} # or One (the default), Hundreds
//     amounts:                                  # default: each request that is a resource, as it
//     is
//     - {resource: example.com/lanes, of: example.com/gpu, factor: 16}   # perDevice: true: of each
//     checks:
//     - {of: example.com/gpu, atMost: 4}        # or percent: true, or multipleOf: <request>
//   memory: {bytes: <resource>, percent: <resource>}   # two measures of the same thing
//   topologyAware: true                         # several are chosen close together
//   sameHardware:                               # other names of it; takes the place of what there
//   is
//     devices: [example.com/slice-*]            # of which n are n devices at most
//     amounts: [example.com/hbm-*]              # that say nothing of how many
//     claims: true                              # pods' resource claims may be for such devices
void read_device_types(sdk::Args& args, std::vector<DeviceType>& types);

}  // namespace plimsoll::devices
