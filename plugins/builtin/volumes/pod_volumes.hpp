#pragma once
// What the volume plugins ask of a pod's volumes, and the texts that they share. Values; any
// thread.

#include <plimsoll/views.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "plugins/storage/storage_objects.hpp"

namespace plimsoll::volumes {

[[nodiscard]] inline sdk::List<plimsoll_volume> volumes_of(sdk::Pod pod) {
  return pod->volumes;
}

// A persistentVolumeClaim volume: it names its claim.
[[nodiscard]] bool is_claim(const plimsoll_volume& volume);
// A generic ephemeral volume: its claim is made for the pod.
[[nodiscard]] bool is_ephemeral(const plimsoll_volume& volume);
// The name of the claim, in the pod's namespace: claimName, or "pod-volume" for a generic ephemeral
// volume. Nothing: the volume is not a claim.
[[nodiscard]] std::optional<std::string> claim_name(sdk::Pod pod, const plimsoll_volume& volume);

[[nodiscard]] bool has_claims(sdk::Pod pod);
// Whether a persistentVolumeClaim volume of the pod names this claim; whether any volume is it.
[[nodiscard]] bool names_claim(sdk::Pod pod, const plimsoll_meta& claim);
[[nodiscard]] bool uses_claim(sdk::Pod pod, const plimsoll_meta& claim);

// Whether the claim of an ephemeral volume was made for this pod (VolumeIsForPod).
[[nodiscard]] bool is_owned_by(const PersistentVolumeClaim& claim, sdk::Pod pod);
[[nodiscard]] std::string not_owner_text(const PersistentVolumeClaim& claim, sdk::Pod pod);

// persistentvolumeclaim "data" not found
[[nodiscard]] std::string not_found_text(std::string_view kind, std::string_view name);
// persistentvolumeclaim "data" cannot be read: spec.accessModes: must be a list
[[nodiscard]] std::string unreadable_text(std::string_view kind, const plimsoll_object& object);

}  // namespace plimsoll::volumes
