#include "plugins/topology/ledger/settler.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/ledger/matcher.hpp"
#include "plugins/topology/possible/room.hpp"
#include "plugins/topology/record/own_claims.hpp"
#include "plugins/topology/record/places.hpp"

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
  if (pod.covered || pod.denied || !pod.bound()) return INT64_MAX;
  if (pod.start_ms == 0 || report.holdings) return INT64_MAX;
  // The fingerprint counts this pod or one of the same name. An exporter need not have written a
  // change from one to the other.
  if (pod.alias_until_ms != 0) return std::max(pod.alias_until_ms, pod.start_ms + kDoubtMs);
  const bool may_count = !report.explained && report.zones.view().reported_ms >= pod.start_ms;
  return may_count ? pod.start_ms + kDoubtMs : INT64_MAX;
}

// What a report shows in use of a node's CPUs (milli) and memory, and what pods have of it. Devices
// are left out, since some have no zone.
struct InUse {
  int64_t cpus = 0;
  int64_t memory = 0;

  // Whether so much of what `other` has is here.
  [[nodiscard]] bool has(const InUse& other) const {
    return (other.cpus == 0 || other.cpus <= cpus) && (other.memory == 0 || other.memory <= memory);
  }
  void add(const InUse& other) {
    cpus = add_amounts(cpus, other.cpus);
    memory = add_amounts(memory, other.memory);
  }
  void take(const InUse& other) { add({-other.cpus, -other.memory}); }
};

// The least that an exporter shows for a pod that it counts: what the managers give to its sidecars
// and app containers.
InUse least_use(const kubelet::NodeModel& model, const PodRecord& pod) {
  InUse use;
  if (!pod.demand || !pod.demand->guaranteed || pod.demand->pod_level || pod.was_resized)
    return use;
  for (const kubelet::ContainerDemand& container : pod.demand->containers) {
    if (container.kind == kubelet::ContainerKind::kInit) continue;
    if (model.cpu_static) use.add({container.whole_cpus() * 1000, 0});
    if (model.memory_static) {
      use.add({0, kubelet::amount_of(container.memory, kubelet::kMemoryResource)});
    }
  }
  return use;
}

// What the report shows of a resource, in all zones together.
int64_t shown_use(const NumaNode& zones, uint32_t resource) {
  const plimsoll_numa_node& view = zones.view();
  const uint32_t row = row_of(view, resource);
  int64_t use = 0;
  for (uint32_t column = 0; row != kNoRow && column < view.zone_count; ++column) {
    use = add_amounts(use, zones.used(size_t{row} * view.zone_count + column));
  }
  return use;
}

// What the report shows beyond the pods that it is thought to count. Those that are leaving may
// have let go of theirs already.
InUse unaccounted(const NodeRecord& node) {
  const NodeReport& report = node.report;
  InUse left{shown_use(report.zones, kubelet::kCpuResource),
             shown_use(report.zones, kubelet::kMemoryResource)};
  for (const PodRecord& pod : node.pods) {
    if (pod.covered && !pod.leaving) left.take(least_use(*report.model, pod));
  }
  return left;
}

// Whether the report shows as much in use as the pod has, beyond those that it counts.
bool is_shown(const NodeRecord& node, PodRecord& pod, InUse& left) {
  const InUse use = least_use(*node.report.model, pod);
  pod.denied = !left.has(use);
  if (!pod.denied) left.take(use);
  return !pod.denied;
}

// The pod is forgotten. Where those are that came before it went, and that no report counts, cannot
// be played through any more.
void lose_places(NodeRecord& node, const GonePod& gone) {
  if (!gone.pod.bound() || gone.pod.covered || gone.refused || !gone.pod.demand) return;
  for (PodRecord& pod : node.pods) {
    if (pod.denied && pod.moment.bound < gone.pod.moment.gone) pod.moment.fresh = false;
  }
}

// Earlier reports counted these pods, and this one shows less in use: it is by an exporter that
// leaves out what runs. Those that came last are the first that it does not count.
void uncover(NodeRecord& node, InUse& left) {
  if (left.cpus >= 0 && left.memory >= 0) return;
  std::vector<PodRecord*> counted;
  for (PodRecord& pod : node.pods) {
    if (pod.covered && !pod.leaving) counted.push_back(&pod);
  }
  std::stable_sort(counted.begin(), counted.end(), [](const PodRecord* a, const PodRecord* b) {
    return a->order_ms > b->order_ms;
  });
  for (PodRecord* pod : counted) {
    const InUse use = least_use(*node.report.model, *pod);
    const bool helps = (left.cpus < 0 && use.cpus > 0) || (left.memory < 0 && use.memory > 0);
    if (!helps) continue;
    left.add(use);
    pod->covered = pod->weak = pod->moment.fresh = false;
    pod->denied = true;
  }
}

