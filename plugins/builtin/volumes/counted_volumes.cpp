#include "plugins/builtin/volumes/counted_volumes.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "plugins/builtin/volumes/pod_volumes.hpp"

namespace plimsoll::volumes {
namespace {

using sdk::view;

constexpr std::string_view kClaimKind = "persistentvolumeclaim";

CountedVolume problem(std::string text) {
  CountedVolume result;
  result.problem = std::move(text);
  return result;
}

CountedVolume counted(std::string driver, std::string handle, bool needs_csi_node) {
  CountedVolume result;
  result.needs_csi_node = needs_csi_node;
  if (!driver.empty() && !handle.empty()) {
    result.volume = CsiVolume{std::move(driver), std::move(handle)};
  }
  return result;
}

// No driver gives a volume a handle with such a first byte.
std::string handle_of_unbound(const PersistentVolumeClaim& claim) {
  return std::string(1, '\0') + claim.key();
}

CountedVolume counted_by_class(const PersistentVolumeClaim& claim, const StorageStore& store) {
  if (claim.class_name.empty()) return {};
  const auto found = store.classes().find(claim.class_name);
  if (found == nullptr) return {};
  if (!found->readable()) return problem(unreadable_text("storageclass", found->base()));
  const InTreePlugin* in_tree = in_tree_plugin_named(found->provisioner());
  if (in_tree == nullptr)
    return counted(std::string(found->provisioner()), handle_of_unbound(claim), false);
  if (!in_tree->is_switched_on) return {};
  return counted(std::string(in_tree->driver), handle_of_unbound(claim), true);
}

}  // namespace

CountedVolume counted(const PersistentVolumeClaim& claim, const StorageStore& store) {
  if (!claim.readable()) return problem(unreadable_text(kClaimKind, claim.base()));
  const VolumeRef volume = store.volume(claim.volume_name());
  if (volume == nullptr) return counted_by_class(claim, store);
  if (!volume->readable()) return problem(unreadable_text("persistentvolume", volume->base()));
  if (volume->source().empty()) {
    return counted(std::string(view(volume->object->csi_driver)),
                   std::string(view(volume->object->csi_handle)), false);
  }
  auto translated = translate(*volume);
  if (!translated) return {};
  return counted(std::move(translated->driver), std::move(translated->handle), true);
}

CountedVolume counted(const plimsoll_volume& inline_volume) {
  const InTreePlugin* plugin = in_tree_plugin_of(view(inline_volume.kind));
  if (plugin == nullptr || !plugin->is_switched_on) return {};
  auto translated = translate(inline_volume);
  CountedVolume result;
  result.needs_csi_node = true;
  if (translated) {
    result.volume = *std::move(translated);
  } else {
    result.problem = "converting volume(" + std::string(view(inline_volume.name)) +
                     ") from inline to csi: " + translated.error().message;
  }
  return result;
}

bool may_count(sdk::Pod pod) {
  const auto volumes = volumes_of(pod);
  return std::any_of(volumes.begin(), volumes.end(), [](const plimsoll_volume& volume) {
    return is_claim(volume) || is_ephemeral(volume) ||
           in_tree_plugin_of(view(volume.kind)) != nullptr;
  });
}

NewVolumes new_volumes(sdk::Pod pod, const StorageStore& store, bool on_csi_node) {
  NewVolumes result;
  const auto stop = [&](bool is_error, std::string text) {
    result.fault = NewVolumes::Fault{is_error, std::move(text)};
    return result;
  };
  for (const plimsoll_volume& volume : volumes_of(pod)) {
    const auto name = claim_name(pod, volume);
    CountedVolume found;
    if (name) {
      if (name->empty()) return stop(true, "PersistentVolumeClaim had no name");
      const ClaimRef claim = store.claim(pod.ns(), *name);
      if (claim == nullptr) {
        return stop(false, "looking up PVC " + std::string(pod.ns()) + "/" + *name + ": " +
                               not_found_text(kClaimKind, *name));
      }
      const bool readable = claim->readable();
      if (readable && is_ephemeral(volume) && !is_owned_by(*claim, pod)) {
        return stop(true, not_owner_text(*claim, pod));
      }
      found = counted(*claim, store);
      if (!found.problem.empty()) return stop(false, found.problem);
    } else {
      found = counted(volume);
      if (on_csi_node && !found.problem.empty()) return stop(true, found.problem);
    }
    if (found.volume && (on_csi_node || !found.needs_csi_node)) {
      result.volumes.push_back(*std::move(found.volume));
    }
  }
  std::sort(result.volumes.begin(), result.volumes.end());
  result.volumes.erase(std::unique(result.volumes.begin(), result.volumes.end()),
                       result.volumes.end());
  return result;
}

HeldVolumes held_volumes(sdk::Pod pod, const StorageStore& store) {
  HeldVolumes result;
  std::set<std::pair<std::string, bool>> claims;
  for (const plimsoll_volume& volume : volumes_of(pod)) {
    CountedVolume found;
    if (const auto name = claim_name(pod, volume)) {
      const ClaimRef claim = store.claim(pod.ns(), *name);
      const bool is_new = claims.emplace(*name, is_ephemeral(volume)).second;
      if (claim == nullptr || !is_new) continue;
      // A kubelet does not mount another pod's, nor what it cannot translate.
      const bool foreign = is_ephemeral(volume) && !is_owned_by(*claim, pod);
      if (foreign && claim->readable()) continue;
      found = counted(*claim, store);
      if (!found.problem.empty()) ++result.uncounted;
    } else {
      found = counted(volume);
    }
    if (found.volume) result.volumes.push_back(*std::move(found.volume));
  }
  return result;
}

}  // namespace plimsoll::volumes
