#include "plugins/builtin/volumes/pod_volumes.hpp"

#include <algorithm>

namespace plimsoll::volumes {

using sdk::view;

bool is_claim(const plimsoll_volume& volume) {
  return view(volume.kind) == "persistentVolumeClaim";
}

bool names_claim(sdk::Pod pod, const plimsoll_meta& claim) {
  if (pod.ns() != view(claim.ns)) return false;
  const auto volumes = volumes_of(pod);
  return std::any_of(volumes.begin(), volumes.end(), [&](const plimsoll_volume& volume) {
    return is_claim(volume) && view(volume.target) == view(claim.name);
  });
}

std::string not_found_text(std::string_view kind, std::string_view name) {
  return std::string(kind) + " \"" + std::string(name) + "\" not found";
}

std::string unreadable_text(std::string_view kind, const plimsoll_object& object) {
  return std::string(kind) + " \"" + std::string(view(object.meta.name)) +
         "\" cannot be read: " + std::string(view(object.unreadable));
}

}  // namespace plimsoll::volumes
