#include "lab/sandbox/storage/volume_controller.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lab/sandbox/apiserver/object_defaults.hpp"
#include "lab/sandbox/storage/volume_json.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

constexpr const char* kBoundByController = "pv.kubernetes.io/bound-by-controller";
constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr const char* kProvisionedBy = "pv.kubernetes.io/provisioned-by";
constexpr const char* kNoProvisioner = "kubernetes.io/no-provisioner";
constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr std::size_t kBatch = 1000;  // events

}  // namespace

struct SimulatedVolumes::Impl {
  explicit Impl(ObjectStore& cluster) : store(cluster) {
    for (Kind& kind : kinds) {
      subscriptions.push_back(store.subscribe(*kind.resource, [this] {
        const std::lock_guard lock(mutex);
        ++woken;
        wake.notify_one();
      }));
    }
    thread = std::thread([this] { run(); });
  }

  struct Kind {
    const ResourceName* resource;
    void (Impl::*handle)(const StoreEvent& event);
    std::uint64_t position = 0;
    bool listed = false;
  };

  void run() {
    for (;;) {
      std::uint64_t seen = 0;
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [this] { return stopping || woken != handled; });
        if (stopping) return;
        seen = woken;
      }
      while (step()) {
      }
      const std::lock_guard lock(mutex);
      handled = seen;
    }
  }

  // Handles what is new. False: nothing was.
  bool step() {
    bool any = false;
    for (Kind& kind : kinds) {
      for (const StoreEvent& event : news(kind)) {
        any = true;
        (this->*kind.handle)(event);
      }
    }
    return any;
  }

  std::vector<StoreEvent> news(Kind& kind) {
    if (kind.listed) {
      if (auto batch = store.events_after(*kind.resource, kind.position, kBatch)) {
        kind.position = batch->position;
        return std::move(batch->events);
      }
    }
    std::vector<StoreEvent> events;  // the first look, or too far behind
    const auto list = store.list(*kind.resource);
    if (!list) return events;
    for (const ObjectPtr& object : list->objects) {
      events.push_back({EventType::kAdded, object->resource_version, object, nullptr});
    }
    kind.position = list->resource_version;
    kind.listed = true;
    return events;
  }

  // ---- volumes

  void volume_changed(const StoreEvent& event) {
    const std::string& name = event.object->key.name;
    forget(name);
    if (event.type == EventType::kDeleted) return;
    const json volume = event.object->parse();
    volumes[name] = volume;
    const json& reference = value_at(volume, {"spec", "claimRef"});
    if (reference.is_null()) {
      if (text_in(volume, {"status", "phase"}) != "Available") {
        set_phase(event.object->key, "Available");
      }
      return match_waiting(text_in(volume, {"spec", "storageClassName"}));
    }
    const auto claim = get(kPersistentVolumeClaims,
                           {text_in(reference, {"namespace"}), text_in(reference, {"name"})});
    if (claim && text_in(*claim, {"spec", "volumeName"}).empty()) bind(volume, *claim);
  }

  void forget(const std::string& name) {
    const auto known = volumes.find(name);
    if (known == volumes.end()) return;
    const json& reference = value_at(known->second, {"spec", "claimRef"});
    const auto reserved =
        reserved_for.find({text_in(reference, {"namespace"}), text_in(reference, {"name"})});
    if (reserved != reserved_for.end() && reserved->second == name) reserved_for.erase(reserved);
    volumes.erase(known);
  }

  void set_phase(const ObjectKey& volume, const char* phase) {
    change(kPersistentVolumes, volume, [&](json& now) { now["status"]["phase"] = phase; });
  }

  // A volume became free: claims that nothing fitted may take it.
  void match_waiting(const std::string& class_name) {
    const std::set<ObjectKey> waiting = waiting_claims;
    for (const ObjectKey& key : waiting) {
      const auto claim = get(kPersistentVolumeClaims, key);
      if (claim && text_in(*claim, {"spec", "storageClassName"}) == class_name)
        look_at(key, *claim);
    }
  }

  // ---- claims

  void claim_changed(const StoreEvent& event) {
    if (event.type == EventType::kDeleted) {
      waiting_claims.erase(event.object->key);
      return claim_deleted(event.object->parse());
    }
    look_at(event.object->key, event.object->parse());
  }

  void look_at(const ObjectKey& key, const json& claim) {
    waiting_claims.erase(key);
    if (is_fully_bound(claim)) return;
    if (text_in(claim, {"status", "phase"}).empty()) {
      change(kPersistentVolumeClaims, key, [](json& now) { now["status"]["phase"] = "Pending"; });
    }
    if (const std::string name = text_in(claim, {"spec", "volumeName"}); !name.empty()) {
      if (const auto volume = get(kPersistentVolumes, {"", name})) bind(*volume, claim);
      return;
    }
    if (const json* volume = bound_already(key, claim)) return bind(json(*volume), claim);
    const auto storage_class =
        get(kStorageClasses, {"", text_in(claim, {"spec", "storageClassName"})});
    const bool waits =
        storage_class && text_in(*storage_class, {"volumeBindingMode"}) == "WaitForFirstConsumer";
    const std::string node = text_in(claim, {"metadata", "annotations", kSelectedNode});
    if (waits && node.empty()) return;
    if (!waits) {
      if (const json* volume = smallest_for(claim)) return bind(json(*volume), claim);
    }
    const std::string provisioner =
        storage_class ? text_in(*storage_class, {"provisioner"}) : std::string();
    if (provisioner.empty() || provisioner == kNoProvisioner) {
      waiting_claims.insert(key);
    } else {
      provision(claim, provisioner, node);
    }
  }

  const json* bound_already(const ObjectKey& key, const json& claim) const {
    const auto reserved = reserved_for.find(key);
    const auto volume =
        reserved == reserved_for.end() ? volumes.end() : volumes.find(reserved->second);
    if (volume == volumes.end()) return nullptr;
    return refers_to(value_at(volume->second, {"spec", "claimRef"}), claim) ? &volume->second
                                                                            : nullptr;
  }

  const json* smallest_for(const json& claim) const {
    const json* smallest = nullptr;
    Quantity least;
    for (const auto& [name, volume] : volumes) {
      if (!fits(volume, claim)) continue;
      const Quantity size = size_of(value_at(volume, {"spec", "capacity", "storage"}));
      if (smallest != nullptr && size.cmp(least) >= 0) continue;
      smallest = &volume;
      least = size;
    }
    return smallest;
  }

  // As the external provisioner and the controller together.
  void provision(const json& claim, const std::string& provisioner, const std::string& node_name) {
    const std::string name = "pvc-" + text_in(claim, {"metadata", "uid"});
    const json& request = value_at(claim, {"spec", "resources", "requests", "storage"});
    json volume = {{"metadata", {{"name", name}, {"annotations", {{kProvisionedBy, provisioner}}}}},
                   {"spec",
                    {{"accessModes", value_at(claim, {"spec", "accessModes"})},
                     {"capacity", {{"storage", request.is_null() ? json("1Gi") : request}}},
                     {"claimRef", reference_to(claim)},
                     {"csi", {{"driver", provisioner}, {"volumeHandle", name}}},
                     {"persistentVolumeReclaimPolicy", "Delete"},
                     {"storageClassName", text_in(claim, {"spec", "storageClassName"})}}},
                   {"status", {{"phase", "Pending"}}}};
    if (const json& mode = value_at(claim, {"spec", "volumeMode"}); mode.is_string()) {
      volume["spec"]["volumeMode"] = mode;
    }
    const auto node = get(kNodes, {"", node_name});
    if (node) {
      if (const std::string zone = text_in(*node, {"metadata", "labels", kZone}); !zone.empty()) {
        volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] = json::array(
            {{{"matchExpressions",
               json::array({{{"key", kZone}, {"operator", "In"}, {"values", {zone}}}})}}});
      }
    }
    if (!store.create(kPersistentVolumes, std::move(volume))) return;
    const std::lock_guard lock(mutex);
    ++counts.provisioned;
  }

  void bind(const json& volume, const json& claim) {
    const std::string name = text_in(volume, {"metadata", "name"});
    const std::string uid = text_in(claim, {"metadata", "uid"});
    bool mine = true;
    change(kPersistentVolumes, {"", name}, [&](json& now) {
      const json& reference = value_at(now, {"spec", "claimRef"});
      mine = reference.is_null() || refers_to(reference, claim);
      if (!mine) return;
      if (text_in(reference, {"uid"}).empty()) now["spec"]["claimRef"] = reference_to(claim);
      now["status"]["phase"] = "Bound";
    });
    if (!mine) return;
    const ObjectKey key{text_in(claim, {"metadata", "namespace"}),
                        text_in(claim, {"metadata", "name"})};
    bool bound = false;
    change(kPersistentVolumeClaims, key, [&](json& now) {
      const std::string other = text_in(now, {"spec", "volumeName"});
      if (text_in(now, {"metadata", "uid"}) != uid || (!other.empty() && other != name)) return;
      bound = !is_fully_bound(now);
      now["spec"]["volumeName"] = name;
      now["metadata"]["annotations"][kBindCompleted] = "yes";
      now["metadata"]["annotations"][kBoundByController] = "yes";
      now["status"]["phase"] = "Bound";
      now["status"]["capacity"] = value_at(volume, {"spec", "capacity"});
      now["status"]["accessModes"] = value_at(volume, {"spec", "accessModes"});
    });
    const std::lock_guard lock(mutex);
    counts.bound += bound ? 1 : 0;
  }

  void claim_deleted(const json& claim) {
    const std::string name = text_in(claim, {"spec", "volumeName"});
    if (name.empty()) return;
    const auto volume = get(kPersistentVolumes, {"", name});
    if (!volume ||
        text_in(*volume, {"spec", "claimRef", "uid"}) != text_in(claim, {"metadata", "uid"})) {
      return;
    }
    if (text_in(*volume, {"spec", "persistentVolumeReclaimPolicy"}) == "Delete") {
      (void)store.remove(kPersistentVolumes, {"", name});
    } else {
      set_phase({"", name}, "Released");
    }
  }

  // ---- generic ephemeral volumes

  void pod_changed(const StoreEvent& event) {
    if (event.object->text.find("\"ephemeral\"") == std::string::npos) return;
    const json pod = event.object->parse();
    for (const json& volume : value_at(pod, {"spec", "volumes"})) {
      const json& claim_template = value_at(volume, {"ephemeral", "volumeClaimTemplate"});
      if (!claim_template.is_object()) continue;
      const std::string name = event.object->key.name + "-" + text_in(volume, {"name"});
      if (event.type == EventType::kDeleted) {
        delete_owned({event.object->key.ns, name}, event.object->uid);
        continue;
      }
      json claim = {{"metadata", value_at(claim_template, {"metadata"})},
                    {"spec", value_at(claim_template, {"spec"})}};
      if (!claim["metadata"].is_object()) claim["metadata"] = json::object();
      claim["metadata"]["name"] = name;
      claim["metadata"]["namespace"] = event.object->key.ns;
      claim["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "v1"},
                                                           {"kind", "Pod"},
                                                           {"name", event.object->key.name},
                                                           {"uid", event.object->uid},
                                                           {"controller", true}}});
      // Where it is refused, the pod waits for it.
      if (!admit_object(store, kPersistentVolumeClaims, claim)) continue;
      (void)store.create(kPersistentVolumeClaims, std::move(claim));  // it may be there
    }
  }

  void delete_owned(const ObjectKey& key, const std::string& pod_uid) {
    const auto claim = get(kPersistentVolumeClaims, key);
    if (!claim) return;
    for (const json& owner : value_at(*claim, {"metadata", "ownerReferences"})) {
      if (text_in(owner, {"uid"}) == pod_uid) (void)store.remove(kPersistentVolumeClaims, key);
    }
  }

  // ---- the store

  std::optional<json> get(const ResourceName& resource, const ObjectKey& key) const {
    const auto found = store.get(resource, key);
    return found ? std::optional<json>((*found)->parse()) : std::nullopt;
  }
  template <typename Change>
  void change(const ResourceName& resource, const ObjectKey& key, const Change& how) {
    (void)store.modify(resource, key, {}, [&](json& now) -> ApiResult<void> {
      how(now);
      return {};
    });
  }

  ObjectStore& store;
  // Volumes first: a claim may have one.
  std::array<Kind, 3> kinds{{{&kPersistentVolumes, &Impl::volume_changed},
                             {&kPersistentVolumeClaims, &Impl::claim_changed},
                             {&kPods, &Impl::pod_changed}}};
  std::map<std::string, json> volumes;            // by name
  std::map<ObjectKey, std::string> reserved_for;  // by claim: the volume that names it
  std::set<ObjectKey> waiting_claims;             // that nothing fits and nobody provisions for

  mutable std::mutex mutex;  // guards the following
  std::condition_variable wake;
  std::uint64_t woken = 1;    // events, and the start
  std::uint64_t handled = 0;  // as many of these
  bool stopping = false;
  Stats counts;

  std::vector<ObjectStore::Subscription> subscriptions;
  std::thread thread;
};

SimulatedVolumes::SimulatedVolumes(ObjectStore& store) : impl_(std::make_unique<Impl>(store)) {}

SimulatedVolumes::~SimulatedVolumes() {
  stop();
}

void SimulatedVolumes::stop() {
  if (!impl_->thread.joinable()) return;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    impl_->wake.notify_one();
  }
  impl_->thread.join();
  impl_->subscriptions.clear();
}

bool SimulatedVolumes::quiet() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->handled == impl_->woken;
}

SimulatedVolumes::Stats SimulatedVolumes::stats() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->counts;
}

}  // namespace plimsoll::sandbox
