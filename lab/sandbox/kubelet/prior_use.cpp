#include "lab/sandbox/kubelet/prior_use.hpp"

#include <algorithm>

namespace plimsoll::sandbox {
namespace {

namespace kubelet = topology::kubelet;

class Mover {
 public:
  Mover(const kubelet::NodeModel& model, kubelet::NodeState& from, kubelet::NodeState& to)
      : model_(model), free_(from), used_(to) {}

  void move_cpus(std::uint32_t column, std::int64_t cpus) {
    if (!free_.knows_cpus()) return move(free_.cpu(model_), used_.cpu(model_), column, cpus);
    kubelet::CpuSet free_ids = free_.cpu_ids(model_);
    kubelet::CpuSet used_ids = used_.cpu_ids(model_);
    free_.cpu_ids(model_).for_each([&](std::uint32_t id) {
      if (cpus == 0 || model_.layout->at(id).zone != column) return;
      free_ids.remove(id);
      used_ids.add(id);
      --cpus;
    });
    free_.set_cpu_ids(model_, free_ids);
    used_.set_cpu_ids(model_, used_ids);
  }

  void move_memory(std::uint32_t column, std::uint32_t row, std::int64_t bytes) {
    move(free_.memory(model_, row), used_.memory(model_, row), column, bytes);
  }

  void move_devices(std::uint32_t column, std::uint32_t row, std::int64_t count) {
    if (!model_.devices[row].listed()) {
      return move(free_.devices(model_, row), used_.devices(model_, row), column, count);
    }
    const auto free_span = free_.device_ids(model_, row);
    const auto used_span = used_.device_ids(model_, row);
    std::vector<std::uint64_t> free_ids(free_span.begin(), free_span.end());
    std::vector<std::uint64_t> used_ids(used_span.begin(), used_span.end());
    const auto& devices = model_.devices[row].devices;
    for (std::size_t i = 0; i < devices.size() && count > 0; ++i) {
      const std::uint64_t bit = std::uint64_t{1} << (i % 64);
      if ((free_ids[i / 64] & bit) == 0 || (devices[i].zones >> column & 1) == 0) continue;
      free_ids[i / 64] &= ~bit;
      used_ids[i / 64] |= bit;
      --count;
    }
    free_.set_device_ids(model_, row, free_ids);
    used_.set_device_ids(model_, row, used_ids);
  }

 private:
  static void move(std::span<std::int64_t> from, std::span<std::int64_t> to, std::uint32_t column,
                   std::int64_t amount) {
    amount = std::clamp<std::int64_t>(amount, 0, from[column]);
    from[column] -= amount;
    to[column] += amount;
  }

  const kubelet::NodeModel& model_;
  kubelet::NodeState& free_;
  kubelet::NodeState& used_;
};

}  // namespace

void move_amounts(const NodeKind& kind, std::uint32_t column, const node::Amounts& amounts,
                  ResourceIndex& resources, kubelet::NodeState& from, kubelet::NodeState& to) {
  const kubelet::NodeModel& model = *kind.model;
  Mover mover(model, from, to);
  for (const auto& [name, amount] : amounts) {
    if (amount <= 0) continue;
    if (name == "cpu") {
      if (model.cpu_static) mover.move_cpus(column, (amount + node::kMilli - 1) / node::kMilli);
    } else if (node::is_memory(name)) {
      const std::uint32_t row = model.memory_row(resources.of(name));
      if (row != kubelet::kNoResourceRow) mover.move_memory(column, row, amount);
    } else if (node::is_device(name)) {
      const std::uint32_t row = model.device_row(resources.of(name));
      if (row != kubelet::kNoResourceRow) mover.move_devices(column, row, amount);
    }
  }
}

kubelet::NodeState nothing_of(const NodeKind& kind) {
  const kubelet::NodeModel& model = *kind.model;
  kubelet::NodeState nothing(model);
  if (kind.free.knows_cpus()) nothing.set_cpu_ids(model, {});
  if (!kind.free.knows_groups()) return nothing;
  for (std::uint32_t column = 0; column < model.zones(); ++column) {
    nothing.set_group(model, column, 0, kubelet::ZoneMask{1} << column);
  }
  return nothing;
}

kubelet::NodeState set_aside_prior_use(const NodeKind& kind, const NodeDescription& node,
                                       ResourceIndex& resources, kubelet::NodeState& free) {
  kubelet::NodeState used = nothing_of(kind);
  if (node.machine != nullptr) return used;
  for (std::uint32_t column = 0; column < node.zones.size(); ++column) {
    const ZoneDescription& zone = node.zones[column];
    node::Amounts amounts;
    for (const auto& [name, allocatable] : zone.allocatable) {
      amounts[name] = allocatable - node::amount_of(zone.available, name);
    }
    move_amounts(kind, column, amounts, resources, free, used);
  }
  return used;
}

}  // namespace plimsoll::sandbox
