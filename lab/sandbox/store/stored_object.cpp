#include "lab/sandbox/store/stored_object.hpp"

#include <nlohmann/json.hpp>

#include "lab/sandbox/store/object_shape.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

// A placeholder for the resource version in a text that is serialised before the version is known.
constexpr std::string_view kVersionMark = "@plimsoll-resource-version@";

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  return value.is_null() ? std::string() : value.dump();
}

Fields labels_of(const json& object) {
  Fields labels;
  const auto& metadata = object.at("metadata");
  if (const auto found = metadata.find("labels"); found != metadata.end() && found->is_object()) {
    for (const auto& [key, value] : found->items()) labels.emplace_back(key, text_of(value));
  }
  return labels;  // nlohmann keeps keys sorted
}

// "spec.nodeName" -> object["spec"]["nodeName"], "" if it is missing.
std::string field_value(const json& object, std::string_view path) {
  const json* at = &object;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view part = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    if (!at->is_object()) return {};
    const auto found = at->find(std::string(part));
    if (found == at->end()) return {};
    at = &*found;
  }
  return text_of(*at);
}

}  // namespace

std::string scalar_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? std::string() : text_of(*found);
}

std::shared_ptr<StoredObject> render(const ResourceName& resource, json& object) {
  auto stored = std::make_shared<StoredObject>();
  json& metadata = object["metadata"];
  metadata["resourceVersion"] = kVersionMark;
  stored->key = {scalar_at(metadata, "namespace"), scalar_at(metadata, "name")};
  stored->uid = scalar_at(metadata, "uid");
  stored->labels = labels_of(object);
  for (const std::string& field : selectable_fields(resource)) {
    stored->fields.emplace_back(field, field_value(object, field));
  }
  stored->text = json_text(object);
  stored->version_offset = stored->text.find(kVersionMark);
  return stored;
}

// Replaces the placeholder by the version.
ObjectPtr stamp(std::shared_ptr<StoredObject> rendered, std::uint64_t version) {
  rendered->resource_version = version;
  rendered->text.replace(rendered->version_offset, kVersionMark.size(), std::to_string(version));
  return rendered;
}

bool same_apart_from_version(const StoredObject& rendered, const StoredObject& current) {
  const std::size_t digits = std::to_string(current.resource_version).size();
  const std::string_view a = rendered.text;
  const std::string_view b = current.text;
  return rendered.version_offset == current.version_offset &&
         a.size() - kVersionMark.size() == b.size() - digits &&
         a.substr(0, rendered.version_offset) == b.substr(0, current.version_offset) &&
         a.substr(rendered.version_offset + kVersionMark.size()) ==
             b.substr(current.version_offset + digits);
}

bool has_finalizers(const json& object) {
  const auto& metadata = object.at("metadata");
  const auto found = metadata.find("finalizers");
  return found != metadata.end() && found->is_array() && !found->empty();
}

void keep_identity_of(const StoredObject& current, const json& before, json& object) {
  json& metadata = object["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  metadata["name"] = current.key.name;
  if (!current.key.ns.empty()) metadata["namespace"] = current.key.ns;
  metadata["uid"] = current.uid;
  const json& old = before.at("metadata");
  for (const char* field : {"creationTimestamp", "generation"}) {
    if (!old.contains(field)) metadata.erase(field);
  }
  // A deletionTimestamp may be set, once.
  for (const char* field : {"creationTimestamp", "deletionTimestamp", "generation"}) {
    if (old.contains(field)) metadata[field] = old[field];
  }
  const auto spec_of = [](const json& whole) {
    const auto spec = whole.find("spec");
    return spec == whole.end() ? nullptr : &*spec;
  };
  const json* was = spec_of(before);
  const json* is = spec_of(object);
  const bool same_spec = was != nullptr && is != nullptr ? *was == *is : was == is;
  if (!same_spec) {
    const auto count = old.find("generation");
    const bool counted = count != old.end() && count->is_number_integer();
    metadata["generation"] = (counted ? count->get<std::int64_t>() : 0) + 1;
  }
}

std::string StoredObject::text_at(std::uint64_t version) const {
  std::string copy = text;
  copy.replace(version_offset, std::to_string(resource_version).size(), std::to_string(version));
  return copy;
}

json StoredObject::parse() const {
  return json::parse(text);
}

std::string StoredObject::field(std::string_view name) const {
  const std::string* value = find_field(fields, name);
  return value == nullptr ? std::string() : *value;
}

const std::vector<std::string>& selectable_fields(const ResourceName& resource) {
  static const std::vector<std::string> common{"metadata.name", "metadata.namespace"};
  static const std::vector<std::string> pods{
      "metadata.name",      "metadata.namespace", "spec.hostNetwork",        "spec.nodeName",
      "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase"};
  static const std::vector<std::string> nodes{"metadata.name", "metadata.namespace",
                                              "spec.unschedulable"};
  static const std::vector<std::string> events{"involvedObject.kind",
                                               "involvedObject.name",
                                               "involvedObject.namespace",
                                               "involvedObject.uid",
                                               "metadata.name",
                                               "metadata.namespace",
                                               "reason",
                                               "reportingComponent",
                                               "type"};
  if (resource == kPods) return pods;
  if (resource == kNodes) return nodes;
  if (resource == kEvents) return events;
  return common;
}

}  // namespace plimsoll::sandbox
