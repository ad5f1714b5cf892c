#include "plugins/builtin/volumes/storage_store.hpp"

#include <algorithm>
#include <memory>

namespace plimsoll::volumes {
namespace {

template <typename Object, typename Assumed>
std::shared_ptr<const Object> assumed_copy(const Object& object, std::shared_ptr<Assumed> assumed) {
  auto copy = std::make_shared<Object>(object);
  copy->assumed = std::move(assumed);
  return copy;
}

}  // namespace

template <typename Decoded>
auto StorageStore::read_now(const sdk::Host& host, const sdk::ObjectEvent& event,
                            const sdk::Kind<Decoded>& decoded) {
  using Object = decltype(read(std::declval<const Decoded&>()));
  const Decoded* known = host.object(decoded, event.ns, event.name);
  if (known == nullptr) return std::shared_ptr<Object>();
  auto object = std::make_shared<Object>(read(*known));
  if (!object->readable()) {
    host.warn(std::string(event.resource) + " " + object->key() +
              " cannot be read; pods that need it wait: " + std::string(object->problem()));
  }
  if constexpr (std::is_same_v<Object, PersistentVolume>) share(object->affinity);
  if constexpr (std::is_same_v<Object, StorageClass>) share(object->allowed_topologies);
  if constexpr (std::is_same_v<Object, CsiStorageCapacity>) share(object->topology);
  return object;
}

// The object that was there goes first: whatever comes next, nothing points into it any more.
template <typename Kind, typename Decoded>
void StorageStore::change(Kind& kind, const sdk::Host& host, const sdk::ObjectEvent& event,
                          const sdk::Kind<Decoded>& decoded) {
  const std::string key = key_of(event.ns, event.name);
  const auto before = kind.find(key);
  kind.update(key, nullptr);
  auto now = read_now(host, event, decoded);
  if constexpr (requires { now->assumed; }) {
    const bool is_same = before != nullptr && now != nullptr && now->version() == before->version();
    if (is_same) now->assumed = before->assumed;
  }
  kind.update(key, std::move(now));
}

void StorageStore::change_capacity(const sdk::Host& host, const sdk::ObjectEvent& event) {
  const std::string key = key_of(event.ns, event.name);
  if (const auto known = class_of_capacity_.find(key); known != class_of_capacity_.end()) {
    const auto of_class = capacities_.find(known->second);
    of_class->second.erase(key);
    if (of_class->second.empty()) capacities_.erase(of_class);
    class_of_capacity_.erase(known);
  }
  const auto now = read_now(host, event, sdk::kCsiStorageCapacities);
  if (now == nullptr) return;
  class_of_capacity_[key] = now->class_name();
  capacities_[std::string(now->class_name())][key] = now;
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
  const auto try_kind = [&](auto& kind, const auto& decoded) {
    if (event.resource == decoded.resource) change(kind, host, event, decoded);
  };
  try_kind(volumes_, sdk::kPersistentVolumes);
  try_kind(claims_, sdk::kPersistentVolumeClaims);
  try_kind(classes_, sdk::kStorageClasses);
  try_kind(csi_nodes_, sdk::kCsiNodes);
  try_kind(csi_drivers_, sdk::kCsiDrivers);
  try_kind(attachments_, sdk::kVolumeAttachments);
  if (event.resource == sdk::kCsiStorageCapacities.resource) change_capacity(host, event);
}

const StorageStore::Capacities& StorageStore::capacities_of_class(
    std::string_view class_name) const {
  static const Capacities kNone;
  const auto found = capacities_.find(class_name);
  return found == capacities_.end() ? kNone : found->second;
}

void StorageStore::assume(const VolumeRef& volume, std::shared_ptr<AssumedClaim> claim) {
  volumes_.update(volume->key(), assumed_copy(*volume, std::move(claim)));
}

void StorageStore::assume(const ClaimRef& claim, std::shared_ptr<AssumedNode> node) {
  claims_.update(claim->key(), assumed_copy(*claim, std::move(node)));
}

size_t StorageStore::assumed() const {
  const auto is_assumed = [](const auto& each) { return each.second->assumed != nullptr; };
  return std::count_if(volumes_.all().begin(), volumes_.all().end(), is_assumed) +
         std::count_if(claims_.all().begin(), claims_.all().end(), is_assumed);
}

}  // namespace plimsoll::volumes
