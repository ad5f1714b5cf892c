#pragma once
// What Plimsoll knows about kinds of devices, as data: which resource names ask for a device of a
// type, which of them may be combined, how a combination becomes an amount per device and a number
// of devices. A new device type is a new entry of this table, not new code.
//
// Pure values: no I/O, no threads of its own. A table is built once and then only read, so any
// thread may read it.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace plimsoll::devices {

// Errors of this library are sentences for people: what, where and what to do.
template <typename T>
using Result = tl::expected<T, std::string>;

[[nodiscard]] inline tl::unexpected<std::string> fail(std::string message) {
  return tl::unexpected<std::string>(std::move(message));
}

inline constexpr int kMaxTypes = 8;  // device types in one table
inline constexpr int kMaxDims = 8;   // resources that a device of one type has
// Stands for a pod's resource claims among its requests: no resource is called that.
inline constexpr std::string_view kClaimsName = "spec.resourceClaims";
// Amounts are clamped to this (1 PiB): sums of thousands of them cannot overflow.
inline constexpr int64_t kMaxAmount = int64_t{1} << 50;

// Amounts of a device's resources, by dimension of its type. A dimension that is not present was
// not named: a device without it can not satisfy a request for it.
struct Amounts {
  std::array<int64_t, kMaxDims> value{};
  uint32_t present = 0;

  [[nodiscard]] bool has(int dim) const { return (present & (1U << dim)) != 0; }
  [[nodiscard]] int64_t get(int dim) const { return dim < 0 ? 0 : value[static_cast<size_t>(dim)]; }
  void set(int dim, int64_t amount) {
    value[static_cast<size_t>(dim)] = amount;
    present |= 1U << dim;
  }
  void clear(int dim) {
    value[static_cast<size_t>(dim)] = 0;
    present &= ~(1U << dim);
  }
  [[nodiscard]] bool is_zero() const {
    for (int64_t amount : value)
      if (amount != 0) return false;
    return true;
  }
  bool operator==(const Amounts&) const = default;
};

// A resource name in a pod's requests.
struct RequestName {
  std::string name;
  // Above 100 it must be a multiple of 100, else "invalid resource unit <name>: <quantity>".
  bool percent_with_own_text = false;
  // A device plugin hands it out: another name beside it (SameHardware) is for other devices.
  bool by_device_plugin = false;
  bool operator==(const RequestName&) const = default;
};

// A further condition of a combination; `name` and `by` index the type's names.
struct Check {
  enum class Kind {
    kPercent,     // at most 100, or a multiple of 100
    kAtMost,      // at most `limit`
    kMultipleOf,  // a multiple of the value of `by`, and at most 100 for each
  };
  uint8_t name = 0;
  Kind kind = Kind::kPercent;
  int64_t limit = 0;
  uint8_t by = 0;
  bool operator==(const Check&) const = default;
};

// `factor` times the value of a request name is what all devices together have to give in a device
// dimension, or each of them.
struct Mapping {
  uint8_t name = 0;
  uint8_t dim = 0;
  int64_t factor = 1;
  bool per_device = false;
  bool operator==(const Mapping&) const = default;
};

// Which names may be asked for together, and what they mean.
struct Combination {
  enum class Count {
    kOne,       // one device whatever the amounts
    kValue,     // as many as the value of `count_name`, at least one
    kHundreds,  // a device for every 100 of `count_name` when it is above 100, else one
  };
  uint32_t names = 0;  // bit i: names[i] of the type is asked for
  std::vector<Mapping> mappings;
  std::vector<Check> checks;
  Count count = Count::kOne;
  uint8_t count_name = 0;
  bool operator==(const Combination&) const = default;
};

// Other names under which pods use the same hardware: it is handed out by a kubelet or another
// scheduler, and nobody says here which devices. "*" in a name stands for any text; of those that
// match, the one with the most other characters counts.
struct SameHardware {
  std::vector<std::string> devices;  // a pod that asks for n of it uses n devices at most
  std::vector<std::string> amounts;  // says nothing of how many devices it uses
  bool claims = false;               // spec.resourceClaims of a pod may be for such devices
  bool operator==(const SameHardware&) const = default;
};

struct DeviceType {
  std::string name;                // "gpu": as in Device spec.devices[].type
  std::vector<RequestName> names;  // at most 32
  std::vector<std::string> dims;   // resources of the devices themselves, at most kMaxDims
  std::vector<Combination> combinations;
  int shared_name = -1;  // the name that counts shares ("koordinator.sh/gpu.shared"), or -1
  int memory_dim = -1;   // bytes and percent of the same thing, or -1: each follows from the other
  int ratio_dim = -1;
  bool is_topology_aware = false;  // several devices are chosen close together
  bool has_partitions = false;     // the partition tables of the node are about this type
  SameHardware same_hardware;
  bool operator==(const DeviceType&) const = default;
};

// The device types of Koordinator: gpu (NVIDIA, AMD, Hygon, Huawei names, shares), rdma, fpga; and
// those of the plugin's args (device_type_args.hpp).
class DeviceTypes {
 public:
  explicit DeviceTypes(std::vector<DeviceType> types);

  // The table that is built in; lives as long as the process.
  [[nodiscard]] static const DeviceTypes& standard();

  [[nodiscard]] const std::vector<DeviceType>& all() const { return types_; }
  [[nodiscard]] int count() const { return static_cast<int>(types_.size()); }
  [[nodiscard]] const DeviceType& type(int index) const {
    return types_[static_cast<size_t>(index)];
  }
  // -1: not known.
  [[nodiscard]] int find_type(std::string_view name) const;
  // The dimension of a device resource of that type, deprecated names included; -1: not known.
  [[nodiscard]] int find_dim(int type, std::string_view resource) const;
  // The type and the index of a resource name in pods' requests, deprecated names included.
  [[nodiscard]] std::optional<std::pair<int, int>> find_request(std::string_view resource) const;
  // The names of a type that say how much of each device (Mapping::per_device), by bit.
  [[nodiscard]] uint32_t per_device_names(int type) const {
    return per_device_names_[static_cast<size_t>(type)];
  }
  // Which types (by bit) a pod uses under another name (SameHardware); kClaimsName: its resource
  // claims.
  struct Uses {
    uint32_t devices = 0;
    uint32_t amounts = 0;
    uint32_t claims = 0;
    [[nodiscard]] bool any() const { return (devices | amounts | claims) != 0; }
  };
  [[nodiscard]] Uses find_same_hardware(std::string_view resource) const;
  // From now on somebody says which devices claims have: that a pod has claims says nothing any
  // more. Returns the types that claims may be for, by bit.
  uint32_t claims_are_told();

 private:
  std::vector<DeviceType> types_;
  std::array<uint32_t, kMaxTypes> per_device_names_{};
  bool claims_told_ = false;
};

// "kubernetes.io/gpu-core" and the like are old spellings of "koordinator.sh/gpu-core"; other names
// are returned as they are.
[[nodiscard]] std::string current_resource_name(std::string_view name);

}  // namespace plimsoll::devices
