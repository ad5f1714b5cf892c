#pragma once
// The storage objects of the cluster. All instances of all volume plugins share one store; one of
// them per kind passes the events of that kind on to it.
//
// Changed on the loop only; Filter and Score read it from other threads while the loop waits.
// Pointers and references are valid until the next event.

#include <plimsoll/arguments.hpp>
#include <plimsoll/host.hpp>
#include <plimsoll/kinds.hpp>
#include <plimsoll/shared.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/base/string_map.hpp"
#include "plugins/storage/storage_objects.hpp"

namespace plimsoll::volumes {

// Null where there is none: before, the object was added; now, it is gone.
template <typename Object>
struct StorageChange {
  std::shared_ptr<const Object> before;
  std::shared_ptr<const Object> now;
};

// The objects of one kind by key, and the latest update: requeue hints compare old and new.
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

  using Change = StorageChange<Object>;
  // The update to this object, if it is the latest one of this kind. Otherwise nothing is known of
  // what it changed, and a pod had better be tried.
  [[nodiscard]] const Change* change_to(const plimsoll_object* now) const {
    const bool latest = change_.now != nullptr && latest_ == now;
    return latest ? &change_ : nullptr;
  }

  // Return what was there before; null: nothing.
  Ref put(const std::string& key, Ref now, const plimsoll_object& object) {
    Ref& at = objects_[key];
    Ref before = std::exchange(at, now);
    change_ = {before, std::move(now)};
    latest_ = &object;
    return before;
  }
  Ref erase(std::string_view key) {
    change_ = {};
    const auto found = objects_.find(key);
    if (found == objects_.end()) return nullptr;
    Ref before = std::move(found->second);
    objects_.erase(found);
    return before;
  }

 private:
  StringMap<Ref> objects_;
  Change change_;
  const plimsoll_object* latest_ = nullptr;  // of the latest update; compared only
};

// The kinds that a plugin reads: StorageKinds{sdk::kPersistentVolumes, sdk::kCsiNodes}.
template <typename... Objects>
class StorageKinds {
 public:
  explicit constexpr StorageKinds(const sdk::Kind<Objects>&... kinds) : kinds_(kinds...) {}

  // Their events then go to StorageStore::pass_on(). For start().
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
  // The store of this scheduler. For start() and later.
  using Shared = sdk::Shared<StorageStore>;
  [[nodiscard]] static Shared shared(const sdk::Host& host);

  // Takes the event over if `store` feeds this kind. Objects that cannot be read are logged.
  static void pass_on(const Shared& store, const sdk::Host& host, const sdk::ObjectEvent& event) {
    if (store.feeds(event.resource)) store->apply(host, event);
  }

  [[nodiscard]] const StorageKind<PersistentVolume>& volumes() const { return volumes_; }
  [[nodiscard]] const StorageKind<PersistentVolumeClaim>& claims() const { return claims_; }
  [[nodiscard]] const StorageKind<StorageClass>& classes() const { return classes_; }
  [[nodiscard]] const StorageKind<CsiNode>& csi_nodes() const { return csi_nodes_; }
  [[nodiscard]] const StorageKind<CsiDriver>& csi_drivers() const { return csi_drivers_; }
  [[nodiscard]] const StorageKind<CsiStorageCapacity>& capacities() const { return capacities_; }
  [[nodiscard]] const StorageKind<VolumeAttachment>& attachments() const { return attachments_; }

  [[nodiscard]] ClaimRef claim(std::string_view ns, std::string_view name) const {
    return claims_.find(key_of(ns, name));
  }
  [[nodiscard]] VolumeRef volume(std::string_view name) const { return volumes_.find(name); }
  // By key.
  template <typename Object>
  using Sorted = std::map<std::string, std::shared_ptr<const Object>, std::less<>>;
  [[nodiscard]] const Sorted<CsiStorageCapacity>& capacities_of_class(
      std::string_view class_name) const;
  [[nodiscard]] const Sorted<VolumeAttachment>& attachments_of_node(std::string_view node) const;

  // Called after each change of a PersistentVolume or a claim, with its kind and key.
  using Listener = std::function<void(std::string_view resource, const std::string& key)>;
  void set_listener(Listener listener) { listener_ = std::move(listener); }

 private:
  template <typename Object>
  using Index = std::map<std::string, Sorted<Object>, std::less<>>;

  void apply(const sdk::Host& host, const sdk::ObjectEvent& event);
  template <typename Object, typename Decoded>
  StorageChange<Object> change(StorageKind<Object>& kind, const sdk::Host& host,
                               const sdk::ObjectEvent& event, const sdk::Kind<Decoded>& decoded);
  void share(AffinityRef& affinity);

  StorageKind<PersistentVolume> volumes_;
  StorageKind<PersistentVolumeClaim> claims_;
  StorageKind<StorageClass> classes_;
  StorageKind<CsiNode> csi_nodes_;
  StorageKind<CsiDriver> csi_drivers_;
  StorageKind<CsiStorageCapacity> capacities_;
  StorageKind<VolumeAttachment> attachments_;
  Index<CsiStorageCapacity> capacities_by_class_;
  Index<VolumeAttachment> attachments_by_node_;
  StringMap<std::weak_ptr<const VolumeAffinity>> affinities_;  // by JSON
  size_t affinities_to_sweep_ = 1024;
  Listener listener_;
};

}  // namespace plimsoll::volumes
