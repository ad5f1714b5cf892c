// Which pods a report counts: the evidence that ends promises.

#include <algorithm>
#include <optional>

#include "plugins/topology/amount.hpp"
#include "plugins/topology/fingerprint.hpp"
#include "plugins/topology/ledger.hpp"
#include "plugins/topology/room.hpp"

namespace plimsoll::topology {
namespace {

constexpr size_t kMaxCuts = 12;          // latest changes that a report may not have seen
constexpr size_t kMaxSubsetChanges = 5;  // so few changes are tried in every combination

}  // namespace

// Looks for a set of pods that has the fingerprint of the report. Pods that earlier reports counted
// are in it; about the others, and those that went away since, the report decides. First the states
// that the node went through, latest first; then, for a few changes, all combinations, since the
// kubelet may have seen them in another order.
struct Ledger::Matcher {
  // One pod that the report may or may not count.
  struct Change {
    size_t at;  // in pods or gone
    bool gone;
    int64_t ms;
    uint64_t hash;
    bool counted = false;  // in the set tried now
  };

  Matcher(const NodeRecord& node, FingerprintMethod method, uint64_t sum) : sum(sum) {
    const auto counts = [&](const auto& pod) {
      return method == FingerprintMethod::kAll || pod.exclusive;
    };
    for (size_t i = 0; i < node.pods.size(); ++i) {
      const PodRecord& pod = node.pods[i];
      if (!counts(pod)) continue;
      if (pod.covered && !pod.weak) {
        base.push_back(pod.hash);
      } else {
        changes.push_back({i, false, pod.order_ms, pod.hash});
      }
    }
    for (size_t i = 0; i < node.gone.size(); ++i) {
      const GonePod& gone = node.gone[i];
      if (counts(gone)) changes.push_back({i, true, gone.gone_ms, gone.hash});
    }
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.ms < b.ms; });
  }

  bool matches() {
    hashes = base;
    for (const Change& change : changes) {
      if (change.counted) hashes.push_back(change.hash);
    }
    return fingerprint_sum(hashes) == sum;
  }

  bool find_state() {
    for (Change& change : changes) change.counted = !change.gone;
    if (matches()) return true;
    const size_t cuts = std::min(changes.size(), kMaxCuts);
    for (size_t i = 0; i < cuts; ++i) {  // one change earlier each time
      Change& change = changes[changes.size() - 1 - i];
      change.counted = change.gone;
      if (matches()) return true;
    }
    return false;
  }

  bool find_subset() {
    if (changes.size() > kMaxSubsetChanges) return false;
    for (uint32_t set = 0; set < 1u << changes.size(); ++set) {
      for (size_t i = 0; i < changes.size(); ++i) changes[i].counted = (set >> i & 1) != 0;
      if (matches()) return true;
    }
    return false;
  }

  // A pod that went away and one of the same namespace and name that came: the fingerprint cannot
  // tell which of them it counts.
  [[nodiscard]] bool ambiguous(const Change& change) const {
    return std::any_of(changes.begin(), changes.end(), [&](const Change& other) {
      return other.gone != change.gone && other.hash == change.hash &&
             other.counted != change.counted;
    });
  }

  uint64_t sum;
  std::vector<uint64_t> base;
  std::vector<Change> changes;
  std::vector<uint64_t> hashes;
};

void Ledger::cover(PodRecord& pod, uint64_t& counter, bool weak) {
  pod.weak = weak;
  if (pod.covered) return;
  pod.covered = true;
  if (pod.charges.empty()) return;
  --pending_;
  ++counter;
  if (!pod.trusted) {  // where it is was only guessed: nothing to hold on to
    for (Charge& charge : pod.charges) charge.held = 0;
  }
}

