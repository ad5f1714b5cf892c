#pragma once
// The devices of one node as the allocator sees them: what each has, what is in use, what may still
// be given away. A plain value: accounts own the real ones (loop thread), what-ifs work on copies.

#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "plugins/nodedevice/devices/device_object.hpp"
#include "plugins/nodedevice/devices/device_types.hpp"
#include "plugins/nodedevice/devices/node_links.hpp"
#include "plugins/nodedevice/devices/type_summary.hpp"

namespace plimsoll::devices {

// What one pod has of one device.
struct DeviceShare {
  int type = 0;
  int32_t minor = 0;
  bool whole = false;  // all of it, however much that is: amounts do not matter then
  Amounts amounts;
  // Dimensions of the amounts that the pod did not ask for: they follow from others. NodeState
  // counts the percent among them, within what the bytes can come to, and works out the bytes
  // itself.
  uint32_t follows = 0;
  std::vector<VirtualFunction> vfs;

  // The amounts without those that follow from others.
  [[nodiscard]] Amounts asked() const;
  // Leaves of the amounts what the pod asks for of each device, and the percent if it follows.
  void keep_only(const DeviceType& type, const Amounts& each);

  bool operator==(const DeviceShare&) const = default;
};

// What one pod has on its node; ordered by type and minor.
using Allocation = std::vector<DeviceShare>;

struct DeviceState {
  int32_t minor = 0;
  bool present = false;    // in the node's Device object
  bool healthy = false;    // present and healthy
  bool withheld = false;   // set aside for a pod whose devices are not known
  bool excluded = false;   // not to be given in this what-if (keep_only)
  bool in_use = false;     // somebody has a share of it
  bool available = false;  // healthy, and neither withheld nor held as a whole
  int numa = -1;
  int pcie = -1;  // dense number of its PCIe id on this node; ordered as the ids are
  int whole_users = 0;
  Amounts total;             // as reported; empty when it is not healthy
  Amounts used;              // sum of what the shares were asked for, even if it is not present
  int64_t ratio_alone = 0;   // of it: percent of shares that do not say the bytes
  int64_t bytes_alone = 0;   // and bytes of those that do not ask for percent, ...
  int shares_of_bytes = 0;   // how many these are, ...
  int64_t percent_said = 0;  // and the percent that their allocations give
  Amounts follows;  // the bytes of the former, the percent of the latter: of the size it has now
  Amounts free;     // total minus these two, never below 0: what may be given away
  std::vector<std::string> vfs_in_use;  // bus ids
  const DeviceInfo* info = nullptr;     // in NodeState::object; null when it is not present

  [[nodiscard]] bool unused() const { return available && !in_use; }
};

struct TypeState {
  std::vector<DeviceState> devices;        // by minor
  int64_t unknown_whole = 0;               // whole devices held by pods that do not say which
  std::vector<int32_t> named_for_unknown;  // minors that these have, most likely; ascending
  int blocked = 0;        // pods whose allocation cannot be read at all: nothing is free
  bool has_tree = false;  // every present device has a topology
  TypeSummary summary;

  // By position in `devices`.
  [[nodiscard]] const DeviceState& at(int position) const {
    return devices[static_cast<size_t>(position)];
  }
  // Null: no device of that minor.
  [[nodiscard]] const DeviceState* find(int32_t minor) const;
};

class NodeState {
 public:
  // `types` outlives it.
  explicit NodeState(const DeviceTypes& types = DeviceTypes::standard()) : device_types_(&types) {}

  std::string name;
  bool malformed = false;  // its Device object cannot be read: nothing is free
  std::string problem;     // why
  // Its Device object was deleted while its Node stayed: it has devices, nobody knows in what
  // state.
  bool gone = false;
  std::string links_problem;  // why the Node object's links cannot be read
  int32_t shares = 0;         // device shares recorded on this node
  // Of the Device object: it says which sets of GPUs there are; that they must be honoured.
  bool rules_partitions = false;
  bool honours_partitions = false;
  uint32_t shape = 0;  // nodes of one shape have devices alike (ShapeTable); 0: not known
  std::shared_ptr<const NodeDevices> object;  // null: no Device object (or a malformed one)
  // Another whenever what is free may have changed, and never the same for two different states of
  // the process, copies included. Above 1.
  uint64_t version = 2;

