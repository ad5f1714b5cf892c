#pragma once
// Who has which device, over all nodes: what Device objects report, what pods were given, what is
// promised to pods that are not bound yet. One for the whole process, whatever the number of
// profiles, so that no two profiles can promise the same device.
//
// Everything is called on the scheduler loop; Filter and Score read on other threads while the loop
// waits for them. Nothing blocks. The state depends only on the Device objects and the pods that
// are known, not on the order in which they became known: after a restart it is the same as before.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/nodedevice/accounts/entitlement.hpp"
#include "plugins/nodedevice/accounts/node_state.hpp"
#include "plugins/nodedevice/devices/shape_table.hpp"

namespace plimsoll::devices {

inline constexpr uint32_t kNoSlot = UINT32_MAX;

// A pod with a node, as the API server shows it.
struct AssignedPod {
  std::string_view uid;
  std::string_view node;
  std::optional<std::string_view> allocated;  // the device-allocated annotation
  std::span<const ResourceQuantity> requests;
  std::string_view name = {};          // "namespace/name", for people
  const DeviceHints* hints = nullptr;  // null: it has none
  std::span<const ContainerRequests> containers = {};
};

// What is wrong with a pod's device-allocated annotation.
struct AnnotationProblems {
  std::vector<std::string> unreadable;  // or not true: what the pod asks for counts instead
  std::vector<std::string> ignored;     // about types of which the pod asks for no device

  [[nodiscard]] bool empty() const { return unreadable.empty() && ignored.empty(); }
  bool operator==(const AnnotationProblems&) const = default;
};

// What a pod holds on its node.
struct PodRecord {
  std::string node;
  Allocation shares;                         // by minor
  std::array<int64_t, kMaxTypes> unknown{};  // whole devices that nobody named
  uint32_t blocked = 0;                      // types of which it may use any number of devices
  bool assumed = false;                      // reserved, not yet seen as assigned
  bool unshown = false;        // known, and seen since without an annotation that could be true
  bool from_requests = false;  // no annotation: `asked` and the node's checkpoint decide
  std::array<int64_t, kMaxTypes> asked{};
  uint32_t unbounded = 0;             // of `asked`: types of which it is not known how many
  std::string name;                   // "namespace/name"; empty: not told
  std::vector<std::string> problems;  // what of its annotation cannot be read or is not true
};

class Accounts {
 public:
  // `changed` is called with a node's slot whenever what is free on it may have changed.
  Accounts(const DeviceTypes& types, std::function<void(uint32_t slot)> changed);

  // ---- nodes: which slot a name has. Devices and pods may be known before and after.
  void node_added(std::string_view name, uint32_t slot);
  void node_removed(std::string_view name);
  // The node's own annotation plimsoll.io/device-links, if it has one. Returns what is wrong with
  // it, once; it then counts as without entries.
  std::string node_links(std::string_view name, std::optional<std::string_view> json);
  // Null: nothing is known of the node, its devices are the kubelet's business.
  [[nodiscard]] const NodeState* at_slot(uint32_t slot) const {
    return slot < slots_.size() && slots_[slot] != nullptr ? &slots_[slot]->state : nullptr;
  }
  [[nodiscard]] const NodeState* find(std::string_view node) const;
  // What at_slot() gives will be asked for soon: see NodeState::prefetch.
  void prefetch(uint32_t slot, uint32_t types) const {
    if (const NodeState* state = at_slot(slot)) state->prefetch(types);
  }
  void prefetch_columns(uint32_t slot, uint32_t types) const {
    if (const NodeState* state = at_slot(slot)) state->prefetch_columns(types);
  }

  // ---- Device objects. What is used on a node stays used whatever happens to its Device object.
  // Returns what is wrong with it, empty if nothing is. From a malformed object on, nothing is free
  // on that node until a good one comes.
  std::vector<std::string> device_changed(std::string_view node, std::string_view json);
  // Nothing is free on a node that had one, until there is one again or the Node goes.
  void device_deleted(std::string_view node);

