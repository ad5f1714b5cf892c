#include "lab/sandbox/apiserver/cluster_loader.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "framework/base/json_field.hpp"
#include "lab/sandbox/admission/object_defaults.hpp"
#include "lab/sandbox/admission/pod_admission.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/store/field_rules.hpp"
#include "lab/sandbox/store/object_shape.hpp"
#include "lab/sandbox/store/simulated_clock.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

constexpr std::size_t kProblemsShown = 10;
// Of nodes in a file that does not say when they were made.
constexpr std::chrono::minutes kNodeAge{1};

struct Input {
  json object;
  std::string where;  // "text 1, item 3"
};

// Splits a list into its items, which may inherit apiVersion and kind from it ("PodList").
void flatten(json object, const std::string& where, std::vector<Input>& out) {
  const std::string kind = text_at(object, "kind");
  const auto items = object.is_object() ? object.find("items") : object.end();
  if (!kind.ends_with("List") || items == object.end() || !items->is_array()) {
    out.push_back({std::move(object), where});
    return;
  }
  const std::string item_kind = kind.substr(0, kind.size() - 4);
  for (std::size_t i = 0; i < items->size(); ++i) {
    json& item = (*items)[i];
    if (item.is_object() && !item_kind.empty()) {
      if (!item.contains("kind")) item["kind"] = item_kind;
      if (!item.contains("apiVersion")) item["apiVersion"] = text_at(object, "apiVersion");
    }
    flatten(std::move(item), where + ", item " + std::to_string(i + 1), out);
  }
}

// The problem of an object; empty: none.
std::string problem_of(const json& object) {
  if (!object.is_object()) return "not a JSON object";
  if (text_at(object, "apiVersion").empty()) return "no apiVersion";
  if (text_at(object, "kind").empty()) return "no kind";
  if (auto shape = check_shape(object); !shape) return shape.error().message;
  const json metadata = object.value("metadata", json::object());
  if (text_at(metadata, "name").empty() && text_at(metadata, "generateName").empty()) {
    return "no metadata.name";
  }
  if (text_at(object, "kind") == "Pod" && !object.contains("spec")) return "a pod without a spec";
  return {};
}

Result<std::vector<Input>> read_inputs(const std::vector<std::string>& texts) {
  std::vector<Input> inputs;
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string where = "text " + std::to_string(i + 1);
    try {
      flatten(json::parse(texts[i]), where, inputs);
    } catch (const json::exception& error) {
      problems.push_back(where + ": " + error.what());
    }
  }
  for (const Input& input : inputs) {
    const std::string problem = problem_of(input.object);
    if (problem.empty()) continue;
    const std::string name = text_at(input.object, "kind");
    problems.push_back(input.where + (name.empty() ? "" : " (" + name + ")") + ": " + problem);
  }
  if (problems.empty()) return inputs;
  std::string message = "the cluster cannot be loaded";
  for (std::size_t i = 0; i < std::min(problems.size(), kProblemsShown); ++i) {
    message += "\n  " + problems[i];
  }
  if (problems.size() > kProblemsShown) {
    message += "\n  and " + std::to_string(problems.size() - kProblemsShown) + " more";
  }
  return fail(ErrorCode::kInvalid, std::move(message));
}

// Returns the table for an object's kind; adds a kind that is not served yet.
KindInfo kind_for(ObjectStore& store, const json& object) {
  const GroupVersion gv = split_api_version(text_at(object, "apiVersion"));
  const std::string kind = text_at(object, "kind");
  if (gv.group == "events.k8s.io" && kind == "Event") return *store.kind(kEvents);
  for (const KindInfo& served : store.kinds()) {
    if (served.resource.group != gv.group || served.kind != kind) continue;
    KindInfo seen = served;
    seen.versions = {gv.version};
    store.serve_kind(seen);
    return *store.kind(served.resource);
  }
  const bool namespaced = !text_at(object.value("metadata", json::object()), "namespace").empty();
  const KindInfo fresh{{gv.group, guess_plural(kind)}, kind, {gv.version}, namespaced, false};
  store.serve_kind(fresh);
  return fresh;
}

// Drops the verdict of the scheduler that the export was taken from. A scheduler that comes to the
// same verdict would write nothing, and nobody could tell that it has judged the pod.
void drop_old_verdict(json& pod) {
  if (!text_at(pod["spec"], "nodeName").empty()) return;
  const auto status = pod.find("status");
  if (status == pod.end() || !status->is_object()) return;
  const auto conditions = status->find("conditions");
  if (conditions == status->end() || !conditions->is_array()) return;
  std::erase_if(conditions->get_ref<json::array_t&>(),
                [](const json& condition) { return text_at(condition, "type") == "PodScheduled"; });
}

