#include <plimsoll/kinds.hpp>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/base/json_path.hpp"
#include "framework/objects/kinds.hpp"
#include "lab/sandbox/admission/object_defaults.hpp"
#include "lab/sandbox/controllers/controller.hpp"
#include "plugins/storage/csi_translation.hpp"
#include "plugins/storage/volume_lists.hpp"
#include "plugins/storage/volume_match.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;
using volumes::ClaimRef;
using volumes::CsiStorageCapacity;
using volumes::PersistentVolume;
using volumes::PersistentVolumeClaim;
using volumes::VolumeFit;
using volumes::VolumeRef;

constexpr const char* kBindCompleted = "pv.kubernetes.io/bind-completed";
constexpr const char* kBoundByController = "pv.kubernetes.io/bound-by-controller";
constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr const char* kProvisionedBy = "pv.kubernetes.io/provisioned-by";
constexpr const char* kNoProvisioner = "kubernetes.io/no-provisioner";
constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kDefaultSize = "1Gi";

// What the volume plugins read of an object, with the decoded object itself.
template <typename Decoded>
auto value_of(const StoredObject& object, const sdk::Kind<Decoded>& kind) {
  ObjectRef decoded = decode_object(kind.resource, object.key.ns, object.key.name, object.text);
  auto value = volumes::read(*reinterpret_cast<const Decoded*>(decoded.get()));
  using Value = decltype(value);
  auto both =
      std::make_shared<const std::pair<ObjectRef, Value>>(std::move(decoded), std::move(value));
  return std::shared_ptr<const Value>(both, &both->second);
}

ObjectKey object_key(std::string_view ns, std::string_view name) {
  return {std::string(ns), std::string(name)};
}
ObjectKey object_key(const PersistentVolumeClaim& claim) {
  return object_key(claim.ns(), claim.name());
}

std::string text_of(const volumes::AffinityRef& affinity) {
  return affinity == nullptr ? std::string() : affinity->json();
}

class VolumeController : public Controller {
 public:
  explicit VolumeController(ObjectStore& store) : store_(store) {}

  // Volumes before claims: a claim may have one.
  [[nodiscard]] std::vector<ResourceName> kinds() const override {
    return {kStorageClasses, kCsiStorageCapacities, kPersistentVolumes, kPersistentVolumeClaims,
            kPods};
  }

  void changed(const ResourceName& kind, const StoreEvent& event) override {
    if (kind == kStorageClasses) look_again_ = true;
    if (kind == kCsiStorageCapacities) capacity_changed(event);
    if (kind == kPersistentVolumes) volume_changed(event);
    if (kind == kPersistentVolumeClaims) claim_changed(event);
    if (kind == kPods) pod_changed(event);
  }

  void settle() override {
    if (!std::exchange(look_again_, false)) return;
    const std::set<ObjectKey> waiting = waiting_;
    for (const ObjectKey& claim : waiting) look_at(claim);
  }

 private:
  // ---- volumes

  void volume_changed(const StoreEvent& event) {
    const std::string& name = event.object->key.name;
    const auto now = store_.get(kPersistentVolumes, {"", name});
    if (!now) {
      volumes_.update(name, nullptr);
      if (event.type == EventType::kDeleted) give_space_back(*event.object);
      return;
    }
    const VolumeRef volume = note(**now);
    if (volume->readable()) sync(*volume);
  }

  VolumeRef note(const StoredObject& object) {
    VolumeRef volume = value_of(object, sdk::kPersistentVolumes);
    volumes_.update(object.key.name, volume);
    return volume;
  }

  // Kubernetes: syncVolume of the persistent volume controller. Volumes whose claim is not there
  // stay as they are: a file need not have all claims.
  void sync(const PersistentVolume& volume) {
    const auto wanted = volume.claim();
    if (!wanted || wanted->uid.empty()) {
      set_phase(volume, "Available");
      if (!wanted) look_again_ = true;
      if (wanted) look_at(object_key(wanted->ns, wanted->name));
      return;
    }
    const ClaimRef claim = claim_at(object_key(wanted->ns, wanted->name));
    if (claim == nullptr || claim->uid() != wanted->uid) return;
    if (!claim->is_fully_bound()) return look_at(object_key(*claim));
    if (claim->volume_name() == volume.name()) return set_phase(volume, "Bound");
    change_volume(volume.name(), [&](json& now) {  // the claim has another volume
      json& spec = now["spec"];
      if (volume.bound_by_controller())
        spec.erase("claimRef");
      else
        spec["claimRef"].erase("uid");
    });
  }

