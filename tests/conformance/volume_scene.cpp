#include "tests/conformance/volume_scene.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "framework/objects/kinds.hpp"

namespace plimsoll::conformance {
namespace {

struct ObjectKind {
  std::string_view kind;
  std::string_view list;  // in a case
  std::string_view resource;
};
constexpr std::array<ObjectKind, 7> kObjectKinds{{
    {"StorageClass", "storageClasses", "storageclasses.v1.storage.k8s.io"},
    {"PersistentVolume", "pvs", "persistentvolumes"},
    {"PersistentVolumeClaim", "pvcs", "persistentvolumeclaims"},
    {"CSINode", "csiNodes", "csinodes.v1.storage.k8s.io"},
    {"CSIDriver", "csiDrivers", "csidrivers.v1.storage.k8s.io"},
    {"CSIStorageCapacity", "csiStorageCapacities", "csistoragecapacities.v1.storage.k8s.io"},
    {"VolumeAttachment", "volumeAttachments", "volumeattachments.v1.storage.k8s.io"},
}};

// The gates of a case, as args of the plugins that know them. Both were off in 1.36.
DefaultProfile::Args args_of(const Json& test_case) {
  DefaultProfile::Args args;
  const Json& features = member(test_case, "features");
  const auto gate = [&](const char* name) { return Json{{name, member(features, name) == true}}; };
  args["NodeVolumeLimits"] = Json{{"featureGates", gate("VolumeLimitScaling")}}.dump();
  Json binding = member(test_case, "volumeBindingArgs");
  if (binding.is_null()) binding = Json::object();
  binding["featureGates"] = gate("StorageCapacityScoring");
  args["VolumeBinding"] = binding.dump();
  return args;
}

std::string text_of(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace

VolumeScene::VolumeScene(const Json& test_case, const std::set<std::string, std::less<>>& plugins)
    : profile_(plugins, args_of(test_case)) {
  for (const Json& node : member(test_case, "nodes")) profile_.add_node(node);
  for (const ObjectKind& each : kObjectKinds) {
    for (const Json& json : member(test_case, each.list)) {
      profile_.put_object(object(each.kind, json));
    }
  }
  for (const Json& json : member(test_case, "existingPods")) profile_.add_pod(pod(json));
}

PodRef VolumeScene::pod(const Json& object) {
  Json filled = object;
  Json& meta = filled["metadata"];
  if (text_of(meta, "name").empty()) meta["name"] = "pod";
  if (text_of(meta, "uid").empty()) {
    meta["uid"] = "uid of " + text_of(meta, "namespace") + "/" + text_of(meta, "name");
  }
  return profile_.pod(filled);
}

RawRef VolumeScene::object(std::string_view kind, const Json& object) {
  for (const ObjectKind& each : kObjectKinds) {
    if (each.kind != kind) continue;
    const Json& meta = member(object, "metadata");
    RawObject raw;
    raw.resource = each.resource;
    raw.ns = text_of(meta, "namespace");
    raw.name = text_of(meta, "name");
    raw.uid = text_of(meta, "uid");
    raw.resource_version = text_of(meta, "resourceVersion");
    Json filled = object;
    if (!member(meta, "ownerReferences").is_null()) {
      for (Json& owner : filled["metadata"]["ownerReferences"]) {
        if (text_of(owner, "uid").empty()) {
          owner["uid"] = "uid of " + raw.ns + "/" + text_of(owner, "name");
        }
      }
    }
    raw.json = filled.dump();
    return decoded(std::move(raw));
  }
  throw std::runtime_error("there is no kind " + std::string(kind) + " here");
}

Json VolumeScene::described(const Status& status) const {
  Json result = {{"code", code_name(static_cast<int32_t>(status.code))}};
  if (status.is_error()) {
    result["reasons"] = {status.error};
  } else if (status.rejected()) {
    const auto& texts = profile_.reasons().texts(status.reason);
    result["reasons"] = texts.empty() ? std::vector<std::string>{status.error} : texts;
  }
  return result;
}

Json VolumeScene::pre_filter(const plimsoll_pod& pod) {
  cycle_ = profile_.framework().new_cycle();
  last_ = profile_.framework().run_pre_filter(*cycle_, pod).status;
  return described(last_);
}

Status VolumeScene::filter(const plimsoll_pod& pod, std::string_view node) {
  const NodeInfo* info = profile_.cluster().node(node);
  if (info == nullptr) throw std::runtime_error("there is no node " + std::string(node));
  return profile_.framework().run_filters_on(*cycle_, pod, *info->abi());
}

std::vector<std::string> VolumeScene::skipped() {
  std::vector<std::string> names;
  for (size_t i = 0; i < profile_.framework().plugin_count(); ++i) {
    if (cycle_->skip_filter.test(i)) names.push_back(profile_.name(static_cast<PluginIndex>(i)));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string storage_resource(std::string_view kind) {
  const std::string_view name = kind.substr(kind.rfind('/') + 1);
  for (const ObjectKind& each : kObjectKinds) {
    if (each.kind == name) return std::string(each.resource);
  }
  return {};
}

bool same_status(const Json& expected, const Json& actual) {
  if (member(expected, "code") != member(actual, "code")) return false;
  return expected.at("code") == "Error" || member(expected, "reasons") == member(actual, "reasons");
}

}  // namespace plimsoll::conformance
