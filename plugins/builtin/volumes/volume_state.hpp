#pragma once
// What VolumeBinding knows and has decided, shared by all profiles: two pods of two profiles must
// not be given one volume.
//
// Loop only; Filter and Score read it from other threads while the loop waits.

#include <plimsoll/host.hpp>

#include <memory>
#include <string>
#include <string_view>

#include "plugins/builtin/volumes/assume_cache.hpp"
#include "plugins/builtin/volumes/binding_runs.hpp"
#include "plugins/builtin/volumes/node_sets.hpp"
#include "plugins/builtin/volumes/storage_store.hpp"
#include "plugins/builtin/volumes/volume_finder.hpp"
#include "plugins/storage/volume_lists.hpp"

namespace plimsoll::volumes {

class VolumeState {
 public:
  // The state of this scheduler. For start() and later.
  using Shared = sdk::Shared<VolumeState>;
  [[nodiscard]] static Shared shared(const sdk::Host& host);

  explicit VolumeState(StorageStore::Shared store);
  ~VolumeState() { store_.set_listener(nullptr); }
  VolumeState(const VolumeState&) = delete;
  VolumeState& operator=(const VolumeState&) = delete;

  [[nodiscard]] BindingRuns& runs() { return runs_; }

  // As they are assumed to be; null: there is none.
  [[nodiscard]] VolumeRef volume(std::string_view name) const { return volumes_.find(name); }
  [[nodiscard]] ClaimRef claim(std::string_view ns, std::string_view name) const {
    return claims_.find(key_of(ns, name));
  }
  // The claim, which waits for its first consumer, with the volumes that it may take.
  [[nodiscard]] DelayedClaim delayed(ClaimRef claim) const;

  // Assumes what the plan says for the node, all or nothing: sets claimRefs and selected nodes in
  // memory. The plan then has the objects as they are to be written.
  Result<void> assume(NodePlan& plan, std::string_view node);
  // Ends the assumptions of the plan, as far as no other plan rests on them.
  void restore(const NodePlan& plan);

  [[nodiscard]] size_t assumed() const { return volumes_.size() + claims_.size(); }

 private:
  StorageStore::Shared shared_store_;
  StorageStore& store_;
  AssumeCache<PersistentVolume> volumes_;
  AssumeCache<PersistentVolumeClaim> claims_;
  VolumeLists lists_;
  BindingRuns runs_;
};

}  // namespace plimsoll::volumes
