// takeByTopologyNUMADistributed.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "plugins/topology/kubelet/cpu_take.hpp"

namespace plimsoll::topology::kubelet {
namespace {

// Above, splits are not searched for: the kubelet's own search doubles with every zone.
constexpr size_t kMaxZones = 12;
constexpr double kNone = std::numeric_limits<double>::infinity();

double rounded(double value) {
  return std::floor(value * 1000 + 0.5) / 1000;
}

// standardDeviation, to three decimals.
double deviation(const std::vector<int64_t>& values) {
  double sum = 0;
  for (int64_t value : values) sum += static_cast<double>(value);
  const double mean = rounded(sum / static_cast<double>(values.size()));
  double squares = 0;
  for (int64_t value : values) {
    const double off = static_cast<double>(value) - mean;
    squares += off * off;
  }
  return rounded(std::sqrt(squares / static_cast<double>(values.size())));
}

// Calls visit(picked) with each choice of `count` of 0..of-1, in lexicographic order, until it
// returns false.
template <typename Visit>
void for_each_choice(size_t of, size_t count, Visit&& visit) {
  if (count > of) return;
  std::vector<size_t> picked(count);
  for (size_t i = 0; i < count; ++i) picked[i] = i;
  while (visit(picked)) {
    size_t i = count;
    while (i > 0 && picked[i - 1] == of - count + i - 1) --i;
    if (i == 0) return;
    ++picked[i - 1];
    for (size_t j = i; j < count; ++j) picked[j] = picked[j - 1] + 1;
  }
}

// What the kubelet has of a choice that it kept, once the search is over. iterateCombinations
// appends to slices: those of choices that begin alike share their memory, and later ones write the
// end of earlier ones. `stopped_at`: the choice at which the search ended, which is written
// already; empty: it went to the last one.
std::vector<size_t> overwritten(std::vector<size_t> kept, size_t of,
                                const std::vector<size_t>& stopped_at) {
  const size_t count = kept.size();
  size_t own = 1;  // from the beginning: a slice that is full is copied, at 1, 2, 4 and 8
  for (const size_t full : {1, 2, 4, 8}) {
    if (full + 1 <= count) own = full + 1;
  }
  const bool stopped =
      !stopped_at.empty() &&
      std::equal(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(std::min(own, count)),
                 stopped_at.begin());
  for (size_t i = own; i < count; ++i) kept[i] = stopped ? stopped_at[i] : of - count + i;
  return kept;
}

struct Split {
  double balance = kNone;
  bool one_socket = false;        // asked only by socket
  std::vector<size_t> zones;      // positions in the order of zones
  std::vector<size_t> remainder;  // those that take what does not divide, one group at a time
};

// Zones in the packed order, with their free CPUs.
struct Zones {
  std::vector<uint16_t> columns;
  std::vector<int64_t> free;
};

Zones zones_of(const CpuLayout& layout, const CpuSet& available) {
  std::array<int64_t, 64> free{};
  std::array<int64_t, 64> socket_free{};
  std::vector<std::pair<uint16_t, uint16_t>> pairs;  // socket, zone
  available.for_each([&](uint32_t cpu) {
    const CpuLayout::Rank& rank = layout.at(cpu);
    ++free[rank.zone];
    ++socket_free[std::min<size_t>(rank.socket, 63)];
    pairs.emplace_back(rank.socket, rank.zone);
  });
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  const bool zones_first = layout.sockets() >= layout.zones();
  std::sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) {
    if (!zones_first && a.first != b.first) {
      const int64_t left = socket_free[std::min<size_t>(a.first, 63)];
      const int64_t right = socket_free[std::min<size_t>(b.first, 63)];
      return left != right ? left < right : a.first < b.first;
    }
    return free[a.second] != free[b.second] ? free[a.second] < free[b.second] : a.second < b.second;
  });
  Zones zones;
  for (const auto& [socket, zone] : pairs) {
    if (std::find(zones.columns.begin(), zones.columns.end(), zone) != zones.columns.end()) {
      continue;
    }
    zones.columns.push_back(zone);
    zones.free.push_back(free[zone]);
  }
  return zones;
}

// Spreads what is left over `zones`, group by group, as long as they have one.
void spread(std::vector<int64_t>& after, const std::vector<size_t>& zones, int64_t rest,
            int64_t group) {
  for (bool progress = true; rest > 0 && progress;) {
    progress = false;
    for (size_t zone : zones) {
      if (rest <= 0) break;
      if (after[zone] < group) continue;
      after[zone] -= group;
      rest -= group;
      progress = true;
    }
  }
}

// What each of the zones picked can carry evenly, in whole groups.
int64_t even_share(const Zones& zones, const std::vector<size_t>& picked, int64_t count,
                   int64_t group, bool lowered) {
  int64_t share = count / static_cast<int64_t>(picked.size()) / group * group;
  for (size_t zone : picked) {
    if (lowered) share = std::min(share, zones.free[zone] / group * group);
  }
  return share;
}

bool in_one_socket(const CpuLayout& layout, const Zones& zones, const std::vector<size_t>& picked) {
  uint64_t sockets = 0;
  for (size_t zone : picked) sockets |= layout.sockets_of(zones.columns[zone]);
  return std::has_single_bit(sockets);
}

