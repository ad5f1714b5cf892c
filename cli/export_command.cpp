#include <array>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <plimsoll/join.hpp>

#include "cli/anonymiser.hpp"
#include "cli/commands.hpp"
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

// Whatever a decision may depend on. Of a kind with several versions, the first that is served.
const std::vector<std::vector<ResourceType>>& exported_kinds() {
  static const std::vector<std::vector<ResourceType>> kKinds{
      {{"", "v1", "namespaces"}},
      {{"", "v1", "nodes"}},
      {{"topology.node.k8s.io", "v1alpha2", "noderesourcetopologies"},
       {"topology.node.k8s.io", "v1alpha1", "noderesourcetopologies"}},
      {{"scheduling.koordinator.sh", "v1alpha1", "devices"}},
      {{"storage.k8s.io", "v1", "storageclasses"}},
      {{"storage.k8s.io", "v1", "csinodes"}},
      {{"storage.k8s.io", "v1", "csidrivers"}},
      {{"storage.k8s.io", "v1", "csistoragecapacities"}},
      {{"", "v1", "persistentvolumes"}},
      {{"", "v1", "persistentvolumeclaims"}},
      {{"policy", "v1", "poddisruptionbudgets"}},
      {{"scheduling.k8s.io", "v1", "priorityclasses"}},
      {{"node.k8s.io", "v1", "runtimeclasses"}},
      {{"", "v1", "services"}},
      {{"", "v1", "replicationcontrollers"}},
      {{"apps", "v1", "replicasets"}},
      {{"apps", "v1", "statefulsets"}},
      {{"scheduling.sigs.k8s.io", "v1alpha1", "podgroups"}},
      {{"scheduling.x-k8s.io", "v1alpha1", "podgroups"}},
      {{"", "v1", "pods"}},
  };
  return kKinds;
}

// What no decision depends on and nobody wants to hand out: commands, environments, who changed
// what.
void strip(json& object) {
  if (json& metadata = object["metadata"]; metadata.is_object()) {
    for (const char* field : {"managedFields", "selfLink"}) metadata.erase(field);
    const auto annotations = metadata.find("annotations");
    if (annotations != metadata.end() && annotations->is_object()) {
      annotations->erase("kubectl.kubernetes.io/last-applied-configuration");
    }
  }
  const auto spec = object.find("spec");
  if (spec == object.end() || !spec->is_object()) return;
  for (const char* list : {"containers", "initContainers"}) {
    const auto containers = spec->find(list);
    if (containers == spec->end() || !containers->is_array()) continue;
    for (json& container : *containers) {
      if (!container.is_object()) continue;
      for (const char* field : {"command", "args", "env", "envFrom", "livenessProbe",
                                "readinessProbe", "startupProbe", "lifecycle", "securityContext"}) {
        container.erase(field);
      }
    }
  }
}

// Appends a kind's objects. Returns false if the API server does not serve it.
Result<bool> list_kind(informer::HttpClient& client, const ResourceType& kind, json& items) {
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
        strip(item);
        items.push_back(std::move(item));
      }
    }
    const json metadata = list.value("metadata", json::object());
    next = metadata.value("continue", "");
  } while (!next.empty());
  return true;
}

}  // namespace

int export_cluster(const ExportArguments& arguments) {
  informer::KubeconfigOptions kubeconfig;
  kubeconfig.path = arguments.kubeconfig;
  kubeconfig.context = arguments.context;
  const auto access = informer::load_server_access(kubeconfig);
  if (!access) return failure("export", access.error().message);
  auto client = informer::HttpClient::create(
      *access, std::make_shared<informer::CredentialSource>(*access), {});
  if (!client) return failure("export", client.error().message);
  json items = json::array();
  std::vector<std::string> missing;
  for (const std::vector<ResourceType>& versions : exported_kinds()) {
    bool served = false;
    for (size_t i = 0; i < versions.size() && !served; ++i) {
      const auto listed = list_kind(**client, versions[i], items);
      if (!listed) {
        (*client)->stop();
        return failure("export", listed.error().message + "; nothing was written");
      }
      served = *listed;
    }
    if (!served) missing.push_back(versions.front().plural + "." + versions.front().group);
  }
  (*client)->stop();
  if (arguments.anonymise) anonymise(items);
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
  std::cerr << "\n";
  return 0;
}

}  // namespace plimsoll::cli
