// The device manager: Allocate. Which of equally good devices the kubelet takes is random unless
// the plugin has a preference; here it is the lowest position in the model's list.

#include <algorithm>
#include <string>

#include "plugins/topology/kubelet/run.hpp"

namespace plimsoll::topology::kubelet {
namespace {

// Devices being taken for one container, of one type.
struct Taking {
  Run& run;
  const RowNeed& need;
  const DeviceType& type;
  const NodeModel::DeviceFacts& facts;
  int64_t left;
  std::vector<uint64_t>& taken;  // bits
  std::vector<int64_t>& counts;  // by column
  int64_t fresh = 0;             // of those taken, how many were not reusable
  int64_t unlisted = 0;          // how many must be devices without a zone, which counts lack

  [[nodiscard]] uint64_t* reusable_ids() const {
    return run.work.reusable.device_ids.data() + (facts.first_word - run.model.device_ids_at);
  }
  [[nodiscard]] int64_t* reusable_counts() const {
    return run.work.reusable.devices.data() + need.row * run.model.zones();
  }
};

template <typename Wanted>
void take_listed(Taking& taking, std::span<const uint64_t> from, Wanted&& wanted) {
  for (uint32_t word = 0; word < taking.facts.words && taking.left > 0; ++word) {
    for (uint64_t rest = from[word] & ~taking.taken[word]; rest != 0 && taking.left > 0;
         rest &= rest - 1) {
      const uint64_t bit = rest & -rest;
      const ZoneMask zones =
          taking.type.devices[word * 64 + static_cast<uint32_t>(std::countr_zero(rest))].zones;
      if (!wanted(zones)) continue;
      taking.taken[word] |= bit;
      --taking.left;
      for_each_column(zones, [&](uint32_t column) { ++taking.counts[column]; });
    }
  }
}

bool take_ids(Taking& taking, const Hint& hint) {
  Run& run = taking.run;
  const auto free = run.state->device_ids(run.model, taking.need.row);
  const std::span<const uint64_t> held(taking.reusable_ids(), taking.facts.words);
  if (run.work.reusable.any_devices) take_listed(taking, held, [](ZoneMask) { return true; });
  if (taking.left <= 0) return true;
  int64_t there = 0;
  for (uint64_t word : free) there += std::popcount(word);
  if (there < taking.left) {
    return run.refuse(Reason::kUnexpectedAdmissionError, Stage::kDevice, Fault::kTooFewDevices,
                      taking.left, there);
  }
  taking.fresh = taking.left;
  if (!hint.any && taking.facts.any_topology) {
    take_listed(taking, free, [&](ZoneMask zones) { return (zones & hint.mask) != 0; });
    take_listed(taking, free, [&](ZoneMask zones) { return zones != 0; });
  }
  take_listed(taking, free, [](ZoneMask) { return true; });
  return true;
}

// With counts only. See allocate_devices for what they lack.
bool take_columns(Taking& taking, const Hint& hint) {
  Run& run = taking.run;
  const NodeModel& model = run.model;
  const auto free = run.state->devices(model, taking.need.row);
  const int64_t* held = taking.reusable_counts();
  const auto take = [&](ZoneMask zones, auto&& available) {
    for_each_column(zones, [&](uint32_t column) {
      const int64_t part = std::min(taking.left, std::max<int64_t>(available(column), 0));
      taking.counts[column] += part;
      taking.left -= part;
    });
  };
  if (run.work.reusable.any_devices) {
    take(model.all, [&](uint32_t column) { return held[column]; });
  }
  if (taking.left <= 0) return true;
  int64_t there = 0;
  for (int64_t each : free) there += std::max<int64_t>(each, 0);
  taking.unlisted = std::max<int64_t>(taking.left - there, 0);
  taking.left -= taking.unlisted;
  taking.fresh = taking.left;
  const ZoneMask aligned = hint.any ? model.all : hint.mask;
  take(aligned, [&](uint32_t column) { return free[column]; });
  take(model.all & ~aligned, [&](uint32_t column) { return free[column]; });
  return true;
}

// Removes what was free from the state; sets `fresh_ids` and `fresh_counts` to it.
void subtract(Taking& taking, std::vector<uint64_t>& fresh_ids, std::vector<int64_t>& fresh) {
  Run& run = taking.run;
  const NodeModel& model = run.model;
  if (taking.facts.words > 0) {
    const uint64_t* held = taking.reusable_ids();
    std::vector<uint64_t> left(taking.facts.words);
    fresh.assign(model.zones(), 0);
    fresh_ids.assign(taking.facts.words, 0);
    const auto free = run.state->device_ids(model, taking.need.row);
    for (uint32_t word = 0; word < taking.facts.words; ++word) {
      fresh_ids[word] = taking.taken[word] & ~held[word];
      left[word] = free[word] & ~taking.taken[word];
      for (uint64_t rest = fresh_ids[word]; rest != 0; rest &= rest - 1) {
        const auto at = word * 64 + static_cast<uint32_t>(std::countr_zero(rest));
        for_each_column(taking.type.devices[at].zones, [&](uint32_t column) { ++fresh[column]; });
      }
    }
    run.changed().set_device_ids(model, taking.need.row, left);
    return;
  }
  fresh = taking.counts;
  const int64_t* held = taking.reusable_counts();
  const auto changed = run.changed().devices(model, taking.need.row);
  for (uint32_t column = 0; column < fresh.size(); ++column) {
    fresh[column] -= std::min(fresh[column], held[column]);
    changed[column] -= fresh[column];
  }
}

// A plain init container's devices stay the pod's, for later containers to use.
void keep_reusable(Taking& taking, bool init, std::span<const uint64_t> fresh_ids,
                   std::span<const int64_t> fresh) {
  Run& run = taking.run;
  Reusable& reusable = run.work.reusable;
  uint64_t* ids = taking.reusable_ids();
  int64_t* counts = taking.reusable_counts();
  int64_t& count = reusable.device_count[taking.need.row];
  const int64_t reused = taking.need.amount - taking.left - taking.fresh - taking.unlisted;
  count += init ? taking.fresh : -reused;
  for (uint32_t word = 0; word < taking.facts.words; ++word) {
    ids[word] = init ? ids[word] | fresh_ids[word] : ids[word] & ~taking.taken[word];
  }
  for (uint32_t column = 0; column < fresh.size(); ++column) {
    counts[column] += init ? fresh[column] : fresh[column] - taking.counts[column];
  }
  reusable.any_devices = reusable.any_devices || init;
}

void record(Taking& taking, uint32_t container, std::span<const uint64_t> fresh_ids,
            std::span<const int64_t> fresh) {
  Run& run = taking.run;
  if (run.out == nullptr) return;
  DeviceGrant grant;
  grant.resource = taking.need.resource;
  grant.row = taking.need.row;
  grant.count = taking.need.amount;
  if (taking.facts.words > 0) grant.ids = taking.taken;
  grant.by_zone = taking.counts;
  for (uint32_t column = 0; column < grant.by_zone.size(); ++column) {
    if (grant.by_zone[column] > 0) grant.zones |= column_bit(column);
  }
  std::vector<DeviceGrant>& all = run.out->allocation.devices;
  auto mine = std::find_if(all.begin(), all.end(),
                           [&](const DeviceGrant& each) { return each.row == grant.row; });
  if (mine == all.end()) {
    mine = all.insert(all.end(), grant);
    mine->count = taking.fresh;
    mine->ids.assign(fresh_ids.begin(), fresh_ids.end());
    mine->by_zone.assign(fresh.begin(), fresh.end());
  } else {
    mine->count += taking.fresh;
    for (size_t i = 0; i < mine->ids.size(); ++i) mine->ids[i] |= fresh_ids[i];
    for (size_t i = 0; i < mine->by_zone.size(); ++i) mine->by_zone[i] += fresh[i];
    mine->zones |= grant.zones;
  }
  run.out->containers[container].devices.push_back(std::move(grant));
}

}  // namespace

bool allocate_devices(Run& run, uint32_t container, const Request& request, const Hint& hint,
                      bool last) {
  const NodeModel& model = run.model;
  const bool init = run.pod.containers[container].kind == ContainerKind::kInit;
  for (const RowNeed& need : request.devices) {
    const NodeModel::DeviceFacts& facts = model.device_facts[need.row];
    run.resource = need.resource;
    if (!facts.any_healthy) {
      return run.refuse(Reason::kUnexpectedAdmissionError, Stage::kDevice, Fault::kNoHealthyDevice);
    }
    if (need.amount == 0) continue;
    if (run.only_checks(last)) {
      // NodeResourcesFit checked that the node has enough devices, so those missing from all zones
      // together have no zone.
      int64_t there = 0;
      for (uint64_t word : run.state->device_ids(model, need.row)) there += std::popcount(word);
      const Reusable& reusable = run.work.reusable;
      const int64_t left =
          need.amount - (reusable.any_devices ? reusable.device_count[need.row] : 0);
      if (facts.words > 0 && left > 0 && there < left) {
        return run.refuse(Reason::kUnexpectedAdmissionError, Stage::kDevice, Fault::kTooFewDevices,
                          left, there);
      }
      continue;
    }
    std::vector<uint64_t> fresh_ids;
    std::vector<int64_t> fresh;
    run.work.reusable.make_room(model);
    run.work.words.assign(facts.words, 0);
    run.work.counts.assign(model.zones(), 0);
    Taking taking{run,         need,           model.devices[need.row], facts,
                  need.amount, run.work.words, run.work.counts};
    if (!(facts.words > 0 ? take_ids(taking, hint) : take_columns(taking, hint))) return false;
    subtract(taking, fresh_ids, fresh);
    keep_reusable(taking, init, fresh_ids, fresh);
    record(taking, container, fresh_ids, fresh);
  }
  run.resource = 0;
  return true;
}

}  // namespace plimsoll::topology::kubelet