bool is_better(const Split& mine, const Split& best) {
  return mine.one_socket != best.one_socket ? mine.one_socket : mine.balance < best.balance;
}

// The best use of the zones picked, if they can carry an even share each.
void weigh(const Zones& zones, const std::vector<size_t>& picked, int64_t count, int64_t group,
           bool by_socket, bool one_socket, Split& best) {
  int64_t sum = 0;
  int64_t whole = 0;
  const auto k = static_cast<int64_t>(picked.size());
  const int64_t share = even_share(zones, picked, count, group, by_socket);
  for (size_t zone : picked) {
    if (zones.free[zone] < share) return;
    sum += zones.free[zone];
    whole += zones.free[zone] / group * group;
  }
  if (sum < count || whole < count) return;
  std::vector<int64_t> after = zones.free;
  for (size_t zone : picked) after[zone] -= share;
  const int64_t rest = count - share * k;
  if (rest == 0) {
    Split even{deviation(after), one_socket, picked, {}};
    if (is_better(even, best)) best = std::move(even);
    return;
  }
  std::vector<size_t> takers;
  for (size_t zone : picked) {
    if (after[zone] >= group) takers.push_back(zone);
  }
  Split mine{kNone, one_socket, picked, {}};
  for (size_t size = takers.size(); size > 0; --size) {
    std::vector<size_t> kept;
    for_each_choice(takers.size(), size, [&](const std::vector<size_t>& choice) {
      std::vector<size_t> subset;
      int64_t room = 0;
      for (size_t i : choice) {
        subset.push_back(takers[i]);
        room += after[takers[i]];
      }
      if (room < rest) return true;
      std::vector<int64_t> left = after;
      spread(left, subset, rest, group);
      const double balance = deviation(left);
      if (balance < mine.balance) {
        mine.balance = balance;
        kept = choice;
      }
      return true;
    });
    if (kept.empty()) continue;
    mine.remainder.clear();
    for (size_t i : overwritten(std::move(kept), takers.size(), {})) {
      mine.remainder.push_back(takers[i]);
    }
  }
  if (is_better(mine, best)) best = std::move(mine);
}

}  // namespace

bool take_distributed(const CpuLayout& layout, const Managers& managers, const CpuSet& available,
                      int64_t count, CpuSet& taken) {
  const CpuOptions& options = managers.cpu_options;
  const bool spread_over_cores = options.distribute_cpus_across_cores;
  const int64_t group = options.full_pcpus_only ? std::max<int64_t>(layout.per_core(), 1) : 1;
  const bool by_socket = options.align_by_socket && managers.since_1_37();
  taken = {};
  if (count < 1) return true;
  if (count > available.size()) return false;
  const Zones zones = zones_of(layout, available);
  if (count % group != 0 || zones.columns.size() > kMaxZones) {
    return take_packed(layout, spread_over_cores, false, available, count, taken);
  }
  const int64_t groups = (layout.cpus() - 1) / group + 1;
  const int64_t groups_per_zone = (groups - 1) / layout.zones() + 1;
  const int64_t wanted = (count - 1) / group + 1;
  const int64_t fewest = (wanted - 1) / groups_per_zone + 1;
  const int64_t most = std::min<int64_t>(wanted, static_cast<int64_t>(zones.columns.size()));
  Split best;
  for (int64_t k = fewest; k <= most && best.zones.empty(); ++k) {
    std::vector<size_t> stopped_at;
    for_each_choice(zones.columns.size(), static_cast<size_t>(k),
                    [&](const std::vector<size_t>& picked) {
                      if (best.balance == 0 && best.one_socket == by_socket) {
                        stopped_at = picked;
                        return false;
                      }
                      const bool one_socket = by_socket && in_one_socket(layout, zones, picked);
                      weigh(zones, picked, count, group, by_socket, one_socket, best);
                      return true;
                    });
    best.zones = overwritten(std::move(best.zones), zones.columns.size(), stopped_at);
  }
  if (best.zones.empty()) {
    return take_packed(layout, spread_over_cores, false, available, count, taken);
  }
  CpuSet free = available;
  const auto take_from = [&](size_t zone, int64_t amount) {
    CpuSet here;
    free.for_each([&](uint32_t cpu) {
      if (layout.at(cpu).zone == zones.columns[zone]) here.add(cpu);
    });
    CpuSet got;
    if (here.size() < amount || !take_packed(layout, spread_over_cores, false, here, amount, got)) {
      return false;
    }
    taken |= got;
    free -= got;
    return true;
  };
  const auto k = static_cast<int64_t>(best.zones.size());
  const int64_t share = even_share(zones, best.zones, count, group, managers.since_1_37());
  for (size_t zone : best.zones) {
    if (!take_from(zone, share)) return false;
  }
  int64_t rest = count - share * k;
  for (bool progress = true; rest > 0 && progress;) {
    progress = false;
    for (size_t zone : best.remainder) {
      if (rest <= 0) break;
      if (!take_from(zone, group)) continue;
      rest -= group;
      progress = true;
    }
  }
  return rest <= 0;
}

}  // namespace plimsoll::topology::kubelet
