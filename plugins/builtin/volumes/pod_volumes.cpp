#include "plugins/builtin/volumes/pod_volumes.hpp"

#include <algorithm>

namespace plimsoll::volumes {

using sdk::view;

bool is_claim(const plimsoll_volume& volume) {
  return view(volume.kind) == "persistentVolumeClaim";
}

bool names_claim(sdk::Pod pod, const Meta& claim) {
  if (pod.ns() != claim.ns) return false;
  const auto volumes = volumes_of(pod);
  return std::any_of(volumes.begin(), volumes.end(), [&](const plimsoll_volume& volume) {
    return is_claim(volume) && view(volume.target) == claim.name;
  });
}

std::string not_found_text(std::string_view kind, std::string_view name) {
  return std::string(kind) + " \"" + std::string(name) + "\" not found";
}

std::string unreadable_text(std::string_view kind, const Meta& meta) {
  return std::string(kind) + " \"" + meta.name + "\" cannot be read: " + meta.problem;
}

}  // namespace plimsoll::volumes
