#include "plugins/builtin/volumes/volume_state.hpp"

#include <utility>
#include <vector>

#include "plugins/storage/volume_match.hpp"

namespace plimsoll::volumes {
VolumeState::Shared VolumeState::shared(const sdk::Host& host) {
  return {host, "plimsoll.io/volume-state",
          [&] { return std::make_unique<VolumeState>(StorageStore::shared(host)); }};
}

VolumeState::VolumeState(StorageStore::Shared store)
    : shared_store_(std::move(store)),
      store_(*shared_store_),
      volumes_(store_.volumes(), "persistentvolume"),
      claims_(store_.claims(), "persistentvolumeclaim") {
  for (const auto& [name, volume] : store_.volumes().all()) lists_.update(name, volume);
  store_.set_listener([this](std::string_view resource, const std::string& key) {
    VolumeRef volume;
    if (resource == sdk::kPersistentVolumes.resource) {
      volumes_.changed(key);
      volume = volumes_.find(key);
      lists_.update(key, volume);
    } else {
      claims_.changed(key);
    }
    runs_.changed(resource, key);
    // Whoever waits for a claim does not know the name of the volume that is made for it.
    if (volume != nullptr && volume->claim) {
      runs_.changed(sdk::kPersistentVolumeClaims.resource,
                    key_of(volume->claim->ns, volume->claim->name));
    }
  });
}

DelayedClaim VolumeState::delayed(ClaimRef claim) const {
  DelayedClaim made{nullptr, lists_.free_of(claim->class_name), {}};
  for (VolumeRef& volume : lists_.named_by(key_of(claim->meta))) {
    if (volume->class_name == claim->class_name) made.pre_bound.push_back(std::move(volume));
  }
  made.claim = std::move(claim);
  return made;
}

Result<void> VolumeState::assume(NodePlan& plan, std::string_view node) {
  NodePlan assumed;
  const auto undone = [&](Error error) {
    restore(assumed);
    return fail(std::move(error));
  };
  for (NodePlan::Binding& binding : plan.bindings) {
    VolumeRef bound = bound_copy(*binding.volume, *binding.claim);
    // It may be so by the decision for another pod, which is not written yet.
    if (bound == nullptr && store_.volume(binding.volume->meta.name) != binding.volume) {
      bound = binding.volume;
    }
    binding.changes = bound != nullptr;
    if (bound == nullptr) continue;
    if (auto done = volumes_.assume(bound); !done) return undone(std::move(done.error()));
    lists_.update(bound->meta.name, bound);
    binding.volume = bound;
    assumed.bindings.push_back(binding);
  }
  for (NodePlan::Provision& provision : plan.provisions) {
    if (provision.claim->selected_node != node) {
      provision.claim = annotated_copy(*provision.claim, node);
    }
    if (auto done = claims_.assume(provision.claim); !done) return undone(std::move(done.error()));
    assumed.provisions.push_back(provision);
  }
  return {};
}

void VolumeState::restore(const NodePlan& plan) {
  for (const NodePlan::Binding& binding : plan.bindings) {
    volumes_.restore(binding.volume);
    lists_.update(binding.volume->meta.name, volumes_.find(binding.volume->meta.name));
  }
  for (const NodePlan::Provision& provision : plan.provisions) claims_.restore(provision.claim);
}

}  // namespace plimsoll::volumes
