// Which pods a report counts, by its fingerprint; and whether they are where they were predicted.

#include <algorithm>

#include "plugins/topology/amount.hpp"
#include "plugins/topology/fingerprint.hpp"
#include "plugins/topology/ledger.hpp"
#include "plugins/topology/room.hpp"

namespace plimsoll::topology {
namespace {

constexpr size_t kMaxCuts = 12;          // latest changes that a report may not have seen
constexpr size_t kMaxSubsetChanges = 5;  // up to this many changes are tried in every combination

}  // namespace

// Looks for a set of pods with the report's fingerprint. It contains the pods that earlier reports
// counted; the report decides about the others and those removed since. First the states that the
// node went through are tried, latest first. Then, if there are few changes, all combinations are
// tried, since the kubelet may have seen them in another order.
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

  // A removed pod and a new one of the same namespace and name: the fingerprint cannot show which
  // of them it counts.
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
      // A pod that no report counted yet may have been admitted after this one was written.
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
    // Devices without a zone are charged to no zone, but reports with facts show which pod has
    // them.
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

// Whether the available amounts changed by exactly the amounts of the added pods, in their
// predicted zones, and of the removed pods. Then the pods are where they were predicted. But
// several of them in different zones may have swapped places, so none is located.
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
        // The report before did not count it, so it cannot have changed anything.
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

}  // namespace plimsoll::topology
