#pragma once
// What all instances of all volume plugins share: the storage objects, with what is decided for
// them, which must be one for all profiles; who uses them; and bindings that are under way. One
// instance per kind passes the events of that kind on. Loop only, but where the parts say more.

#include <plimsoll/services/pre_queueing_hint.h>
#include <plimsoll/host.hpp>
#include <plimsoll/kinds.hpp>
#include <plimsoll/shared.hpp>

#include <memory>
#include <string>
#include <string_view>

#include "plugins/builtin/volumes/binding_runs.hpp"
#include "plugins/builtin/volumes/storage_store.hpp"
#include "plugins/builtin/volumes/volume_use.hpp"

namespace plimsoll::volumes {

struct Storage {
  StorageStore objects;
  VolumeUse use{objects};
  BindingRuns runs{objects};

  using Shared = sdk::Shared<Storage>;
  // The one of this scheduler. For start() and later. `plugin`: the name of one whose hint passes
  // over claims that the pod does not name, as those of all volume plugins do; empty: none.
  [[nodiscard]] static Shared shared(const sdk::Host& host, std::string_view plugin = {}) {
    static const plimsoll_pre_queueing_hint kNamedOnly{
        sizeof kNamedOnly, 0, nullptr, [](void*, const plimsoll_event* event) {
          return int32_t{sdk::view(event->resource) == sdk::kPersistentVolumeClaims.resource &&
                         event->new_object != nullptr};
        }};
    if (!plugin.empty()) {
      static_cast<void>(host.publish(  // the first one's stays
          PLIMSOLL_PRE_QUEUEING_HINT_SERVICE_PREFIX + std::string(plugin),
          PLIMSOLL_PRE_QUEUEING_HINT_VERSION, &kNamedOnly));
    }
    return {host, "plimsoll.io/storage", [] { return std::make_unique<Storage>(); }};
  }

  // Takes the event over if `storage` feeds this kind.
  static void pass_on(const Shared& storage, const sdk::Host& host, const sdk::ObjectEvent& event) {
    if (!storage.feeds(event.resource)) return;
    storage->objects.apply(host, event);
    storage->runs.changed(event);
  }
};

}  // namespace plimsoll::volumes
