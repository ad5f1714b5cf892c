#pragma once
// Objects as the scheduler has decided that they will be, on top of the store. Kubernetes:
// pkg/scheduler/framework/plugins/volumebinding/passive_assume_cache.go. Loop only.
//
// An assumed object is visible as long as its resourceVersion equals that of the stored one: any
// newer event ends it, and so does the object's deletion. Pods that share a claim share what is
// assumed: it ends with the last of them.

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "framework/base/result.hpp"
#include "framework/base/string_map.hpp"
#include "plugins/builtin/volumes/storage_store.hpp"

namespace plimsoll::volumes {

template <typename Object>
class AssumeCache {
 public:
  using Ref = std::shared_ptr<const Object>;

  // `kind` is how "not found" calls the objects: "persistentvolume".
  AssumeCache(const StorageKind<Object>& stored, std::string_view kind)
      : stored_(stored), kind_(kind) {}

  // Null: there is no such object.
  [[nodiscard]] Ref find(std::string_view key) const {
    Ref stored = stored_.find(key);
    if (stored == nullptr || assumed_.empty()) return stored;
    const auto found = assumed_.find(key);
    const bool current = found != assumed_.end() && same_version(*found->second.object, *stored);
    return current ? found->second.object : stored;
  }

  // One more holder of the assumption if it is what find() gives; else it replaces an earlier
  // assumption. Fails if the stored object is another version, or gone.
  Result<void> assume(Ref object) {
    std::string key = key_of(object->meta);
    const Ref stored = stored_.find(key);
    if (stored == nullptr) {
      return fail(ErrorCode::kNotFound, kind_ + " \"" + object->meta.name + "\" not found");
    }
    if (!same_version(*object, *stored)) {
      return fail(ErrorCode::kConflict,
                  "\"" + key + "\" is out of sync (stored: " + stored->meta.resource_version +
                      ", assume: " + object->meta.resource_version + ")");
    }
    Assumed& assumed = assumed_[std::move(key)];
    if (assumed.object != object) assumed = {std::move(object), 0};
    ++assumed.holders;
    return {};
  }

  // One holder less of this assumption; another of the same object stays.
  void restore(const Ref& object) {
    const auto found = assumed_.find(key_of(object->meta));
    if (found == assumed_.end() || found->second.object != object) return;
    if (--found->second.holders == 0) assumed_.erase(found);
  }

  // The stored object changed: an assumption that is over is freed.
  void changed(std::string_view key) {
    const auto found = assumed_.find(key);
    if (found == assumed_.end()) return;
    const Ref stored = stored_.find(key);
    if (stored == nullptr || !same_version(*found->second.object, *stored)) assumed_.erase(found);
  }

  [[nodiscard]] size_t size() const { return assumed_.size(); }

 private:
  static bool same_version(const Object& a, const Object& b) {
    return a.meta.resource_version == b.meta.resource_version;
  }

  const StorageKind<Object>& stored_;
  std::string kind_;
  struct Assumed {
    Ref object;
    size_t holders = 0;
  };
  StringMap<Assumed> assumed_;
};

}  // namespace plimsoll::volumes