// Whether the report is old enough to count the pod.
bool is_due(const NodeRecord& node, const PodRecord& pod, int64_t now_ms) {
  if (pod.covered || pod.denied || !pod.bound()) return false;
  const int64_t due = pod.start_ms != 0 ? pod.start_ms + kStalenessMs : pod.since_ms + kUnstartedMs;
  return node.report.zones.view().reported_ms >= due || due_of(node, pod) <= now_ms;
}

// Limits the removed pods while no report comes. Those that a report could still count are kept for
// a while, and as long as there is room those that it names. The oldest are dropped first; the next
// report then frees what they held.
void trim_gone(NodeRecord& node, int64_t now_ms) {
  std::erase_if(node.gone, [&](const GonePod& gone) {
    const int64_t age = now_ms - gone.gone_ms;
    const bool over = !gone.pod.located() && age > (gone.counted ? kUnstartedMs : kStalenessMs);
    if (over) lose_places(node, gone);
    return over;
  });
  while (node.gone.size() > kMaxGone) {
    const auto plain = std::find_if(node.gone.begin(), node.gone.end(),
                                    [](const GonePod& gone) { return !gone.pod.located(); });
    const auto last = plain != node.gone.end() ? plain : node.gone.begin();
    if (last->pod.demand) node.lost_track = true;
    lose_places(node, *last);
    node.gone.erase(last);
  }
}

}  // namespace

void Settler::cover(PodRecord& pod, uint64_t& counter, bool weak) {
  pod.weak = weak;
  pod.denied = false;
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
  locate_pods(node);
  return true;
}

void Settler::settle_report(NodeRecord& node, int64_t now_ms) {
  settle_pods(node, now_ms);
  for (PodRecord& pod : node.pods) {
    if (!pod.covered || !pod.resized) continue;
    (pod.whole ? pod.whole : pod.demand) = std::exchange(pod.resized, nullptr);
    ask_for_the_rest(node, pod);
  }
}

void Settler::settle_pods(NodeRecord& node, int64_t now_ms) {
  for (PodRecord& pod : node.pods) pod.denied = false;
  if (node.report.holdings) return settle_by_holdings(node, now_ms);
  for (PodRecord& pod : node.pods) pod.line = kNoLine;
  for (GonePod& gone : node.gone) gone.pod.line = kNoLine;
  if (settle_by_fingerprint(node, now_ms)) return;
  if (!node.report.fingerprint.empty()) ++stats_.unexplained_reports;
  InUse left = unaccounted(node);
  if (node.report.fingerprint.empty()) uncover(node, left);
  for (PodRecord& pod : node.pods) {
    if (is_due(node, pod, now_ms) && is_shown(node, pod, left)) {
      cover(pod, stats_.settled_by_age, true);
    }
  }
  // The report may already leave out these pods: then their amounts are in its available amounts.
  for (GonePod& gone : node.gone) gone.pod.covered = false;
  std::erase_if(node.gone, [&](const GonePod& gone) {
    const bool over = now_ms - gone.gone_ms > kStalenessMs;
    if (over) lose_places(node, gone);
    return over;
  });
}

bool Settler::settle_pod(NodeRecord& node, PodRecord& pod, int64_t now_ms) {
  if (!node.report.there) return false;
  if (node.report.holdings) {
    hold(node, pod);
    return pod.covered;
  }
  if (node.report.explained) return false;
  if (settle_by_fingerprint(node, now_ms)) return true;
  if (is_due(node, pod, now_ms)) {
    InUse left = unaccounted(node);
    if (is_shown(node, pod, left)) cover(pod, stats_.settled_by_age, true);
  }
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
  std::optional<InUse> left;
  for (PodRecord& pod : node.pods) {
    if (due_of(node, pod) > now_ms) continue;
    if (!left) left = unaccounted(node);
    if (is_shown(node, pod, *left)) cover(pod, stats_.settled_by_age, true);
  }
}

int64_t Settler::due_ms(const NodeRecord& node) {
  int64_t due = INT64_MAX;
  if (node.report.unexplained() && node.doubt_until_ms != 0) due = node.doubt_until_ms;
  for (const PodRecord& pod : node.pods) due = std::min(due, due_of(node, pod));
  return due;
}

}  // namespace plimsoll::topology
