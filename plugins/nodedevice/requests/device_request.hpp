#pragma once
// What a pod asks of devices: its resource requests checked against the legal combinations of
// Koordinator's DeviceShare and brought into one form, an amount for each of `count` devices.
//
// A pod asks as a whole (its requests are the framework's pod requests: the greater of init
// containers and the sum of containers, plus overhead), unless several of its containers ask for a
// type, one of them by a name that says how much of each device: then each container asks for
// itself (container_parts.hpp).
// Pure: any thread, no I/O.

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nodedevice/devices/device_types.hpp"
#include "plugins/nodedevice/requests/container_parts.hpp"

namespace plimsoll::devices {

// The devices of one type that a pod asks for.
struct TypeRequest {
  int type = 0;
  Amounts total;           // what all devices together have to give
  Amounts per_device;      // what each of them has to give: total / count, rounded down;
                           // with parts: at most
  int64_t count = 1;       // how many devices
  int64_t shares = 0;      // the value of koordinator.sh/gpu.shared, 0: not asked for
  bool is_shared = false;  // part of a device: other pods may use the rest of it
  // Where containers are told apart: what each asks for, in the order in which devices are chosen,
  // at least two; otherwise empty.
  std::vector<ContainerPart> parts;

  // Fewer devices do not suffice: containers may share them, no container has one twice.
  [[nodiscard]] int64_t least_count() const {
    if (parts.empty()) return count;
    int64_t least = 0;
    for (const ContainerPart& part : parts) least = std::max(least, part.count);
    return least;
  }
  bool operator==(const TypeRequest&) const = default;
};

// Ordered by type; empty: the pod asks for no device.
struct DeviceRequest {
  std::vector<TypeRequest> types;

  [[nodiscard]] const TypeRequest* find(int type) const {
    for (const TypeRequest& request : types)
      if (request.type == type) return &request;
    return nullptr;
  }
  [[nodiscard]] bool empty() const { return types.empty(); }
  // Containers are told apart for some type.
  [[nodiscard]] bool by_container() const {
    return std::any_of(types.begin(), types.end(),
                       [](const TypeRequest& request) { return !request.parts.empty(); });
  }
  bool operator==(const DeviceRequest&) const = default;
};

// Fails with Koordinator's texts, "invalid resource unit koordinator.sh/gpu: 101" or "invalid
// resource device requests: [nvidia.com/gpu koordinator.sh/gpu]" (names sorted), and with what
// would be legal; where containers are told apart, behind "container NAME: ". `requests` are the
// pod's, `containers` those of its containers; with fewer than two of these they do not matter.
[[nodiscard]] Result<DeviceRequest> parse_device_request(
    const DeviceTypes& types, std::span<const ResourceQuantity> requests,
    std::span<const ContainerRequests> containers = {});

// For a pod that somebody placed: how many devices of one type its requests may hold, whether or
// not the combination is a legal one. Never less than what the pod can really use.
struct AskedOfType {
  int64_t count = 0;
  std::optional<TypeRequest> request;  // not set: none, or nobody knows what the combination means
};
[[nodiscard]] std::array<AskedOfType, kMaxTypes> asked_by_type(
    const DeviceTypes& types, std::span<const ResourceQuantity> requests,
    std::span<const ContainerRequests> containers = {});

// Devices that a pod uses under other names (SameHardware), by type: at most so many. Of requests
// without second names (second_names.hpp): an amount among them is of nobody knows what.
using Elsewhere = std::array<int64_t, kMaxTypes>;
inline constexpr int64_t kAnyNumber = INT64_MAX;  // nobody knows how many
[[nodiscard]] Elsewhere devices_elsewhere(const DeviceTypes& types,
                                          std::span<const ResourceQuantity> requests);
[[nodiscard]] inline bool uses_any(const Elsewhere& elsewhere) {
  return elsewhere != Elsewhere{};
}

// bytes = ratio * total / 100, rounded down: a card cannot be promised in more bytes than it has.
[[nodiscard]] int64_t ratio_to_bytes(int64_t ratio, int64_t total_bytes);
// ratio = bytes * 100 / total, rounded up, so that shares of bytes never add up to more than a
// card.
[[nodiscard]] int64_t bytes_to_ratio(int64_t bytes, int64_t total_bytes);

// An amount of a dimension, as annotations have it: bytes with binary suffixes.
[[nodiscard]] std::string amount_text(const DeviceType& type, int dim, int64_t amount);

// What the request takes from a device whose totals are `total`: where a type has both bytes and
// percent of the same memory, the one that is missing follows from the other.
[[nodiscard]] Amounts amounts_on_device(const DeviceType& type, const Amounts& per_device,
                                        const Amounts& total);

}  // namespace plimsoll::devices