  [[nodiscard]] const TypeState& type(int index) const {
    return types_[static_cast<size_t>(index)];
  }
  [[nodiscard]] bool has_devices(int type_index) const {
    return object != nullptr && !object->devices(type_index).empty();
  }
  // Nothing is known of this node's devices, and nobody was given one here: they are the kubelet's.
  [[nodiscard]] bool unmanaged() const {
    return object == nullptr && !malformed && !gone && shares == 0;
  }

  [[nodiscard]] const DeviceTypes& device_types() const { return *device_types_; }

  // Asks for the memory that quick answers about these types (by bit) read.
  void prefetch(uint32_t types) const {
    __builtin_prefetch(&shape);
    for (uint32_t left = types; left != 0; left &= left - 1) {
      const TypeSummary& summary = types_[static_cast<size_t>(std::countr_zero(left))].summary;
      const char* from = reinterpret_cast<const char*>(&summary);
      for (size_t at = 0; at < sizeof(TypeSummary); at += 64) __builtin_prefetch(from + at);
    }
  }
  // The same, once that memory is there.
  void prefetch_columns(uint32_t types) const {
    for (uint32_t left = types; left != 0; left &= left - 1) {
      const auto& free = types_[static_cast<size_t>(std::countr_zero(left))].summary.free;
      for (size_t at = 0; at < free.size(); at += 8) __builtin_prefetch(free.data() + at);
    }
  }

  // Takes over a new Device object (null: deleted); what is used stays used.
  void set_object(std::shared_ptr<const NodeDevices> devices);

  // What the Node object's annotation says of links (null: it has none); the Device object's own
  // goes before.
  void set_node_links(std::shared_ptr<const LinkTable> table);
  // How the devices of a type are linked; null: there is no Device object.
  [[nodiscard]] const TypeLinks* links(int type_index) const {
    return links_ == nullptr ? nullptr : &(*links_)[static_cast<size_t>(type_index)];
  }

  // A pod's shares come or go. Exact inverses.
  void add(const Allocation& allocation) { apply(allocation, true); }
  void remove(const Allocation& allocation) { apply(allocation, false); }
  // Whole devices that some pod holds without saying which; count may be negative to take it back.
  void add_unknown(int type_index, int64_t count);
  void add_blocked(int type_index, int count);
  // Of this type, nothing but these devices can be given any more. For copies in what-ifs.
  void keep_only(int type_index, const std::vector<int32_t>& minors);
  // Minors that are set aside before others for whole devices of which nobody says which they are.
  void set_named_for_unknown(int type_index, std::vector<int32_t> minors);

 private:
  [[nodiscard]] Amounts follows_of(int type_index, const DeviceState& device) const;
  [[nodiscard]] static Amounts free_of(const DeviceState& device);
  TypeState& at(int index) { return types_[static_cast<size_t>(index)]; }
  void apply(const Allocation& allocation, bool adding);
  // One that is there.
  DeviceState& device(int type_index, int32_t minor);
  // Those of these minors that are not there, all at once: one by one, each would move all behind
  // it.
  void add_devices(int type_index, std::vector<int32_t> minors);
  // Recomputes what is free, and which devices are withheld: those that are named for it, then the
  // highest minors that nobody uses. The outcome does not depend on the order in which pods became
  // known.
  void refresh(int type_index);
  static void withhold_unknown(TypeState& type);

  void resolve_links();

  const DeviceTypes* device_types_;
  std::shared_ptr<const LinkTable> node_links_;
  std::shared_ptr<const NodeLinks> links_;
  std::array<TypeState, kMaxTypes> types_;
};

}  // namespace plimsoll::devices