// `before`: what this report replaces, if it is a new one.
bool Ledger::explain(NodeRecord& node, const Before* before) {
  uint64_t sum = 0;
  if (!parse_fingerprint(node.fingerprint, sum)) return false;
  const FingerprintMethod other = node.method == FingerprintMethod::kAll
                                      ? FingerprintMethod::kExclusiveResources
                                      : FingerprintMethod::kAll;
  Matcher declared(node, node.method, sum);
  Matcher swapped(node, other, sum);
  Matcher* found = declared.find_state()    ? &declared
                   : swapped.find_state()   ? &swapped
                   : declared.find_subset() ? &declared
                                            : nullptr;
  if (found == nullptr) return false;

  std::vector<PodRecord*> added;
  std::vector<const GonePod*> removed;
  std::vector<GonePod> let_go;  // of those removed, what locate asks
  std::vector<bool> keep(node.gone.size(), false);
  for (const Matcher::Change& change : found->changes) {
    const bool ambiguous = found->ambiguous(change);
    if (change.gone) {
      GonePod& gone = node.gone[change.at];
      // One that no report counted yet may have been admitted after this one was written.
      const bool late = !gone.counted && now_ms_ - gone.gone_ms <= kStalenessMs;
      keep[change.at] = (change.counted || late) && !ambiguous;
      if (change.counted) gone.counted = true;
      gone.seen = change.counted && !ambiguous;
      if (ambiguous) gone.refund = false;
      if (!change.counted) {
        removed.push_back(&gone);
        GonePod& copy = let_go.emplace_back();
        copy.counted = gone.counted;
        copy.refused = gone.refused;
        copy.demand = gone.demand;
        copy.held = gone.held;
        copy.moment = gone.moment;
      }
      continue;
    }
    PodRecord& pod = node.pods[change.at];
    if (ambiguous) pod.alias_until_ms = now_ms_ + kStalenessMs;
    if (!change.counted || pod.alias_until_ms > now_ms_) {
      if (pod.covered && !pod.charges.empty()) ++pending_;
      pod.covered = pod.located = false;  // weaker evidence was wrong
      pod.held = nullptr;
      continue;
    }
    if (pod.covered) {
      pod.weak = false;
      continue;
    }
    cover(pod, stats_.settled_by_fingerprint, false);
    // Devices without a zone are charged to none, but reports with facts show who has them.
    const bool holds = node.exact && pod.demand && may_hold(*node.model, *pod.demand);
    if (!pod.charges.empty() || holds) added.push_back(&pod);
  }
  const bool compare = before != nullptr && before->had && before->explained;
  const bool exact = compare && !node.exact && confirm(node, before->zones, added, removed);
  std::vector<GonePod> kept;
  for (size_t i = 0; i < node.gone.size(); ++i) {
    if (!keep[i]) continue;
    kept.push_back(std::move(node.gone[i]));
    // A kubelet may list a finished pod whose resources it has given back already.
    if (before != nullptr && !exact && !node.exact) kept.back().refund = false;
  }
  node.gone = std::move(kept);
  node.explained = true;
  if (before != nullptr) locate(node, *before, added, let_go);
  return true;
}

