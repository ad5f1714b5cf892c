#pragma once
// The storage of the embedded API server, in place of a real server's etcd and watch cache.
//
// Objects are kept as serialised text, keyed by (group/plural, namespace, name), next to the few
// fields that selectors need. Lists and watches return the text unchanged; an object is parsed only
// to change it. One counter assigns resource versions for all kinds. Each kind keeps a bounded
// window of past events; a watch from before it gets 410 Gone.
//
// Any thread may call any function. None blocks longer than a map look-up or a copy of a list of
// pointers. Returned objects are immutable and stay valid as long as they are held.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/sandbox/store/api_status.hpp"
#include "lab/sandbox/store/kinds.hpp"
#include "lab/sandbox/store/stored_object.hpp"

namespace plimsoll::sandbox {

enum class EventType { kAdded, kModified, kDeleted };

struct StoreEvent {
  EventType type;
  std::uint64_t resource_version;
  ObjectPtr object;    // for kDeleted: the last state
  ObjectPtr previous;  // null for kAdded
};

struct EventBatch {
  std::vector<StoreEvent> events;
  std::uint64_t position = 0;  // everything up to this version is included
  bool more = false;           // the limit was reached
};

struct ListResult {
  std::vector<ObjectPtr> objects;  // by namespace, then name
  std::uint64_t resource_version = 0;
};

// Conditions for a change or a deletion; empty fields are not checked.
struct Preconditions {
  std::string uid;
  std::string resource_version;
};

struct StoreOptions {
  std::size_t history_per_kind = 65536;  // events kept for watches
  std::uint64_t seed = 0;                // for UIDs and generated names; 0: from the system
  std::uint64_t first_resource_version = 1;
};

class ObjectStore {
 public:
  explicit ObjectStore(StoreOptions options = {});
  ~ObjectStore();
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  // Adds a kind, like installing its CRD. A kind that is already served gains its missing versions;
  // its storage version stays.
  void serve_kind(const KindInfo& kind);
  // Sets the kind name ("Widget") of a kind that was served without one.
  void name_kind(const ResourceName& resource, const std::string& kind_name);
  // Removes a kind and all its objects, like deleting its CRD. Its watchers are woken and find that
  // the kind is unknown. Returns false if it was not served.
  bool remove_kind(const ResourceName& resource);
  [[nodiscard]] std::optional<KindInfo> kind(const ResourceName& resource) const;
  [[nodiscard]] std::vector<KindInfo> kinds() const;

  // Stores a new object. Fills in apiVersion and kind where missing, creationTimestamp, uid,
  // generation and, from generateName, the name. `keep_identity` keeps an existing uid and
  // creationTimestamp (loading an export). Fails: 404 unknown kind, 409 AlreadyExists, 422 missing
  // or ill-formed name.
  ApiResult<ObjectPtr> create(const ResourceName& resource, nlohmann::json object,
                              bool keep_identity = false);

  [[nodiscard]] ApiResult<ObjectPtr> get(const ResourceName& resource, const ObjectKey& key) const;
  [[nodiscard]] ApiResult<ListResult> list(const ResourceName& resource,
                                           std::optional<std::string_view> ns = std::nullopt) const;

  // Reads, changes and writes an object in one step. `change` gets the current object, and may be
  // called again if another writer was faster. Name, namespace, uid and creationTimestamp cannot be
  // changed. A change without effect writes nothing and creates no event. An object with a
  // deletionTimestamp is removed with its last finalizer.
  using Change = std::function<ApiResult<void>(nlohmann::json& object)>;
  ApiResult<ObjectPtr> modify(const ResourceName& resource, const ObjectKey& key,
                              const Preconditions& preconditions, const Change& change);

  // Removes an object; one with finalizers is only marked with a deletionTimestamp.
  ApiResult<ObjectPtr> remove(const ResourceName& resource, const ObjectKey& key,
                              const Preconditions& preconditions = {});
  // Gives the object a deletionTimestamp if it has none, with this grace period.
  ApiResult<ObjectPtr> mark_deleted(const ResourceName& resource, const ObjectKey& key,
                                    const Preconditions& preconditions, std::chrono::seconds grace);

  // The events of a kind after a resource version, in order. Fails: 404 unknown kind, 410 the
  // history does not reach back that far.
  [[nodiscard]] ApiResult<EventBatch> events_after(const ResourceName& resource,
                                                   std::uint64_t version, std::size_t limit) const;

  // Calls `wake` after every event of the kind until the subscription is dropped. `wake` runs on
  // the writer's thread with the store locked: it must only signal, and must not call the store.
  class Subscription {
   public:
    Subscription() = default;
    Subscription(ObjectStore* store, ResourceName resource, std::uint64_t id)
        : store_(store), resource_(std::move(resource)), id_(id) {}
    Subscription(Subscription&& other) noexcept { *this = std::move(other); }
    Subscription& operator=(Subscription&& other) noexcept;
    ~Subscription() { reset(); }
    void reset();

   private:
    ObjectStore* store_ = nullptr;
    ResourceName resource_;
    std::uint64_t id_ = 0;
  };
  [[nodiscard]] Subscription subscribe(const ResourceName& resource, std::function<void()> wake);

  [[nodiscard]] std::uint64_t resource_version() const;
  // That of the newest event of a kind; 0: there was none, or the kind is unknown.
  [[nodiscard]] std::uint64_t last_change(const ResourceName& resource) const;
  [[nodiscard]] std::size_t count(const ResourceName& resource) const;

  // Drops the event history of a kind, like etcd's compaction: watches from an older version get
  // 410 Gone from now on.
  void compact(const ResourceName& resource);

 private:
  struct Table;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::sandbox
