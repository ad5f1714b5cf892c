#include "plugins/builtin/volumes/volume_match.hpp"

#include <algorithm>

#include "framework/api/selectors.hpp"

namespace plimsoll::volumes {

Quantity requested_size(const PersistentVolumeClaim& claim) {
  return claim.request.value_or(Quantity());
}

bool is_bound_to(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  if (!volume.claim) return false;
  const ClaimReference& reference = *volume.claim;
  return reference.name == claim.meta.name && reference.ns == claim.meta.ns &&
         (reference.uid.empty() || reference.uid == claim.meta.uid);
}

VolumeFit fit_of(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const bool pre_bound = is_bound_to(volume, claim);
  if (!volume.meta.readable() || (volume.claim && !pre_bound)) return VolumeFit::kNone;
  const bool is_enough = !claim.request || volume.capacity.cmp(*claim.request) >= 0;
  if (!is_enough || volume.volume_mode != claim.volume_mode ||
      volume.attributes_class != claim.attributes_class || volume.meta.is_deleting) {
    return VolumeFit::kNone;
  }
  if (pre_bound) return VolumeFit::kPreBound;
  const bool selected =
      claim.selector.parsed == nullptr || matches(*claim.selector.parsed, volume.labels.list());
  const bool fits = volume.phase == "Available" && selected &&
                    std::includes(volume.access_modes.begin(), volume.access_modes.end(),
                                  claim.access_modes.begin(), claim.access_modes.end());
  return fits ? VolumeFit::kFits : VolumeFit::kNone;
}

VolumeRef bound_copy(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const bool is_set = volume.claim && volume.claim->name == claim.meta.name &&
                      volume.claim->ns == claim.meta.ns && volume.claim->uid == claim.meta.uid;
  if (is_set) return nullptr;
  auto copy = std::make_shared<PersistentVolume>(volume);
  if (!is_bound_to(volume, claim)) copy->bound_by_controller = true;
  copy->claim =
      ClaimReference{claim.meta.ns, claim.meta.name, claim.meta.uid, claim.meta.resource_version};
  return copy;
}

ClaimRef annotated_copy(const PersistentVolumeClaim& claim, std::string_view node) {
  auto copy = std::make_shared<PersistentVolumeClaim>(claim);
  copy->selected_node = node;
  copy->has_annotations = true;
  return copy;
}

}  // namespace plimsoll::volumes
