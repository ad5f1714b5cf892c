#pragma once
// What the volume plugins ask of a pod's volumes besides its claims, and the texts that they share.
// Values; any thread.

#include <plimsoll/views.hpp>

#include <string>
#include <string_view>

#include "plugins/builtin/volumes/pod_claims.hpp"
#include "plugins/storage/storage_objects.hpp"

namespace plimsoll::volumes {

[[nodiscard]] inline sdk::List<plimsoll_volume> volumes_of(sdk::Pod pod) {
  return pod->volumes;
}

// A persistentVolumeClaim volume: it names its claim.
[[nodiscard]] bool is_claim(const plimsoll_volume& volume);
// Whether a volume of the pod names this claim.
[[nodiscard]] bool names_claim(sdk::Pod pod, const plimsoll_meta& claim);

// persistentvolumeclaim "data" not found
[[nodiscard]] std::string not_found_text(std::string_view kind, std::string_view name);
// persistentvolumeclaim "data" cannot be read: spec.accessModes: must be a list
[[nodiscard]] std::string unreadable_text(std::string_view kind, const plimsoll_object& object);

}  // namespace plimsoll::volumes
