#include "plugins/topology/ledger/settler.hpp"

#include <algorithm>
#include <utility>

#include "plugins/topology/ledger/matcher.hpp"
#include "plugins/topology/room.hpp"

namespace plimsoll::topology {
namespace {

bool same_zones(const std::vector<Charge>& a, const std::vector<Charge>& b) {
  const auto in = [](const std::vector<Charge>& all, const Charge& one) {
    return std::any_of(all.begin(), all.end(), [&](const Charge& other) {
      return other.zone_id == one.zone_id && other.resource == one.resource;
    });
  };
  return std::all_of(a.begin(), a.end(), [&](const Charge& one) { return in(b, one); }) &&
         std::all_of(b.begin(), b.end(), [&](const Charge& one) { return in(a, one); });
}

// The time from which the report is assumed to count the pod if no other report comes before. Only
// for a pod that its kubelet has accepted: otherwise an earlier report would not be the last.
int64_t due_of(const NodeRecord& node, const PodRecord& pod) {
  const NodeReport& report = node.report;
  if (pod.covered || !pod.bound() || pod.start_ms == 0 || report.holdings) return INT64_MAX;
  // The fingerprint counts this pod or one of the same name. An exporter need not have written a
  // change from one to the other.
  if (pod.alias_until_ms != 0) return std::max(pod.alias_until_ms, pod.start_ms + kDoubtMs);
  const bool may_count = !report.explained && report.zones.view().reported_ms >= pod.start_ms;
  return may_count ? pod.start_ms + kDoubtMs : INT64_MAX;
}

// Limits the removed pods while no report comes. Those that a report could still count are kept for
// a while, and as long as there is room those that it names. The oldest are dropped first; the next
// report then frees what they held.
void trim_gone(NodeRecord& node, int64_t now_ms) {
  std::erase_if(node.gone, [&](const GonePod& gone) {
    const int64_t age = now_ms - gone.gone_ms;
    return !gone.pod.located() && age > (gone.counted ? kUnstartedMs : kStalenessMs);
  });
  while (node.gone.size() > kMaxGone) {
    const auto plain = std::find_if(node.gone.begin(), node.gone.end(),
                                    [](const GonePod& gone) { return !gone.pod.located(); });
    const auto last = plain != node.gone.end() ? plain : node.gone.begin();
    if (last->pod.demand) node.lost_track = true;
    node.gone.erase(last);
  }
}

}  // namespace

void Settler::cover(PodRecord& pod, uint64_t& counter, bool weak) {
  pod.weak = weak;
  if (pod.covered) return;
  pod.covered = true;
  if (pod.charges.empty()) return;
  ++counter;
  if (!pod.trusted) {  // its zones were only guessed
    for (Charge& charge : pod.charges) charge.held = 0;
  }
}

// What a report that names its pods says of this one.
void Settler::hold(NodeRecord& node, PodRecord& pod) {
  const NodeReport& report = node.report;
  pod.line = report.line_of(pod.key);
  pod.weak = false;
  pod.alias_until_ms = 0;
  // One that its kubelet took long before, and that is not named, holds nothing, whatever it asks
  // for: it was resized in vain.
  const bool long_taken =
      pod.start_ms != 0 && report.zones.view().reported_ms >= pod.start_ms + kStalenessMs;
  const bool nothing = long_taken || !pod.demand || !may_hold(*report.model, *pod.demand);
  if (!pod.located() && !nothing) {
    pod.covered = false;
    return;
  }
  cover(pod, stats_.settled_by_uid, false);
  if (!pod.located()) return;
  std::vector<Charge> held =
      charges_held(*report.model, report.held(pod.line), report.zones.view());
  const bool there = same_zones(pod.charges, held);
  bool as_noted = there;
  if (!pod.foretold.empty()) {
    as_noted = same_zones(pod.foretold, held);
    ++(as_noted ? stats_.predictions_confirmed : stats_.predictions_refuted);
    pod.foretold = {};
  }
  if (!as_noted && pod.noted) misplaced_.emplace_back(report.holdings->uid(pod.line));
  if (!there) pod.charges = std::move(held);
  for (Charge& charge : pod.charges) charge.held = 0;  // the report shows everything
  pod.trusted = true;
}

void Settler::settle_by_holdings(NodeRecord& node, int64_t now_ms) {
  node.report.explained = true;
  for (PodRecord& pod : node.pods) hold(node, pod);
  std::erase_if(node.gone, [&](GonePod& gone) {
    gone.pod.line = node.report.line_of(gone.pod.key);
    gone.pod.covered = gone.pod.located();
    // One that no report counted yet may have been admitted after this one was written.
    const bool over = gone.counted || now_ms - gone.gone_ms > kStalenessMs;
    gone.counted = gone.counted || gone.pod.covered;
    return !gone.pod.covered && over;
  });
}

bool Settler::settle_by_fingerprint(NodeRecord& node, int64_t now_ms) {
  const std::optional<std::vector<Matcher::Change>> found = Matcher::explain(node);
  if (!found) return false;
  std::vector<bool> keep(node.gone.size(), false);
  for (const Matcher::Change& change : *found) {
    if (change.gone) {
      GonePod& gone = node.gone[change.at];
      // A pod that no report counted yet may have been admitted after this one was written.
      const bool late = !gone.counted && now_ms - gone.gone_ms <= kStalenessMs;
      keep[change.at] = (change.counted || late) && !change.ambiguous;
      gone.counted = gone.counted || change.counted;
      gone.pod.covered = change.counted && !change.ambiguous;
      continue;
    }
    PodRecord& pod = node.pods[change.at];
    if (change.ambiguous) pod.alias_until_ms = now_ms + kStalenessMs;
    if (!change.counted || pod.alias_until_ms > now_ms) {
      pod.covered = false;  // weaker evidence was wrong
    } else {
      cover(pod, stats_.settled_by_fingerprint, false);
    }
  }
  size_t at = 0;
  std::erase_if(node.gone, [&](const GonePod&) { return !keep[at++]; });
  node.report.explained = true;
  return true;
}

void Settler::settle_by_age(NodeRecord& node, PodRecord& pod, int64_t now_ms) {
  if (pod.covered || !pod.bound()) return;
  const int64_t due = pod.start_ms != 0 ? pod.start_ms + kStalenessMs : pod.since_ms + kUnstartedMs;
  const bool covers = node.report.zones.view().reported_ms >= due || due_of(node, pod) <= now_ms;
  if (covers) cover(pod, stats_.settled_by_age, true);
}

void Settler::settle_report(NodeRecord& node, int64_t now_ms) {
  settle_pods(node, now_ms);
  for (PodRecord& pod : node.pods) {
    if (pod.covered && pod.resized) pod.demand = std::exchange(pod.resized, nullptr);
  }
}

void Settler::settle_pods(NodeRecord& node, int64_t now_ms) {
  if (node.report.holdings) return settle_by_holdings(node, now_ms);
  for (PodRecord& pod : node.pods) pod.line = kNoLine;
  for (GonePod& gone : node.gone) gone.pod.line = kNoLine;
  if (settle_by_fingerprint(node, now_ms)) return;
  if (!node.report.fingerprint.empty()) ++stats_.unexplained_reports;
  for (PodRecord& pod : node.pods) settle_by_age(node, pod, now_ms);
  // The report may already leave out these pods: then their amounts are in its available amounts.
  for (GonePod& gone : node.gone) gone.pod.covered = false;
  std::erase_if(node.gone,
                [&](const GonePod& gone) { return now_ms - gone.gone_ms > kStalenessMs; });
}

bool Settler::settle_pod(NodeRecord& node, PodRecord& pod, int64_t now_ms) {
  if (!node.report.there) return false;
  if (node.report.holdings) {
    hold(node, pod);
    return pod.covered;
  }
  if (node.report.explained) return false;
  if (settle_by_fingerprint(node, now_ms)) return true;
  settle_by_age(node, pod, now_ms);
  return pod.covered;
}

bool Settler::settle_gone(NodeRecord& node, GonePod gone, int64_t now_ms) {
  if (gone.pod.demand) node.doubt_until_ms = now_ms + kDoubtMs;
  gone.counted = gone.pod.covered && !gone.pod.weak;
  gone.gone_ms = now_ms;
  node.gone.push_back(std::move(gone));
  trim_gone(node, now_ms);
  return !node.report.explained && settle_by_fingerprint(node, now_ms);
}

void Settler::pass_time(NodeRecord& node, int64_t now_ms) {
  if (node.doubt_until_ms <= now_ms) node.doubt_until_ms = 0;
  for (PodRecord& pod : node.pods) {
    if (due_of(node, pod) <= now_ms) cover(pod, stats_.settled_by_age, true);
  }
}

int64_t Settler::due_ms(const NodeRecord& node) {
  int64_t due = INT64_MAX;
  if (node.report.unexplained() && node.doubt_until_ms != 0) due = node.doubt_until_ms;
  for (const PodRecord& pod : node.pods) due = std::min(due, due_of(node, pod));
  return due;
}

}  // namespace plimsoll::topology
