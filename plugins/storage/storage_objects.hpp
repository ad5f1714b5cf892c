#pragma once
// What the volume plugins read of PersistentVolumes, PersistentVolumeClaims, StorageClasses,
// CSINodes, CSIDrivers, CSIStorageCapacities and VolumeAttachments: values with what decisions need
// worked out, which can be assumed otherwise than they are stored. Any thread.
//
// An object that cannot be read has a `problem`, which names the field. All other fields are as if
// absent, and whoever needs the object has to refuse.

#include <plimsoll/kinds.h>

#include <plimsoll/views.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/api/quantity.hpp"
#include "plugins/storage/volume_affinity.hpp"

namespace plimsoll::volumes {

// Labels in the form that selectors match, with the texts that they point to.
class LabelSet {
 public:
  LabelSet() = default;
  explicit LabelSet(std::vector<std::pair<std::string, std::string>> labels);
  LabelSet(const LabelSet& other) : LabelSet(other.texts_) {}
  LabelSet& operator=(const LabelSet& other) { return *this = LabelSet(other); }
  LabelSet(LabelSet&&) noexcept = default;
  LabelSet& operator=(LabelSet&&) noexcept = default;
  ~LabelSet() = default;

  [[nodiscard]] plimsoll_list list() const {
    return sdk::list_of<plimsoll_label>(std::span<const plimsoll_label>(rows_));
  }
  // Null: there is no such label.
  [[nodiscard]] const plimsoll_str* get(std::string_view key) const {
    return sdk::Labels(list()).find(key);
  }

 private:
  std::vector<std::pair<std::string, std::string>> texts_;  // by key
  std::vector<plimsoll_label> rows_;
};

struct Meta {
  std::string ns;  // empty: cluster-scoped
  std::string name;
  std::string uid;
  std::string resource_version;
  bool is_deleting = false;  // deletionTimestamp is set
  std::string problem;       // not empty: the object cannot be read
  [[nodiscard]] bool readable() const { return problem.empty(); }
};

// "namespace/name", or the name of what has no namespace.
[[nodiscard]] std::string key_of(std::string_view ns, std::string_view name);
[[nodiscard]] std::string key_of(const Meta& meta);

struct ClaimReference {
  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
  bool operator==(const ClaimReference&) const = default;
};

struct PersistentVolume {
  Meta meta;
  LabelSet labels;
  std::string class_name;            // the annotation if it is there, else spec.storageClassName
  std::string spec_class_name;       // spec.storageClassName
  bool bound_by_controller = false;  // annotation pv.kubernetes.io/bound-by-controller is there
  Quantity capacity;                 // "storage"
  std::vector<std::string> access_modes;  // sorted, each once
  std::string volume_mode;                // "Filesystem" if absent
  std::string attributes_class;           // volumeAttributesClassName
  std::string phase;
  std::optional<ClaimReference> claim;
  AffinityRef affinity;    // spec.nodeAffinity.required
  std::string csi_driver;  // of a CSI source
  std::string csi_handle;
  std::string source;     // of an in-tree volume whose plugin is migratable: the field's name,
  std::string source_id;  // which volume it is,
  std::optional<std::string> disk_kind;  // and of azureDisk its kind
};
using VolumeRef = std::shared_ptr<const PersistentVolume>;

// metav1.LabelSelector. Null: there is none. A selector that is not valid has a `problem`.
struct Selector {
  std::shared_ptr<const plimsoll_label_selector> parsed;
  std::string problem;
};

struct PersistentVolumeClaim {
  Meta meta;
  std::string class_name;  // the annotation if it is there, else spec.storageClassName
  std::optional<std::string> spec_class_name;
  std::optional<std::string> selected_node;  // annotation volume.kubernetes.io/selected-node
  bool has_annotations = false;              // others than the one that kubectl applied last
  bool bind_completed = false;               // annotation pv.kubernetes.io/bind-completed is there
  std::string volume_name;
  std::optional<Quantity> request;        // "storage"
  std::vector<std::string> access_modes;  // sorted, each once
  std::string volume_mode;                // "Filesystem" if absent
  std::string attributes_class;           // volumeAttributesClassName
  Selector selector;
  std::string phase;
  bool has_controller = false;
  std::string controller_uid;  // of the owner that is its controller

  [[nodiscard]] bool is_fully_bound() const { return !volume_name.empty() && bind_completed; }
};
using ClaimRef = std::shared_ptr<const PersistentVolumeClaim>;

struct StorageClass {
  Meta meta;
  std::string provisioner;
  std::string binding_mode;        // empty: not set
  AffinityRef allowed_topologies;  // null: every node

  [[nodiscard]] bool waits_for_consumer() const { return binding_mode == "WaitForFirstConsumer"; }
};

struct CsiNode {
  struct Driver {
    std::string name;
    std::optional<int64_t> limit;  // allocatable.count
  };
  Meta meta;
  std::vector<Driver> drivers;
  std::string migrated_text;  // annotation storage.alpha.kubernetes.io/migrated-plugins
  std::vector<std::string> migrated_plugins;  // what it names
};

struct CsiDriver {
  Meta meta;
  bool storage_capacity = false;
  bool prevents_scheduling_if_missing = false;  // preventPodSchedulingIfMissing
};

struct CsiStorageCapacity {
  Meta meta;
  std::string class_name;
  std::optional<Quantity> capacity;
  std::optional<Quantity> maximum_size;
  bool has_topology = false;  // no node without it
  AffinityRef topology;       // null: every node

  // The largest volume that it has room for; nothing: it does not say.
  [[nodiscard]] const std::optional<Quantity>& limit() const {
    return maximum_size ? maximum_size : capacity;
  }
};

struct VolumeAttachment {
  Meta meta;
  std::string attacher;
  std::string node_name;
  std::string volume_name;  // source.persistentVolumeName; empty: none
};

[[nodiscard]] PersistentVolume read(const plimsoll_persistent_volume& object);
[[nodiscard]] PersistentVolumeClaim read(const plimsoll_persistent_volume_claim& object);
[[nodiscard]] StorageClass read(const plimsoll_storage_class& object);
[[nodiscard]] CsiNode read(const plimsoll_csi_node& object);
[[nodiscard]] CsiDriver read(const plimsoll_csi_driver& object);
[[nodiscard]] CsiStorageCapacity read(const plimsoll_csi_storage_capacity& object);
[[nodiscard]] VolumeAttachment read(const plimsoll_volume_attachment& object);

}  // namespace plimsoll::volumes
