#include "lab/sandbox/controllers/controllers.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/json_path.hpp"
#include "lab/sandbox/controllers/controller.hpp"

namespace plimsoll::sandbox {
namespace {

constexpr std::size_t kBatch = 1000;  // events

}  // namespace

void remove_owned(ObjectStore& store, const ResourceName& kind, const ObjectKey& key,
                  const std::string& owner_uid) {
  const auto found = store.get(kind, key);
  if (!found) return;
  const nlohmann::json object = (*found)->parse();
  for (const nlohmann::json& owner : value_at(object, {"metadata", "ownerReferences"})) {
    if (text_in(owner, {"uid"}) == owner_uid) (void)store.remove(kind, key);
  }
}

struct SimulatedControllers::Impl {
  explicit Impl(ObjectStore& cluster) : store(cluster) {
    controllers.push_back(taint_controller(store));
    controllers.push_back(volume_controller(store));
    controllers.push_back(claim_controller(store));
    controllers.push_back(disruption_controller(store));
    std::set<ResourceName> kinds;
    for (const auto& controller : controllers) {
      for (const ResourceName& kind : controller->kinds()) {
        followed.push_back({&*controller, kind});
        kinds.insert(kind);
      }
    }
    for (const ResourceName& kind : kinds) {
      subscriptions.push_back(store.subscribe(kind, [this] {
        const std::lock_guard lock(mutex);
        ++woken;
        wake.notify_one();
      }));
    }
    while (step()) {
    }
    thread = std::thread([this] { run(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
      wake.notify_one();
    }
    thread.join();
  }

  // A kind, as one controller follows it.
  struct Followed {
    Controller* controller;
    ResourceName kind;
    std::uint64_t position = 0;
    bool listed = false;
  };

  void run() {
    for (;;) {
      std::uint64_t seen = 0;
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [this] { return stopping || woken != handled; });
        if (stopping) return;
        seen = woken;
      }
      while (step()) {
      }
      const std::lock_guard lock(mutex);
      handled = seen;
    }
  }

  // Handles what is new. False: nothing was.
  bool step() {
    bool any = false;
    for (Followed& each : followed) {
      for (const StoreEvent& event : news(each)) {
        any = true;
        each.controller->changed(each.kind, event);
      }
    }
    if (any) {
      for (const auto& controller : controllers) controller->settle();
    }
    return any;
  }

  std::vector<StoreEvent> news(Followed& each) {
    if (each.listed) {
      if (auto batch = store.events_after(each.kind, each.position, kBatch)) {
        each.position = batch->position;
        return std::move(batch->events);
      }
    }
    std::vector<StoreEvent> events;  // the first look, or too far behind
    const auto list = store.list(each.kind);
    if (!list) return events;
    for (const ObjectPtr& object : list->objects) {
      events.push_back({EventType::kAdded, object->resource_version, object, nullptr});
    }
    each.position = list->resource_version;
    each.listed = true;
    return events;
  }

  ObjectStore& store;
  std::vector<std::unique_ptr<Controller>> controllers;
  std::vector<Followed> followed;

  mutable std::mutex mutex;  // guards the following
  std::condition_variable wake;
  std::uint64_t woken = 1;    // events, and the start
  std::uint64_t handled = 0;  // as many of these
  bool stopping = false;

  std::vector<ObjectStore::Subscription> subscriptions;
  std::thread thread;
};

SimulatedControllers::SimulatedControllers(ObjectStore& store)
    : impl_(std::make_unique<Impl>(store)) {}

SimulatedControllers::~SimulatedControllers() = default;

bool SimulatedControllers::quiet() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->handled == impl_->woken;
}

}  // namespace plimsoll::sandbox
