// The evidence that ends promises: a report's fingerprint, drops of available amounts, age.

#include <algorithm>
#include <optional>

#include "plugins/topology/amount.hpp"
#include "plugins/topology/ledger.hpp"

namespace plimsoll::topology {
namespace {

// How much less a report shows as available than the one before, per zone and resource, minus what
// a pod already explains.
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

  // The lowest zone that lost exactly all that the pod pins; empty if none did.
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

void Ledger::cover(PodRecord& pod, uint64_t& counter, bool weak) {
  pod.weak = weak;
  if (pod.covered) return;
  pod.covered = true;
  if (pod.charges.empty()) return;
  --pending_;
  ++counter;
  if (!pod.trusted) {  // its zones were only guessed
    for (Charge& charge : pod.charges) charge.held = 0;
  }
}

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
  // The kubelet may have chosen another zone than predicted. Only an exact drop can be attributed
  // to one pod.
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
  } else if (before.had && node.gone.empty()) {  // otherwise the change may come from removed pods
    settle_by_drop(node, before.zones);
  }
  for (PodRecord& pod : node.pods) {
    settle_by_age(node, pod);
    pod.located = false;  // it may have finished, and the report may know
    pod.held = nullptr;
  }
  // The report may already leave out these pods: then their amounts are in its available amounts.
  for (GonePod& gone : node.gone) {
    gone.refund = gone.seen = false;
    gone.held = nullptr;
  }
  std::erase_if(node.gone,
                [&](const GonePod& gone) { return now_ms_ - gone.gone_ms > kStalenessMs; });
  trim_gone(node);
}

// Limits the removed pods while no report comes. Those that a report could still count are kept for
// a while, refunds as long as there is room. The oldest are dropped first; the next report then
// frees what they held.
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
