#pragma once
// What a pod that has a node may hold of its devices. Its requests decide how many and how much,
// from below and from above; its device-allocated annotation says only which: whoever may create a
// pod may write any annotation. Pure; any thread.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugins/nodedevice/accounts/allocation_annotation.hpp"
#include "plugins/nodedevice/requests/device_hints.hpp"
#include "plugins/nodedevice/requests/device_request.hpp"

namespace plimsoll::devices {

// Of one type.
struct Entitlement {
  int64_t count = 0;            // devices that it asks for, those under other names included
  int64_t elsewhere = 0;        // of them: under other names (SameHardware), never in an annotation
  bool unbounded = false;       // it may use any number of devices under other names
  int64_t at_most = 0;          // devices that an annotation may name: hints can make it more
  std::optional<Amounts> each;  // of each of these; not set: nobody knows, so all of it
  std::vector<ContainerPart> parts;  // TypeRequest::parts: they decide how much of which

  [[nodiscard]] bool any() const { return count > 0 || unbounded; }
};

using Entitlements = std::array<Entitlement, kMaxTypes>;

// `hints` may be null: the pod has none.
[[nodiscard]] Entitlements entitlements_of(const DeviceTypes& types,
                                           std::span<const ResourceQuantity> requests,
                                           const DeviceHints* hints,
                                           std::span<const ContainerRequests> containers = {});
[[nodiscard]] bool any_of(const Entitlements& entitled);

// What an annotation says, within what its pod asks for.
struct BoundedAllocation {
  Allocation shares;                         // each of what the pod asks for of a device
  std::array<int64_t, kMaxTypes> unknown{};  // devices that nobody named
  uint32_t unbounded = 0;                    // types of which it is not known how many
  uint32_t left_out = 0;                     // types that it names and the pod does not ask for
  ProblemList problems;
};
[[nodiscard]] BoundedAllocation bounded_allocation(const DeviceTypes& types, std::string_view text,
                                                   const Entitlements& entitled);

}  // namespace plimsoll::devices
