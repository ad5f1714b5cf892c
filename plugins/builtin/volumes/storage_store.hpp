#pragma once
// The storage objects of the cluster, as they are assumed to be: what Reserve decides for a volume
// or a claim holds until the object comes in another version, or goes. Kubernetes:
// pkg/scheduler/framework/plugins/volumebinding/passive_assume_cache.go.
//
// Changed on the loop only; Filter and Score read it from other threads while the loop waits.
// Whoever keeps something of it beyond the call keeps names: the next event of an object takes away
// what was there.

#include <plimsoll/arguments.hpp>
#include <plimsoll/host.hpp>
#include <plimsoll/kinds.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "framework/base/string_map.hpp"
#include "plugins/storage/storage_objects.hpp"
#include "plugins/storage/volume_lists.hpp"

namespace plimsoll::volumes {

// The objects of one kind by key.
template <typename Object>
class StorageKind {
 public:
  using Ref = std::shared_ptr<const Object>;

  // Null: there is no such object.
  [[nodiscard]] Ref find(std::string_view key) const {
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second;
  }
  [[nodiscard]] const StringMap<Ref>& all() const { return objects_; }

  // Null: it is gone.
  void update(const std::string& key, Ref now) {
    if (now != nullptr) {
      objects_[key] = std::move(now);
    } else if (const auto found = objects_.find(key); found != objects_.end()) {
      objects_.erase(found);
    }
  }

 private:
  StringMap<Ref> objects_;
};

// The kinds that a plugin reads: StorageKinds{sdk::kPersistentVolumes, sdk::kCsiNodes}.
template <typename... Objects>
class StorageKinds {
 public:
  explicit constexpr StorageKinds(const sdk::Kind<Objects>&... kinds) : kinds_(kinds...) {}

  // Their events then go to Storage::pass_on(). For start().
  void watch(const sdk::Host& host) const {
    std::apply([&](const auto&... kinds) { (host.watch(kinds), ...); }, kinds_);
  }
  [[nodiscard]] bool has(std::string_view resource) const {
    return std::apply([&](const auto&... kinds) { return ((kinds.resource == resource) || ...); },
                      kinds_);
  }

 private:
  std::tuple<sdk::Kind<Objects>...> kinds_;
};

class StorageStore {
 public:
  StorageStore() = default;
  StorageStore(const StorageStore&) = delete;
  StorageStore& operator=(const StorageStore&) = delete;

  // The object is as the host has it now. Those that cannot be read are logged.
  void apply(const sdk::Host& host, const sdk::ObjectEvent& event);

  [[nodiscard]] const VolumeLists& volumes() const { return volumes_; }
  [[nodiscard]] const StorageKind<PersistentVolumeClaim>& claims() const { return claims_; }
  [[nodiscard]] const StorageKind<StorageClass>& classes() const { return classes_; }
  [[nodiscard]] const StorageKind<CsiNode>& csi_nodes() const { return csi_nodes_; }
  [[nodiscard]] const StorageKind<CsiDriver>& csi_drivers() const { return csi_drivers_; }
  [[nodiscard]] const StorageKind<VolumeAttachment>& attachments() const { return attachments_; }

  [[nodiscard]] ClaimRef claim(std::string_view ns, std::string_view name) const {
    return claims_.find(key_of(ns, name));
  }
  [[nodiscard]] VolumeRef volume(std::string_view name) const { return volumes_.find(name); }
  // By key.
  using Capacities = std::map<std::string, std::shared_ptr<const CsiStorageCapacity>, std::less<>>;
  [[nodiscard]] const Capacities& capacities_of_class(std::string_view class_name) const;

  // What is assumed of an object that is there; null: it is as it is stored.
  void assume(const VolumeRef& volume, std::shared_ptr<AssumedClaim> claim);
  void assume(const ClaimRef& claim, std::shared_ptr<AssumedNode> node);
  // How many objects are assumed to be otherwise than they are stored.
  [[nodiscard]] size_t assumed() const;

 private:
  template <typename Decoded>
  [[nodiscard]] auto read_now(const sdk::Host& host, const sdk::ObjectEvent& event,
                              const sdk::Kind<Decoded>& decoded);
  template <typename Kind, typename Decoded>
  void change(Kind& kind, const sdk::Host& host, const sdk::ObjectEvent& event,
              const sdk::Kind<Decoded>& decoded);
  void change_capacity(const sdk::Host& host, const sdk::ObjectEvent& event);
  void share(AffinityRef& affinity);

  VolumeLists volumes_;
  StorageKind<PersistentVolumeClaim> claims_;
  StorageKind<StorageClass> classes_;
  StorageKind<CsiNode> csi_nodes_;
  StorageKind<CsiDriver> csi_drivers_;
  StorageKind<VolumeAttachment> attachments_;
  StringMap<std::string> class_of_capacity_;
  StringMap<Capacities> capacities_;                           // by class
  StringMap<std::weak_ptr<const VolumeAffinity>> affinities_;  // by JSON
  size_t affinities_to_sweep_ = 1024;
};

}  // namespace plimsoll::volumes