  void set_phase(const PersistentVolume& volume, const char* phase) {
    if (sdk::view(volume.object->phase) == phase) return;
    change_volume(volume.name(), [&](json& now) { now["status"]["phase"] = phase; });
  }

  template <typename Change>
  void change_volume(std::string_view name, const Change& how) {
    if (const auto now = change(kPersistentVolumes, object_key("", name), how)) note(**now);
  }

  // ---- claims

  void claim_changed(const StoreEvent& event) {
    if (event.type != EventType::kDeleted) return look_at(event.object->key);
    waiting_.erase(event.object->key);
    const std::string key = volumes::key_of(event.object->key.ns, event.object->key.name);
    for (const VolumeRef& volume : volumes_.named_by(key)) {
      if (volume->claim()->uid == event.object->uid) release(std::string(volume->name()));
    }
  }

  void release(const std::string& name) {
    const auto volume = get(kPersistentVolumes, {"", name});
    if (!volume) return;
    if (text_in(*volume, {"spec", "persistentVolumeReclaimPolicy"}) == "Delete") {
      (void)store_.remove(kPersistentVolumes, {"", name});
    } else {
      change_volume(name, [](json& now) { now["status"]["phase"] = "Released"; });
    }
  }

  // Null: it is not there, or cannot be read.
  [[nodiscard]] ClaimRef claim_at(const ObjectKey& key) const {
    const auto stored = store_.get(kPersistentVolumeClaims, key);
    if (!stored) return nullptr;
    ClaimRef claim = value_of(**stored, sdk::kPersistentVolumeClaims);
    return claim->readable() ? claim : nullptr;
  }

  // Kubernetes: syncUnboundClaim.
  void look_at(const ObjectKey& key) {
    waiting_.erase(key);
    const ClaimRef claim = claim_at(key);
    if (claim == nullptr || claim->is_fully_bound()) return;
    if (claim->object->phase.len == 0) {
      change(kPersistentVolumeClaims, key, [](json& now) { now["status"]["phase"] = "Pending"; });
    }
    const auto storage_class = class_named(claim->class_name);
    const bool waits = storage_class && volumes::waits_for_consumer(*storage_class->object);
    if (const VolumeRef volume = volume_for(*claim, waits)) {
      if (!bind(*volume, *claim)) waiting_.insert(key);
      return;
    }
    const bool is_free = claim->volume_name().empty();
    if (is_free && waits && !claim->selected_node()) return;
    const bool may_be_made = is_free && storage_class && !storage_class->provisioner().empty() &&
                             storage_class->provisioner() != kNoProvisioner;
    if (!may_be_made || !provision(*claim, *storage_class)) waiting_.insert(key);
  }

  // Null: none. Kubernetes: findBestMatchForClaim and checkVolumeSatisfyClaim.
  [[nodiscard]] VolumeRef volume_for(const PersistentVolumeClaim& claim, bool waits) const {
    if (!claim.volume_name().empty()) {
      const VolumeRef volume = volumes_.find(claim.volume_name());
      if (volume == nullptr || !volume->readable()) return nullptr;
      const bool may_have = volume->claim() ? is_bound_to(*volume, claim)
                                            : fit_of(*volume, claim) == VolumeFit::kFits &&
                                                  volume->class_name == claim.class_name;
      return may_have ? volume : nullptr;
    }
    for (const VolumeRef& volume : volumes_.named_by(claim.key())) {
      if (fit_of(*volume, claim) == VolumeFit::kPreBound) return volume;
    }
    if (waits || !claim.selector_problem().empty()) return nullptr;
    const volumes::ClaimSelector selector(claim.selector());
    const auto& free = volumes_.free_of(claim.class_name);
    for (auto at = volumes::VolumeLists::first_of_size(free, requested_size(claim));
         at != free.end(); ++at) {
      const bool fits = fit_of(**at, claim) == VolumeFit::kFits;
      if (fits && selector.matches((*at)->base().meta.labels)) return *at;
    }
    return nullptr;
  }