// Whether available changed by exactly what the pods that came, where they were predicted, and
// those that went away account for. Then the pods are where they were predicted; but with several
// of them in different zones they may have changed places, and none is located.
bool Ledger::confirm(NodeRecord& node, const NumaNode& before, const std::vector<PodRecord*>& added,
                     const std::vector<const GonePod*>& removed) {
  const plimsoll_numa_node& zones = node.zones.view();
  bool exact = true;
  for (uint32_t row = 0; row < zones.resource_count && exact; ++row) {
    for (uint32_t column = 0; column < zones.zone_count && exact; ++column) {
      const uint32_t id = zones.zone_ids[column];
      const int64_t* now = node.zones.available_cell(zones.resources[row], id);
      const int64_t* then = before.available_cell(zones.resources[row], id);
      if (now == nullptr || then == nullptr) continue;
      int64_t expected = *then;
      const auto apply = [&](const std::vector<Charge>& charges, int64_t sign) {
        for (const Charge& charge : charges) {
          if (charge.zone_id == id && charge.resource == zones.resources[row]) {
            expected = add_amounts(expected, sign * charge.visible);
          }
        }
      };
      for (const PodRecord* pod : added) apply(pod->charges, -1);
      for (const GonePod* gone : removed) {
        // Not counted by the report before: it cannot have changed anything.
        if (gone->counted) apply(gone->charges, 1);
      }
      exact = expected == *now;
    }
  }
  (exact ? stats_.predictions_confirmed : stats_.predictions_refuted) += added.size();
  uint32_t zone = UINT32_MAX;
  bool one_zone = true;
  for (const PodRecord* pod : added) {
    for (const Charge& charge : pod->charges) {
      if (zone == UINT32_MAX) zone = charge.zone_id;
      one_zone = one_zone && charge.zone_id == zone;
    }
  }
  const bool all_located = std::all_of(removed.begin(), removed.end(), [](const GonePod* gone) {
    return !gone->counted || gone->located || gone->charges.empty();
  });
  for (PodRecord* pod : added) {
    pod->located = exact && all_located && (one_zone || added.size() == 1);
    if (exact) continue;
    for (Charge& charge : pod->charges) charge.held = 0;
  }
  return exact;
}

namespace {

// How much less a report shows as available than the one before, per zone and resource; what one
// pod accounts for is taken off.
class Drops {
 public:
  Drops(const NumaNode& before, const NumaNode& now) : before_(before), now_(now) {}

  int64_t& left(uint32_t resource, uint32_t zone_id) {
    for (Drop& drop : drops_) {
      if (drop.zone_id == zone_id && drop.resource == resource) return drop.left;
    }
    const int64_t* now = now_.available_cell(resource, zone_id);
    const int64_t* then = before_.available_cell(resource, zone_id);
    const int64_t amount = now != nullptr && then != nullptr ? *then - *now : 0;
    drops_.push_back({zone_id, resource, std::max<int64_t>(amount, 0)});
    return drops_.back().left;
  }

  // The lowest zone that lost exactly what the pod pins, all of it; nothing: none did.
  std::optional<uint32_t> zone_of(const std::vector<Charge>& totals) {
    const plimsoll_numa_node& node = now_.view();
    for (uint32_t column = 0; column < node.zone_count; ++column) {
      const uint32_t zone_id = node.zone_ids[column];
      const auto lost = [&](const Charge& c) { return left(c.resource, zone_id) == c.visible; };
      if (std::all_of(totals.begin(), totals.end(), lost)) return zone_id;
    }
    return std::nullopt;
  }

  void take(const Charge& charge) { left(charge.resource, charge.zone_id) -= charge.visible; }

 private:
  struct Drop {
    uint32_t zone_id, resource;
    int64_t left;
  };
  const NumaNode& before_;
  const NumaNode& now_;
  std::vector<Drop> drops_;
};

// What reports count of a pod, by resource, without zones.
std::vector<Charge> totals_of(const std::vector<Charge>& charges) {
  std::vector<Charge> totals;
  for (const Charge& charge : charges) {
    if (charge.visible == 0) continue;
    const auto same = std::find_if(totals.begin(), totals.end(), [&](const Charge& total) {
      return total.resource == charge.resource;
    });
    if (same == totals.end()) {
      totals.push_back({0, charge.resource, charge.visible, charge.visible, 0});
    } else {
      same->visible = add_amounts(same->visible, charge.visible);
      same->amount = same->visible;
    }
  }
  return totals;
}

}  // namespace

