#include "sandbox/apiserver/object_store.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

// A placeholder for the resource version in a text that is serialised before the version is known.
constexpr std::string_view kVersionMark = "@plimsoll-resource-version@";
constexpr std::string_view kNameAlphabet = "bcdfghjklmnpqrstvwxz2456789";

std::string dump(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

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

bool valid_name(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (!alphanumeric(name.front()) || !alphanumeric(name.back())) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return alphanumeric(c) || c == '-' || c == '.'; });
}

bool has_finalizers(const json& object) {
  const auto& metadata = object.at("metadata");
  const auto found = metadata.find("finalizers");
  return found != metadata.end() && found->is_array() && !found->empty();
}

std::string member(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? std::string() : text_of(*found);
}

// Serialises with the placeholder for the resource version.
ObjectPtr render(const ResourceName& resource, json& object) {
  auto stored = std::make_shared<StoredObject>();
  json& metadata = object["metadata"];
  metadata["resourceVersion"] = kVersionMark;
  stored->key = {member(metadata, "namespace"), member(metadata, "name")};
  stored->uid = member(metadata, "uid");
  stored->labels = labels_of(object);
  for (const std::string& field : selectable_fields(resource)) {
    stored->fields.emplace_back(field, field_value(object, field));
  }
  stored->text = dump(object);
  stored->version_offset = stored->text.find(kVersionMark);
  return stored;
}

// Replaces the placeholder by the version; the object is not shared yet.
ObjectPtr stamp(ObjectPtr rendered, std::uint64_t version) {
  auto& object = const_cast<StoredObject&>(*rendered);
  object.resource_version = version;
  object.text.replace(object.version_offset, kVersionMark.size(), std::to_string(version));
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

}  // namespace

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

struct ObjectStore::Table {
  KindInfo kind;
  std::map<ObjectKey, ObjectPtr> objects;
  std::deque<StoreEvent> history;
  std::uint64_t forgotten = 0;  // the version of the newest event that left the history
  std::map<std::uint64_t, std::function<void()>> watchers;
};

struct ObjectStore::State {
  StoreOptions options;
  mutable std::mutex mutex;
  std::uint64_t version = 0;
  std::uint64_t next_subscription = 1;
  std::map<ResourceName, Table> tables;
  std::mt19937_64 random;

  Table* find(const ResourceName& resource) {
    const auto found = tables.find(resource);
    return found == tables.end() ? nullptr : &found->second;
  }

  // All members are used with the mutex held.
  void publish(Table& table, StoreEvent event) {
    table.history.push_back(std::move(event));
    while (table.history.size() > options.history_per_kind) {
      table.forgotten = table.history.front().resource_version;
      table.history.pop_front();
    }
    for (const auto& [id, wake] : table.watchers) wake();
  }

  ObjectPtr erase(Table& table, std::map<ObjectKey, ObjectPtr>::iterator at, ObjectPtr last) {
    ObjectPtr previous = at->second;
    table.objects.erase(at);
    publish(table, {EventType::kDeleted, ++version, last, std::move(previous)});
    return last;
  }

  std::string new_uid() {
    const std::uint64_t a = random();
    const std::uint64_t b = random();
    char text[37];
    std::snprintf(text, sizeof text, "%08x-%04x-4%03x-%04x-%012llx", static_cast<unsigned>(a >> 32),
                  static_cast<unsigned>(a >> 16) & 0xffffU, static_cast<unsigned>(a) & 0xfffU,
                  (static_cast<unsigned>(b >> 48) & 0x3fffU) | 0x8000U,
                  static_cast<unsigned long long>(b & 0xffffffffffffULL));
    return text;
  }

  std::string name_suffix() {
    std::string suffix;
    for (int i = 0; i < 5; ++i) suffix += kNameAlphabet[random() % kNameAlphabet.size()];
    return suffix;
  }
};

ObjectStore::ObjectStore(StoreOptions options) : state_(std::make_unique<State>()) {
  state_->options = options;
  state_->version = options.first_resource_version;
  std::random_device device;
  state_->random.seed(options.seed != 0 ? options.seed
                                        : (std::uint64_t{device()} << 32 | device()));
  for (const KindInfo& kind : default_kinds()) serve_kind(kind);
}

ObjectStore::~ObjectStore() = default;

