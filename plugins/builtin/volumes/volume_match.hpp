#pragma once
// Whether a PersistentVolume can be bound to a claim, apart from the node. Kubernetes:
// FindMatchingVolume and CheckVolumeModeMismatches in k8s.io/component-helpers/storage/volume.
// Pure; any thread.

#include <cstdint>

#include "plugins/builtin/volumes/storage_objects.hpp"

namespace plimsoll::volumes {

enum class VolumeFit : uint8_t {
  kNone,
  kPreBound,  // it is bound to this claim already: taken whatever else it is, if its node fits
  kFits,
};
[[nodiscard]] VolumeFit fit_of(const PersistentVolume& volume, const PersistentVolumeClaim& claim);

// Whether the volume's claimRef is this claim: its UID equals, or is empty.
[[nodiscard]] bool is_bound_to(const PersistentVolume& volume, const PersistentVolumeClaim& claim);

// The requested size; 0 if there is none.
[[nodiscard]] Quantity requested_size(const PersistentVolumeClaim& claim);

// The volume with its claimRef set to the claim. Null: it is set already.
[[nodiscard]] VolumeRef bound_copy(const PersistentVolume& volume,
                                   const PersistentVolumeClaim& claim);
// The claim with the annotation volume.kubernetes.io/selected-node.
[[nodiscard]] ClaimRef annotated_copy(const PersistentVolumeClaim& claim, std::string_view node);

}  // namespace plimsoll::volumes
