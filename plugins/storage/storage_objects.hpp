#pragma once
// What the volume plugins read of PersistentVolumes, PersistentVolumeClaims, StorageClasses,
// CSINodes, CSIDrivers, CSIStorageCapacities and VolumeAttachments: the decoded object itself, what
// decisions need worked out, and what is assumed of it and not written yet. Any thread.
//
// Texts point into the decoded object: whoever keeps one of these keeps the object, or lets go of
// it when object_event tells of its next change (<plimsoll/kinds.h>).
//
// An object that cannot be read has a `problem`, which names the field. All other fields are as if
// absent, and whoever needs the object has to refuse.

#include <plimsoll/kinds.h>

#include <plimsoll/views.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/api/quantity.hpp"
#include "plugins/storage/volume_affinity.hpp"

namespace plimsoll::volumes {

// "namespace/name", or the name of what has no namespace.
[[nodiscard]] std::string key_of(std::string_view ns, std::string_view name);

template <typename Decoded>
struct Stored {
  const Decoded* object = nullptr;

  [[nodiscard]] const plimsoll_object& base() const { return object->object; }
  [[nodiscard]] std::string_view ns() const { return sdk::view(base().meta.ns); }
  [[nodiscard]] std::string_view name() const { return sdk::view(base().meta.name); }
  [[nodiscard]] std::string_view uid() const { return sdk::view(base().meta.uid); }
  [[nodiscard]] std::string_view version() const { return sdk::view(base().meta.resource_version); }
  [[nodiscard]] std::string key() const { return key_of(ns(), name()); }
  [[nodiscard]] bool is_deleting() const { return base().meta.deletion_ms != 0; }
  [[nodiscard]] std::string_view problem() const { return sdk::view(base().unreadable); }
  [[nodiscard]] bool readable() const { return problem().empty(); }
  // Null: there is no such label, or annotation.
  [[nodiscard]] const plimsoll_str* label(std::string_view key) const {
    return sdk::Labels(base().meta.labels).find(key);
  }
  [[nodiscard]] const plimsoll_str* annotation(std::string_view key) const {
    return sdk::Labels(base().meta.annotations).find(key);
  }
};

using CsiNode = Stored<plimsoll_csi_node>;
using CsiDriver = Stored<plimsoll_csi_driver>;
using VolumeAttachment = Stored<plimsoll_volume_attachment>;

struct ClaimReference {
  std::string_view ns;
  std::string_view name;
  std::string_view uid;
};
// The same as a value, with the version that was seen.
struct ClaimIdentity {
  std::string ns;
  std::string name;
  std::string uid;
  std::string version;
  [[nodiscard]] std::string key() const { return key_of(ns, name); }
};

// The claim that a volume is to be bound to.
struct AssumedClaim : ClaimIdentity {
  bool by_controller = false;  // the volume is to have that annotation
  size_t holders = 0;          // pods that rest on it
};

struct PersistentVolume : Stored<plimsoll_persistent_volume> {
  std::string_view class_name;  // the annotation if it is there, else spec.storageClassName
  Quantity capacity;            // "storage"
  std::vector<std::string_view> access_modes;  // sorted, each once
  AffinityRef affinity;                        // spec.nodeAffinity.required
  std::shared_ptr<AssumedClaim> assumed;       // null: it is as it is stored

  // As it is assumed, or stored.
  [[nodiscard]] std::optional<ClaimReference> claim() const;
  // Annotation pv.kubernetes.io/bound-by-controller is there.
  [[nodiscard]] bool bound_by_controller() const;
  // Of an in-tree volume whose plugin is migratable: the field's name; empty: of no such volume.
  [[nodiscard]] std::string_view source() const;
};
using VolumeRef = std::shared_ptr<const PersistentVolume>;

// The node that the volume of a claim is to be made for.
struct AssumedNode {
  std::string name;
  size_t holders = 0;
};

struct PersistentVolumeClaim : Stored<plimsoll_persistent_volume_claim> {
  std::string_view class_name;      // the annotation if it is there, else spec.storageClassName
  std::optional<Quantity> request;  // "storage"
  std::vector<std::string_view> access_modes;  // sorted, each once
  std::shared_ptr<AssumedNode> assumed;        // null: it is as it is stored

  // Annotation volume.kubernetes.io/selected-node, as it is assumed, or stored.
  [[nodiscard]] std::optional<std::string_view> selected_node() const;
  [[nodiscard]] std::string_view volume_name() const { return sdk::view(object->volume_name); }
  [[nodiscard]] bool is_fully_bound() const;
  [[nodiscard]] ClaimIdentity identity() const;
  // Of the owner that is its controller; empty: there is none.
  [[nodiscard]] std::string_view controller_uid() const;
  // Null: it has none.
  [[nodiscard]] const plimsoll_label_selector* selector() const {
    return object->selector.present != 0 ? &object->selector : nullptr;
  }
  // What is not valid about the selector; empty: nothing.
  [[nodiscard]] std::string selector_problem() const;
};
using ClaimRef = std::shared_ptr<const PersistentVolumeClaim>;

struct StorageClass : Stored<plimsoll_storage_class> {
  AffinityRef allowed_topologies;  // null: every node

  [[nodiscard]] std::string_view provisioner() const { return sdk::view(object->provisioner); }
};
// Whether claims of the class wait for their first consumer.
[[nodiscard]] bool waits_for_consumer(const plimsoll_storage_class& storage_class);

struct CsiStorageCapacity : Stored<plimsoll_csi_storage_capacity> {
  std::optional<Quantity> capacity;
  std::optional<Quantity> maximum_size;
  AffinityRef topology;  // null: every node, if it has one

  [[nodiscard]] std::string_view class_name() const { return sdk::view(object->storage_class); }
  [[nodiscard]] bool has_topology() const { return object->node_topology.present != 0; }
  // The largest volume that it has room for; nothing: it does not say.
  [[nodiscard]] const std::optional<Quantity>& limit() const {
    return maximum_size ? maximum_size : capacity;
  }
};

// The same, of an object.
[[nodiscard]] std::optional<Quantity> limit_of(const plimsoll_csi_storage_capacity& object);

template <typename Decoded>
[[nodiscard]] Stored<Decoded> read(const Decoded& object) {
  return {&object};
}
[[nodiscard]] PersistentVolume read(const plimsoll_persistent_volume& object);
[[nodiscard]] PersistentVolumeClaim read(const plimsoll_persistent_volume_claim& object);
[[nodiscard]] StorageClass read(const plimsoll_storage_class& object);
[[nodiscard]] CsiStorageCapacity read(const plimsoll_csi_storage_capacity& object);

}  // namespace plimsoll::volumes
