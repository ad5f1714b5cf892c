// W3: the partition that a table says, by one order of allocation scores or the other.

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "tests/conformance/device_rule.hpp"

namespace plimsoll::conformance {

namespace dev = plimsoll::devices;

namespace {

const dev::PartitionTable* table_of(const DeviceStep& step) {
  const auto& object = step.scene.state.object;
  return object->has_partitions ? &object->partitions : nullptr;
}

bool is_partition_free(const DeviceStep& step, const dev::Partition& partition,
                       Exclusive exclusive) {
  const dev::TypeRequest* request = gpu_request(step);
  for (const int32_t minor : partition.minors) {
    const dev::DeviceState* device = step.scene.state.type(gpu_type()).find(minor);
    if (device == nullptr || device->in_use ||
        !problem_with(step, gpu_type(), request->per_device, *device, exclusive).empty())
      return false;
  }
  const auto& spec = step.demand.hints.partition;
  return !spec || spec->ring_bandwidth <= 0 || partition.ring_bandwidth >= spec->ring_bandwidth;
}

int64_t first_score(const std::vector<dev::Partition>& partitions, bool lowest) {
  std::set<int64_t> scores;
  for (const dev::Partition& partition : partitions) scores.insert(partition.score);
  return scores.empty() ? 0 : lowest ? *scores.begin() : *scores.rbegin();
}

int64_t left_by(const DeviceStep& step, const dev::Partition& chosen, int64_t count, bool lowest) {
  int64_t left = 0;
  for (const auto& [size, partitions] : *table_of(step)) {
    const int64_t weight = size == 8 ? 10000 : size == 4 ? 100 : size == 2 ? 1 : 0;
    if (size < count) continue;
    for (const dev::Partition& other : partitions) {
      const bool whole =
          std::none_of(other.minors.begin(), other.minors.end(), [&](const int32_t minor) {
            const auto& mine = chosen.minors;
            const dev::DeviceState* device = step.scene.state.type(gpu_type()).find(minor);
            return std::find(mine.begin(), mine.end(), minor) != mine.end() ||
                   (device != nullptr && device->in_use);
          });
      if (whole && other.score == first_score(partitions, lowest)) left += weight * other.score;
    }
  }
  return left;
}

// Nothing: no partition can be given.
std::optional<std::set<int>> by_table(const DeviceStep& step, bool lowest, Exclusive exclusive) {
  const dev::TypeRequest* request = gpu_request(step);
  const auto at = table_of(step)->find(request->count);
  if (at == table_of(step)->end()) return std::nullopt;
  const auto& spec = step.demand.hints.partition;
  const dev::Partition* best = nullptr;
  for (const dev::Partition& partition : at->second) {
    if (spec && spec->restricted && partition.score != first_score(at->second, lowest)) continue;
    if (!is_partition_free(step, partition, exclusive)) continue;
    const auto rank = [&](const dev::Partition& one) {
      return std::tuple(lowest ? -one.score : one.score,
                        left_by(step, one, request->count, lowest));
    };
    if (best == nullptr || rank(partition) > rank(*best)) best = &partition;
  }
  if (best == nullptr) return std::nullopt;
  return std::set<int>(best->minors.begin(), best->minors.end());
}

bool has_several_scores(const dev::PartitionTable& table, int64_t count) {
  return std::any_of(table.begin(), table.end(), [&](const auto& of_size) {
    return of_size.first >= count &&
           first_score(of_size.second, true) != first_score(of_size.second, false);
  });
}

// The other types that have to be at the same PCIe ids have enough devices there.
bool others_can_follow(const DeviceStep& step, const dev::Partition& partition) {
  std::map<std::string, int64_t> ids;
  for (const int32_t minor : partition.minors)
    ids[step.scene.state.type(gpu_type()).find(minor)->info->pcie_id] = 0;
  for (const dev::TypeRequest& request : step.demand.request.types) {
    if (request.type == gpu_type()) continue;
    const DeviceWant want = want_of(step, request.type);
    int64_t there = 0;
    std::set<std::string> seen;
    for (const dev::DeviceState& device : step.scene.state.type(request.type).devices) {
      if (!problem_with(step, request.type, want.per_device, device).empty()) continue;
      if (ids.count(device.info->pcie_id) == 0) continue;
      seen.insert(device.info->pcie_id);
      ++there;
    }
    if (there < want.count || seen.size() != ids.size()) return false;
  }
  return true;
}

// The pod asks for a partition of the table, and none that it may have does for the other types.
bool no_partition_does(const DeviceStep& step) {
  const auto& spec = step.demand.hints.partition;
  if (!spec || !comes_under_joint(step)) return false;
  const auto& partitions = table_of(step)->at(gpu_request(step)->count);
  return std::none_of(partitions.begin(), partitions.end(), [&](const dev::Partition& partition) {
    return (!spec->restricted || partition.score == first_score(partitions, false)) &&
           is_partition_free(step, partition, Exclusive::kHonoured) &&
           others_can_follow(step, partition);
  });
}

}  // namespace

bool comes_under_partitions(const DeviceStep& step) {
  const dev::TypeRequest* request = gpu_request(step);
  return request != nullptr && !request->is_shared && table_of(step) != nullptr &&
         has_several_scores(*table_of(step), request->count);
}

bool partitions_explain(const DeviceStep& step, std::set<std::string>& rules) {
  const auto theirs = by_table(step, true, Exclusive::kIgnored);
  const auto right = by_table(step, false, Exclusive::kHonoured);
  const auto& spec = step.demand.hints.partition;
  if (!theirs && !(spec && spec->restricted)) return false;
  const bool refused = step.filter.at("code") != "Success" && step.demand.hints.joint.has_value();
  if (!refused && minors_in(step.allocation) != theirs.value_or(std::set<int>())) return false;
  const bool fine = problem_of_ours(step).empty();
  const bool is_right = step.verdict.fits() ? fine && (!right || minors_of(step) == *right)
                                            : !right || no_partition_does(step);
  if (!is_right && !(fine && comes_under_joint(step))) return false;
  rules.insert(kPartitions);
  if (!is_right) rules.insert(kJoint);
  if (comes_under_exclusive(step)) rules.insert(kExclusive);
  return true;
}

}  // namespace plimsoll::conformance
