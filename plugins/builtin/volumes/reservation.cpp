#include "plugins/builtin/volumes/reservation.hpp"

#include <algorithm>

#include "plugins/builtin/volumes/pod_volumes.hpp"
#include "plugins/storage/volume_match.hpp"

namespace plimsoll::volumes {
namespace {

Reservation::Binding bound(StorageStore& store, const NodePlan::Binding& planned) {
  const PersistentVolume& volume = *planned.volume;
  const PersistentVolumeClaim& claim = *planned.claim;
  const auto has = volume.claim();
  const bool is_set =
      has && has->name == claim.name() && has->ns == claim.ns() && has->uid == claim.uid();
  Reservation::Binding made;
  made.volume = volume.name();
  made.volume_version = volume.version();
  // It may be so by the decision for another pod, which is not written yet.
  if (is_set && volume.assumed != nullptr) {
    made.claim = volume.assumed;
  } else {
    made.claim = std::make_shared<AssumedClaim>(
        AssumedClaim{claim.identity(), !is_bound_to(volume, claim), 0});
  }
  made.changes = made.is_assumed = !is_set || volume.assumed != nullptr;
  if (!made.is_assumed) return made;
  if (made.claim != volume.assumed) store.assume(planned.volume, made.claim);
  ++made.claim->holders;
  return made;
}

Reservation::Provision provisioned(StorageStore& store, const ClaimRef& claim,
                                   std::string_view node) {
  auto assumed = claim->assumed;
  if (assumed == nullptr || assumed->name != node) {
    assumed = std::make_shared<AssumedNode>(AssumedNode{std::string(node), 0});
    store.assume(claim, assumed);
  }
  ++assumed->holders;
  return {claim->identity(), std::move(assumed), ""};
}

}  // namespace

Result<std::vector<DelayedClaim>> delayed_claims(const StorageStore& store,
                                                 const std::vector<SeenClaim>& seen) {
  constexpr std::string_view kClaim = "persistentvolumeclaim";
  std::vector<DelayedClaim> all;
  for (const auto& [key, version] : seen) {
    DelayedClaim made{store.claims().find(key), nullptr, {}};
    if (made.claim == nullptr) {
      return fail(ErrorCode::kNotFound, not_found_text(kClaim, key.substr(key.find('/') + 1)));
    }
    if (!made.claim->readable())
      return fail(ErrorCode::kInvalid, unreadable_text(kClaim, made.claim->base()));
    made.free = &store.volumes().free_of(made.claim->class_name);
    for (VolumeRef& volume : store.volumes().named_by(key)) {
      if (volume->class_name == made.claim->class_name) made.pre_bound.push_back(std::move(volume));
    }
    all.push_back(std::move(made));
  }
  return all;
}

Result<Reservation> reserve(StorageStore& store, const NodePlan& plan, std::string_view node,
                            const std::vector<SeenClaim>& seen) {
  for (const NodePlan::Provision& each : plan.provisions) {
    const std::string key = each.claim->key();
    const auto before = std::find_if(seen.begin(), seen.end(),
                                     [&](const SeenClaim& claim) { return claim.first == key; });
    if (before->second == each.claim->version()) continue;
    return fail(ErrorCode::kConflict,
                "\"" + key + "\" is out of sync (stored: " + std::string(each.claim->version()) +
                    ", assume: " + before->second + ")");
  }
  Reservation made;
  made.node_name = node;
  for (const auto& each : plan.bindings) made.bindings.push_back(bound(store, each));
  for (const auto& each : plan.provisions)
    made.provisions.push_back(provisioned(store, each.claim, node));
  return made;
}

void restore(StorageStore& store, const Reservation& reservation) {
  const auto end = [&store](const auto& object, const auto& assumed) {
    const bool is_it = object != nullptr && object->assumed == assumed;
    if (is_it && --assumed->holders == 0) store.assume(object, nullptr);
  };
  for (const Reservation::Binding& each : reservation.bindings) {
    if (each.is_assumed) end(store.volume(each.volume), each.claim);
  }
  for (const Reservation::Provision& each : reservation.provisions) {
    end(store.claims().find(each.claim.key()), each.node);
  }
}

}  // namespace plimsoll::volumes
