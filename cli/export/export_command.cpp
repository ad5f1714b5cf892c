#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <plimsoll/join.hpp>

#include "cli/export/export_command.hpp"
#include "cli/export/exported_objects.hpp"
#include "cli/line/failure.hpp"
#include "cli/run/wiring.hpp"
#include "framework/base/json_field.hpp"
#include "informer/http/credentials.hpp"
#include "informer/http/http_client.hpp"
#include "informer/http/kubeconfig.hpp"
#include "informer/watch/resource_type.hpp"
#include "informer/wire/status_answer.hpp"

namespace plimsoll::cli {
namespace {

using informer::ResourceType;
using nlohmann::json;

constexpr const char* kPageSize = "500";

// A kind and its versions: the first that is served counts.
struct ExportedKind {
  std::string kind;  // as export_table.hpp names it
  std::vector<ResourceType> versions;
};

// Whatever a decision may depend on.
const std::vector<ExportedKind>& exported_kinds() {
  static const std::vector<ExportedKind> kKinds{
      {"Namespace", {{"", "v1", "namespaces"}}},
      {"Node", {{"", "v1", "nodes"}}},
      {"NodeResourceTopology",
       {{"topology.node.k8s.io", "v1alpha2", "noderesourcetopologies"},
        {"topology.node.k8s.io", "v1alpha1", "noderesourcetopologies"}}},
      {"Device", {{"scheduling.koordinator.sh", "v1alpha1", "devices"}}},
      {"StorageClass", {{"storage.k8s.io", "v1", "storageclasses"}}},
      {"CSINode", {{"storage.k8s.io", "v1", "csinodes"}}},
      {"CSIDriver", {{"storage.k8s.io", "v1", "csidrivers"}}},
      {"CSIStorageCapacity", {{"storage.k8s.io", "v1", "csistoragecapacities"}}},
      {"VolumeAttachment", {{"storage.k8s.io", "v1", "volumeattachments"}}},
      {"PersistentVolume", {{"", "v1", "persistentvolumes"}}},
      {"PersistentVolumeClaim", {{"", "v1", "persistentvolumeclaims"}}},
      {"PodDisruptionBudget", {{"policy", "v1", "poddisruptionbudgets"}}},
      {"PriorityClass", {{"scheduling.k8s.io", "v1", "priorityclasses"}}},
      {"RuntimeClass", {{"node.k8s.io", "v1", "runtimeclasses"}}},
      {"LimitRange", {{"", "v1", "limitranges"}}},
      {"Service", {{"", "v1", "services"}}},
      {"ReplicationController", {{"", "v1", "replicationcontrollers"}}},
      {"ReplicaSet", {{"apps", "v1", "replicasets"}}},
      {"StatefulSet", {{"apps", "v1", "statefulsets"}}},
      {"PodGroup",
       {{"scheduling.k8s.io", "v1beta1", "podgroups"}, {"scheduling.k8s.io", "v1", "podgroups"}}},
      {"PodGroup", {{"scheduling.sigs.k8s.io", "v1alpha1", "podgroups"}}},
      {"PodGroup", {{"scheduling.x-k8s.io", "v1alpha1", "podgroups"}}},
      {"DeviceClass", {{"resource.k8s.io", "v1", "deviceclasses"}}},
      {"DeviceTaintRule", {{"resource.k8s.io", "v1", "devicetaintrules"}}},
      {"ResourceSlice", {{"resource.k8s.io", "v1", "resourceslices"}}},
      {"ResourceClaimTemplate", {{"resource.k8s.io", "v1", "resourceclaimtemplates"}}},
      {"ResourceClaim", {{"resource.k8s.io", "v1", "resourceclaims"}}},
      {"Pod", {{"", "v1", "pods"}}},
  };
  return kKinds;
}

// Calls `take` for each object of a kind. Returns false if the API server does not serve it.
Result<bool> list_kind(informer::HttpClient& client, const ResourceType& kind,
                       const std::function<void(json&&)>& take) {
  std::string next;
  do {
    const std::string path = kind.path() + "?limit=" + kPageSize +
                             (next.empty() ? "" : "&continue=" + informer::url_encode(next));
    informer::HttpRequest request;
    request.path = path;
    const auto answer = informer::call(client, std::move(request), {});
    if (!answer) return fail(answer.error().within("listing " + kind.text()));
    if (answer->status == 404) return false;
    if (!answer->ok()) {
      const auto status = informer::read_status(answer->body);
      return fail(ErrorCode::kUnavailable,
                  "listing " + kind.text() + ": the API server answered " +
                      std::to_string(answer->status) +
                      (status && !status->message.empty() ? " (" + status->message + ")" : ""));
    }
    json list = json::parse(answer->body, nullptr, false);
    if (!list.is_object() || !list.contains("items")) {
      return fail(ErrorCode::kInvalid, "listing " + kind.text() + ": the answer is no list");
    }
    const std::string list_kind = list.value("kind", "List");
    const std::string item_kind = list_kind.substr(0, list_kind.size() - 4);
    if (list["items"].is_array()) {
      for (json& item : list["items"]) {
        if (!item.is_object()) continue;
        item["apiVersion"] = kind.group.empty() ? kind.version : kind.group + "/" + kind.version;
        if (!item.contains("kind")) item["kind"] = item_kind;
        take(std::move(item));
      }
    }
    next = text_at(list.value("metadata", json()), "continue");
  } while (!next.empty());
  return true;
}

// Appends what `keep` leaves of the objects of the first version that is served.
Result<void> list_served(informer::HttpClient& client, const std::vector<ResourceType>& versions,
                         const std::function<void(json&)>& keep, json& items,
                         std::vector<std::string>& missing) {
  for (const ResourceType& version : versions) {
    const auto served = list_kind(client, version, [&](json&& item) {
      keep(item);
      items.push_back(std::move(item));
    });
    if (!served) return fail(served.error());
    if (*served) return {};
  }
  const ResourceType& first = versions.front();
  missing.push_back(first.plural + (first.group.empty() ? "" : "." + first.group));
  return {};
}

// The kinds beyond those that the plugins of the arguments watch.
Result<std::vector<ResourceType>> further_kinds(const ExportArguments& arguments,
                                                const informer::ServerAccess& access) {
  std::vector<ResourceType> kinds;
  if (arguments.config.empty() && arguments.plugin_directories.empty()) return kinds;
  const auto modules = load_modules(arguments.plugin_directories);
  if (!modules) return fail(modules.error());
  const config::Validation profile = arguments.config.empty()
                                         ? validate_all_plugins(*modules)
                                         : validate(arguments.config, *modules);
  if (!profile.ok()) {
    return fail(
        ErrorCode::kInvalid,
        (arguments.config.empty() ? "name the profile of the plugins with --config\n" : "") +
            profile.report());
  }
  const auto session = Session::create(profile, *modules, access, nullptr, Session::Mode::kObserve);
  if (!session) return fail(session.error());
  for (const WantedKind& wanted : (*session)->scheduler().wanted_kinds()) {
    const bool listed = std::ranges::any_of(exported_kinds(), [&](const ExportedKind& each) {
      const ResourceType& kind = each.versions.front();
      return kind.group == wanted.group && kind.plural == wanted.plural;
    });
    if (listed) continue;
    if (wanted.resource() == "secrets") {
      std::cerr << "secrets, which a plugin watches, are left out\n";
      continue;
    }
    kinds.push_back({wanted.group, wanted.version, wanted.plural});
  }
  return kinds;
}

// What no plugin can depend on.
void strip(json& object) {
  json& metadata = object["metadata"];
  if (!metadata.is_object()) return;
  for (const char* field : {"managedFields", "selfLink"}) metadata.erase(field);
  const auto annotations = metadata.find("annotations");
  if (annotations == metadata.end() || !annotations->is_object()) return;
  annotations->erase("kubectl.kubernetes.io/last-applied-configuration");
}

}  // namespace

int export_cluster(const ExportArguments& arguments) {
  informer::KubeconfigOptions kubeconfig;
  kubeconfig.path = arguments.kubeconfig;
  kubeconfig.context = arguments.context;
  const auto access = informer::load_server_access(kubeconfig);
  if (!access) return failure("export", access.error().message);
  const auto further = further_kinds(arguments, *access);
  if (!further) return failure("export", further.error().message);
  const std::string further_names = sdk::join(*further, ", ", std::mem_fn(&ResourceType::text));
  if (arguments.anonymise && !further->empty()) {
    return failure("export", "--anonymise: only the plugin that watches " + further_names +
                                 " knows which of their texts are names; leave out either "
                                 "--anonymise or that plugin. Nothing was written");
  }
  auto client = informer::HttpClient::create(
      *access, std::make_shared<informer::CredentialSource>(*access), {});
  if (!client) return failure("export", client.error().message);
  json items = json::array();
  std::vector<std::string> missing;
  ExportedObjects objects;
  Result<void> listed;
  for (const ResourceType& kind : *further) {
    if (listed) listed = list_served(**client, {kind}, strip, items, missing);
  }
  for (const auto& [kind, versions] : exported_kinds()) {
    if (!listed) break;
    listed = list_served(
        **client, versions, [&, &kind = kind](json& item) { objects.keep(kind, item); }, items,
        missing);
  }
  (*client)->stop();
  if (!listed) return failure("export", listed.error().message + "; nothing was written");
  if (arguments.anonymise) objects.anonymise(items);
  const size_t count = items.size();
  const json list{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}};
  const std::string text = list.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  if (arguments.output == "-") {
    std::cout << text << std::flush;
    if (!std::cout) return failure("export", "standard output cannot be written");
  } else {
    std::ofstream file(arguments.output, std::ios::trunc);
    file << text << std::flush;
    if (!file) return failure("export", "cannot write " + arguments.output);
  }
  std::cerr << "exported " << count << " objects";
  if (!missing.empty()) {
    std::cerr << "; not served by this cluster: " << sdk::join(missing, ", ");
  }
  if (!further->empty()) {
    std::cerr << "; whole, as only their plugin knows what it reads of them: " << further_names;
  }
  std::cerr << "\n";
  return 0;
}

}  // namespace plimsoll::cli
