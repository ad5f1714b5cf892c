#pragma once
// What a pod's annotations say about how its devices are chosen: device-allocate-hint,
// device-joint-allocate and gpu-partition-spec (all scheduling.koordinator.sh/...). Pure; any
// thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nodedevice/devices/device_object.hpp"
#include "plugins/nodedevice/devices/device_types.hpp"

namespace plimsoll::devices {

inline constexpr std::string_view kHintAnnotation =
    "scheduling.koordinator.sh/device-allocate-hint";
inline constexpr std::string_view kJointAnnotation =
    "scheduling.koordinator.sh/device-joint-allocate";
inline constexpr std::string_view kPartitionAnnotation =
    "scheduling.koordinator.sh/gpu-partition-spec";

// metav1.LabelSelector on the labels of a device or of a virtual function.
struct Selector {
  struct Requirement {
    enum class Op { kIn, kNotIn, kExists, kDoesNotExist };
    std::string key;
    Op op = Op::kIn;
    std::vector<std::string> values;
  };
  std::vector<Requirement> requirements;  // none: everything matches

  [[nodiscard]] bool matches(const Labels& labels) const;
};

enum class Scope { kUnset, kDevice, kPcie, kNuma, kNode };

// device-allocate-hint, for one device type.
struct TypeHint {
  enum class Strategy { kUnset, kApplyForAll, kRequestsAsCount };
  enum class Exclusive { kNone, kDevice, kPcie };
  std::optional<Selector> selector;
  std::optional<Selector> vf_selector;  // set: a virtual function is asked for with each device
  Strategy strategy = Strategy::kUnset;
  Scope required_scope = Scope::kUnset;
  Exclusive exclusive = Exclusive::kNone;

  [[nodiscard]] bool is_for_all() const { return strategy == Strategy::kApplyForAll; }
  // The strategy as far as it has an effect: on requests for one device, of a type that is not
  // chosen by topology.
  [[nodiscard]] Strategy strategy_for(const DeviceType& type, int64_t count) const {
    return type.is_topology_aware || count != 1 ? Strategy::kUnset : strategy;
  }
  // RequestsAsCount: what is asked of one device is a number of devices.
  void count_requests(int64_t& count, Amounts& per_device) const {
    count = per_device.get(0);
    per_device.set(0, exclusive == Exclusive::kDevice ? 100 : 1);
  }
};

struct JointAllocate {
  std::vector<int> types;  // as listed; unknown ones are left out
  bool same_pcie = false;
};

struct PartitionSpec {
  bool restricted = false;      // only partitions with the highest allocation score
  int64_t ring_bandwidth = -1;  // at least this, in bytes; -1: any
};

struct DeviceHints {
  std::array<std::optional<TypeHint>, kMaxTypes> by_type;
  std::optional<JointAllocate> joint;
  std::optional<PartitionSpec> partition;

  [[nodiscard]] const TypeHint* hint(int type) const {
    const auto& found = by_type[static_cast<size_t>(type)];
    return found ? &*found : nullptr;
  }
  [[nodiscard]] bool empty() const;
};

// The texts of the three annotations; empty: not set. Fails with Koordinator's texts, e.g. "invalid
// DeviceAllocateHint annotation, err: ..."; an enumeration value that is not known is an error too,
// so that nothing a pod asks for is silently left out.
[[nodiscard]] Result<DeviceHints> parse_device_hints(const DeviceTypes& types,
                                                     std::string_view hint, std::string_view joint,
                                                     std::string_view partition);

}  // namespace plimsoll::devices