  // ---- pods
  // A pod that is about to be bound. Replaces what the pod had before.
  void reserve(std::string_view uid, std::string_view node, Allocation allocation,
               std::string_view name = {}, const Elsewhere& elsewhere = {});
  // The same on a node whose devices are the kubelet's: it will choose as many whole ones as the
  // pod asks for. Should a Device object come meanwhile, they are withheld.
  void reserve_unknown(const AssignedPod& pod);
  // The binding failed. Of a pod that the API server has shown as assigned what it has shown
  // counts.
  void unreserve(std::string_view uid);
  // Idempotent; called for every change too. Without the annotation, a pod that asks for devices
  // holds that many whole ones, nobody knows which: the highest free minors are withheld, unless
  // the kubelet's checkpoint names them. With it, the same goes for devices that the pod asks for
  // and the annotation leaves out, or names so that it cannot be true. How many devices a pod
  // holds, and how much of each, is what it asks for, whatever the annotation says.
  AnnotationProblems pod_assigned(const AssignedPod& pod);
  void pod_removed(std::string_view uid);

  // What a pod has; null: no device that is known by minor.
  [[nodiscard]] const Allocation* allocation_of(std::string_view uid) const;
  // The node of a pod that holds devices; null: it holds none.
  [[nodiscard]] const NodeState* node_of(std::string_view uid) const;
  // Calls `use` with the UID and the devices of every pod that holds devices known by minor on the
  // node in this slot.
  template <typename Use>
  void for_each_pod(uint32_t slot, const Use& use) const {
    if (slot >= slots_.size() || slots_[slot] == nullptr) return;
    for (const std::string& uid : slots_[slot]->pods)
      if (const Allocation* shares = allocation_of(uid)) use(std::string_view(uid), *shares);
  }
  // Takes what a pod holds from a copy of its node (for what-ifs).
  void take_from(NodeState& state, std::string_view uid) const;

  // Every node of which anything is known, by name, with the pods that hold devices there, by uid.
  using PodsOfNode = std::vector<std::pair<std::string_view, const PodRecord*>>;
  void each_node(const std::function<void(const NodeState&, const PodsOfNode&)>& use) const;
  [[nodiscard]] PodsOfNode pods_on(const NodeState& node) const;
  [[nodiscard]] PodsOfNode pods_on(uint32_t slot) const;

  [[nodiscard]] const DeviceTypes& types() const { return types_; }
  // Of the Device objects that came so far.
  [[nodiscard]] const ShapeTable& shapes() const { return shapes_; }

 private:
  // Names are looked up as string_view without building a string.
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  struct NodeEntry {
    NodeState state;
    uint32_t slot = kNoSlot;
    std::optional<std::string> links;         // the node's annotation
    std::set<std::string, std::less<>> pods;  // uids with a record here
  };

  using Pods = std::unordered_map<std::string, PodRecord, TextHash, std::equal_to<>>;

  [[nodiscard]] PodsOfNode pods_of(const NodeEntry& entry) const;
  NodeEntry& entry(std::string_view node);
  NodeEntry* find_entry(std::string_view node);
  void drop_if_empty(NodeEntry& entry);
  void changed(const NodeEntry& entry) const;

  PodRecord record_of_annotation(const AssignedPod& pod, const Entitlements& entitled,
                                 AnnotationProblems& problems) const;
  PodRecord record_of_requests(const AssignedPod& pod, const Entitlements& entitled,
                               const NodeState& node) const;
  static void resolve_by_checkpoint(std::string_view uid, const NodeState& node, PodRecord& record);
  [[nodiscard]] bool may_be_unknown(const NodeEntry& entry, std::string_view uid, int type,
                                    int32_t minor) const;
  void name_for_unknown(NodeEntry& entry);
  void put(std::string_view uid, PodRecord record);
  void erase(Pods::iterator it);
  static void apply(NodeState& state, const PodRecord& record, int sign);
  void reresolve(NodeEntry& entry);

  const DeviceTypes& types_;
  std::function<void(uint32_t)> changed_;
  std::unordered_map<std::string, std::unique_ptr<NodeEntry>, TextHash, std::equal_to<>> nodes_;
  std::vector<NodeEntry*> slots_;
  ShapeTable shapes_;
  Pods pods_;
};

}  // namespace plimsoll::devices