  // False: somebody else has the volume.
  bool bind(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
    const json reference = {{"kind", "PersistentVolumeClaim"},
                            {"apiVersion", "v1"},
                            {"namespace", claim.ns()},
                            {"name", claim.name()},
                            {"uid", claim.uid()}};
    bool mine = false;
    change_volume(volume.name(), [&](json& now) {
      const json& before = value_at(now, {"spec", "claimRef"});
      const std::string uid = text_in(before, {"uid"});
      mine = before.is_null() ||
             (text_in(before, {"namespace"}) == claim.ns() &&
              text_in(before, {"name"}) == claim.name() && (uid.empty() || uid == claim.uid()));
      if (!mine) return;
      if (before.is_null()) now["metadata"]["annotations"][kBoundByController] = "yes";
      if (uid.empty()) now["spec"]["claimRef"] = reference;
      now["status"]["phase"] = "Bound";
    });
    if (!mine) return false;
    change(kPersistentVolumeClaims, object_key(claim), [&](json& now) {
      const std::string other = text_in(now, {"spec", "volumeName"});
      const bool is_other = text_in(now, {"metadata", "uid"}) != claim.uid();
      if (is_other || (!other.empty() && other != volume.name())) return;
      json& annotations = now["metadata"]["annotations"];
      annotations[kBindCompleted] = "yes";
      if (other.empty()) annotations[kBoundByController] = "yes";
      now["spec"]["volumeName"] = volume.name();
      now["status"]["phase"] = "Bound";
      now["status"]["capacity"]["storage"] = volume.capacity.text();
      now["status"]["accessModes"] = volume.access_modes;
    });
    return true;
  }

  // ---- the external provisioner

  // Null: there is none.
  [[nodiscard]] std::shared_ptr<const volumes::StorageClass> class_named(
      std::string_view name) const {
    const auto stored = store_.get(kStorageClasses, object_key("", name));
    return stored ? value_of(**stored, sdk::kStorageClasses) : nullptr;
  }

  // Who makes the volumes of such a class, as the scheduler counts them.
  [[nodiscard]] static std::string driver_of(std::string_view provisioner) {
    const volumes::InTreePlugin* plugin = volumes::in_tree_plugin_named(provisioner);
    return plugin != nullptr && plugin->is_switched_on ? std::string(plugin->driver)
                                                       : std::string(provisioner);
  }

  // Whether the driver says how much it has for volumes of this class.
  [[nodiscard]] bool counts_space(const std::string& driver, std::string_view class_name) const {
    const auto stored = store_.get(kCsiDrivers, {"", driver});
    if (!stored || value_of(**stored, sdk::kCsiDrivers)->object->storage_capacity == 0)
      return false;
    return std::any_of(capacities_.begin(), capacities_.end(), [&](const auto& each) {
      return each.second.now->class_name() == class_name;
    });
  }

