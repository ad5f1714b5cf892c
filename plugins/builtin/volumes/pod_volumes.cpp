#include "plugins/builtin/volumes/pod_volumes.hpp"

#include <algorithm>

namespace plimsoll::volumes {

using sdk::view;

namespace {

template <typename Wanted>
bool any_volume(sdk::Pod pod, const Wanted& wanted) {
  const auto volumes = volumes_of(pod);
  return std::any_of(volumes.begin(), volumes.end(), wanted);
}

}  // namespace

bool is_claim(const plimsoll_volume& volume) {
  return view(volume.kind) == "persistentVolumeClaim";
}

bool is_ephemeral(const plimsoll_volume& volume) {
  return view(volume.kind) == "ephemeral";
}

std::optional<std::string> claim_name(sdk::Pod pod, const plimsoll_volume& volume) {
  if (is_claim(volume)) return std::string(view(volume.target));
  if (!is_ephemeral(volume)) return std::nullopt;
  return std::string(pod.name()) + "-" + std::string(view(volume.name));
}

bool has_claims(sdk::Pod pod) {
  return any_volume(pod,
                    [](const auto& volume) { return is_claim(volume) || is_ephemeral(volume); });
}

bool names_claim(sdk::Pod pod, const plimsoll_meta& claim) {
  return pod.ns() == view(claim.ns) && any_volume(pod, [&](const plimsoll_volume& volume) {
           return is_claim(volume) && view(volume.target) == view(claim.name);
         });
}

bool uses_claim(sdk::Pod pod, const plimsoll_meta& claim) {
  return pod.ns() == view(claim.ns) && any_volume(pod, [&](const plimsoll_volume& volume) {
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

std::string not_found_text(std::string_view kind, std::string_view name) {
  return std::string(kind) + " \"" + std::string(name) + "\" not found";
}

std::string unreadable_text(std::string_view kind, const plimsoll_object& object) {
  return std::string(kind) + " \"" + std::string(view(object.meta.name)) +
         "\" cannot be read: " + std::string(view(object.unreadable));
}

}  // namespace plimsoll::volumes
