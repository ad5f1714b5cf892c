#include "plugins/nodedevice/fragmentation/fragmentation_memo.hpp"

#include <algorithm>
#include <limits>

namespace plimsoll::devices {
namespace {

constexpr size_t kMaxEntries = size_t{1} << 20;  // over all columns: 32 MiB
constexpr size_t kMaxColumns = 256;
constexpr size_t kMaxValues = size_t{1} << 17;  // 14 MiB

// A node to which the pod cannot go: Filter says so before anybody asks for its rank.
constexpr int64_t kNowhere = std::numeric_limits<int32_t>::min();

const TypeState& gpus_of(const NodeState* devices, int gpu_type) {
  static const TypeState kNone;
  return devices == nullptr ? kNone : devices->type(gpu_type);
}

FreeGpus free_on(const Fragmentation& fragmentation, const FragmentationMemo::Node& node,
                 int gpu_type) {
  FreeGpus free = free_gpus(gpus_of(node.devices, gpu_type));
  free.model = fragmentation.mix().model_number(node.model);
  free.cpu_milli = node.free_cpu;
  return free;
}

template <typename Measure>
int64_t best_rank(const Fragmentation& fragmentation, const DeviceTypes& types, int gpu_type,
                  const FragmentationMemo::Node& node, const FragmentationMemo::Request& request,
                  const FreeGpus& before, int64_t value, const Measure& measure) {
  int64_t best = kNowhere;
  // Devices of a node that nobody reports on are the kubelet's: nothing is known to be lost there.
  const bool unknown = node.devices == nullptr || node.devices->unmanaged();
  for (const Outcome& outcome :
       outcomes(types.type(gpu_type), gpus_of(node.devices, gpu_type), before,
                unknown ? nullptr : request.gpus, request.cpu_milli))
    best = std::max(best, fragmentation.rank(value, measure(outcome.left)));
  return best;
}

}  // namespace

void FragmentationMemo::use(std::shared_ptr<const Fragmentation> fragmentation) {
  fragmentation_ = std::move(fragmentation);
  columns_.clear();
  before_.clear();
  values_.clear();
}

FragmentationMemo::Ranks FragmentationMemo::begin(const Request& request, size_t slots) {
  const TypeRequest none;
  const TypeRequest& gpus = request.gpus == nullptr ? none : *request.gpus;
  auto it = std::find_if(columns_.begin(), columns_.end(), [&](const Column& column) {
    return column.cpu_milli == request.cpu_milli && column.gpus == gpus;
  });
  if (it == columns_.end()) {
    const size_t room =
        std::clamp(kMaxEntries / std::max<size_t>(slots, 1), size_t{1}, kMaxColumns);
    while (columns_.size() >= room) columns_.pop_back();
    columns_.push_front({gpus, request.cpu_milli, {}});
  } else {
    columns_.splice(columns_.begin(), columns_, it);
  }
  Column& column = columns_.front();
  if (column.by_slot.size() < slots) column.by_slot.resize(slots);
  if (before_.size() < slots) before_.resize(slots);
  return {*this, column, request};
}

int64_t FragmentationMemo::of(const FreeGpus& node) {
  if (const auto it = values_.find(node); it != values_.end()) return it->second;
  if (values_.size() >= kMaxValues) values_.clear();
  return values_.emplace(node, fragmentation_->of(node)).first->second;
}

const FragmentationMemo::Before& FragmentationMemo::before(const Node& node) {
  Before& kept = before_[node.slot];
  const uint64_t version = node.devices == nullptr ? 1 : node.devices->version;
  const bool same = kept.version == version && kept.model_version == node.model_version;
  if (same && kept.free.cpu_milli == node.free_cpu) return kept;
  if (!same) {
    kept.free = free_on(*fragmentation_, node, gpu_type_);
    kept.version = version;
    kept.model_version = node.model_version;
  }
  kept.free.cpu_milli = node.free_cpu;
  kept.value = of(kept.free);
  return kept;
}

int64_t FragmentationMemo::rank(Column& column, const Request& request, const Node& node) {
  Entry& entry = column.by_slot[node.slot];
  const uint64_t version = node.devices == nullptr ? 1 : node.devices->version;
  if (entry.version == version && entry.model_version == node.model_version &&
      entry.free_cpu == node.free_cpu)
    return entry.rank;
  const Before& now = before(node);
  entry = {version, node.model_version, node.free_cpu,
           best_rank(*fragmentation_, types_, gpu_type_, node, request, now.free, now.value,
                     [this](const FreeGpus& left) { return of(left); })};
  return entry.rank;
}

int64_t rank_of(const Fragmentation& fragmentation, const DeviceTypes& types, int gpu_type,
                const FragmentationMemo::Node& node, const FragmentationMemo::Request& request) {
  const FreeGpus before = free_on(fragmentation, node, gpu_type);
  return best_rank(fragmentation, types, gpu_type, node, request, before, fragmentation.of(before),
                   [&](const FreeGpus& left) { return fragmentation.of(left); });
}

}  // namespace plimsoll::devices
