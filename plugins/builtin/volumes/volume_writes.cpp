#include "plugins/builtin/volumes/volume_writes.hpp"

#include <nlohmann/json.hpp>

#include "plugins/storage/csi_translation.hpp"

namespace plimsoll::volumes {
namespace {

using Json = nlohmann::json;

constexpr const char* kMergePatch = "application/merge-patch+json";

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A text of an answer in JSON; empty: there is none.
std::string text_in(std::string_view body, const Json::json_pointer& where) {
  const Json answer = Json::parse(body, nullptr, false);
  if (!answer.is_object() || !answer.contains(where)) return {};
  const Json& found = answer.at(where);
  return found.is_string() ? found.get<std::string>() : std::string();
}

}  // namespace

sdk::Host::ApiRequest volume_write(const Reservation::Binding& binding) {
  Json body{{"metadata", {{"resourceVersion", binding.volume_version}}}};
  if (binding.changes) {
    const AssumedClaim& claim = *binding.claim;
    if (claim.by_controller) {
      body["metadata"]["annotations"] = {{"pv.kubernetes.io/bound-by-controller", "yes"}};
    }
    Json& reference = body["spec"]["claimRef"];
    reference = {{"kind", "PersistentVolumeClaim"},
                 {"apiVersion", "v1"},
                 {"namespace", claim.ns},
                 {"name", claim.name}};
    if (!claim.uid.empty()) reference["uid"] = claim.uid;
    if (!claim.version.empty()) reference["resourceVersion"] = claim.version;
  }
  return {"PATCH", "/api/v1/persistentvolumes/" + binding.volume, kMergePatch, text_of(body)};
}

sdk::Host::ApiRequest claim_write(const Reservation::Provision& provision) {
  const Json body{
      {"metadata",
       {{"resourceVersion", provision.claim.version},
        {"annotations", {{"volume.kubernetes.io/selected-node", provision.node->name}}}}}};
  return {"PATCH",
          "/api/v1/namespaces/" + provision.claim.ns + "/persistentvolumeclaims/" +
              provision.claim.name,
          kMergePatch, text_of(body)};
}

std::string version_in(std::string_view body) {
  return text_in(body, Json::json_pointer("/metadata/resourceVersion"));
}

std::string failure_text(int status, std::string_view body) {
  if (status == 0) return std::string(body);
  std::string message = text_in(body, Json::json_pointer("/message"));  // of a Status of Kubernetes
  if (!message.empty()) return message;
  return "the API server answered " + std::to_string(status);
}

Result<AffinityRef> affinity_on(const PersistentVolume& volume, std::string_view node_name,
                                const StorageStore& store) {
  const InTreePlugin* plugin = in_tree_plugin_of(volume.source());
  if (plugin == nullptr) return volume.affinity;
  const auto csi_node = store.csi_nodes().find(node_name);
  if (!is_migrated_on(*plugin, csi_node.get())) return volume.affinity;
  auto translated = translate(volume);
  if (!translated) return fail(std::move(translated.error()));
  return std::move(translated->affinity);
}

}  // namespace plimsoll::volumes