  // False: there is no room for it.
  bool provision(const PersistentVolumeClaim& claim, const volumes::StorageClass& storage_class) {
    const std::string driver = driver_of(storage_class.provisioner());
    const Quantity size = claim.request.value_or(*Quantity::parse(kDefaultSize));
    const auto node = get(kNodes, object_key("", claim.selected_node().value_or("")));
    std::string place =
        node ? topology_of(*node, driver) : text_of(storage_class.allowed_topologies);
    if (counts_space(driver, claim.class_name)) {
      const auto room = room_for(size, claim.class_name, node);
      if (!room) {
        change(kPersistentVolumeClaims, object_key(claim), [](json& now) {
          if (const auto has = now["metadata"].find("annotations"); has != now["metadata"].end())
            has->erase(kSelectedNode);
        });
        return false;
      }
      place = text_of(room->topology);
    }
    const std::string name = "pvc-" + std::string(claim.uid());
    const auto raw_class = get(kStorageClasses, object_key("", claim.class_name));
    const std::string policy = raw_class ? text_in(*raw_class, {"reclaimPolicy"}) : std::string();
    json volume = {
        {"metadata",
         {{"name", name}, {"annotations", {{kProvisionedBy, storage_class.provisioner()}}}}},
        {"spec",
         {{"accessModes", claim.access_modes},
          {"capacity", {{"storage", size.text()}}},
          {"claimRef", {{"namespace", claim.ns()}, {"name", claim.name()}, {"uid", claim.uid()}}},
          {"csi", {{"driver", driver}, {"volumeHandle", name}}},
          {"persistentVolumeReclaimPolicy", policy.empty() ? "Delete" : policy},
          {"storageClassName", claim.class_name},
          {"volumeMode", sdk::view(claim.object->volume_mode)}}},
        {"status", {{"phase", "Pending"}}}};
    if (const auto attributes = sdk::view(claim.object->attributes_class); !attributes.empty()) {
      volume["spec"]["volumeAttributesClassName"] = attributes;
    }
    if (!place.empty()) volume["spec"]["nodeAffinity"]["required"] = json::parse(place);
    const auto made = store_.create(kPersistentVolumes, std::move(volume));
    if (made) change_space(*note(**made), storage_class, true);
    return true;
  }

  // Where the driver's volumes can be used from, if one is made for a pod of this node, as a
  // v1.NodeSelector; empty: everywhere.
  [[nodiscard]] std::string topology_of(const json& node, const std::string& driver) const {
    const json& labels = value_at(node, {"metadata", "labels"});
    json expressions = json::array();
    const auto require = [&](const json& key) {
      const auto value = key.is_string() ? labels.find(key.get<std::string>()) : labels.end();
      if (value == labels.end()) return false;
      expressions.push_back({{"key", key}, {"operator", "In"}, {"values", {*value}}});
      return true;
    };
    const auto csi = get(kCsiNodes, {"", text_in(node, {"metadata", "name"})});
    for (const json& each : csi ? value_at(*csi, {"spec", "drivers"}) : json::array()) {
      if (text_in(each, {"name"}) != driver) continue;
      const json& keys = value_at(each, {"topologyKeys"});
      if (!std::all_of(keys.begin(), keys.end(), require)) expressions.clear();
    }
    if (expressions.empty() && !require(kZone)) return {};
    const json terms = json::array({{{"matchExpressions", std::move(expressions)}}});
    return json{{"nodeSelectorTerms", terms}}.dump();
  }

  // ---- storage capacity, as the external provisioner publishes it

  using CapacityRef = std::shared_ptr<const CsiStorageCapacity>;
  struct Capacity {
    CapacityRef now;
    std::optional<Quantity> largest;  // that one volume may have, as the file says
  };

  void capacity_changed(const StoreEvent& event) {
    const auto now = store_.get(kCsiStorageCapacities, event.object->key);
    if (!now) {
      capacities_.erase(event.object->key);
      return;
    }
    note_capacity(**now);
    if (event.previous == nullptr) look_again_ = true;
  }

  void note_capacity(const StoredObject& object) {
    CapacityRef read = value_of(object, sdk::kCsiStorageCapacities);
    Capacity& known =
        capacities_.try_emplace(object.key, Capacity{read, read->maximum_size}).first->second;
    known.now = std::move(read);
  }

  // The one of this class where most is left, of those that cover the node; null: none has so much.
  [[nodiscard]] const CsiStorageCapacity* room_for(const Quantity& size,
                                                   std::string_view class_name,
                                                   const std::optional<json>& node) const {
    SymbolTable symbols;
    NodeRef decoded;
    if (node) {
      if (auto read = decode_node(node->dump(), symbols)) decoded = *std::move(read);
    }
    const CsiStorageCapacity* best = nullptr;
    for (const auto& [key, each] : capacities_) {
      const CsiStorageCapacity& now = *each.now;
      const std::optional<Quantity>& limit = now.limit();
      if (now.class_name() != class_name || !now.has_topology() || !limit || limit->cmp(size) < 0) {
        continue;
      }
      const bool covers =
          decoded == nullptr || now.topology == nullptr || now.topology->matches(*decoded);
      if (covers && (best == nullptr || limit->cmp(*best->limit()) > 0)) best = &now;
    }
    return best;
  }

