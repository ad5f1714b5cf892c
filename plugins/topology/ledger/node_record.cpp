#include "plugins/topology/ledger/node_record.hpp"

#include <algorithm>

#include "plugins/topology/fingerprint.hpp"

namespace plimsoll::topology {

PodKey PodKey::of(std::string_view uid) {
  return {xxh64(uid, 1), xxh64(uid, 2)};
}

// From the end: most pods are asked for soon after they came.
PodRecord* NodeRecord::find(const PodKey& key) {
  const auto pod = std::find_if(pods.rbegin(), pods.rend(),
                                [&](const PodRecord& each) { return each.key == key; });
  return pod == pods.rend() ? nullptr : &*pod;
}

NodeRecord::Doubt NodeRecord::doubt_now() const {
  if (awaited_until_ms != 0) return Doubt::kUnknown;
  if (report_gone) return Doubt::kGone;
  if (report.kubelet_away) return Doubt::kAway;
  if (lessons.stopped()) return Doubt::kRefused;
  if (since.grows != Grows::kNo) return Doubt::kUnknown;
  return since.clear() ? Doubt::kNone : Doubt::kOrder;
}

bool NodeRecord::report_unclear() const {
  if (lost_track || surprised) return true;
  if (!report.unexplained()) return false;
  // It may count pods that are gone: then more is free than it shows.
  if (doubt_until_ms != 0) return true;
  return std::any_of(pods.begin(), pods.end(),
                     [](const PodRecord& pod) { return !pod.covered && pod.demand != nullptr; });
}

}  // namespace plimsoll::topology
