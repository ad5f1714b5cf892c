#pragma once
// Which devices of a node are linked directly (NVLink, xGMI, HCCS and the like), and how fast: the
// annotation plimsoll.io/device-links of a Device object or a Node object, or else what a
// partition table says.
//
//   {"gpu": [{"minors": [0, 3], "type": "NVLink", "lanes": 2, "bandwidth": "50Gi"}]}
//
// Pure; any thread.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nodedevice/devices/device_types.hpp"

namespace plimsoll::devices {

inline constexpr const char* kLinksAnnotation = "plimsoll.io/device-links";

// What a lane counts for where an entry does not say the bandwidth: NVLink 2 to 4, one direction.
inline constexpr int64_t kLaneBandwidth = int64_t{25} << 30;

// Every two of these minors are linked; in both directions.
struct DeviceLink {
  std::vector<int32_t> minors;  // ascending, at least two
  std::string type;             // for people
  int64_t lanes = 1;
  int64_t bandwidth = -1;  // bytes a second between two of them, all lanes; -1: not given

  [[nodiscard]] int64_t rate() const;
  bool operator==(const DeviceLink&) const = default;
};

// By device type. Two devices that several entries link count with the fastest of them.
using LinkTable = std::array<std::vector<DeviceLink>, kMaxTypes>;

// Fails with the field: "gpu[2].minors: must be at least two". Entries of device types that `types`
// does not know are left out.
[[nodiscard]] Result<LinkTable> parse_links(const DeviceTypes& types, std::string_view json);

}  // namespace plimsoll::devices
