#pragma once
// The Device object of a node (scheduling.koordinator.sh/v1alpha1, as plugins/nodedevice reads it)
// from what was found and from the object that was published before. Pure; any thread.

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/devices/device_finder.hpp"
#include "node/kubelet/state_files.hpp"
#include "plugins/nodedevice/devices/device_object.hpp"

namespace plimsoll::node {

// Says that the node's runtime has a plugin which gives containers their devices.
using devices::kHookAnnotation;

// What pods of the node hold: by type and minor (their annotations), and by id (the kubelet).
struct DevicesInUse {
  std::set<std::pair<std::string, int>> minors;
  std::set<std::string> ids;

  // Adds what a pod's annotation device-allocated names. Returns whether it names a device.
  bool add_annotation(const std::string& text);
};

using NamedDevices = std::map<std::string, std::shared_ptr<const DevicesInUse>>;  // by pod's UID

struct DeviceReport {
  nlohmann::json devices;  // spec.devices
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;  // empty text: it is taken away
  std::vector<std::string> problems;
};

// A device keeps the minor by which it was published, however the others come and go; one without
// gets the lowest that is free. One that is gone is reported unhealthy (reason Gone) while a pod
// holds it, and then no more. What cannot be read of a device now is as it was published. `now`: in
// RFC 3339.
[[nodiscard]] DeviceReport report_devices(const FoundDevices& found,
                                          const nlohmann::json& published,
                                          const DevicesInUse& in_use, const std::string& now);

// node.koordinator.sh/devices-checkpoints: what the kubelet has given to pods. `held`: its entries
// that count. Left out are those of which the pod's annotation (`named`) says each device, and
// those whose devices are not all in `devices`. Empty: there are none.
[[nodiscard]] std::string checkpoint_text(const std::vector<DeviceState::Entry>& held,
                                          const NamedDevices& named, const FoundDevices& found,
                                          const nlohmann::json& devices);

// What a node has of each resource for pods: the sum over spec.devices; 0 if none that has it is
// healthy.
[[nodiscard]] Amounts node_resources(const nlohmann::json& devices);

}  // namespace plimsoll::node
