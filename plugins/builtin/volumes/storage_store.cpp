#include "plugins/builtin/volumes/storage_store.hpp"

#include <memory>

namespace plimsoll::volumes {
namespace {

template <typename Index>
const auto& found_in(const Index& index, std::string_view key) {
  static const typename Index::mapped_type kNone;
  const auto found = index.find(key);
  return found == index.end() ? kNone : found->second;
}

// Moves an object from where it was to where `by` puts it now.
template <typename Index, typename Object>
void reindex(Index& index, const StorageChange<Object>& change, const std::string Object::*by) {
  if (change.before != nullptr) {
    const auto found = index.find((*change.before).*by);
    found->second.erase(key_of(change.before->meta));
    if (found->second.empty()) index.erase(found);
  }
  if (change.now != nullptr) index[(*change.now).*by][key_of(change.now->meta)] = change.now;
}

}  // namespace

StorageStore::Shared StorageStore::shared(const sdk::Host& host) {
  return {host, "plimsoll.io/storage-objects", [] { return std::make_unique<StorageStore>(); }};
}

template <typename Object, typename Decoded>
StorageChange<Object> StorageStore::change(StorageKind<Object>& kind, const sdk::Host& host,
                                           const sdk::ObjectEvent& event,
                                           const sdk::Kind<Decoded>& decoded) {
  const std::string key = key_of(event.ns, event.name);
  const Decoded* known = host.object(decoded, event.ns, event.name);
  if (known == nullptr) return {kind.erase(key), nullptr};
  Object object = read(*known);
  if (!object.meta.readable()) {
    host.warn(std::string(event.resource) + " " + key +
              " cannot be read; pods that need it wait: " + object.meta.problem);
  }
  if constexpr (std::is_same_v<Object, PersistentVolume>) share(object.affinity);
  if constexpr (std::is_same_v<Object, StorageClass>) share(object.allowed_topologies);
  if constexpr (std::is_same_v<Object, CsiStorageCapacity>) share(object.topology);
  auto now = std::make_shared<const Object>(std::move(object));
  return {kind.put(key, now, known->object), now};
}

// Equal affinities are one object, so that each is evaluated once.
void StorageStore::share(AffinityRef& affinity) {
  if (affinity == nullptr) return;
  if (affinities_.size() >= affinities_to_sweep_) {
    std::erase_if(affinities_, [](const auto& entry) { return entry.second.expired(); });
    affinities_to_sweep_ = 2 * affinities_.size() + 1024;
  }
  auto& known = affinities_[affinity->json()];
  if (auto same = known.lock()) {
    affinity = std::move(same);
  } else {
    known = affinity;
  }
}

void StorageStore::apply(const sdk::Host& host, const sdk::ObjectEvent& event) {
  if (event.type == sdk::ObjectEvent::kSynced) return;
  if (event.resource == sdk::kPersistentVolumes.resource) {
    change(volumes_, host, event, sdk::kPersistentVolumes);
  } else if (event.resource == sdk::kPersistentVolumeClaims.resource) {
    change(claims_, host, event, sdk::kPersistentVolumeClaims);
  } else if (event.resource == sdk::kStorageClasses.resource) {
    change(classes_, host, event, sdk::kStorageClasses);
  } else if (event.resource == sdk::kCsiNodes.resource) {
    change(csi_nodes_, host, event, sdk::kCsiNodes);
  } else if (event.resource == sdk::kCsiDrivers.resource) {
    change(csi_drivers_, host, event, sdk::kCsiDrivers);
  } else if (event.resource == sdk::kCsiStorageCapacities.resource) {
    reindex(capacities_by_class_, change(capacities_, host, event, sdk::kCsiStorageCapacities),
            &CsiStorageCapacity::class_name);
  } else if (event.resource == sdk::kVolumeAttachments.resource) {
    reindex(attachments_by_node_, change(attachments_, host, event, sdk::kVolumeAttachments),
            &VolumeAttachment::node_name);
  }
  if (listener_ && (event.resource == sdk::kPersistentVolumes.resource ||
                    event.resource == sdk::kPersistentVolumeClaims.resource)) {
    listener_(event.resource, key_of(event.ns, event.name));
  }
}

const StorageStore::Sorted<CsiStorageCapacity>& StorageStore::capacities_of_class(
    std::string_view class_name) const {
  return found_in(capacities_by_class_, class_name);
}

const StorageStore::Sorted<VolumeAttachment>& StorageStore::attachments_of_node(
    std::string_view node) const {
  return found_in(attachments_by_node_, node);
}

}  // namespace plimsoll::volumes
