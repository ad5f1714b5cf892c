#include "lab/simulate/arrivals.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "framework/base/json_field.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/apiserver/cluster_loader.hpp"
#include "lab/sandbox/kubelet/kubelet.hpp"
#include "lab/sandbox/store/patch.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;

json metadata_of(const std::string& text) {
  const json object = json::parse(text, nullptr, false);
  const json metadata = object.is_object() ? object.value("metadata", json::object()) : json();
  return metadata.is_object() ? metadata : json();
}

// The seconds in the annotation; nothing: it is not there, or is no number, which is noted.
std::optional<double> seconds_in(const json& metadata, const char* annotation, const char* instead,
                                 std::vector<std::string>& notes) {
  const json annotations = metadata.is_object() ? metadata.value("annotations", json()) : json();
  const auto said = annotations.is_object() ? annotations.find(annotation) : annotations.end();
  if (!annotations.is_object() || said == annotations.end()) return std::nullopt;
  const auto parsed =
      said->is_string() ? sandbox::parse_seconds(said->get<std::string>()) : std::nullopt;
  if (!parsed) {
    notes.push_back(text_at(metadata, "name") + ": the annotation " + annotation +
                    " is not a number of seconds: it " + instead);
  }
  return parsed;
}

struct Place {
  sandbox::ResourceName resource;
  sandbox::ObjectKey key;
};

// Where the object is; nothing: it is not there.
std::optional<Place> find(const sandbox::ObjectStore& store,
                          const std::vector<sandbox::KindInfo>& kinds, const json& object) {
  const auto gv = sandbox::split_api_version(text_at(object, "apiVersion"));
  const json metadata = object.is_object() ? object.value("metadata", json()) : json();
  for (const sandbox::KindInfo& kind : kinds) {
    if (kind.resource.group != gv.group || kind.kind != text_at(object, "kind")) continue;
    std::string ns = kind.namespaced ? text_at(metadata, "namespace") : "";
    if (kind.namespaced && ns.empty()) ns = "default";
    Place place{kind.resource, {ns, text_at(metadata, "name")}};
    if (store.get(place.resource, place.key)) return place;
  }
  return std::nullopt;
}

std::string kind_and_name(const json& object) {
  const json metadata = object.is_object() ? object.value("metadata", json()) : json();
  return text_at(object, "kind") + " " + text_at(metadata, "name");
}

sandbox::ApiResult<sandbox::ObjectPtr> change(sandbox::ObjectStore& store, const Place& place,
                                              json object) {
  for (const char* fixed : {"apiVersion", "kind"}) object.erase(fixed);
  json& metadata = object["metadata"];
  if (metadata.contains("annotations") && metadata["annotations"].is_object()) {
    for (const char* own : {kArriveSecondsAnnotation, kLeaveSecondsAnnotation}) {
      metadata["annotations"].erase(own);
    }
    if (metadata["annotations"].empty()) metadata.erase("annotations");
  }
  for (const char* fixed : {"uid", "resourceVersion", "creationTimestamp", "generation"}) {
    metadata.erase(fixed);
  }
  return store.modify(place.resource, place.key, {}, [&](json& now) -> sandbox::ApiResult<void> {
    sandbox::apply_merge_patch(now, object);
    return {};
  });
}

sandbox::ApiResult<sandbox::ObjectPtr> remove(sandbox::ObjectStore& store, const Place& place) {
  const auto now = store.get(place.resource, place.key);
  if (!now) return now;
  const bool runs = place.resource == sandbox::kPods && !(*now)->field("spec.nodeName").empty() &&
                    !sandbox::is_terminal(**now);
  if (!runs) return store.remove(place.resource, place.key);
  const json pod = (*now)->parse();
  const json grace = pod["spec"].value("terminationGracePeriodSeconds", json(30));
  return store.mark_deleted(place.resource, place.key, {},
                            std::chrono::seconds(grace.is_number() ? grace.get<int64_t>() : 30));
}

}  // namespace

Arrivals::Arrivals(const std::vector<std::string>& texts, std::vector<std::string>& notes) {
  for (const std::string& text : texts) {
    double comes = 0;
    std::optional<double> goes;
    // Most objects have no such annotation and need no parsing.
    if (text.find(kArriveSecondsAnnotation) != std::string::npos ||
        text.find(kLeaveSecondsAnnotation) != std::string::npos) {
      const json metadata = metadata_of(text);
      comes = seconds_in(metadata, kArriveSecondsAnnotation, "comes at once", notes).value_or(0);
      goes = seconds_in(metadata, kLeaveSecondsAnnotation, "stays", notes);
    }
    const bool is_pod = text.find(R"("kind":"Pod")") != std::string::npos ||
                        text.find(R"("kind": "Pod")") != std::string::npos;
    coming_.push_back({comes, text, is_pod});
    if (goes) coming_.push_back({std::max(comes, *goes), text, is_pod, true});
  }
  std::stable_sort(coming_.begin(), coming_.end(), [](const Arrival& a, const Arrival& b) {
    return std::pair(a.seconds, a.is_pod) < std::pair(b.seconds, b.is_pod);
  });
}

Arrivals::Batch Arrivals::take(double seconds) {
  Batch batch;
  const bool pods = !coming_.empty() && coming_.front().is_pod;
  while (!coming_.empty() && coming_.front().seconds <= seconds && coming_.front().is_pod == pods) {
    Arrival& first = coming_.front();
    (first.goes ? batch.go : batch.come).push_back(std::move(first.text));
    coming_.pop_front();
  }
  return batch;
}

std::optional<double> Arrivals::next() const {
  if (coming_.empty()) return std::nullopt;
  return coming_.front().seconds;
}

std::vector<std::string> Arrivals::coming() const {
  std::vector<std::string> names;
  for (const Arrival& arrival : coming_) {
    const json metadata = metadata_of(arrival.text);
    if (!metadata.is_object()) continue;
    names.push_back(metadata.value("namespace", "default") + "/" + metadata.value("name", ""));
  }
  return names;
}

Result<std::vector<std::string>> carry_out(sandbox::ObjectStore& store,
                                           const Arrivals::Batch& batch) {
  std::vector<std::string> notes;
  const auto note_failure = [&notes](const json& object, const auto& result) {
    if (!result)
      notes.push_back(kind_and_name(object) + " is not changed: " + result.error().message);
  };
  const std::vector<sandbox::KindInfo> kinds = store.kinds();
  std::vector<std::string> fresh;
  for (const std::string& text : batch.come) {
    const json object = json::parse(text, nullptr, false);
    if (const auto place = find(store, kinds, object)) {
      note_failure(object, change(store, *place, object));
    } else {
      fresh.push_back(text);
    }
  }
  if (!fresh.empty()) {
    auto loaded = sandbox::load_cluster(store, fresh);
    if (!loaded) return fail(loaded.error());
    notes.insert(notes.end(), loaded->notes.begin(), loaded->notes.end());
  }
  for (const std::string& text : batch.go) {
    const json object = json::parse(text, nullptr, false);
    if (const auto place = find(store, kinds, object)) {
      note_failure(object, remove(store, *place));
    } else {
      notes.push_back(kind_and_name(object) + " is to go, and was not there");
    }
  }
  return notes;
}

}  // namespace plimsoll::cli