void ObjectStore::serve_kind(const KindInfo& kind) {
  const std::lock_guard lock(state_->mutex);
  const auto [at, fresh] = state_->tables.try_emplace(kind.resource);
  KindInfo& served = at->second.kind;
  if (fresh) {
    served = kind;
    at->second.forgotten = state_->version;
    return;
  }
  for (const std::string& version : kind.versions) {
    if (std::find(served.versions.begin(), served.versions.end(), version) ==
        served.versions.end()) {
      served.versions.push_back(version);
    }
  }
}

void ObjectStore::name_kind(const ResourceName& resource, const std::string& kind_name) {
  const std::lock_guard lock(state_->mutex);
  Table* table = state_->find(resource);
  if (table != nullptr && table->kind.kind.empty()) table->kind.kind = kind_name;
}

bool ObjectStore::remove_kind(const ResourceName& resource) {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->tables.find(resource);
  if (found == state_->tables.end()) return false;
  for (const auto& [id, wake] : found->second.watchers) wake();
  state_->tables.erase(found);
  return true;
}

std::optional<KindInfo> ObjectStore::kind(const ResourceName& resource) const {
  const std::lock_guard lock(state_->mutex);
  const Table* table = state_->find(resource);
  if (table == nullptr) return std::nullopt;
  return table->kind;
}

std::vector<KindInfo> ObjectStore::kinds() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<KindInfo> kinds;
  for (const auto& [name, table] : state_->tables) kinds.push_back(table.kind);
  return kinds;
}

ApiResult<ObjectPtr> ObjectStore::create(const ResourceName& resource, json object,
                                         bool keep_identity) {
  const std::optional<KindInfo> info = kind(resource);
  if (!info) return not_found(resource.qualified(), "");
  if (!object.is_object()) return bad_request("the body is not a JSON object");
  json& metadata = object["metadata"];
  if (metadata.is_null()) metadata = json::object();
  if (!metadata.is_object()) return bad_request("metadata is not a JSON object");
  convert_object(object, info->storage_api_version());
  if (!object.contains("kind")) object["kind"] = info->kind;
  if (!info->namespaced) metadata.erase("namespace");
  if (info->namespaced && member(metadata, "namespace").empty()) metadata["namespace"] = "default";
  if (!metadata.contains("generation")) metadata["generation"] = 1;
  if (!keep_identity || !metadata.contains("creationTimestamp") ||
      metadata["creationTimestamp"].is_null()) {
    metadata["creationTimestamp"] = timestamp_now();
  }
  const std::string base = member(metadata, "generateName");
  const bool generate = member(metadata, "name").empty() && !base.empty();
  {
    const std::lock_guard lock(state_->mutex);
    if (generate) metadata["name"] = base + state_->name_suffix();
    if (!keep_identity || member(metadata, "uid").empty()) metadata["uid"] = state_->new_uid();
  }
  const std::string name = member(metadata, "name");
  if (name.empty()) {
    return invalid(info->qualified_kind(), "",
                   "metadata.name: Required value: name or generateName is required");
  }
  if (!valid_name(name)) {
    return invalid(
        info->qualified_kind(), name,
        "metadata.name: Invalid value: \"" + name +
            "\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
            "characters, '-' or '.', and must start and end with an alphanumeric character");
  }
  ObjectPtr rendered = render(resource, object);
  const std::lock_guard lock(state_->mutex);
  Table* table = state_->find(resource);
  if (table == nullptr) return not_found(resource.qualified(), name);
  const auto [at, fresh] = table->objects.try_emplace(rendered->key, nullptr);
  if (!fresh) return already_exists(resource.qualified(), name);
  at->second = stamp(std::move(rendered), ++state_->version);
  state_->publish(*table, {EventType::kAdded, state_->version, at->second, nullptr});
  return at->second;
}

ApiResult<ObjectPtr> ObjectStore::get(const ResourceName& resource, const ObjectKey& key) const {
  const std::lock_guard lock(state_->mutex);
  const Table* table = state_->find(resource);
  if (table == nullptr) return not_found(resource.qualified(), key.name);
  const auto found = table->objects.find(key);
  if (found == table->objects.end()) return not_found(resource.qualified(), key.name);
  return found->second;
}

ApiResult<ListResult> ObjectStore::list(const ResourceName& resource,
                                        std::optional<std::string_view> ns) const {
  const std::lock_guard lock(state_->mutex);
  const Table* table = state_->find(resource);
  if (table == nullptr) return not_found(resource.qualified(), "");
  ListResult result;
  result.resource_version = state_->version;
  auto at = ns ? table->objects.lower_bound({std::string(*ns), ""}) : table->objects.begin();
  if (!ns) result.objects.reserve(table->objects.size());
  for (; at != table->objects.end() && (!ns || at->first.ns == *ns); ++at) {
    result.objects.push_back(at->second);
  }
  return result;
}

