#include "plugins/nodedevice/allocation/scoring.hpp"

#include <algorithm>

namespace plimsoll::devices {
namespace {

constexpr int64_t kMaxScore = 100;

int64_t least(int64_t asked, int64_t capacity) {
  if (capacity <= 0 || asked > capacity) return 0;
  return (capacity - asked) * kMaxScore / capacity;
}

int64_t most(int64_t asked, int64_t capacity) {
  if (capacity <= 0) return 0;
  return std::min(asked, capacity) * kMaxScore / capacity;
}

}  // namespace

Scorer::Scorer(const DeviceTypes& types, Strategy strategy,
               const std::vector<std::pair<std::string, int64_t>>& weights)
    : strategy_(strategy) {
  for (const auto& [name, weight] : weights) {
    for (int t = 0; t < types.count(); ++t) {
      const int dim = types.find_dim(t, name);
      if (dim >= 0) weights_[static_cast<size_t>(t)][static_cast<size_t>(dim)] = weight;
    }
  }
}

std::vector<std::pair<std::string, int64_t>> Scorer::default_weights(const DeviceTypes& types) {
  std::vector<std::pair<std::string, int64_t>> weights = {{"koordinator.sh/gpu-memory-ratio", 1},
                                                          {"koordinator.sh/gpu-memory", 1},
                                                          {"koordinator.sh/rdma", 1},
                                                          {"koordinator.sh/fpga", 1}};
  for (const DeviceType& type : types.all())
    if (DeviceTypes::standard().find_type(type.name) < 0)
      for (const std::string& resource : type.dims) weights.emplace_back(resource, 1);
  return weights;
}

int64_t Scorer::score_device(int type, const Amounts& asked, const Amounts& total,
                             const Amounts& free) const {
  int64_t sum = 0;
  int64_t weights = 0;
  for (int dim = 0; dim < kMaxDims; ++dim) {
    const int64_t weight = weights_[static_cast<size_t>(type)][static_cast<size_t>(dim)];
    if (weight == 0 || !total.has(dim)) continue;
    const int64_t capacity = total.get(dim);
    const int64_t requested = capacity - free.get(dim) + asked.get(dim);
    sum += weight * (strategy_ == Strategy::kLeastAllocated ? least(requested, capacity)
                                                            : most(requested, capacity));
    weights += weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

int64_t Scorer::score_node(const NodeState& node, const DeviceRequest& request,
                           const DeviceHints& hints) const {
  int64_t score = 0;
  for (const TypeRequest& asked : request.types) {
    Amounts total;
    Amounts free;
    const TypeHint* hint = hints.hint(asked.type);
    if (hint == nullptr || !hint->selector) {
      const TypeSummary& summary = node.type(asked.type).summary;
      score += score_device(asked.type, asked.per_device, summary.total_sum, summary.free_sum);
      continue;
    }
    for (const DeviceState& device : node.type(asked.type).devices) {
      if (device.info == nullptr || !hint->selector->matches(device.info->labels)) continue;
      total.present |= device.total.present;
      free.present |= device.total.present;
      for (size_t dim = 0; dim < total.value.size(); ++dim) {
        total.value[dim] += device.total.value[dim];
        free.value[dim] += device.free.value[dim];
      }
    }
    score += score_device(asked.type, asked.per_device, total, free);
  }
  return score;
}

}  // namespace plimsoll::devices
