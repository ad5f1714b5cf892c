// What a node would be without some of its pods: preemption and nominated pods ask. Nothing of the
// ledger changes.

#include <algorithm>
#include <plimsoll/views.hpp>

#include "plugins/topology/ledger.hpp"

namespace plimsoll::topology {

bool Ledger::holds(uint32_t slot, std::string_view pod_uid) const {
  if (slot >= slots_.size() || slots_[slot] == nullptr) return false;
  const auto at = pods_.find(key_of(pod_uid));
  return at != pods_.end() && at->second == slots_[slot];
}

bool Ledger::fits_without(uint32_t slot, std::span<const plimsoll_str> uids,
                          const Release::Fits& fits) const {
  if (node(slot) == nullptr) return false;
  const NodeRecord& node = *slots_[slot];
  const Policy policy = node.model->managers.policy;
  const bool aligns = policy == Policy::kSingleNumaNode || policy == Policy::kRestricted;
  const auto lay = aligns ? Release::Lay::kInOneZone : Release::Lay::kAnywhere;
  return fits_without(node, uids, fits, lay);
}

bool Ledger::fits_without(const NodeRecord& node, std::span<const plimsoll_str> uids,
                          const Release::Fits& fits, Release::Lay lay) {
  std::vector<PodKey> going;
  going.reserve(uids.size());
  for (const plimsoll_str& uid : uids) going.push_back(key_of(sdk::view(uid)));

  Release release(node.zones.view(), node.zones.available());
  release.lay(lay);
  // A report that no set of pods explains counts pods, or leaves them out, that nobody knows.
  if (node.unexplained()) release.give_up();
  for (const PodRecord& pod : node.pods) {
    const bool goes = std::find(going.begin(), going.end(), pod.key) != going.end();
    for (const Charge& one : pod.charges) {
      // As pod_removed: an open promise, and what reports do not show, comes free where it is
      // charged.
      const int64_t charged = pod.covered ? one.held : one.amount;
      if (goes) release.free_at(one.resource, one.zone_id, charged, false);
      if (!pod.covered || !pod.located) continue;
      if (goes) {
        release.free_at(one.resource, one.zone_id, one.visible, true);
      } else {
        release.keep_at(one.resource, one.zone_id, one.visible);
      }
    }
    if (!pod.covered || pod.located || !pod.request) continue;
    if (goes) {
      release.free_somewhere(*pod.request);
    } else {
      release.keep_somewhere(*pod.request);
    }
  }
  for (const GonePod& gone : node.gone) {
    if (gone.refund) {
      for (const Charge& one : gone.charges) {
        release.forgive_at(one.resource, one.zone_id, one.visible);
      }
    } else if (gone.seen && gone.request) {
      release.free_somewhere(*gone.request);
    }
  }
  return release.fits(fits);
}

}  // namespace plimsoll::topology
