// Partition tables: sets of GPUs that a fabric manager can isolate, given as a whole.

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <tuple>

#include "plugins/nodedevice/allocation/link_choice.hpp"

namespace plimsoll::devices {
namespace {

// The partitions of an eight-GPU NVSwitch board (NVIDIA fabric manager), used when a node's model
// is one of these and its Device object carries no table.
const PartitionTable& hopper_table() {
  static const PartitionTable kTable = [] {
    PartitionTable table;
    for (int32_t size : {1, 2, 4, 8}) {
      for (int32_t first = 0; first < 8; first += size) {
        Partition partition;
        for (int32_t minor = first; minor < first + size; ++minor)
          partition.minors.push_back(minor);
        partition.link_type = "NVLink";
        partition.score = 1;
        table[size].push_back(std::move(partition));
      }
    }
    return table;
  }();
  return kTable;
}

// Koordinator's agent writes what the driver calls the card, without the vendor: "H100-80GB-HBM3".
// Cards for a PCIe slot, and pairs with a bridge ("NVL"), sit on no such board.
bool is_hopper(const NodeLabels& labels) {
  if (!labels.gpu_vendor.empty() && labels.gpu_vendor != "nvidia") return false;
  const std::string_view model = labels.gpu_model;
  const size_t end = model.find('-');
  const std::string_view family = model.substr(0, end);
  if (family != "H100" && family != "H800" && family != "H20") return false;
  std::string rest(end == std::string_view::npos ? "" : model.substr(end));
  std::transform(rest.begin(), rest.end(), rest.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  rest += '-';
  return rest.find("-PCIE-") == std::string::npos && rest.find("-NVL-") == std::string::npos;
}

bool overlaps(const Partition& a, const Partition& b) {
  return std::any_of(a.minors.begin(), a.minors.end(), [&](int32_t minor) {
    return std::binary_search(b.minors.begin(), b.minors.end(), minor);
  });
}

bool nobody_uses(const TypeState& state, const Partition& partition) {
  return std::all_of(partition.minors.begin(), partition.minors.end(), [&](int32_t minor) {
    const DeviceState* device = state.find(minor);
    return device != nullptr && device->unused();
  });
}

bool is_in_use(const TypeState& state, const Partition& partition) {
  return std::any_of(partition.minors.begin(), partition.minors.end(), [&](int32_t minor) {
    const DeviceState* device = state.find(minor);
    return device != nullptr && device->in_use;
  });
}

// How much a choice leaves: partitions of the same size and above that stay whole, large ones far
// ahead of small ones, only those with the best allocation score of their size. An unhealthy device
// may come back, so its partitions count as long as nobody uses them.
int64_t remainder(const TypeState& state, const PartitionTable& table, const Partition& chosen,
                  int64_t count) {
  static constexpr std::pair<int64_t, int64_t> kWeights[] = {{8, 10000}, {4, 100}, {2, 1}};
  int64_t sum = 0;
  for (const auto& [size, weight] : kWeights) {
    const auto of_size = table.find(size);
    if (size < count || of_size == table.end() || of_size->second.empty()) continue;
    int64_t best = of_size->second.front().score;
    for (const Partition& partition : of_size->second) best = std::max(best, partition.score);
    for (const Partition& partition : of_size->second)
      if (partition.score == best && !overlaps(partition, chosen) && !is_in_use(state, partition))
        sum += weight * partition.score;
  }
  return sum;
}

// The best of several partitions of one allocation score has the greatest of these. Links that
// follow from the table itself say nothing new about its partitions.
using Standing = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>;

Standing standing(const NodeState& node, const Want& want, const PartitionTable& table,
                  const Partition& partition) {
  const TypeState& state = node.type(want.type);
  const TypeLinks* links = node.links(want.type);
  LinkRank rank;
  if (links != nullptr && !links->by_partitions && links->matter() && links->graph->is_exact())
    rank = rank_by_links(state, *links, partition.minors);
  return {rank.ring, rank.pairs, remainder(state, table, partition, want.count), rank.left,
          rank.left_pairs};
}

bool qualifies(const TypeState& state, const Partition& partition, int64_t ring_bandwidth,
               const Positions& candidates) {
  if (ring_bandwidth > 0 && partition.ring_bandwidth < ring_bandwidth) return false;
  if (!nobody_uses(state, partition)) return false;
  return std::all_of(partition.minors.begin(), partition.minors.end(), [&](int32_t minor) {
    const auto position = static_cast<int>(state.find(minor) - state.devices.data());
    return std::binary_search(candidates.begin(), candidates.end(), position);
  });
}

}  // namespace

PartitionRules partition_rules(const NodeState& node, const NodeLabels& labels,
                               const DeviceHints& hints) {
  PartitionRules rules;
  rules.enforced = hints.partition.has_value();
  if (node.rules_partitions) {
    if (!node.object->partitions.empty()) rules.table = &node.object->partitions;
    rules.enforced = rules.enforced || node.honours_partitions;
  } else {
    if (is_hopper(labels)) rules.table = &hopper_table();
    rules.enforced = rules.enforced || labels.partition_policy == "Honor";
  }
  return rules;
}

Verdict choose_partition(const NodeState& node, const Want& want, const PartitionRules& rules,
                         const DeviceHints& hints, const Positions& candidates, Positions& chosen,
                         const std::function<bool(const Positions&)>& accepts) {
  if (rules.table == nullptr) return refuse(Reason::kMissingPartitionTable, want.type, true);
  const auto of_count = rules.table->find(want.count);
  if (of_count == rules.table->end()) return refuse(Reason::kUnsupportedCount, want.type, true);
  const TypeState& state = node.type(want.type);
  const auto positions_of = [&](const Partition& partition) {
    Positions positions;
    for (int32_t minor : partition.minors)
      positions.push_back(static_cast<int>(state.find(minor) - state.devices.data()));
    return positions;
  };
  const int64_t ring = hints.partition ? hints.partition->ring_bandwidth : -1;
  // Groups of equal allocation score, the highest first: that is what the score says.
  std::map<int64_t, std::vector<const Partition*>, std::greater<>> groups;
  for (const Partition& partition : of_count->second) groups[partition.score].push_back(&partition);
  for (const auto& [score, partitions] : groups) {
    const Partition* best = nullptr;
    Standing best_standing;
    for (const Partition* partition : partitions) {
      if (static_cast<int64_t>(partition->minors.size()) != want.count ||
          !qualifies(state, *partition, ring, candidates) ||
          (accepts && !accepts(positions_of(*partition))))
        continue;
      const Standing found = standing(node, want, *rules.table, *partition);
      if (best != nullptr && found <= best_standing) continue;
      best = partition;
      best_standing = found;
    }
    if (best != nullptr) {
      chosen = positions_of(*best);
      return {};
    }
    if (hints.partition && hints.partition->restricted) break;
  }
  return refuse(Reason::kInsufficientPartitioned, want.type);
}

}  // namespace plimsoll::devices
