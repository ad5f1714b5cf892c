#pragma once
// Which claims a pod's volumes are. Pure; any thread.

#include <plimsoll/views.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "plugins/storage/storage_objects.hpp"

namespace plimsoll::volumes {

[[nodiscard]] bool is_ephemeral(const plimsoll_volume& volume);

// The name of the claim, in the pod's namespace: claimName, or "pod-volume" for a generic ephemeral
// volume. Nothing: the volume is not a claim.
[[nodiscard]] std::optional<std::string> claim_name(sdk::Pod pod, const plimsoll_volume& volume);

[[nodiscard]] bool has_claims(sdk::Pod pod);

// Whether the pod mounts this claim.
[[nodiscard]] bool uses_claim(sdk::Pod pod, const plimsoll_meta& claim);

// Whether the claim of an ephemeral volume was made for this pod (VolumeIsForPod).
[[nodiscard]] bool is_owned_by(const PersistentVolumeClaim& claim, sdk::Pod pod);
[[nodiscard]] std::string not_owner_text(const PersistentVolumeClaim& claim, sdk::Pod pod);

}  // namespace plimsoll::volumes
