#include "lab/sandbox/store/object_store.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>

#include "lab/sandbox/store/field_rules.hpp"
#include "lab/sandbox/store/simulated_clock.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

constexpr std::string_view kNameAlphabet = "bcdfghjklmnpqrstvwxz2456789";

}  // namespace

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

  // Where an object is.
  struct Place {
    Table& table;
    std::map<ObjectKey, ObjectPtr>::iterator at;
  };
  ApiResult<Place> place_of(const ResourceName& resource, const ObjectKey& key) {
    Table* table = find(resource);
    if (table == nullptr) return not_found(resource.qualified(), key.name);
    const auto at = table->objects.find(key);
    if (at == table->objects.end()) return not_found(resource.qualified(), key.name);
    return Place{*table, at};
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

  ObjectPtr erase(const Place& place, ObjectPtr last) {
    ObjectPtr previous = place.at->second;
    place.table.objects.erase(place.at);
    publish(place.table, {EventType::kDeleted, ++version, last, std::move(previous)});
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
  if (info->namespaced && scalar_at(metadata, "namespace").empty())
    metadata["namespace"] = "default";
  if (!metadata.contains("generation")) metadata["generation"] = 1;
  if (!keep_identity || !metadata.contains("creationTimestamp") ||
      metadata["creationTimestamp"].is_null()) {
    metadata["creationTimestamp"] = timestamp_now();
  }
  const std::string base = scalar_at(metadata, "generateName");
  const bool generate = scalar_at(metadata, "name").empty() && !base.empty();
  {
    const std::lock_guard lock(state_->mutex);
    if (generate) metadata["name"] = base + state_->name_suffix();
    if (!keep_identity || scalar_at(metadata, "uid").empty()) metadata["uid"] = state_->new_uid();
  }
  const std::string name = scalar_at(metadata, "name");
  if (name.empty()) {
    return invalid(info->qualified_kind(), "",
                   "metadata.name: Required value: name or generateName is required");
  }
  if (!is_subdomain_name(name)) {
    return invalid(info->qualified_kind(), name,
                   "metadata.name: Invalid value: \"" + name + "\": " + kSubdomainRule);
  }
  auto rendered = render(resource, object);
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
  const auto place = state_->place_of(resource, key);
  if (!place) return ApiFailure(place.error());
  return place->at->second;
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
    auto rendered = render(resource, object);
    if (!vanishes && same_apart_from_version(*rendered, **current)) return current;

    const std::lock_guard lock(state_->mutex);
    const auto place = state_->place_of(resource, key);
    if (!place) return ApiFailure(place.error());
    ObjectPtr& stored = place->at->second;
    if (stored != *current) continue;  // another writer was faster: try again
    if (vanishes) {
      return state_->erase(*place, stamp(std::move(rendered), state_->version + 1));
    }
    stored = stamp(std::move(rendered), ++state_->version);
    state_->publish(place->table,
                    {EventType::kModified, state_->version, stored, std::move(*current)});
    return stored;
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
      return mark_deleted(resource, key, preconditions, std::chrono::seconds(0));
    }
    const std::lock_guard lock(state_->mutex);
    const auto place = state_->place_of(resource, key);
    if (!place) return ApiFailure(place.error());
    if (place->at->second != *current) continue;
    auto last = std::make_shared<StoredObject>(**current);
    last->resource_version = state_->version + 1;
    last->text = (*current)->text_at(last->resource_version);
    return state_->erase(*place, std::move(last));
  }
}

ApiResult<ObjectPtr> ObjectStore::mark_deleted(const ResourceName& resource, const ObjectKey& key,
                                               const Preconditions& preconditions,
                                               std::chrono::seconds grace) {
  return modify(resource, key, preconditions, [grace](json& object) -> ApiResult<void> {
    json& metadata = object["metadata"];
    if (!metadata.contains("deletionTimestamp")) {
      metadata["deletionTimestamp"] = timestamp_now();
      metadata["deletionGracePeriodSeconds"] = grace.count();
    }
    return {};
  });
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

std::uint64_t ObjectStore::last_change(const ResourceName& resource) const {
  const std::lock_guard lock(state_->mutex);
  const Table* table = state_->find(resource);
  if (table == nullptr) return 0;
  return table->history.empty() ? table->forgotten : table->history.back().resource_version;
}

void ObjectStore::compact(const ResourceName& resource) {
  const std::lock_guard lock(state_->mutex);
  Table* table = state_->find(resource);
  if (table == nullptr) return;
  table->history.clear();
  table->forgotten = state_->version;
}

}  // namespace plimsoll::sandbox