  void give_space_back(const StoredObject& object) {
    if (text_in(object.parse(), {"spec", "persistentVolumeReclaimPolicy"}) != "Delete") return;
    const VolumeRef volume = value_of(object, sdk::kPersistentVolumes);
    if (const auto storage_class = class_named(volume->class_name)) {
      change_space(*volume, *storage_class, false);
      look_again_ = true;
    }
  }

  // The volume's storage is where its class has it, and where another class has the same: of the
  // same driver, with the same parameters and the same amount at the same place.
  void change_space(const PersistentVolume& volume, const volumes::StorageClass& storage_class,
                    bool taken) {
    const std::string place = text_of(volume.affinity);
    std::vector<ObjectKey> here;
    const Capacity* own = nullptr;
    for (const auto& [key, each] : capacities_) {
      if (text_of(each.now->topology) != place) continue;
      here.push_back(key);
      if (each.now->class_name() == volume.class_name) own = &each;
    }
    if (own == nullptr) return;
    const auto amount = own->now->capacity;
    for (const ObjectKey& key : here) {
      const CsiStorageCapacity& other = *capacities_.at(key).now;
      if (other.class_name() == volume.class_name ||
          (shares_storage(other.class_name(), storage_class) && other.capacity && amount &&
           other.capacity->cmp(*amount) == 0)) {
        resize(key, volume.capacity, taken);
      }
    }
  }

  [[nodiscard]] bool shares_storage(std::string_view class_name,
                                    const volumes::StorageClass& storage_class) const {
    const auto one = get(kStorageClasses, object_key("", class_name));
    const auto other = get(kStorageClasses, object_key("", storage_class.name()));
    return one && other && text_in(*one, {"provisioner"}) == storage_class.provisioner() &&
           value_at(*one, {"parameters"}) == value_at(*other, {"parameters"});
  }

  void resize(const ObjectKey& key, const Quantity& by, bool taken) {
    const Capacity& known = capacities_.at(key);
    const auto moved = [&](Quantity amount) {
      taken ? amount.sub(by) : amount.add(by);
      return amount.sign() < 0 ? Quantity() : amount;
    };
    std::optional<Quantity> capacity = known.now->capacity;
    std::optional<Quantity> largest = known.now->maximum_size;
    if (capacity) {
      capacity = moved(*capacity);
      if (largest) largest = known.largest->cmp(*capacity) < 0 ? known.largest : capacity;
    } else if (largest) {
      largest = moved(*largest);
    }
    const auto now = change(kCsiStorageCapacities, key, [&](json& object) {
      if (capacity) object["capacity"] = capacity->text();
      if (largest) object["maximumVolumeSize"] = largest->text();
    });
    if (now) note_capacity(**now);
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
        remove_owned(store_, kPersistentVolumeClaims, {event.object->key.ns, name},
                     event.object->uid);
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
      if (!admit_object(store_, kPersistentVolumeClaims, claim)) continue;
      (void)store_.create(kPersistentVolumeClaims, std::move(claim));  // it may be there
    }
  }

  // ---- the store

  [[nodiscard]] std::optional<json> get(const ResourceName& resource, const ObjectKey& key) const {
    const auto found = store_.get(resource, key);
    return found ? std::optional<json>((*found)->parse()) : std::nullopt;
  }
  template <typename Change>
  ApiResult<ObjectPtr> change(const ResourceName& resource, const ObjectKey& key,
                              const Change& how) {
    return store_.modify(resource, key, {}, [&](json& now) -> ApiResult<void> {
      how(now);
      return {};
    });
  }

  ObjectStore& store_;
  volumes::VolumeLists volumes_;
  std::map<ObjectKey, Capacity> capacities_;
  std::set<ObjectKey> waiting_;  // claims for which there is nothing, and nobody makes anything
  bool look_again_ = false;      // at those: there may be something now
};

}  // namespace

std::unique_ptr<Controller> volume_controller(ObjectStore& store) {
  return std::make_unique<VolumeController>(store);
}

}  // namespace plimsoll::sandbox
