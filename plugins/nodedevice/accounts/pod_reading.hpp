#pragma once
// What of a Pod object concerns its devices, and whether a change of a pod concerns them: the
// ground of sign() and of the requeue hints. Any thread that may read the objects.

#include <array>
#include <optional>
#include <plimsoll/plugin.hpp>
#include <string>
#include <vector>

#include "plugins/nodedevice/requests/device_hints.hpp"
#include "plugins/nodedevice/requests/device_request.hpp"

namespace plimsoll::devices {

inline constexpr std::string_view kIsolationLabel = "koordinator.sh/gpu-isolation-provider";

// "namespace/name".
[[nodiscard]] inline std::string full_name(sdk::Pod pod) {
  return std::string(pod.ns()) + "/" + std::string(pod.name());
}

// What a pod asks for of devices, under whatever name, as the pure parts take it: what a container
// asks for by two names is there once (second_names.hpp). Valid as long as the pod.
[[nodiscard]] std::vector<ResourceQuantity> requests_of(const DeviceTypes& types, sdk::Pod pod);

// What each of its containers that ask for devices asks for; empty: containers need not be told
// apart, for fewer than two ask, or none says how much of each device.
[[nodiscard]] std::vector<ContainerRequests> containers_of(const DeviceTypes& types, sdk::Pod pod);

[[nodiscard]] bool asks_for_devices(const DeviceTypes& types, sdk::Pod pod);

// What its annotations say of how devices are chosen; nothing: that cannot be read.
[[nodiscard]] std::optional<DeviceHints> hints_of(const DeviceTypes& types, sdk::Pod pod);

// What else of the pod's object decides which devices it may get, as texts: annotations and labels.
[[nodiscard]] std::array<std::string_view, 5> wishes_of(sdk::Pod pod);

// Everything about the pod's own object that decides what it may get: equal texts, equal wishes.
[[nodiscard]] std::string asked_by(const DeviceTypes& types, sdk::Pod pod);

// A pod that waits was updated. Most updates are conditions that the scheduler itself writes: those
// must not wake it, or each refusal would bring about the next attempt.
[[nodiscard]] bool asks_otherwise(const DeviceTypes& types, const plimsoll_event& event);

// A pod with a node was updated: it may have given devices back.
[[nodiscard]] bool holds_otherwise(const DeviceTypes& types, const plimsoll_event& event);

}  // namespace plimsoll::devices
