#pragma once
// What all instances of all volume plugins share: the storage objects, with what is decided for
// them, which must be one for all profiles; who uses them; and bindings that are under way. One
// instance per kind passes the events of that kind on. Loop only, but where the parts say more.

#include <plimsoll/host.hpp>
#include <plimsoll/shared.hpp>

#include <memory>

#include "plugins/builtin/volumes/binding_runs.hpp"
#include "plugins/builtin/volumes/storage_store.hpp"
#include "plugins/builtin/volumes/volume_use.hpp"

namespace plimsoll::volumes {

struct Storage {
  StorageStore objects;
  VolumeUse use{objects};
  BindingRuns runs{objects};

  using Shared = sdk::Shared<Storage>;
  // The one of this scheduler. For start() and later.
  [[nodiscard]] static Shared shared(const sdk::Host& host) {
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