namespace {

ApiResult<void> check(const ResourceName& resource, const StoredObject& object,
                      const Preconditions& preconditions) {
  const auto& key = object.key;
  if (!preconditions.uid.empty() && preconditions.uid != object.uid) {
    return precondition_failed(resource.qualified(), key.ns, key.name, "UID", preconditions.uid,
                               object.uid);
  }
  const std::string version = std::to_string(object.resource_version);
  if (!preconditions.resource_version.empty() && preconditions.resource_version != version) {
    return precondition_failed(resource.qualified(), key.ns, key.name, "ResourceVersion",
                               preconditions.resource_version, version);
  }
  return {};
}

// Restores the fields that no update may change, and sets the generation, which counts changes of
// the spec.
void keep_identity_of(const StoredObject& current, const json& before, json& object) {
  json& metadata = object["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  metadata["name"] = current.key.name;
  if (!current.key.ns.empty()) metadata["namespace"] = current.key.ns;
  metadata["uid"] = current.uid;
  for (const char* field : {"creationTimestamp", "deletionTimestamp", "generation"}) {
    const auto& old = before.at("metadata");
    const bool being_set = std::string_view(field) == "deletionTimestamp" && !old.contains(field);
    if (old.contains(field)) metadata[field] = old[field];
    if (!old.contains(field) && !being_set) metadata.erase(field);
  }
  const auto spec_of = [](const json& whole) {
    const auto spec = whole.find("spec");
    return spec == whole.end() ? nullptr : &*spec;
  };
  const json* was = spec_of(before);
  const json* is = spec_of(object);
  const bool same_spec = was != nullptr && is != nullptr ? *was == *is : was == is;
  if (!same_spec) {
    const auto old = before.at("metadata").find("generation");
    const bool counted = old != before.at("metadata").end() && old->is_number_integer();
    metadata["generation"] = (counted ? old->get<std::int64_t>() : 0) + 1;
  }
}

}  // namespace

ApiResult<ObjectPtr> ObjectStore::modify(const ResourceName& resource, const ObjectKey& key,
                                         const Preconditions& preconditions, const Change& change) {
  while (true) {
    auto current = get(resource, key);
    if (!current) return current;
    if (auto holds = check(resource, **current, preconditions); !holds) {
      return ApiFailure(holds.error());
    }
    json object = (*current)->parse();
    // Copy only the parts that are compared later; the rest is large.
    json before = json::object();
    for (const char* part : {"metadata", "spec"}) {
      if (const auto found = object.find(part); found != object.end()) before[part] = *found;
    }
    if (auto changed = change(object); !changed) return ApiFailure(changed.error());
    keep_identity_of(**current, before, object);
    const bool vanishes = object["metadata"].contains("deletionTimestamp") &&
                          has_finalizers(before) && !has_finalizers(object);
    ObjectPtr rendered = render(resource, object);
    if (!vanishes && same_apart_from_version(*rendered, **current)) return current;

    const std::lock_guard lock(state_->mutex);
    Table* table = state_->find(resource);
    if (table == nullptr) return not_found(resource.qualified(), key.name);
    const auto found = table->objects.find(key);
    if (found == table->objects.end()) return not_found(resource.qualified(), key.name);
    if (found->second != *current) continue;  // another writer was faster: try again
    if (vanishes) {
      return state_->erase(*table, found, stamp(std::move(rendered), state_->version + 1));
    }
    found->second = stamp(std::move(rendered), ++state_->version);
    state_->publish(*table,
                    {EventType::kModified, state_->version, found->second, std::move(*current)});
    return found->second;
  }
}

ApiResult<ObjectPtr> ObjectStore::remove(const ResourceName& resource, const ObjectKey& key,
                                         const Preconditions& preconditions) {
  while (true) {
    auto current = get(resource, key);
    if (!current) return current;
    if (auto holds = check(resource, **current, preconditions); !holds) {
      return ApiFailure(holds.error());
    }
    // Search for the word before parsing: finalizers are rare.
    if ((*current)->text.find("\"finalizers\"") != std::string::npos &&
        has_finalizers((*current)->parse())) {
      return modify(resource, key, preconditions, [](json& object) -> ApiResult<void> {
        json& metadata = object["metadata"];
        if (!metadata.contains("deletionTimestamp")) {
          metadata["deletionTimestamp"] = timestamp_now();
          metadata["deletionGracePeriodSeconds"] = 0;
        }
        return {};
      });
    }
    const std::lock_guard lock(state_->mutex);
    Table* table = state_->find(resource);
    if (table == nullptr) return not_found(resource.qualified(), key.name);
    const auto found = table->objects.find(key);
    if (found == table->objects.end()) return not_found(resource.qualified(), key.name);
    if (found->second != *current) continue;
    auto last = std::make_shared<StoredObject>(**current);
    last->resource_version = state_->version + 1;
    last->text = (*current)->text_at(last->resource_version);
    return state_->erase(*table, found, std::move(last));
  }
}

ApiResult<EventBatch> ObjectStore::events_after(const ResourceName& resource, std::uint64_t version,
                                                std::size_t limit) const {
  const std::lock_guard lock(state_->mutex);
  const Table* table = state_->find(resource);
  if (table == nullptr) return not_found(resource.qualified(), "");
  if (version < table->forgotten) return too_old_resource_version(version, table->forgotten);
  auto at = std::upper_bound(
      table->history.begin(), table->history.end(), version,
      [](std::uint64_t v, const StoreEvent& event) { return v < event.resource_version; });
  EventBatch batch;
  for (; at != table->history.end() && batch.events.size() < limit; ++at) {
    batch.events.push_back(*at);
  }
  batch.more = at != table->history.end();
  batch.position = std::max(version, state_->version);
  if (batch.more)
    batch.position = batch.events.empty() ? version : batch.events.back().resource_version;
  return batch;
}

ObjectStore::Subscription ObjectStore::subscribe(const ResourceName& resource,
                                                 std::function<void()> wake) {
  const std::lock_guard lock(state_->mutex);
  Table* table = state_->find(resource);
  if (table == nullptr) return {};
  const std::uint64_t id = state_->next_subscription++;
  table->watchers.emplace(id, std::move(wake));
  return Subscription(this, resource, id);
}

ObjectStore::Subscription& ObjectStore::Subscription::operator=(Subscription&& other) noexcept {
  if (this == &other) return *this;
  reset();
  store_ = std::exchange(other.store_, nullptr);
  resource_ = std::move(other.resource_);
  id_ = other.id_;
  return *this;
}

void ObjectStore::Subscription::reset() {
  if (store_ == nullptr) return;
  State& state = *std::exchange(store_, nullptr)->state_;
  const std::lock_guard lock(state.mutex);
  if (Table* table = state.find(resource_)) table->watchers.erase(id_);
}

std::uint64_t ObjectStore::resource_version() const {
  const std::lock_guard lock(state_->mutex);
  return state_->version;
}

std::size_t ObjectStore::count(const ResourceName& resource) const {
  const std::lock_guard lock(state_->mutex);
  const Table* table = state_->find(resource);
  return table == nullptr ? 0 : table->objects.size();
}

void ObjectStore::compact(const ResourceName& resource) {
  const std::lock_guard lock(state_->mutex);
  Table* table = state_->find(resource);
  if (table == nullptr) return;
  table->history.clear();
  table->forgotten = state_->version;
}

namespace {

std::string format_utc(std::chrono::system_clock::time_point now, const char* format) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t length = std::strftime(text, sizeof text, format, &parts);
  return {text, length};
}

// The clock of the timestamps.
struct Stamping {
  std::mutex mutex;
  std::shared_ptr<const SimulatedClock> clock;

  std::chrono::system_clock::time_point now() {
    const std::lock_guard lock(mutex);
    if (!clock) return std::chrono::system_clock::now();
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(clock->epoch_ms()));
  }
};

Stamping& stamping() {
  static Stamping instance;
  return instance;
}

}  // namespace

TimestampScope::TimestampScope(std::shared_ptr<const SimulatedClock> clock) {
  const std::lock_guard lock(stamping().mutex);
  stamping().clock = std::move(clock);
}

TimestampScope::~TimestampScope() {
  const std::lock_guard lock(stamping().mutex);
  stamping().clock = nullptr;
}

std::string timestamp_now() {
  return format_utc(stamping().now(), "%Y-%m-%dT%H:%M:%SZ");
}

std::string micro_timestamp_now() {
  const auto now = stamping().now();
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() %
      1'000'000;
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%06dZ", static_cast<int>(micros));
  return format_utc(now, "%Y-%m-%dT%H:%M:%S") + fraction;
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
