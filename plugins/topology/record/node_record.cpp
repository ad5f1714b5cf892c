#include "plugins/topology/record/node_record.hpp"

#include <algorithm>

namespace plimsoll::topology {

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
  return since.clear() && crowd == 0 ? Doubt::kNone : Doubt::kOrder;
}

int64_t NodeRecord::outlived_until_ms(int64_t now_ms) const {
  if (!report.there || slot == UINT32_MAX || identity.uid.empty()) return 0;
  const std::vector<std::string>& owners = report.node_uids;
  if (!owners.empty()) {
    return std::find(owners.begin(), owners.end(), identity.uid) == owners.end() ? INT64_MAX : 0;
  }
  // Who makes both by hand may make the report first.
  const int64_t first_ms = identity.created_ms - (made_again ? 0 : kReportOnItsWayMs);
  if (report.written_ms == 0 || report.written_ms >= first_ms) return 0;
  const int64_t until = identity.created_ms + kDoubtMs;
  return until > now_ms ? until : 0;
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