void Ledger::settle_by_drop(NodeRecord& node, const NumaNode& before) {
  Drops drops(before, node.zones);
  std::vector<PodRecord*> promised;
  for (PodRecord& pod : node.pods) {
    if (!pod.covered && !pod.charges.empty()) promised.push_back(&pod);
  }
  std::stable_sort(promised.begin(), promised.end(), [](const PodRecord* a, const PodRecord* b) {
    return a->order_ms < b->order_ms;
  });
  for (PodRecord* pod : promised) {
    const auto shows = [](const Charge& c) { return c.visible > 0; };
    const auto dropped = [&](const Charge& c) {
      return drops.left(c.resource, c.zone_id) >= c.visible;
    };
    if (std::none_of(pod->charges.begin(), pod->charges.end(), shows)) continue;
    if (!std::all_of(pod->charges.begin(), pod->charges.end(), dropped)) continue;
    for (const Charge& charge : pod->charges) drops.take(charge);
    cover(*pod, stats_.settled_by_drop, true);
  }
  // The kubelet may have chosen another zone than predicted. Only an exact drop is one pod's.
  for (PodRecord* pod : promised) {
    std::vector<Charge> totals = totals_of(pod->charges);
    if (pod->covered || totals.empty()) continue;
    const std::optional<uint32_t> zone = drops.zone_of(totals);
    if (!zone) continue;
    for (Charge& charge : totals) {
      charge.zone_id = *zone;
      drops.take(charge);
    }
    pod->charges = std::move(totals);
    cover(*pod, stats_.settled_by_drop, true);
    ++stats_.predictions_refuted;
  }
}

void Ledger::settle_by_age(NodeRecord& node, PodRecord& pod) {
  if (pod.covered || !pod.bound) return;
  const int64_t due = pod.start_ms != 0 ? pod.start_ms + kStalenessMs : pod.since_ms + kUnstartedMs;
  const bool covers = node.zones.view().reported_ms >= due || due_of(node, pod) <= now_ms_;
  if (covers) cover(pod, stats_.settled_by_age, true);
}

void Ledger::settle_report(NodeRecord& node, const Before& before) {
  node.explained = false;
  if (explain(node, &before)) return;
  if (!node.fingerprint.empty()) {
    ++stats_.unexplained_reports;
  } else if (before.had && node.gone.empty()) {  // else what is seen may be those that went away
    settle_by_drop(node, before.zones);
  }
  for (PodRecord& pod : node.pods) {
    settle_by_age(node, pod);
    pod.located = false;  // it may have finished, and the report may know
    pod.held = nullptr;
  }
  // The report may have left these pods out: what they had is in it, if at all.
  for (GonePod& gone : node.gone) {
    gone.refund = gone.seen = false;
    gone.held = nullptr;
  }
  std::erase_if(node.gone,
                [&](const GonePod& gone) { return now_ms_ - gone.gone_ms > kStalenessMs; });
  trim_gone(node);
}

// While no report comes: what one could still count is kept for a while, what is refunded as long
// as there is room. The oldest go first; what they held is then given back by the next report.
void Ledger::trim_gone(NodeRecord& node) {
  std::erase_if(node.gone, [&](const GonePod& gone) {
    const int64_t age = now_ms_ - gone.gone_ms;
    return !gone.refund && age > (gone.counted ? kUnstartedMs : kStalenessMs);
  });
  while (node.gone.size() > kMaxGone) {
    const auto plain = std::find_if(node.gone.begin(), node.gone.end(),
                                    [](const GonePod& gone) { return !gone.refund; });
    const auto last = plain != node.gone.end() ? plain : node.gone.begin();
    if (last->demand) node.lost_track = true;
    node.gone.erase(last);
  }
}

// A pod became known after the report: at start, or when pod events are late.
bool Ledger::settle_pod(NodeRecord& node, PodRecord& pod) {
  if (!node.reported || node.explained) return false;
  if (explain(node, nullptr)) {
    replan(node);
    return true;
  }
  settle_by_age(node, pod);
  if (pod.covered) replan(node);
  return pod.covered;
}

}  // namespace plimsoll::topology
