#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/json_path.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/controllers/controller.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

constexpr const char* kClaimOf = "resource.kubernetes.io/pod-claim-name";
constexpr const char* kInUse = "resource.kubernetes.io/delete-protection";

// Empty: the pod has not been told one.
std::string claim_name(const json& pod, const json& entry) {
  if (entry.contains("resourceClaimName")) return text_in(entry, {"resourceClaimName"});
  for (const json& status : value_at(pod, {"status", "resourceClaimStatuses"})) {
    if (text_in(status, {"name"}) == text_in(entry, {"name"}))
      return text_in(status, {"resourceClaimName"});
  }
  return {};
}

class ClaimController : public Controller {
 public:
  explicit ClaimController(ObjectStore& store) : store_(store) {}

  [[nodiscard]] std::vector<ResourceName> kinds() const override {
    return {kResourceClaimTemplates, kPods};
  }

  void changed(const ResourceName& kind, const StoreEvent& event) override {
    const ObjectKey& key = event.object->key;
    if (kind == kPods) {
      if (event.object->text.find("\"resourceClaims\"") == std::string::npos) return;
      if (event.type == EventType::kDeleted || is_terminal(*event.object))
        return release(*event.object);
      return give(key);
    }
    const auto waiting = waiting_.find(key);
    if (event.type == EventType::kDeleted || waiting == waiting_.end()) return;
    const std::set<ObjectKey> pods = std::move(waiting->second);
    waiting_.erase(waiting);
    for (const ObjectKey& pod : pods) give(pod);
  }

 private:
  void give(const ObjectKey& key) {
    const auto stored = store_.get(kPods, key);
    if (!stored) return;
    const json pod = (*stored)->parse();
    for (const json& entry : value_at(pod, {"spec", "resourceClaims"})) {
      const std::string from = text_in(entry, {"resourceClaimTemplateName"});
      if (from.empty() || !claim_name(pod, entry).empty()) continue;
      const auto source = store_.get(kResourceClaimTemplates, {key.ns, from});
      if (!source) {
        waiting_[{key.ns, from}].insert(key);
        continue;
      }
      const std::string entry_name = text_in(entry, {"name"});
      const json wanted = (*source)->parse();
      json claim{{"metadata", value_at(wanted, {"spec", "metadata"})},
                 {"spec", value_at(wanted, {"spec", "spec"})}};
      json& meta = claim["metadata"];
      if (!meta.is_object()) meta = json::object();
      meta["generateName"] = key.name + "-" + entry_name + "-";
      meta["namespace"] = key.ns;
      meta["annotations"][kClaimOf] = entry_name;
      meta["ownerReferences"] = json::array({{{"apiVersion", "v1"},
                                              {"kind", "Pod"},
                                              {"name", key.name},
                                              {"uid", (*stored)->uid},
                                              {"controller", true},
                                              {"blockOwnerDeletion", true}}});
      const auto made = store_.create(kResourceClaims, std::move(claim));
      if (!made) continue;  // the pod waits
      (void)store_.modify(kPods, key, {(*stored)->uid, {}}, [&](json& now) -> ApiResult<void> {
        now["status"]["resourceClaimStatuses"].push_back(
            {{"name", entry_name}, {"resourceClaimName", (*made)->key.name}});
        return {};
      });
    }
  }

  void release(const StoredObject& object) {
    const json pod = object.parse();
    for (const json& entry : value_at(pod, {"spec", "resourceClaims"})) {
      const ObjectKey key{object.key.ns, claim_name(pod, entry)};
      if (key.name.empty()) continue;
      (void)store_.modify(kResourceClaims, key, {}, [&](json& claim) -> ApiResult<void> {
        release(claim, object.uid);
        return {};
      });
      if (entry.contains("resourceClaimTemplateName"))
        remove_owned(store_, kResourceClaims, key, object.uid);
    }
  }

  static void release(json& claim, const std::string& pod_uid) {
    json left = json::array();
    bool had = false;
    for (const json& user : value_at(claim, {"status", "reservedFor"})) {
      if (text_in(user, {"uid"}) == pod_uid)
        had = true;
      else
        left.push_back(user);
    }
    if (!had) return;
    json& status = claim["status"];
    if (!left.empty()) {
      status["reservedFor"] = std::move(left);
      return;
    }
    for (const char* part : {"reservedFor", "allocation", "devices"}) status.erase(part);
    json finalizers = json::array();
    for (const json& each : value_at(claim, {"metadata", "finalizers"})) {
      if (each != kInUse) finalizers.push_back(each);
    }
    claim["metadata"]["finalizers"] = std::move(finalizers);
  }

  ObjectStore& store_;
  std::map<ObjectKey, std::set<ObjectKey>> waiting_;  // pods, by the template that is missing
};

}  // namespace

std::unique_ptr<Controller> claim_controller(ObjectStore& store) {
  return std::make_unique<ClaimController>(store);
}

}  // namespace plimsoll::sandbox