// A cluster has admitted the pod already, and given it a priority.
bool is_exported(const json& pod) {
  return !text_at(object_in(pod, "metadata"), "uid").empty() &&
         object_in(pod, "spec").contains("priority");
}

// What an object is given when it comes may be in the same file: it comes after that. Quotas count
// the pods of a cluster before new ones.
int turn_of(const Input& input) {
  const std::string kind = text_at(input.object, "kind");
  if (kind == "Pod") return is_exported(input.object) ? 2 : 3;
  return kind == "PersistentVolumeClaim" ? 1 : 0;
}

}  // namespace

void serve_kinds_of(ObjectStore& store, const std::vector<std::string>& json_texts) {
  const auto inputs = read_inputs(json_texts);
  if (!inputs) return;
  for (const Input& input : *inputs) static_cast<void>(kind_for(store, input.object));
}

Result<LoadReport> load_cluster(ObjectStore& store,
                                const std::vector<std::string>& json_texts) try {
  auto inputs = read_inputs(json_texts);
  if (!inputs) return fail(inputs.error());
  LoadReport report;
  std::set<std::string> namespaces{"default"};
  std::stable_sort(inputs->begin(), inputs->end(),
                   [](const Input& a, const Input& b) { return turn_of(a) < turn_of(b); });
  PodAdmission admission(store);
  std::set<std::string> missing;
  std::set<std::string> nodes_with_uid;
  for (Input& input : *inputs) {
    json& metadata = input.object["metadata"];
    if (text_at(input.object, "kind") == "Node" && !text_at(metadata, "uid").empty()) {
      nodes_with_uid.insert(text_at(metadata, "name"));
    }
  }
  for (Input& input : *inputs) {
    json& object = input.object;
    const KindInfo kind = kind_for(store, object);
    json& metadata = object["metadata"];
    for (const char* field : {"resourceVersion", "selfLink"}) metadata.erase(field);
    // The time of a report says which pods it may count.
    if (kind.resource != kNodeResourceTopologies) {
      metadata.erase("managedFields");
    } else if (!nodes_with_uid.contains(text_at(metadata, "name"))) {
      metadata.erase("ownerReferences");  // the Node gets another UID than they name
    }
    if (kind.resource == kResourceQuotas) object.erase("status");  // the pods here count
    if (kind.namespaced) {
      const std::string ns = text_at(metadata, "namespace");
      if (ns.empty())
        metadata["namespace"] = "default";
      else
        namespaces.insert(ns);
    }
    if (kind.resource == kPods) {
      drop_old_verdict(object);
      if (is_exported(object)) set_pod_defaults(object);
    }
    // What has a UID was taken by a cluster.
    auto admitted = text_at(metadata, "uid").empty() ? check_fields(kind, object, Missing::kTaken)
                                                     : ApiResult<void>();
    const std::string ns = text_at(metadata, "namespace");
    if (admitted && text_at(metadata, "uid").empty() && kind.namespaced &&
        store.get(kNamespaces, {"", ns})) {
      admitted = check_namespace(store, kind.resource, text_at(metadata, "name"), ns);
    }
    if (admitted) admitted = admit_object(store, kind.resource, object);
    if (admitted && kind.resource == kPods && !is_exported(object)) {
      admitted = admission.admit(object, &missing);
    }
    if (!admitted) {
      report.notes.push_back(input.where + " is left out: " + admitted.error().message);
      continue;
    }
    // What report it has, it had before: nobody waits for it as for that of a new node.
    if (kind.resource == kNodes && text_at(metadata, "creationTimestamp").empty()) {
      metadata["creationTimestamp"] = timestamp_now(kNodeAge);
    }
    const auto created = store.create(kind.resource, std::move(object), /*keep_identity=*/true);
    if (created) {
      ++report.by_kind[kind.kind];
    } else {
      report.notes.push_back(input.where + " is left out: " + created.error().message);
    }
  }
  for (const std::string& name : namespaces) ensure_namespace(store, name);
  for (const std::string& each : missing) {
    report.notes.push_back(each + " is named by pods and not there: they are taken without it");
  }
  return report;
} catch (const json::exception& error) {
  return fail(ErrorCode::kInvalid, std::string("the cluster cannot be loaded: ") + error.what());
}

}  // namespace plimsoll::sandbox
