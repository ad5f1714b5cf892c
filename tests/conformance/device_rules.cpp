#include "tests/conformance/device_rules.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "tests/conformance/device_right.hpp"

namespace plimsoll::conformance {
namespace {

namespace dev = plimsoll::devices;

constexpr const char* kShared = "W1 shared devices by what is really free on them";
constexpr const char* kExclusive = "W2 PCIeLevel keeps away from PCIe ids in use";
constexpr const char* kPartitions = "W3 partitions of higher allocationScore first";
constexpr const char* kPercent = "W4 percent that follow from bytes are rounded up; bytes decide";
constexpr const char* kJoint = "W6 joint allocation tries other PCIe ids";
constexpr const char* kMissing = "W8 a resource that a device does not report is not there";

int gpu_type() {
  return device_types().find_type("gpu");
}

const dev::TypeRequest* gpu_request(const DeviceStep& step) {
  return step.demand.request.find(gpu_type());
}

Json answer(const Json& filter, const Json& allocation) {
  return {{"filter", filter}, {"allocation", allocation}};
}

Json ours(const DeviceStep& step) {
  return answer(device_status(step.verdict),
                step.verdict.fits() ? allocation_json(step.given) : Json::object());
}

std::set<int> minors_in(const Json& allocation) {
  std::set<int> minors;
  for (const Json& entry : member(allocation, "gpu")) minors.insert(entry.at("minor").get<int>());
  return minors;
}

std::set<int> minors_of(const DeviceStep& step) {
  std::set<int> minors;
  for (const dev::DeviceShare& share : step.given)
    if (share.type == gpu_type()) minors.insert(share.minor);
  return minors;
}

// ---- W4: a GPU asked for in bytes that are no whole percent of the card.

// As the reference computes it.
int64_t percent_cut_off(int64_t bytes, int64_t total) {
  return static_cast<int64_t>(static_cast<double>(bytes) / static_cast<double>(total) * 100);
}

// Replaces the percent in the reference's answer by the right ones, if they are what it would give.
bool correct_percent(const DeviceStep& step, Json& allocation) {
  const dev::TypeRequest* request = gpu_request(step);
  const dev::DeviceType& kind = device_types().type(gpu_type());
  if (request == nullptr || !request->per_device.has(kind.memory_dim)) return false;
  bool corrected = false;
  const auto found = allocation.find("gpu");
  if (found == allocation.end()) return false;
  for (Json& entry : *found) {
    const auto& state = step.scene.state.type(gpu_type());
    const dev::DeviceState* device = state.find(entry.at("minor").get<int>());
    const int64_t total = device == nullptr ? 0 : device->total.get(kind.memory_dim);
    Json& percent = entry["resources"][kind.dims[static_cast<size_t>(kind.ratio_dim)]];
    if (total <= 0 || percent != percent_cut_off(request->per_device.get(kind.memory_dim), total))
      continue;
    const int64_t right = amounts_due(gpu_type(), request->per_device, *device).get(kind.ratio_dim);
    corrected = corrected || percent != right;
    percent = right;
  }
  return corrected;
}

// The pod asks for percent, and what others have in bytes is more than the percent that are on
// record: the reference gives more bytes than the card has.
bool is_overcommitted(const DeviceStep& step, const Json& allocation) {
  const dev::DeviceType& kind = device_types().type(gpu_type());
  for (const Json& entry : member(allocation, "gpu")) {
    const dev::DeviceState* device =
        step.scene.state.type(gpu_type()).find(entry.at("minor").get<int>());
    const auto memory = static_cast<size_t>(kind.memory_dim);
    if (device != nullptr &&
        entry.at("resources").value(kind.dims[memory], int64_t{0}) > device->free.value[memory])
      return true;
  }
  return false;
}

// ---- W3: the partition that a table says, by one order of allocation scores or the other.

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

// By input: whole GPUs, and a table with partitions of different scores.
bool comes_under_partitions(const DeviceStep& step) {
  const dev::TypeRequest* request = gpu_request(step);
  return request != nullptr && !request->is_shared && table_of(step) != nullptr &&
         has_several_scores(*table_of(step), request->count);
}

bool comes_under_exclusive(const DeviceStep& step);
bool comes_under_joint(const DeviceStep& step);

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

// The reference gives the first partition by rising scores, or cannot follow to it with the other
// types. Ours is the first by falling scores, or if that does not do for all types another.
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

// ---- W1: one shared GPU, on a node where each has a topology.

int64_t score_of(const DeviceStep& step, const dev::DeviceState& device, bool swapped) {
  const dev::DeviceType& kind = device_types().type(gpu_type());
  const dev::Amounts& asked = gpu_request(step)->per_device;
  int64_t sum = 0;
  int64_t weights = 0;
  for (const auto& [name, weight] : step.scene.weights) {
    const int dim = device_types().find_dim(gpu_type(), name);
    if (dim < 0 || static_cast<size_t>(dim) >= kind.dims.size()) continue;
    const int64_t capacity = (swapped ? device.free : device.total).get(dim);
    const int64_t left = (swapped ? device.total : device.free).get(dim);
    if (capacity == 0) continue;
    const int64_t used = capacity >= left ? capacity - left + asked.get(dim) : capacity;
    if (step.scene.most_allocated)
      sum += weight * (std::min(used, capacity) * 100 / capacity);
    else
      sum += weight * (used > capacity ? 0 : (capacity - used) * 100 / capacity);
    weights += weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

std::set<int> shared_card(const DeviceStep& step, bool swapped, Exclusive exclusive) {
  const auto& devices = step.scene.state.type(gpu_type()).devices;
  using Rank = std::tuple<int, int64_t, int, std::string, int>;
  std::optional<Rank> best;
  for (const dev::DeviceState& device : devices) {
    const dev::Amounts& asked = gpu_request(step)->per_device;
    if (!problem_with(step, gpu_type(), asked, device, exclusive).empty()) continue;
    int near = 0;  // PCIe id and zone, as far as they are in use
    const auto in_use = [&](auto&& is_near) {
      return std::any_of(devices.begin(), devices.end(), [&](const dev::DeviceState& other) {
        return other.in_use && other.info != nullptr && is_near(other);
      });
    };
    const auto same_zone = [&](const auto& other) { return other.info->numa == device.info->numa; };
    near += in_use(same_zone) ? 1 : 0;
    near += in_use([&](const auto& other) {
      return same_zone(other) && other.info->pcie_id == device.info->pcie_id;
    });
    // The smallest rank wins.
    const Rank rank{-near, -score_of(step, device, swapped), device.info->numa,
                    device.info->pcie_id, device.minor};
    if (!best || rank < *best) best = rank;
  }
  return best ? std::set<int>{std::get<4>(*best)} : std::set<int>();
}

bool comes_under_shared(const DeviceStep& step) {
  const dev::TypeRequest* request = gpu_request(step);
  if (request == nullptr || !request->is_shared || request->count != 1) return false;
  const auto& devices = step.scene.state.type(gpu_type()).devices;
  return step.scene.scorer() != nullptr &&
         std::all_of(devices.begin(), devices.end(), [](const dev::DeviceState& device) {
           return device.info == nullptr || device.info->has_topology;
         });
}

bool shared_explains(const DeviceStep& step, std::set<std::string>& rules) {
  if (minors_in(step.allocation) != shared_card(step, true, Exclusive::kIgnored) ||
      !problem_of_ours(step).empty())
    return false;
  const bool is_right = minors_of(step) == shared_card(step, false, Exclusive::kHonoured);
  if (!is_right && !comes_under_joint(step)) return false;
  rules.insert(kShared);
  if (!is_right) rules.insert(kJoint);
  if (comes_under_exclusive(step)) rules.insert(kExclusive);
  return true;
}

// ---- W2: what the allocator does without the policy is what the reference does with it.

bool comes_under_exclusive(const DeviceStep& step) {
  const auto& asked = step.demand.request.types;
  return std::any_of(asked.begin(), asked.end(), [&](const dev::TypeRequest& request) {
    const dev::TypeHint* hint = hint_of(step, request.type);
    const auto& devices = step.scene.state.type(request.type).devices;
    return hint != nullptr && hint->exclusive == dev::TypeHint::Exclusive::kPcie &&
           std::any_of(devices.begin(), devices.end(),
                       [](const auto& each) { return each.in_use; });
  });
}

bool exclusive_explains(const DeviceStep& step, const Json& reference) {
  dev::PodDemand without = step.demand;
  for (auto& hint : without.hints.by_type)
    if (hint && hint->exclusive == dev::TypeHint::Exclusive::kPcie)
      hint->exclusive = dev::TypeHint::Exclusive::kNone;
  const dev::Allocator allocator(device_types(), step.scene.scorer());
  dev::Allocation given;
  const dev::Verdict verdict =
      allocator.allocate(step.scene.state, step.scene.labels(), without, given);
  const Json found =
      answer(device_status(verdict), verdict.fits() ? allocation_json(given) : Json::object());
  return found == reference && problem_of_ours(step).empty();
}

// ---- W6: types that have to be at the same PCIe ids; the reference makes one attempt.

bool comes_under_joint(const DeviceStep& step) {
  const auto& joint = step.demand.hints.joint;
  return joint && joint->same_pcie && step.demand.request.types.size() > 1;
}

bool joint_explains(const DeviceStep& step) {
  return step.filter.at("code") == "Unschedulable" && step.verdict.fits() &&
         problem_of_ours(step).empty();
}

// ---- W8: the reference takes a resource that a device does not report to be there.

bool comes_under_missing(const DeviceStep& step) {
  for (const dev::TypeRequest& request : step.demand.request.types)
    for (const dev::DeviceState& device : step.scene.state.type(request.type).devices)
      if (device.healthy && (request.per_device.present & ~device.total.present) != 0) return true;
  return false;
}

}  // namespace

const std::vector<std::string>& device_rules() {
  static const std::vector<std::string> kRules = {
      kShared,
      kExclusive,
      kPartitions,
      kPercent,
      "W5 another isolation provider refuses one node (no such pod here)",
      kJoint,
      "W7 what-ifs, reservations, minors above 63 (not in these inputs)",
      kMissing,
      "W9 reservations made before pods (not in these inputs)",
      "W10 scores of nodes (followed: the reference's are kept)",
  };
  return kRules;
}

std::set<std::string> judge_step(const std::string& pod, const DeviceStep& step,
                                 Findings& findings) {
  std::set<std::string> rules;
  Json allocation = step.allocation;
  if (correct_percent(step, allocation)) rules.insert(kPercent);
  const Json reference = answer(step.filter, allocation);
  if (reference == ours(step)) return rules;
  if (comes_under_exclusive(step) && exclusive_explains(step, reference))
    rules.insert(kExclusive);
  else if (comes_under_joint(step) && joint_explains(step))
    rules.insert(kJoint);
  else if (comes_under_partitions(step) && partitions_explain(step, rules))
    return rules;
  else if (comes_under_shared(step) && shared_explains(step, rules))
    return rules;
  else if (is_overcommitted(step, step.allocation) && problem_of_ours(step).empty())
    rules.insert(kPercent);
  else if (comes_under_missing(step) && problem_of_ours(step).empty())
    rules.insert(kMissing);
  else
    findings.expect(pod, reference, ours(step));
  return rules;
}

}  // namespace plimsoll::conformance
