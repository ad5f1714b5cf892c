#pragma once
// What each container of a pod asks for of one device type, where containers are told apart, and
// what that comes to on devices that they share.
//
// A container has as many different devices as it asks for, and so much of each. Containers that
// run at the same time may share a device: it has to give the sum. An init container ends before
// the others start and leaves its devices to them: a device has to give the most of what is used at
// any time, as Kubernetes counts. Sidecars (restartable init containers) run from their place in
// the list to the end.
//
// Pure; any thread.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nodedevice/devices/device_types.hpp"

namespace plimsoll::devices {

// One entry of a pod's requests, in whole units.
struct ResourceQuantity {
  std::string_view name;
  int64_t value = 0;
};

enum class ContainerKind : uint8_t { kApp, kInit, kSidecar };

// Of one container; in the order of the spec, init containers first.
struct ContainerRequests {
  std::string_view name;
  ContainerKind kind = ContainerKind::kApp;
  std::vector<ResourceQuantity> requests;
};

inline constexpr size_t kMostParts = 32;  // containers that ask for devices of one type

struct ContainerPart {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  int64_t count = 1;       // how many devices
  Amounts per_device;      // of each
  bool is_shared = false;  // as TypeRequest::is_shared
  // When it runs, as bits. Bit 0: once all init containers have ended; each other bit: while one of
  // these runs.
  uint64_t phases = 1;

  [[nodiscard]] bool stays() const { return (phases & 1U) != 0; }
  bool operator==(const ContainerPart&) const = default;
};

// Sets the phases of parts that are in the order of the spec, leaves out init containers that ask
// for nothing that another part does not have as well, and puts them into the order in which
// devices are chosen: those that stay first, whole devices before shares, the largest first.
void arrange_parts(const DeviceType& type, std::vector<ContainerPart>& parts);

// The greater of the two in every dimension.
void raise_to(Amounts& amounts, const Amounts& least);

// The most of the sums over the parts that run at the same time, at most kMaxAmount.
template <typename Value>
int64_t most_at_once(const std::vector<ContainerPart>& parts, const Value& value) {
  int64_t most = 0;
  for (size_t phase = 0; phase <= kMostParts; ++phase) {
    int64_t sum = 0;
    for (const ContainerPart& part : parts)
      if ((part.phases >> phase & 1U) != 0) sum = std::min(sum + value(part), kMaxAmount);
    most = std::max(most, sum);
  }
  return most;
}

// What is laid on each of a number of devices.
class PartLoad {
 public:
  // `parts` outlives it. `at_most`: so many devices the pod may have in all. `apart`: no two parts
  // may be on the same device.
  PartLoad(const DeviceType& type, const std::vector<ContainerPart>& parts, size_t devices,
           int64_t at_most, bool apart = false);

  // What the pod has of the device.
  [[nodiscard]] const Amounts& held(size_t device) const { return devices_[device].held; }
  [[nodiscard]] bool empty(size_t device) const { return devices_[device].parts.empty(); }
  // The same with one more part; nothing: it cannot go there. Bytes and percent of the same
  // memory cannot be added up without a look at the device, so such parts stay apart.
  [[nodiscard]] std::optional<Amounts> with(size_t device, size_t part) const;
  void add(size_t device, size_t part);
  // The one that was added last.
  void take_back(size_t device);

  // Lays all parts on devices, as far as `fits(device, what the pod would have of it)` allows;
  // exact, but after so many questions to `fits` it gives up. `complete`, if it is not empty, is
  // asked about each way to do so, and refuses it. False: there is no way, or it was not found;
  // nothing is laid on devices then.
  using Fits = std::function<bool(size_t device, const Amounts& held)>;
  bool lay_all(const Fits& fits, const std::function<bool()>& complete, int questions);

 private:
  struct Device {
    Amounts held;
    std::vector<size_t> parts;
  };
  struct Search;

  [[nodiscard]] uint32_t measure(const Amounts& amounts) const;
  // `more`: one more part; null: none.
  [[nodiscard]] Amounts sum(const Device& device, const ContainerPart* more) const;
  bool lay(Search& search, size_t part, int64_t missing, size_t from);

  const std::vector<ContainerPart>* parts_;
  uint32_t memory_;  // bits of the dimensions that measure the same memory
  int64_t left_;     // devices that it may still have
  bool apart_;
  std::vector<Device> devices_;
};

}  // namespace plimsoll::devices
