#include "plugins/builtin/volumes/pod_claims.hpp"

#include <algorithm>

namespace plimsoll::volumes {

using sdk::List;
using sdk::view;

bool is_ephemeral(const plimsoll_volume& volume) {
  return view(volume.kind) == "ephemeral";
}

std::optional<std::string> claim_name(sdk::Pod pod, const plimsoll_volume& volume) {
  if (view(volume.kind) == "persistentVolumeClaim") return std::string(view(volume.target));
  if (!is_ephemeral(volume)) return std::nullopt;
  return std::string(pod.name()) + "-" + std::string(view(volume.name));
}

bool has_claims(sdk::Pod pod) {
  const List<plimsoll_volume> volumes = pod->volumes;
  return std::any_of(volumes.begin(), volumes.end(), [](const plimsoll_volume& volume) {
    return view(volume.kind) == "persistentVolumeClaim" || is_ephemeral(volume);
  });
}

bool uses_claim(sdk::Pod pod, const plimsoll_meta& claim) {
  if (pod.ns() != view(claim.ns)) return false;
  const List<plimsoll_volume> volumes = pod->volumes;
  return std::any_of(volumes.begin(), volumes.end(), [&](const plimsoll_volume& volume) {
    return claim_name(pod, volume) == view(claim.name);
  });
}

bool is_owned_by(const PersistentVolumeClaim& claim, sdk::Pod pod) {
  return claim.ns() == pod.ns() && claim.controller_uid() == pod.uid();
}

std::string not_owner_text(const PersistentVolumeClaim& claim, sdk::Pod pod) {
  return "PVC " + claim.key() + " was not created for pod " + key_of(pod.ns(), pod.name()) +
         " (pod is not owner)";
}

}  // namespace plimsoll::volumes
