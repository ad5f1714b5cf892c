// The full list of hints of each provider.
//
// A hint exists for each set of zones that has enough free. It is preferred if no smaller set has
// enough in total, used or not. So a preferred hint may be impossible, and restricted then refuses
// although a wider set is free.

#include <algorithm>

#include "plugins/topology/kubelet/run.hpp"

namespace plimsoll::topology::kubelet {
namespace {

void prefer_size(HintList& list, uint32_t size) {
  for (Hint& hint : list.hints) {
    hint.preferred = std::popcount(hint.mask) == static_cast<int>(size);
  }
}

ZoneMask zones_with(std::span<const int64_t> by_column) {
  ZoneMask mask = 0;
  for (uint32_t column = 0; column < by_column.size(); ++column) {
    if (by_column[column] > 0) mask |= column_bit(column);
  }
  return mask;
}

// align-by-socket: a set is preferred too if it touches no more sockets than the fewest zones need.
void prefer_sockets(const NodeModel& model, HintList& list, uint32_t size) {
  if (!model.layout || model.layout->sockets() == 0) return;
  const uint32_t zones_per_socket = model.layout->zones() / model.layout->sockets();
  if (zones_per_socket == 0) return;
  const uint32_t fewest = (size + zones_per_socket - 1) / zones_per_socket;
  for (Hint& hint : list.hints) {
    uint64_t sockets = 0;
    for_each_column(hint.mask,
                    [&](uint32_t column) { sockets |= model.layout->sockets_of(column); });
    if (static_cast<uint32_t>(std::popcount(sockets)) == fewest) hint.preferred = true;
  }
}

}  // namespace

void cpu_hints(const Run& run, int64_t cpus, bool reuse, HintList& list) {
  const NodeModel& model = run.model;
  const Reusable& reusable = run.work.reusable;
  const int64_t need = cpus - (reuse ? reusable.cpu_count : 0);
  const ZoneMask must = reuse ? zones_with(reusable.cpus) : 0;
  const auto free = run.state->cpu(model);
  for_each_mask(model.cpu.zones, [&](ZoneMask mask) {
    if ((must & ~mask) == 0 && sum_over(free, mask) >= need) list.hints.push_back({mask});
  });
  const auto all = static_cast<uint32_t>(std::popcount(model.cpu.zones));
  const uint32_t size = model.cpu.fewest(cpus, all);
  prefer_size(list, size);
  if (model.managers.cpu_options.align_by_socket) prefer_sockets(model, list, size);
}

bool violates_groups(const Run& run, ZoneMask zones) {
  if (!run.state->knows_groups()) return false;
  bool violates = false;
  for_each_column(zones, [&](uint32_t column) {
    if (run.state->assignments(run.model, column) <= 0) return;
    const ZoneMask group = run.state->group(run.model, column);
    violates = violates || is_single(group) || group != zones;
  });
  return violates;
}

bool memory_hints(const Run& run, std::span<const RowNeed> needs, HintList& list) {
  const NodeModel& model = run.model;
  const NodeState& state = *run.state;
  uint32_t size = model.zones();
  bool sized = false;  // small sets come first
  const bool groups = state.knows_groups();
  ZoneMask lone = 0;  // zones whose blocks lie on that zone only: no set of several zones has one
  for (uint32_t column = 0; groups && column < model.zones(); ++column) {
    const bool used = state.assignments(model, column) > 0;
    if (used && is_single(state.group(model, column))) lone |= column_bit(column);
  }
  for_each_mask(model.all, [&](ZoneMask mask) {
    const bool several = !is_single(mask);
    const bool barred = several && (mask & lone) != 0;
    if (barred && sized) return;
    for (const RowNeed& need : needs) {
      const int64_t there =
          need.row == kNoResourceRow ? 0 : sum_over(model.memory[need.row].allocatable, mask);
      if (there < need.amount) return;
    }
    if (!sized) size = std::min(size, static_cast<uint32_t>(std::popcount(mask)));
    sized = true;
    if (barred) return;
    if (groups && !several) {
      const auto column = static_cast<uint32_t>(std::countr_zero(mask));
      if (!is_single(state.group(model, column))) return;
    } else if (groups && violates_groups(run, mask)) {
      return;
    }
    for (const RowNeed& need : needs) {
      const int64_t free =
          need.row == kNoResourceRow ? 0 : sum_over(state.memory(model, need.row), mask);
      if (free + run.work.reusable.memory_in(mask, need.resource) < need.amount) return;
    }
    list.hints.push_back({mask});
  });
  prefer_size(list, size);
  return !list.hints.empty();
}

void device_hints(const Run& run, const RowNeed& need, bool reuse, HintList& list) {
  const NodeModel& model = run.model;
  const NodeModel::DeviceFacts& facts = model.device_facts[need.row];
  if (!facts.any_topology) {
    list.no_preference = true;
    return;
  }
  const DeviceType& type = model.devices[need.row];
  const Reusable& reusable = run.work.reusable;
  reuse = reuse && reusable.any_devices && reusable.device_count[need.row] > 0;
  const auto all = static_cast<uint32_t>(std::popcount(facts.totals.zones));
  const auto free = run.state->devices(model, need.row);
  std::span<const int64_t> held;  // by zone, if anything is reused
  const uint64_t* held_ids = nullptr;
  if (reuse) {
    held = {reusable.devices.data() + need.row * model.zones(), model.zones()};
    held_ids = reusable.device_ids.data() + (facts.first_word - model.device_ids_at);
  }
  const int64_t reused = reuse ? reusable.device_count[need.row] : 0;

  if (!type.listed()) {
    if (sum_over(free, model.all) + reused < need.amount) return;
  } else {
    int64_t there = 0;
    for (uint64_t word : run.state->device_ids(model, need.row)) there += std::popcount(word);
    if (there + reused < need.amount) return;
  }
  if (facts.single_zone) {
    const ZoneMask must = zones_with(held);
    const int64_t rest = need.amount - (reuse ? sum_over(held, model.all) : 0);
    for_each_mask(facts.totals.zones, [&](ZoneMask mask) {
      if ((must & ~mask) == 0 && sum_over(free, mask) >= rest) list.hints.push_back({mask});
    });
    return prefer_size(list, facts.totals.fewest(need.amount, all));
  }
  // Devices that touch several zones: count them one by one.
  const auto ids = run.state->device_ids(model, need.row);
  uint32_t size = all;
  for_each_mask(facts.totals.zones, [&](ZoneMask mask) {
    int64_t touching = 0;
    int64_t available = 0;
    bool leaves_out = false;
    for (size_t i = 0; i < type.devices.size(); ++i) {
      const ZoneMask zones = type.devices[i].zones;
      const bool touches = (zones & mask) != 0;
      touching += touches ? 1 : 0;
      const bool is_held = reuse && (held_ids[i / 64] >> (i % 64) & 1) != 0;
      const bool is_free = (ids[i / 64] >> (i % 64) & 1) != 0;
      if (is_held && zones != 0 && !touches) leaves_out = true;
      if (touches && (is_held || is_free)) ++available;
    }
    if (touching >= need.amount) {
      size = std::min(size, static_cast<uint32_t>(std::popcount(mask)));
    }
    if (!leaves_out && available >= need.amount) list.hints.push_back({mask});
  });
  prefer_size(list, size);
}

}  // namespace plimsoll::topology::kubelet
