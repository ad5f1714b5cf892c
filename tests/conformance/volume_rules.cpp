#include "tests/conformance/volume_rules.hpp"

#include <algorithm>

namespace plimsoll::conformance {

const std::string kOwnAttachment = "V1 a volume of the pod that is attached there counts once";
const std::string kForeignFault = "V2 another pod's broken volume keeps pods off its node only";
const std::string kOtherNamespace = "V3 a claim of the same name elsewhere is another claim";
const std::string kNamedTwice = "V4 a pod that names a claim twice uses it once";
const std::string kSeveralUsers = "V5 a claim is free once all of its users are gone";

std::set<std::string> volume_rules() {
  return {kOwnAttachment, kForeignFault, kOtherNamespace, kNamedTwice, kSeveralUsers};
}

namespace {

const Json& at(const Json& object, std::initializer_list<const char*> path) {
  const Json* value = &object;
  for (const char* key : path) value = &member(*value, key);
  return *value;
}

const Json& find(const Json& list, const Json& name, const Json& ns = Json()) {
  static const Json none;
  for (const Json& each : list) {
    if (at(each, {"metadata", "name"}) == name && at(each, {"metadata", "namespace"}) == ns) {
      return each;
    }
  }
  return none;
}

// The claims that the volumes of the pod name or are made for.
std::vector<Json> claims_of(const Json& test_case, const Json& pod) {
  std::vector<Json> claims;
  for (const Json& volume : at(pod, {"spec", "volumes"})) {
    Json name = at(volume, {"persistentVolumeClaim", "claimName"});
    if (volume.contains("ephemeral")) {
      name = at(pod, {"metadata", "name"}).get<std::string>() + "-" +
             volume.at("name").get<std::string>();
    }
    const Json& claim = find(member(test_case, "pvcs"), name, at(pod, {"metadata", "namespace"}));
    if (!claim.is_null()) claims.push_back(claim);
  }
  return claims;
}

// Whether a volume of the pod is attached to the node by a VolumeAttachment.
bool has_own_attachment(const Json& test_case, const std::string& node) {
  const Json& volumes = member(test_case, "pvs");
  for (const Json& attachment : member(test_case, "volumeAttachments")) {
    if (at(attachment, {"spec", "nodeName"}) != node) continue;
    const Json& csi = at(find(volumes, at(attachment, {"spec", "source", "persistentVolumeName"})),
                         {"spec", "csi"});
    if (csi.is_null()) continue;
    for (const Json& claim : claims_of(test_case, test_case.at("pod"))) {
      const Json& own = at(find(volumes, at(claim, {"spec", "volumeName"})), {"spec", "csi"});
      if (!own.is_null() && own.at("volumeHandle") == csi.at("volumeHandle") &&
          own.at("driver") == at(attachment, {"spec", "attacher"})) {
        return true;
      }
    }
  }
  return false;
}

// Whether nobody can say what the volume is: a claim of somebody else, a disk that is not
// translated.
bool is_broken(const Json& test_case, const Json& pod, const Json& volume) {
  const Json& kind = at(volume, {"azureDisk", "kind"});
  if (!kind.is_null() && kind != "Managed" && kind != "managed") return true;
  const Json& ebs = at(volume, {"awsElasticBlockStore", "volumeID"});
  if (ebs.is_string() && ebs.get<std::string>().starts_with("aws://") &&
      ebs.get<std::string>().find("/vol-") == std::string::npos) {
    return true;
  }
  if (!volume.contains("ephemeral")) return false;
  const Json one = {{"metadata", pod.at("metadata")}, {"spec", {{"volumes", {volume}}}}};
  for (const Json& claim : claims_of(test_case, one)) {
    const Json& owners = at(claim, {"metadata", "ownerReferences"});
    const bool is_own = std::any_of(owners.begin(), owners.end(), [&](const Json& owner) {
      return member(owner, "controller") == true && owner.at("uid") == at(pod, {"metadata", "uid"});
    });
    if (!is_own) return true;
  }
  return false;
}

bool has_foreign_fault(const Json& test_case, const std::string& node) {
  for (const Json& pod : member(test_case, "existingPods")) {
    if (at(pod, {"spec", "nodeName"}) != node) continue;
    for (const Json& volume : at(pod, {"spec", "volumes"})) {
      if (is_broken(test_case, pod, volume)) return true;
    }
  }
  return false;
}

}  // namespace

std::string limits_rule(const Json& test_case, const std::string& node, const Json& expected,
                        const Json& actual) {
  const Json exceeded = {{"code", "Unschedulable"},
                         {"reasons", {"node(s) exceed max volume count"}}};
  if (expected == exceeded && actual.at("code") == "Success") {
    return has_own_attachment(test_case, node) ? kOwnAttachment : std::string();
  }
  if (expected.at("code") == "Error" && actual.at("code") != "Error") {
    return has_foreign_fault(test_case, node) ? kForeignFault : std::string();
  }
  return {};
}

ExclusiveUse exclusive_use(const Json& test_case, const Json& pods_on_nodes) {
  ExclusiveUse use;
  const Json& pod = test_case.at("pod");
  const Json& ns = at(pod, {"metadata", "namespace"});
  std::set<Json> exclusive;
  for (const Json& volume : at(pod, {"spec", "volumes"})) {
    const Json& name = at(volume, {"persistentVolumeClaim", "claimName"});
    const Json& modes = at(find(member(test_case, "pvcs"), name, ns), {"spec", "accessModes"});
    if (std::find(modes.begin(), modes.end(), "ReadWriteOncePod") != modes.end()) {
      exclusive.insert(name);
    }
  }
  std::map<Json, size_t> users;
  for (const Json& other : pods_on_nodes) {
    std::map<Json, size_t> named;
    for (const Json& volume : at(other, {"spec", "volumes"})) {
      const Json& name = at(volume, {"persistentVolumeClaim", "claimName"});
      if (exclusive.contains(name)) ++named[name];
    }
    const bool is_elsewhere = at(other, {"metadata", "namespace"}) != ns;
    if (is_elsewhere && !named.empty()) use.rules.insert(kOtherNamespace);
    if (is_elsewhere) continue;
    for (const auto& [name, count] : named) {
      if (count > 1) use.rules.insert(kNamedTwice);
      if (++users[name] > 1) use.rules.insert(kSeveralUsers);
      ++use.pairs;
    }
  }
  return use;
}

}  // namespace plimsoll::conformance
